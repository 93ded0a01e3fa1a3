"""v1: its routes, its jobs, its errors."""

import uuid

import pytest
from pydantic import TypeAdapter

from vbdesk.contract.catalog import MODEL_SIGNS
from vbdesk.contract.legacy import V1Job
from vbdesk.contract.timestamps import format_timestamp

CONDITIONS = {"wellness": "pulse", "cognitive": "clarity", "anemia": "aria"}
FORM_ROUTES = ["analyze-audio", "analyze-and-diarize-audio"]
URL_ROUTES = ["analyze-audio-url", "analyze-and-diarize-audio-url"]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_submit_answers_the_job_id_alone(bench, condition):
    answer = bench.post_v1(f"{condition}/analyze-audio")
    assert answer.status_code == 200
    assert answer.json().keys() == {"job_id"}
    assert bench.service.queue.job_ids[-1] == answer.json()["job_id"]


def test_a_done_job_has_exactly_the_fields_of_v1(bench):
    job_id = bench.job_v1()
    bench.finish(job_id)
    job = bench.get_v1(f"account/jobs/{job_id}")
    assert list(job) == list(V1Job.model_fields)
    assert (job["job_id"], job["status"], job["pipeline_type"]) == (job_id, "done", "wellness")
    assert (job["created_at"], job["completed_at"]) == (format_timestamp(bench.service.clock.now()),) * 2
    assert (job["audio_content_type"], job["audio_size_bytes"] > 0) == ("audio/flac", True)
    assert job["audio_duration_seconds"] >= 15
    TypeAdapter(V1Job).validate_python(job)


@pytest.mark.parametrize(("condition", "model"), CONDITIONS.items())
def test_the_result_has_the_earlier_forms_shape_of_the_mapped_use_case(bench, condition, model):
    job_id = bench.job_v1(f"{condition}/analyze-audio")
    bench.finish(job_id)
    result = bench.get_v1(f"account/jobs/{job_id}")["result"]
    assert result.keys() == {"summary", "signals", "audio_quality", "extended_metrics"}
    assert [signal["name"] for signal in result["signals"]] == list(MODEL_SIGNS[model])
    assert [signal["model_id"] for signal in result["signals"]] == list(MODEL_SIGNS[model])


def test_a_job_is_pending_until_it_is_terminal(bench):
    job_id = bench.job_v1()
    for _ in ("queued", "running"):
        job = bench.get_v1(f"account/jobs/{job_id}")
        assert (job["status"], job["completed_at"], job["result"]) == ("pending", None, None)
        assert bench.get_v1("account/jobs")["jobs"][0]["status"] == "pending"
        bench.start(job_id)


@pytest.mark.parametrize(("end", "status"), [("fail", "failed"), ("time_out", "timed-out")])
def test_a_job_without_success_says_so_with_200(bench, end, status):
    job_id = bench.job_v1()
    getattr(bench, end)(job_id)
    job = bench.get_v1(f"account/jobs/{job_id}")
    assert (job["status"], job["result"]) == (status, None)
    assert bench.get_v1("account/jobs")["jobs"] == [
        {"job_id": job_id, "status": status, "created_at": job["created_at"]}
    ]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_diarized_job_reads_each_speaker_and_says_so(bench, condition):
    job_id = bench.job_v1(f"{condition}/analyze-and-diarize-audio")
    bench.finish(job_id)
    job = bench.get_v1(f"account/jobs/{job_id}")
    assert job["pipeline_type"] == f"{condition}-diarized"
    speakers = job["result"]["speakers"]
    assert [speaker["speaker"] for speaker in speakers] == ["speaker_1", "speaker_2"]
    assert all(signal["model_id"] == signal["name"] for speaker in speakers for signal in speaker["signals"])


def test_v1_costs_what_its_mapped_use_case_does_and_fifty_more_diarized(bench):
    balance = bench.credits()
    for path, price in [
        ("wellness/analyze-audio", 60),
        ("cognitive/analyze-audio", 10),
        ("anemia/analyze-audio", 70),
        ("anemia/analyze-and-diarize-audio", 120),
    ]:
        bench.job_v1(path)
        balance -= price
        assert bench.get_v1("account/credits") == {"credits": balance}


