"""The earlier v2 form: use cases and conditions."""

import pytest
from pydantic import TypeAdapter

from vbdesk.contract.catalog import CONDITION_SIGNS, MODEL_SIGNS, USE_CASE_MODELS
from vbdesk.contract.jobs import GroupJob, Job

USE_CASE, CONDITION = "/v2/use-case/analyze", "/v2/condition/analyze"
FORMS = [(USE_CASE, "use_case", "wellness"), (CONDITION, "condition", "anxiety")]
GROUP_ROUTES = ["/v2/use-cases/cognitive/groups/subj-1/analyze", "/v2/conditions/depression/groups/subj-1/analyze"]


def test_every_use_case_gives_the_signals_of_its_model(bench):
    for use_case, model in USE_CASE_MODELS.items():
        job_id = bench.job(USE_CASE, use_case=use_case)["job_id"]
        bench.finish(job_id)
        result = bench.get(f"/v2/jobs/{job_id}")["result"]
        assert [signal["name"] for signal in result["signals"]] == list(MODEL_SIGNS[model]), use_case
        assert result.keys() == {"summary", "signals", "audio_quality", "extended_metrics"}


def test_every_condition_gives_one_signal_and_no_summary(bench):
    for condition, sign in CONDITION_SIGNS.items():
        job_id = bench.job(CONDITION, condition=condition)["job_id"]
        bench.finish(job_id)
        result = bench.get(f"/v2/jobs/{job_id}")["result"]
        assert result.keys() == {"signal", "audio_quality"}
        assert result["signal"]["name"] == sign, condition


@pytest.mark.parametrize(("path", "field", "name"), FORMS)
def test_the_submit_answers_a_running_job_of_its_kind(bench, path, field, name):
    job = bench.job(path, **{field: name})
    assert (job["status"], job["result"], job["completed_at"]) == ("running", None, None)
    assert (job["job_type"], job["api_version"], job[field]) == (field, "v2", name)
    assert (job["model_name"], job["sign_name"]) == (None, None)
    assert ("condition" if field == "use_case" else "use_case") not in job
    assert job["audio_content_type"] == "audio/flac"
    assert (job["audio_sample_rate"], job["audio_duration_seconds"]) == (16000, pytest.approx(20, abs=5))
    assert bench.service.queue.job_ids[-1] == job["job_id"]
    TypeAdapter(Job).validate_python(job)


@pytest.mark.parametrize(("path", "field", "name"), FORMS)
def test_a_job_of_the_earlier_form_is_never_shown_as_queued(bench, path, field, name):
    job = bench.job(path, **{field: name})
    assert bench.get(f"/v2/jobs/{job['job_id']}") == job
    assert bench.get("/v2/jobs")["jobs"][0]["status"] == "running"
    bench.start(job["job_id"])
    assert bench.get(f"/v2/jobs/{job['job_id']}") == job


@pytest.mark.parametrize(("end", "status"), [("finish", "done"), ("fail", "failed"), ("time_out", "timed-out")])
def test_afterwards_it_has_the_same_states_as_v2(bench, end, status):
    job_id = bench.job(CONDITION, condition="fatigue")["job_id"]
    getattr(bench, end)(job_id)
    job = bench.get(f"/v2/jobs/{job_id}")
    assert job["status"] == status
    assert (job["result"] is not None) == (status == "done")
    assert (job["completed_at"] is None) == (status == "timed-out")


def test_signals_carry_model_id_beside_name(bench):
    bundle = bench.job(USE_CASE, use_case="womens-health")["job_id"]
    single = bench.job(CONDITION, condition="anemia")["job_id"]
    bench.finish(bundle)
    bench.finish(single)
    signals = bench.get(f"/v2/jobs/{bundle}")["result"]["signals"]
    assert [signal["model_id"] for signal in signals] == [signal["name"] for signal in signals]
    assert bench.get(f"/v2/jobs/{single}")["result"]["signal"]["model_id"] == "iron-deficiency"


