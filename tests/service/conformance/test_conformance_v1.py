"""Legacy v1: its routes, its job shape, and jobs shared across versions."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from examination import (
    ENDS,
    MODELS,
    SPEECH,
    USE_CASES,
    V1_USE_CASES,
    Examined,
    accepted,
    assert_error,
    assert_validation_error,
    done,
    ended,
    instant,
    post_form,
    read,
    submit,
)
from receiver import Receiver
from sounds import HISS

V1_JOB_FIELDS = {
    "job_id",
    "status",
    "created_at",
    "completed_at",
    "result",
    "audio_content_type",
    "audio_size_bytes",
    "audio_duration_seconds",
    "pipeline_type",
}
URL_FORMS = ("analyze-audio-url", "analyze-and-diarize-audio-url")


@pytest.fixture(scope="module")
def recording_url(reached: None) -> Iterator[str]:
    """URL of a recording on loopback; other paths return 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = {"/speech.flac": SPEECH, "/text": b"no recording"}.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/speech.flac"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("condition", V1_USE_CASES)
@pytest.mark.parametrize("form", ["analyze-audio", "analyze-and-diarize-audio"])
def test_analyze_answers_the_job_id_alone(
    still: httpx.Client, still_v1: httpx.Client, condition: str, form: str
) -> None:
    answer = submit(still_v1, f"/api/v1/{condition}/{form}")
    assert set(answer) == {"job_id"}
    job = read(still_v1, f"/api/v1/account/jobs/{answer['job_id']}")
    assert set(job) == V1_JOB_FIELDS
    assert job["pipeline_type"] == condition + ("-diarized" if "diarize" in form else "")
    assert (job["audio_content_type"], job["audio_size_bytes"]) == ("audio/flac", len(SPEECH))
    assert job["audio_duration_seconds"] == 20.5
    instant(job["created_at"])
    as_v2 = read(still, f"/v2/jobs/{answer['job_id']}")
    assert (as_v2["job_type"], as_v2["api_version"]) == ("use_case", "v1")
    assert as_v2["use_case"] == V1_USE_CASES[condition]


def test_job_that_has_not_ended_is_pending(queued: httpx.Client, still_v1: httpx.Client) -> None:
    of_v1 = submit(still_v1, "/api/v1/wellness/analyze-audio")["job_id"]
    of_v2 = submit(queued, "/v2/signs/stress/analyze")["job_id"]
    for job_id in (of_v1, of_v2):
        job = read(still_v1, f"/api/v1/account/jobs/{job_id}")
        assert (job["status"], job["completed_at"], job["result"]) == ("pending", None, None)
    assert [job["status"] for job in read(still_v1, "/api/v1/account/jobs")["jobs"][:2]] == ["pending", "pending"]


@pytest.mark.parametrize("form", ["analyze-audio", "analyze-and-diarize-audio"])
def test_analyze_refuses_what_is_no_recording(still_v1: httpx.Client, form: str) -> None:
    assert_error(post_form(still_v1, f"/api/v1/wellness/{form}", b"no recording"), 400, "UNSUPPORTED_FORMAT")
    assert post_form(still_v1, f"/api/v1/wellness/{form}", None).status_code == 422


@pytest.mark.parametrize("path", ["unknown/analyze-audio", "haven/analyze-and-diarize-audio"])
def test_unknown_condition_is_not_found(still_v1: httpx.Client, path: str) -> None:
    assert_error(post_form(still_v1, f"/api/v1/{path}"), 404, "NOT_FOUND")


def test_v1_and_v2_share_one_list_of_jobs(still: httpx.Client, still_v1: httpx.Client) -> None:
    old = submit(still_v1, "/api/v1/anemia/analyze-audio")["job_id"]
    new = submit(still, "/v2/models/pulse/analyze")["job_id"]
    listed = read(still_v1, "/api/v1/account/jobs")
    assert set(listed) == {"jobs", "page", "total_pages"}
    assert [job["job_id"] for job in listed["jobs"][:2]] == [new, old]
    assert set(listed["jobs"][0]) == {"job_id", "status", "created_at"}
    assert [job["job_id"] for job in read(still, "/v2/jobs")["jobs"][:2]] == [new, old]
    assert set(read(still_v1, f"/api/v1/account/jobs/{new}")) == V1_JOB_FIELDS


