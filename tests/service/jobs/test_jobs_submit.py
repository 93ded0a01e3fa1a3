"""Submitting: what is accepted, what is refused in which order, and that a refusal leaves nothing behind."""

import io
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import soundfile
import sqlalchemy as sa

from vbdesk.contract.limits import MAX_WEBHOOK_URL_LENGTH

FIELDS = "language, second_language, client_ref"
TEST_AUDIO = Path(__file__).parents[2] / "data"


def wav(seconds, amplitude=0.1):
    samples = amplitude * np.random.default_rng(1).standard_normal(int(seconds * 8_000))
    file = io.BytesIO()
    soundfile.write(file, samples, 8_000, format="WAV")
    return file.getvalue()


def test_a_model_job_is_queued_and_answers_its_audio_facts(bench):
    job = bench.post("/v2/models/pulse/analyze").json()
    assert job == bench.read(job["job_id"])
    assert (job["status"], job["completed_at"], job["result"]) == ("queued", None, None)
    assert (job["job_type"], job["model_name"], job["sign_name"]) == ("model", "pulse", None)
    assert (job["api_version"], job["audio_content_type"]) == ("v2", "audio/wav")
    assert (job["audio_duration_seconds"], job["audio_sample_rate"]) == (15.5, 8000)
    assert job["audio_size_bytes"] == len(wav(15.5))
    assert "group_id" not in job
    assert bench.service.queue.job_ids == [job["job_id"]]


def test_a_sign_job_sets_the_other_discriminator(bench):
    job = bench.post("/v2/signs/stress/analyze").json()
    assert (job["job_type"], job["model_name"], job["sign_name"]) == ("sign", None, "stress")


@pytest.mark.parametrize(
    ("path", "name"), [("models", "nothing"), ("signs", "nothing"), ("signs", "dry-mouth"), ("models", "stress")]
)
@pytest.mark.parametrize("ending", ["analyze", "groups/g/analyze", "groups/g/analyze/longitudinal"])
def test_an_unknown_name_is_not_found(bench, path, name, ending):
    answer = bench.post(f"/v2/{path}/{name}/{ending}")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("fields", [{"audio": None}, {"audio_upload_ref": "some"}])
def test_audio_comes_in_exactly_one_way(bench, fields):
    answer = bench.post(**fields)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(
    "fields",
    [
        {"webhook_url": "https://example.org/hook"},
        {"webhook_secret_key": "secret"},
        {"webhook_url": "not a url", "webhook_secret_key": "secret"},
        {"webhook_url": "ftp://example.org/", "webhook_secret_key": "secret"},
        {"webhook_url": "http://127.0.0.1/hook", "webhook_secret_key": "secret"},
    ],
)
def test_half_or_forbidden_webhooks_are_refused(bench, fields):
    answer = bench.post(**fields)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert "secret" not in answer.text.replace("webhook_secret_key", "")


def test_the_address_of_a_webhook_has_at_most_so_many_characters_around_which_space_is_ignored(bench):
    longest = "https://example.org/".ljust(MAX_WEBHOOK_URL_LENGTH, "x")
    assert bench.post(webhook_url=longest, webhook_secret_key="secret").status_code == 200
    assert bench.post(webhook_url=" https://example.org/ ", webhook_secret_key="secret").status_code == 200
    refused = bench.post(webhook_url=longest + "x", webhook_secret_key="secret")
    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_REQUEST")
    assert str(MAX_WEBHOOK_URL_LENGTH) in refused.json()["message"]


@pytest.mark.parametrize("value", ["true", "1", "True", "on", "yes"])
def test_every_form_of_true_diarizes_and_costs_fifty_more(bench, value):
    bench.submit("/v2/signs/stress/analyze", diarize=value)
    assert bench.credits() == 100_000 - 60


@pytest.mark.parametrize("value", ["false", "0", "False", ""])
def test_every_form_of_false_does_not(bench, value):
    bench.submit("/v2/models/pulse/analyze", diarize=value)
    assert bench.credits() == 100_000 - 60