def test_signals_of_current_jobs_carry_no_model_id(bench):
    job_id = bench.job("/v2/models/aria/analyze")["job_id"]
    bench.finish(job_id)
    assert all("model_id" not in signal for signal in bench.get(f"/v2/jobs/{job_id}")["result"]["signals"])


def test_the_reading_is_the_one_that_the_model_gives(bench):
    old, new = bench.job(USE_CASE, use_case="wellness")["job_id"], bench.job("/v2/models/pulse/analyze")["job_id"]
    bench.finish(old)
    bench.finish(new)
    results = [bench.get(f"/v2/jobs/{job_id}")["result"] for job_id in (old, new)]
    for signal in results[0]["signals"]:
        del signal["model_id"]
    assert results[0] == results[1]


@pytest.mark.parametrize(("path", "field"), [(USE_CASE, "use_case"), (CONDITION, "condition")])
def test_diarized_results_name_model_id_for_every_speaker(bench, path, field):
    job_id = bench.job(path, diarize="true", **{field: {"use_case": "cognitive", "condition": "anxiety"}[field]})[
        "job_id"
    ]
    bench.finish(job_id)
    speakers = bench.get(f"/v2/jobs/{job_id}")["result"]["speakers"]
    assert len(speakers) == 2
    for speaker in speakers:
        for signal in speaker.get("signals") or [speaker["signal"]]:
            assert signal["model_id"] == signal["name"]


def test_an_unrecognised_use_case_is_invalid_use_case(bench):
    for name in ("nothing", "pulse", "Wellness", "anxiety", "wellness; drop", "caf\u00e9"):
        answer = bench.post(USE_CASE, use_case=name)
        assert (answer.status_code, answer.json()["code"], answer.json()["status"]) == (400, "INVALID_USE_CASE", 400)
        assert "wellness, cognitive" in answer.json()["message"]
    bench.assert_nothing_happened()


def test_an_unrecognised_condition_is_an_invalid_request(bench):
    for name in ("nothing", "mood-disruption", "Anxiety", "wellness"):
        answer = bench.post(CONDITION, condition=name)
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
        assert "depression, anxiety" in answer.json()["message"]
    bench.assert_nothing_happened()


@pytest.mark.parametrize(
    ("path", "field", "other"), [(USE_CASE, "use_case", "condition"), (CONDITION, "condition", "use_case")]
)
def test_the_name_is_required(bench, path, field, other):
    for fields in ({}, {field: ""}, {field: "  "}, {other: "anxiety"}):
        answer = bench.post(path, **fields)
        assert (answer.status_code, answer.json()["code"]) == (422, "VALIDATION_ERROR")
        assert answer.json()["detail"][0]["loc"] == ["body", field]
    bench.assert_nothing_happened()


def test_the_name_may_come_behind_the_audio(bench, speech_file):
    parts = [("audio", ("a.flac", speech_file.read_bytes(), "audio/flac")), ("use_case", (None, "recovery"))]
    assert bench.client.post(USE_CASE, files=parts).json()["use_case"] == "recovery"


@pytest.mark.parametrize(("path", "field", "name"), FORMS)
def test_the_audio_comes_in_exactly_one_way(bench, path, field, name):
    for answer in (
        bench.post(path, audio=None, **{field: name}),
        bench.post(path, audio_upload_ref="some", **{field: name}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    bench.assert_nothing_happened()


def test_several_conditions_on_one_upload_are_independent_jobs(bench, speech_file):
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/flac"}).json()
    audio = speech_file.read_bytes()
    bench.service.client().put(grant["upload_url"], content=audio, headers=grant["required_headers"])
    jobs = [
        bench.job(CONDITION, audio=None, audio_upload_ref=grant["upload_ref"], condition=name)
        for name in ("depression", "anxiety")
    ]
    bench.finish(jobs[0]["job_id"])
    assert [bench.get(f"/v2/jobs/{job['job_id']}")["status"] for job in jobs] == ["done", "running"]


def test_an_upload_reference_that_does_not_resolve_is_refused(bench):
    answer = bench.post(CONDITION, audio=None, condition="anxiety", audio_upload_ref="nothing")
    assert answer.status_code == 400
    assert answer.json() == {"code": "INVALID_REQUEST", "message": "Invalid audio_upload_ref", "status": 400}


@pytest.mark.parametrize("half", ["webhook_url", "webhook_secret_key"])
def test_half_a_webhook_is_refused(bench, half):
    answer = bench.post(USE_CASE, use_case="wellness", **{half: "https://93.184.216.34/"})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


def test_a_diarize_that_is_no_boolean_is_a_validation_error(bench):
    answer = bench.post(USE_CASE, use_case="wellness", diarize="perhaps")
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "diarize"])