def test_job_id_that_is_no_uuid_is_a_validation_error(v1: httpx.Client) -> None:
    assert_validation_error(v1.get("/api/v1/account/jobs/nonsense"))


def test_unknown_job_is_not_found(v1: httpx.Client) -> None:
    assert_error(v1.get("/api/v1/account/jobs/019f0000-0000-7000-8000-000000000000"), 404, "NOT_FOUND")


def test_credits_are_one_balance(api: httpx.Client, v1: httpx.Client) -> None:
    assert read(v1, "/api/v1/account/credits") == read(api, "/v2/account/credits")


@pytest.mark.parametrize("form", URL_FORMS)
@pytest.mark.parametrize(
    "url",
    ["http://example.com/a.wav", "https://127.0.0.1/a.wav", "https://10.0.0.1/a"],
)
def test_plain_or_private_audio_address_is_refused(closed: Examined, form: str, url: str) -> None:
    caller = closed.call(closed.account().v1_headers)
    assert_error(caller.post(f"/api/v1/wellness/{form}", json={"url": url}), 400, "INVALID_REQUEST")


@pytest.mark.parametrize("form", URL_FORMS)
def test_unreachable_audio_address_is_refused(still_v1: httpx.Client, form: str) -> None:
    asked = {"url": "https://nowhere.invalid/a.wav"}
    assert_error(still_v1.post(f"/api/v1/wellness/{form}", json=asked), 400, "INVALID_REQUEST")


@pytest.mark.parametrize("body", [{}, {"url": None}, {"url": 5}, {"url": "nonsense"}], ids=str)
def test_audio_address_that_does_not_fit_is_a_validation_error(still_v1: httpx.Client, body: Any) -> None:
    answer = still_v1.post("/api/v1/wellness/analyze-audio-url", json=body)
    assert_validation_error(answer)


def test_inaccessible_or_unsupported_audio_behind_an_address_is_refused(v1: httpx.Client, recording_url: str) -> None:
    for name, code in (("absent", "INVALID_REQUEST"), ("text", "UNSUPPORTED_FORMAT")):
        url = recording_url.replace("speech.flac", name)
        assert_error(v1.post("/api/v1/wellness/analyze-audio-url", json={"url": url}), 400, code)


def test_done_job_has_the_result_of_its_use_case(api: httpx.Client, v1: httpx.Client, recording_url: str) -> None:
    by_url = accepted(v1.post("/api/v1/cognitive/analyze-audio-url", json={"url": recording_url}))["job_id"]
    diarized = submit(v1, "/api/v1/wellness/analyze-and-diarize-audio")["job_id"]
    for job_id, condition, more in ((by_url, "cognitive", set()), (diarized, "wellness", {"speakers"})):
        as_v2 = done(api, job_id)
        job = read(v1, f"/api/v1/account/jobs/{job_id}")
        assert set(job) == V1_JOB_FIELDS
        assert job["status"] == "done"
        assert instant(job["completed_at"]) == instant(as_v2["completed_at"])
        assert job["result"] == as_v2["result"]
        assert set(job["result"]) == {"summary", "signals", "audio_quality", "extended_metrics"} | more
        bundle = MODELS[USE_CASES[V1_USE_CASES[condition]]]
        assert [signal["model_id"] for signal in job["result"]["signals"]] == bundle
    assert len(read(v1, f"/api/v1/account/jobs/{diarized}")["result"]["speakers"]) == 1


@pytest.mark.usefixtures("reached")
def test_account_webhook_set_through_v1_gets_v1_jobs(examined: Examined) -> None:
    account, receiver = examined.account("webhooks"), Receiver()
    try:
        v1, v2 = examined.call(account.v1_headers), examined.call(account.headers)
        hook = {"url": f"{receiver.origin}/v1", "secret_key": "old secret"}
        assert set(accepted(v1.post("/api/v1/account/webhook", json=hook))) == {"success", "message"}
        job_id = submit(v1, "/api/v1/cognitive/analyze-audio", HISS)["job_id"]
        (delivery,) = receiver.wait_for("/v1")
        assert delivery.is_signed_with("old secret")
        assert delivery.job == ended(v2, job_id)
        assert delivery.job["status"] in ENDS
    finally:
        receiver.close()