def test_another_diarize_is_a_validation_error(bench):
    answer = bench.post(diarize="perhaps")
    assert (answer.status_code, answer.json()["code"]) == (422, "VALIDATION_ERROR")
    assert answer.json()["detail"][0]["loc"] == ["body", "diarize"]


@pytest.mark.parametrize(
    ("audio", "status", "code"),
    [
        (wav(14.9), 400, "AUDIO_TOO_SHORT"),
        (wav(1200.1), 400, "AUDIO_TOO_LONG"),
        (wav(20, amplitude=0.0), 422, "AUDIO_POOR_QUALITY"),
        (b"no sound at all" * 100, 400, "UNSUPPORTED_FORMAT"),
        (b"RIFF" + struct.pack("<I", 100) + b"WAVE", 400, "UNSUPPORTED_FORMAT"),
        (b"", 400, "UNSUPPORTED_FORMAT"),
    ],
)
def test_audio_that_cannot_be_analysed_is_refused_at_once(bench, audio, status, code):
    answer = bench.post(audio=audio)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert bench.credits() == 100_000
    assert bench.get("/v2/jobs")["jobs"] == []
    assert bench.stored_audio() == []
    assert list(bench.service.context.storage.incoming.iterdir()) == []


def test_exactly_fifteen_seconds_are_enough(bench):
    assert bench.post(audio=wav(15)).status_code == 200


@pytest.mark.parametrize(
    ("file", "content_type"),
    [("speech_kathleen_20s.mp3", "audio/mpeg"), ("speech_kathleen_20s.m4a", "audio/mp4")],
)
def test_the_content_decides_the_content_type(bench, file, content_type):
    job = bench.post(audio=(TEST_AUDIO / file).read_bytes()).json()  # sent as audio/wav
    assert job["audio_content_type"] == content_type


def test_credits_come_before_the_look_at_the_audio(make_bench):
    bench = make_bench(credits=59)
    answer = bench.post(audio=b"broken")
    assert (answer.status_code, answer.json()["code"]) == (402, "INSUFFICIENT_CREDITS")
    assert bench.post("/v2/signs/stress/analyze").status_code == 200
    assert bench.credits() == 49


def test_concurrent_submits_never_overdraw(make_bench):
    bench = make_bench(credits=50)
    with ThreadPoolExecutor(6) as threads:
        codes = list(threads.map(lambda _: bench.post("/v2/signs/stress/analyze").status_code, range(10)))
    assert sorted(codes) == [200] * 5 + [402] * 5
    assert bench.credits() == 0
    assert len(bench.stored_audio()) == 5


def mint(bench):
    return bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()


def test_an_upload_is_analysed_as_often_as_wanted(bench):
    grant = mint(bench)
    put = bench.service.client().put(grant["upload_url"], content=wav(16), headers=grant["required_headers"])
    assert put.status_code == 200
    jobs = [bench.submit(audio=None, audio_upload_ref=grant["upload_ref"]) for _ in range(2)]
    assert bench.stored_audio() == sorted(jobs)


def test_an_upload_that_was_never_written_does_not_resolve(bench):
    answer = bench.post(audio=None, audio_upload_ref=mint(bench)["upload_ref"])
    assert answer.status_code == 400
    assert (answer.json()["code"], answer.json()["message"]) == ("INVALID_REQUEST", "Invalid audio_upload_ref")


def test_a_group_aware_submit_answers_its_group(bench):
    job = bench.post("/v2/models/pulse/groups/subj-1/analyze", recorded_at="2026-02-01T08:00:00+01:00").json()
    assert (job["group_id"], job["recorded_at"]) == ("subj-1", "2026-02-01T07:00:00.000000Z")
    later = bench.read(job["job_id"])
    assert "group_id" not in later
    assert "recorded_at" not in later
    [listed] = bench.get("/v2/groups/subj-1/jobs")["jobs"]
    assert (listed["job_id"], listed["recorded_at"]) == (job["job_id"], "2026-02-01T07:00:00.000000Z")