def test_without_credits_an_analysis_is_refused(make_bench):
    bench = make_bench(credits=59)
    answer = bench.post_v1("wellness/analyze-audio")
    assert (answer.status_code, answer.json()["code"]) == (402, "INSUFFICIENT_CREDITS")
    assert bench.post_v1("cognitive/analyze-audio").status_code == 200


def test_a_job_id_that_is_no_uuid_is_a_validation_error(bench):
    for text in ("nothing", "123", "0199-", "%20", f"{uuid.uuid4()}x"):
        answer = bench.v1.get(f"/api/v1/account/jobs/{text}")
        assert (answer.status_code, answer.json()["code"]) == (422, "VALIDATION_ERROR")
        assert answer.json()["detail"][0]["loc"] == ["path", "job_id"]


def test_an_unknown_or_foreign_job_is_not_found(bench):
    job_id = bench.job_v1()
    stranger = bench.service.client()
    stranger.headers.update(bench.service.add_account().v1_headers)
    for client, wanted in ((bench.v1, uuid.uuid4()), (stranger, job_id)):
        answer = client.get(f"/api/v1/account/jobs/{wanted}")
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert stranger.get("/api/v1/account/jobs").json()["jobs"] == []


def test_jobs_are_listed_newest_first_in_pages(make_bench):
    bench = make_bench(page_size=2)
    assert bench.get_v1("account/jobs") == {"jobs": [], "page": 0, "total_pages": 1}
    jobs = []
    for _ in range(3):
        jobs.insert(0, bench.job_v1("cognitive/analyze-audio"))
        bench.service.clock.advance(1)
    pages = [bench.get_v1("account/jobs", page=page) for page in range(3)]
    assert [item["job_id"] for page in pages for item in page["jobs"]] == jobs
    assert [(page["page"], page["total_pages"]) for page in pages] == [(0, 2), (1, 2), (2, 2)]
    for page in ("-1", "one"):
        assert bench.v1.get("/api/v1/account/jobs", params={"page": page}).status_code == 422


@pytest.mark.parametrize("route", [*FORM_ROUTES, *URL_ROUTES])
def test_an_unknown_condition_is_not_found_before_the_body_is_read(bench, route):
    for condition in ("nothing", "behavioral-health", "Wellness", "account"):
        answer = bench.v1.post(f"/api/v1/{condition}/{route}", content=b"{")
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("route", FORM_ROUTES)
def test_the_audio_is_required(bench, route):
    for fields in ({}, {"audio_upload_ref": "some"}):
        answer = bench.post_v1(f"wellness/{route}", audio=None, **fields)
        assert (answer.status_code, answer.json()["code"]) == (422, "VALIDATION_ERROR")
        assert answer.json()["detail"][0]["loc"] == ["body", "audio"]
    bench.assert_nothing_happened()


@pytest.mark.parametrize("route", FORM_ROUTES)
def test_a_body_that_is_not_multipart_is_refused(bench, route):
    for body in ({"json": {"audio": "x"}}, {"data": {"audio": "x"}}, {"content": b""}):
        answer = bench.v1.post(f"/api/v1/wellness/{route}", **body)
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


def test_audio_that_cannot_be_analysed_is_refused(bench, speech_file):
    for audio in (b"", b"not audio" * 1000, speech_file.read_bytes()[:5000]):
        answer = bench.post_v1("wellness/analyze-audio", audio=audio)
        assert (answer.status_code, answer.json()["code"]) == (400, "UNSUPPORTED_FORMAT")
    bench.assert_nothing_happened()