@pytest.mark.parametrize("path", [USE_CASE, CONDITION])
def test_a_body_that_is_not_multipart_is_refused(bench, path):
    answer = bench.client.post(path, json={"use_case": "wellness", "condition": "anxiety"})
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize(("path", "field", "name"), FORMS)
@pytest.mark.parametrize(
    ("audio", "status", "code"), [(b"", 400, "UNSUPPORTED_FORMAT"), (b"no sound" * 500, 400, "UNSUPPORTED_FORMAT")]
)
def test_audio_that_cannot_be_read_is_refused(bench, path, field, name, audio, status, code):
    answer = bench.post(path, audio=audio, **{field: name})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    bench.assert_nothing_happened()


def test_every_format_of_v2_is_taken_also_m4a(bench, speech_file):
    for ending in ("flac", "mp3", "m4a"):
        audio = (speech_file.parent / f"speech_kathleen_20s.{ending}").read_bytes()
        assert bench.post(USE_CASE, audio=audio, use_case="wellness").status_code == 200


def test_a_use_case_costs_what_its_model_does_and_a_condition_ten(bench):
    prices = [
        (USE_CASE, {"use_case": "wellness"}, 60),
        (USE_CASE, {"use_case": "performance"}, 70),
        (USE_CASE, {"use_case": "respiratory"}, 20),
        (USE_CASE, {"use_case": "cognitive", "diarize": "true"}, 60),
        (CONDITION, {"condition": "depression"}, 10),
        (CONDITION, {"condition": "depression", "diarize": "true"}, 60),
        ("/v2/use-cases/metabolic/groups/g/analyze", {}, 60),
        ("/v2/conditions/adhd/groups/g/analyze", {"diarize": "1"}, 60),
    ]
    balance = bench.credits()
    for path, fields, price in prices:
        bench.job(path, **fields)
        balance -= price
        assert bench.credits() == balance, (path, fields)


@pytest.mark.parametrize(("path", "field", "name"), FORMS)
def test_without_credits_nothing_is_taken(make_bench, path, field, name):
    bench = make_bench(credits=9)
    answer = bench.post(path, **{field: name})
    assert (answer.status_code, answer.json()["code"]) == (402, "INSUFFICIENT_CREDITS")
    assert bench.kept_files() == []


@pytest.mark.parametrize("path", GROUP_ROUTES)
def test_a_group_route_creates_the_group_and_answers_a_running_job_with_it(bench, path):
    job = bench.job(path, recorded_at="2026-02-01T08:00:00+01:00")
    assert (job["group_id"], job["recorded_at"], job["status"]) == ("subj-1", "2026-02-01T07:00:00.000000Z", "running")
    TypeAdapter(GroupJob).validate_python(job)
    assert bench.get("/v2/groups")["groups"][0]["job_count"] == 1
    later = bench.get(f"/v2/jobs/{job['job_id']}")
    assert later == {name: value for name, value in job.items() if name not in ("group_id", "recorded_at")}


def test_group_lists_name_use_case_and_condition(bench):
    for path in GROUP_ROUTES:
        bench.finish(bench.job(path)["job_id"])
        bench.service.clock.advance(1)
    listed = bench.get("/v2/groups/subj-1/jobs", status="done")["jobs"]
    assert [(job["use_case"], job["condition"]) for job in listed] == [("cognitive", None), (None, "depression")]
    assert [(job["model_name"], job["sign_name"]) for job in listed] == [(None, None), (None, None)]