def test_without_a_capture_time_the_job_counts_as_recorded_when_created(bench):
    job = bench.post("/v2/signs/stress/groups/subj-1/analyze").json()
    assert job["recorded_at"] is None
    assert bench.get("/v2/groups/subj-1/jobs")["jobs"][0]["recorded_at"] == job["created_at"]


@pytest.mark.parametrize("kind", ["models/pulse", "signs/stress"])
def test_a_longitudinal_submit_costs_what_the_raw_one_does(bench, kind):
    before = bench.credits()
    bench.submit(f"/v2/{kind}/groups/g/analyze")
    raw = before - bench.credits()
    bench.submit(f"/v2/{kind}/groups/g/analyze/longitudinal")
    assert bench.credits() == before - 2 * raw


@pytest.mark.parametrize("group_id", ["-dash-first", "caf%C3%A9", "a%20b", "x" * 513])
def test_a_bad_group_id_in_an_analyze_path_is_refused(bench, group_id):
    answer = bench.post(f"/v2/models/pulse/groups/{group_id}/analyze")
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert bench.get("/v2/groups")["groups"] == []


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00Z", "2026-02-01"])
def test_a_capture_time_that_is_none_is_refused(bench, text):
    answer = bench.post("/v2/models/pulse/groups/g/analyze", recorded_at=text)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


def test_the_same_idempotency_key_gives_the_same_job_once_charged(bench):
    headers = {"Idempotency-Key": "take-1"}
    first = bench.post(headers=headers).json()
    bench.finish(first["job_id"])
    assert bench.post(headers=headers).json() == first
    assert bench.credits() == 100_000 - 60
    assert bench.get("/v2/jobs")["jobs"][0]["job_id"] == first["job_id"]
    assert len(bench.get("/v2/jobs")["jobs"]) == 1


def test_an_idempotency_key_is_the_accounts_own_and_lasts_a_day(bench):
    headers = {"Idempotency-Key": "take-1"}
    first = bench.submit(headers=headers)
    other = bench.service.client(bench.service.add_account())
    audio = {"audio": ("a.wav", wav(16), "audio/wav")}
    assert other.post("/v2/models/pulse/analyze", files=audio, headers=headers).json()["job_id"] != first
    bench.service.clock.advance(24 * 3600 + 1)
    assert bench.submit(headers=headers) != first


def test_a_repeat_into_a_group_answers_as_the_first_submit_did(bench):
    path, headers = "/v2/signs/stress/groups/g/analyze", {"Idempotency-Key": "take-1"}
    first = bench.post(path, headers=headers, recorded_at="2026-03-01T10:00:00+01:00").json()
    assert first["recorded_at"] == "2026-03-01T09:00:00.000000Z"
    bench.finish(first["job_id"])
    assert bench.post(path, headers=headers, recorded_at="2026-03-01T09:00:00Z").json() == first


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v2/signs/stress/groups/other/analyze", {}),
        ("/v2/signs/stress/groups/g/analyze/longitudinal", {}),
        ("/v2/signs/fatigue/groups/g/analyze", {}),
        ("/v2/conditions/acute-stress/groups/g/analyze", {}),
        ("/v2/signs/stress/analyze", {}),
        ("/v2/signs/stress/groups/g/analyze", {"diarize": "true"}),
    ],
)
def test_a_used_key_does_not_answer_another_request(bench, path, fields):
    headers = {"Idempotency-Key": "take-1"}
    bench.post("/v2/signs/stress/groups/g/analyze", headers=headers)
    credits = bench.credits()
    answer = bench.post(path, headers=headers, **fields)
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
    assert "new key" in answer.json()["message"]
    assert bench.credits() == credits
    assert [group["group_id"] for group in bench.get("/v2/groups")["groups"]] == ["g"]
    assert len(bench.get("/v2/jobs")["jobs"]) == 1


def test_racing_submits_with_one_key_make_one_job(bench):
    with ThreadPoolExecutor(4) as threads:
        jobs = set(threads.map(lambda _: bench.submit(headers={"Idempotency-Key": "k"}), range(4)))
    assert len(jobs) == 1
    assert bench.credits() == 100_000 - 60
    assert len(bench.stored_audio()) == 1