def test_audio_past_the_size_limit_is_refused(bench):
    answer = bench.post_v1("wellness/analyze-audio", audio=bytes(32 * 1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "AUDIO_TOO_LARGE")
    bench.assert_nothing_happened()


def test_fields_of_v2_mean_nothing_to_v1(bench):
    answer = bench.post_v1("cognitive/analyze-audio", diarize="true", webhook_url="nonsense", use_case="nothing")
    assert answer.status_code == 200
    assert bench.credits() == 100_000 - 10


def test_a_form_may_say_the_language(bench):
    assert bench.post_v1("cognitive/analyze-audio", language="de", second_language="true").status_code == 200
    answer = bench.post_v1("cognitive/analyze-audio", language="english")
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "language"])


def test_a_repeat_with_the_same_idempotency_key_is_the_same_job(bench):
    first, again = (bench.post_v1("wellness/analyze-audio", headers={"Idempotency-Key": "a"}) for _ in range(2))
    assert first.json() == again.json()
    assert bench.credits() == 100_000 - 60


ALL_ROUTES = [
    ("GET", "account/credits"),
    ("GET", "account/jobs"),
    ("GET", f"account/jobs/{uuid.UUID(int=0)}"),
    ("POST", "account/webhook"),
    *(("POST", f"cognitive/{route}") for route in (*FORM_ROUTES, *URL_ROUTES)),
]


def test_every_route_needs_the_secret_key(bench):
    stranger = bench.service.client()
    for method, path in ALL_ROUTES:
        for headers in ({}, bench.account.headers, bench.account.v1_headers | {"X-Secret-Key": "wrong"}):
            answer = stranger.request(method, f"/api/v1/{path}", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED"), path


def test_the_secret_key_opens_no_v2_route(bench):
    assert bench.v1.get("/v2/account/credits").status_code == 401


@pytest.mark.parametrize(("method", "path"), ALL_ROUTES)
def test_the_four_analyze_routes_count_as_analyze_and_everything_else_as_general(make_bench, method, path):
    bench = make_bench(rate_limits={"enterprise": {"analyze": 1, "general": 2, "polling": 1}})
    bucket = "analyze" if "/analyze" in path else "general"
    answers = [bench.v1.request(method, f"/api/v1/{path}") for _ in range({"analyze": 2, "general": 3}[bucket])]
    assert [answer.status_code == 429 for answer in answers] == [False] * (len(answers) - 1) + [True]
    assert answers[-1].headers["retry-after"] == "60"
    other = "/v2/audio/uploads" if bucket == "general" else "/v2/groups"
    assert bench.client.post(other, json={}).status_code == 422


def test_versions_share_the_accounts_windows(make_bench):
    bench = make_bench(rate_limits={"enterprise": {"general": 1}})
    bench.get("/v2/models")
    assert bench.v1.get("/api/v1/account/credits").status_code == 429


def test_the_account_webhook_is_set_up_by_v1_too(make_bench):
    bench = make_bench(allow_private_addresses=True)
    answer = bench.v1.post("/api/v1/account/webhook", json={"url": "http://127.0.0.1:9/", "secret_key": "s3cret"})
    assert answer.status_code == 200
    assert answer.json().keys() == {"success", "message"}
    job_id = bench.job_v1()
    bench.finish(job_id)
    [delivery] = bench.deliveries()
    assert (delivery.job_id, delivery.url) == (job_id, "http://127.0.0.1:9/")


def test_a_webhook_that_does_not_fit_is_a_validation_error_with_detail(bench):
    for body in (
        {},
        {"url": "https://93.184.216.34/"},
        {"secret_key": "s3cret"},
        {"url": "nonsense", "secret_key": "s3cret"},
        {"url": "http://127.0.0.1/", "secret_key": "s3cret"},
    ):
        answer = bench.v1.post("/api/v1/account/webhook", json=body)
        assert answer.status_code == 422
        assert answer.json()["detail"][0].keys() == {"loc", "msg", "type"}
        assert "s3cret" not in answer.text


def test_an_unknown_path_or_method_answers_in_the_error_shape(bench):
    for method, path, status in (("GET", "account/nothing", 404), ("DELETE", "account/jobs", 405)):
        answer = bench.v1.request(method, f"/api/v1/{path}")
        assert (answer.status_code, answer.json().keys()) == (status, {"code", "message", "status"})