def test_membership_is_recorded_queued_and_moves_to_done(bench):
    job_id = bench.job(GROUP_ROUTES[0])["job_id"]
    assert [job["status"] for job in bench.get("/v2/groups/subj-1/jobs", status="queued")["jobs"]] == ["queued"]
    bench.finish(job_id)
    assert [job["status"] for job in bench.get("/v2/groups/subj-1/jobs")["jobs"]] == ["done"]


@pytest.mark.parametrize("path", GROUP_ROUTES)
def test_a_group_result_is_of_the_recording_alone(bench, path):
    job_ids = [bench.job(path)["job_id"] for _ in range(2)]
    for job_id in job_ids:
        bench.finish(job_id)
    result = bench.get(f"/v2/jobs/{job_ids[1]}")["result"]
    for signal in result.get("signals") or [result["signal"]]:
        assert "baseline_score" not in signal
        assert signal["model_id"] == signal["name"]


def test_jobs_of_the_earlier_form_feed_the_groups_history(bench):
    for path in GROUP_ROUTES:
        bench.finish(bench.job(path)["job_id"])
    trajectory = bench.get("/v2/groups/subj-1/longitudinal")
    assert trajectory["done_job_count"] == 2
    assert {signal["name"] for point in trajectory["data_points"] for signal in point["signals"]} == {
        "cognitive-impairment",
        "mood-disruption",
    }


def test_a_group_route_does_not_find_an_unknown_name(bench):
    use_cases = [f"use-cases/{name}/groups/g" for name in ("nothing", "pulse", "depression")]
    conditions = [f"conditions/{name}/groups/g" for name in ("nothing", "wellness", "mood-disruption")]
    for path in (*use_cases, *conditions, "conditions/nothing/groups/-bad"):
        answer = bench.post(f"/v2/{path}/analyze")
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert bench.get("/v2/groups")["groups"] == []
    bench.assert_nothing_happened()


@pytest.mark.parametrize("kind", ["use-cases/wellness", "conditions/anxiety"])
def test_a_bad_group_id_is_refused(bench, kind):
    for group_id in ("-dash-first", "caf%C3%A9", "a%20b", "x" * 513):
        answer = bench.post(f"/v2/{kind}/groups/{group_id}/analyze")
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("path", GROUP_ROUTES)
def test_a_capture_time_that_is_none_is_refused(bench, path):
    answer = bench.post(path, recorded_at="yesterday")
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert bench.get("/v2/groups")["groups"] == []


@pytest.mark.parametrize("path", ["/v2/use-cases/wellness", "/v2/conditions/anxiety"])
def test_there_is_no_longitudinal_route_for_them(bench, path):
    assert bench.post(f"{path}/groups/g/analyze/longitudinal").status_code == 404


@pytest.mark.parametrize("path", [USE_CASE, CONDITION, *GROUP_ROUTES])
def test_the_routes_need_an_api_key(bench, path):
    stranger = bench.service.client()
    for headers in ({}, bench.account.v1_headers, bench.account.headers | {"X-API-Key": "wrong"}):
        answer = stranger.post(path, files={"use_case": (None, "wellness")}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize("path", [USE_CASE, CONDITION, *GROUP_ROUTES])
def test_the_routes_count_as_analyze(make_bench, path):
    bench = make_bench(rate_limits={"enterprise": {"analyze": 1}})
    bench.post(path, audio=None)  # refused, and counted all the same
    answer = bench.post(path)
    assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert answer.headers["retry-after"] == "60"
    bench.get("/v2/jobs")


def test_a_repeat_with_the_same_idempotency_key_is_the_same_job(bench):
    headers = {"Idempotency-Key": "take-1"}
    first = bench.post(USE_CASE, headers=headers, use_case="wellness").json()
    bench.finish(first["job_id"])
    assert bench.post(USE_CASE, headers=headers, use_case="wellness").json() == first
    assert bench.credits() == 100_000 - 60