def wav_of(number: int) -> bytes:
    """A recording like every other one but for its samples: as long, as large, of the same kind."""
    return wav(16, amplitude=0.2 + number / 100)


def uploaded(bench, audio: bytes) -> str:
    grant = mint(bench)
    put = bench.service.client().put(grant["upload_url"], content=audio, headers=grant["required_headers"])
    assert put.status_code == 200
    return grant["upload_ref"]


@pytest.mark.parametrize("by_upload", [False, True])
def test_a_used_key_does_not_answer_another_recording_of_the_same_size(bench, by_upload):
    path, headers = "/v2/signs/stress/groups/g/analyze", {"Idempotency-Key": "take-1"}

    def post(audio):
        if by_upload:
            return bench.post(path, audio=None, headers=headers, audio_upload_ref=uploaded(bench, audio))
        return bench.post(path, audio=audio, headers=headers)

    assert len(wav_of(1)) == len(wav_of(2)) and wav_of(1) != wav_of(2)
    first = post(wav_of(1)).json()
    refused = post(wav_of(2))
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert post(wav_of(1)).json()["job_id"] == first["job_id"], "the same bytes, uploaded again, are the same recording"
    assert len(bench.get("/v2/jobs")["jobs"]) == 1


def test_a_repeat_whose_upload_is_gone_is_told_to_upload_again(bench):
    path, headers = "/v2/signs/stress/analyze", {"Idempotency-Key": "take-1"}
    first = bench.post(path, audio=wav_of(1), headers=headers).json()
    answer = bench.post(path, audio=None, headers=headers, audio_upload_ref="never-written")
    assert (answer.status_code, answer.json()["message"]) == (400, "Invalid audio_upload_ref")
    again = bench.post(path, audio=None, headers=headers, audio_upload_ref=uploaded(bench, wav_of(1)))
    assert again.json()["job_id"] == first["job_id"]


def test_a_key_of_an_older_release_without_a_digest_matches_as_before(bench):
    headers = {"Idempotency-Key": "take-1"}
    first = bench.post(audio=wav_of(1), headers=headers).json()
    with bench.service.context.database.writing() as connection:
        connection.execute(sa.text("UPDATE idempotency_keys SET recording_digest = NULL"))
    assert bench.post(audio=wav_of(2), headers=headers).json()["job_id"] == first["job_id"]


def test_racing_submits_with_one_key_and_two_recordings_make_one_job(bench):
    headers = {"Idempotency-Key": "k"}
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda number: bench.post(audio=wav_of(number % 2), headers=headers), range(4)))
    assert len({answer.json()["job_id"] for answer in answers if answer.status_code == 200}) == 1
    assert {answer.status_code for answer in answers} <= {200, 409}
    [job] = bench.get("/v2/jobs")["jobs"]
    winners = [number for number, answer in enumerate(answers) if answer.status_code == 200]
    assert {number % 2 for number in winners} != {0, 1}, job


@pytest.mark.parametrize(
    "path", ["/v2/jobs", "/v2/account/credits", "/v2/models", "/v2/jobs/none", "/v2/groups/none/jobs"]
)
def test_every_authenticated_answer_announces_the_fields_and_promises_no_keys(bench, path):
    headers = bench.client.get(path).headers
    assert headers["X-Vbdesk-Fields"] == FIELDS
    assert "X-Vbdesk-Idempotency" not in headers


def test_refused_and_limited_submits_announce_them_too_and_strangers_are_told_nothing(bench):
    assert bench.post(audio=b"no sound").headers["X-Vbdesk-Fields"] == FIELDS
    stranger = bench.client.get("/v2/jobs", headers={"X-API-Key": "wrong"})
    assert stranger.status_code == 401
    assert "X-Vbdesk-Fields" not in stranger.headers
    assert "X-Vbdesk-Fields" not in bench.client.get("/healthz").headers
    answers = [bench.client.get("/v2/models") for _ in range(1100)]
    limited = next(answer for answer in answers if answer.status_code == 429)
    assert limited.headers["X-Vbdesk-Fields"] == FIELDS
