"""Submitting an analysis: form fields, the response, and no traces of a refused request."""

import uuid

import httpx
import pytest
from examination import (
    INTERNAL_SIGNS,
    JOB_FIELDS,
    MODELS,
    SIGNS,
    SPEECH,
    UNFAILED,
    Examined,
    accepted,
    assert_error,
    assert_validation_error,
    credits,
    instant,
    new_group,
    post_form,
    read,
    submit,
    upload,
)

WEBHOOK = {"webhook_url": "https://example.com/hook", "webhook_secret_key": "shh-very-secret"}


def assert_just_submitted(job: dict, job_type: str, name: str) -> None:
    assert (job["status"], job["completed_at"], job["result"]) == ("queued", None, None)
    assert (job["job_type"], job["api_version"]) == (job_type, "v2")
    assert job[f"{job_type}_name"] == name
    assert job.get("sign_name" if job_type == "model" else "model_name") is None
    assert (job["audio_content_type"], job["audio_size_bytes"]) == ("audio/flac", len(SPEECH))
    assert job["audio_duration_seconds"] == pytest.approx(20.5, abs=0.001)
    assert job["audio_sample_rate"] == 16_000
    assert uuid.UUID(job["job_id"]).version == 7
    instant(job["created_at"])


@pytest.mark.parametrize("name", MODELS)
def test_model_submit_answers_the_job_at_once(still: httpx.Client, name: str) -> None:
    job = submit(still, f"/v2/models/{name}/analyze")
    assert set(job) == JOB_FIELDS
    assert_just_submitted(job, "model", name)


@pytest.mark.parametrize("name", SIGNS)
def test_sign_submit_answers_the_job_at_once(still: httpx.Client, name: str) -> None:
    job = submit(still, f"/v2/signs/{name}/analyze")
    assert set(job) == JOB_FIELDS
    assert_just_submitted(job, "sign", name)


@pytest.mark.parametrize("target", ["models/pulse", "signs/stress"])
@pytest.mark.parametrize("form", ["analyze", "analyze/longitudinal"])
def test_group_submit_adds_group_id_and_recorded_at_to_its_answer_only(
    still: httpx.Client, target: str, form: str
) -> None:
    group = new_group()
    job = submit(still, f"/v2/{target}/groups/{group}/{form}", recorded_at="2026-02-03T10:00:00+02:00")
    assert set(job) == JOB_FIELDS | {"group_id", "recorded_at"}
    kind, name = target.split("/")
    assert_just_submitted(job, kind.removesuffix("s"), name)
    assert job["group_id"] == group
    assert instant(job["recorded_at"]) == instant("2026-02-03T08:00:00Z")
    assert set(read(still, f"/v2/jobs/{job['job_id']}")) == JOB_FIELDS


def test_recorded_at_of_the_answer_is_null_when_none_was_supplied(still: httpx.Client) -> None:
    assert submit(still, f"/v2/signs/stress/groups/{new_group()}/analyze")["recorded_at"] is None


@pytest.mark.parametrize(
    ("supplied", "meant"),
    [
        ("2026-02-03T08:00:00Z", "2026-02-03T08:00:00+00:00"),
        ("2026-02-03T08:00:00+02:00", "2026-02-03T06:00:00+00:00"),
        ("2026-02-03T08:00:00-05:30", "2026-02-03T13:30:00+00:00"),
        ("2026-02-03T08:00:00", "2026-02-03T08:00:00+00:00"),
        ("2026-02-03T08:00Z", "2026-02-03T08:00:00+00:00"),
        ("2026-02-03T08:00", "2026-02-03T08:00:00+00:00"),
        ("2026-02-03T08:00+02:00", "2026-02-03T06:00:00+00:00"),
        ("2026-02-03T08:00:00.125Z", "2026-02-03T08:00:00.125+00:00"),
        ("2026-02-03T08:00:00.123456", "2026-02-03T08:00:00.123456+00:00"),
        ("2031-01-01T00:00:00Z", "2031-01-01T00:00:00+00:00"),
        ("1999-12-31T23:59:59Z", "1999-12-31T23:59:59+00:00"),
    ],
)
def test_recorded_at_is_accepted_as_supplied_in_every_form(still: httpx.Client, supplied: str, meant: str) -> None:
    group = new_group()
    submit(still, f"/v2/signs/stress/groups/{group}/analyze", recorded_at=supplied)
    (item,) = read(still, f"/v2/groups/{group}/jobs")["jobs"]
    assert instant(item["recorded_at"]) == instant(meant)
    assert item["recorded_at"].endswith("Z")


@pytest.mark.parametrize("supplied", ["yesterday", "2026-13-01T00:00:00Z", "2026-02-30", "12"])
def test_recorded_at_that_does_not_parse_is_refused(still: httpx.Client, supplied: str) -> None:
    group = new_group()
    answer = post_form(still, f"/v2/signs/stress/groups/{group}/analyze", recorded_at=supplied)
    assert_error(answer, 400, "INVALID_REQUEST")
    assert_error(still.get(f"/v2/groups/{group}/jobs"), 404, "NOT_FOUND")


def test_timestamps_out_are_utc_with_microseconds(still: httpx.Client) -> None:
    created_at = submit(still, "/v2/signs/stress/analyze")["created_at"]
    assert created_at.endswith("Z") and len(created_at) == len("2026-01-01T00:00:00.000000Z")


@pytest.mark.parametrize("tail", ["analyze", "groups/g/analyze", "groups/g/analyze/longitudinal"])
@pytest.mark.parametrize("name", ["models/unknown", "signs/unknown", *(f"signs/{sign}" for sign in INTERNAL_SIGNS)])
def test_unknown_or_internal_name_is_not_found(still: httpx.Client, name: str, tail: str) -> None:
    assert_error(post_form(still, f"/v2/{name}/{tail}"), 404, "NOT_FOUND")


def test_both_audio_and_reference_are_refused(still: httpx.Client) -> None:
    reference = upload(still)
    answer = post_form(still, "/v2/signs/stress/analyze", SPEECH, audio_upload_ref=reference)
    assert_error(answer, 400, "INVALID_REQUEST")


def test_neither_audio_nor_reference_is_refused(still: httpx.Client) -> None:
    assert_error(post_form(still, "/v2/signs/stress/analyze", None), 400, "INVALID_REQUEST")


@pytest.mark.parametrize("field", WEBHOOK)
def test_one_webhook_field_alone_is_refused(still: httpx.Client, field: str) -> None:
    answer = post_form(still, "/v2/signs/stress/analyze", **{field: WEBHOOK[field]})
    assert_error(answer, 400, "INVALID_REQUEST")
    assert "secret" not in answer.text.replace("webhook_secret_key", "")


def test_both_webhook_fields_are_accepted(still: httpx.Client) -> None:
    submit(still, "/v2/signs/stress/analyze", **WEBHOOK)


@pytest.mark.parametrize("address", ["http://127.0.0.1/x", "http://10.0.0.8/"])
def test_private_webhook_address_is_refused(closed: Examined, address: str) -> None:
    assert_webhook_refused(closed.call(closed.account().headers), address)


@pytest.mark.parametrize("address", ["ftp://example.com/", "nonsense", "//x"])
def test_malformed_webhook_address_is_refused(still: httpx.Client, address: str) -> None:
    assert_webhook_refused(still, address)


def assert_webhook_refused(still: httpx.Client, address: str) -> None:
    fields = {"webhook_url": address, "webhook_secret_key": WEBHOOK["webhook_secret_key"]}
    answer = post_form(still, "/v2/signs/stress/analyze", **fields)
    assert_error(answer, 400, "INVALID_REQUEST")
    assert WEBHOOK["webhook_secret_key"] not in answer.text


@pytest.mark.parametrize("flag", ["true", "false", "True", "1", "0"])
def test_diarize_takes_a_boolean(still: httpx.Client, flag: str) -> None:
    before = credits(still)
    submit(still, "/v2/signs/stress/analyze", diarize=flag)
    assert before - credits(still) == (60 if flag.lower() in ("true", "1") else 10)


def test_diarize_that_is_no_boolean_is_refused(still: httpx.Client) -> None:
    assert_validation_error(post_form(still, "/v2/signs/stress/analyze", diarize="perhaps"))


def test_body_that_is_no_form_is_refused(still: httpx.Client) -> None:
    answer = still.post("/v2/signs/stress/analyze", json={"audio": "x"})
    assert answer.status_code in (400, 422)
    assert_error(answer, answer.status_code, answer.json()["code"])


def test_broken_multipart_is_refused(still: httpx.Client) -> None:
    for content_type in ("multipart/form-data", "multipart/form-data; boundary=abc"):
        answer = still.post(
            "/v2/signs/stress/analyze", content=b"--abd\r\nnope", headers={"content-type": content_type}
        )
        assert answer.status_code in (400, 422)
        assert_error(answer, answer.status_code, answer.json()["code"])


def test_audio_as_a_text_field_is_refused(still: httpx.Client) -> None:
    answer = still.post("/v2/signs/stress/analyze", files={"audio": (None, "not a file")})
    assert answer.status_code in (400, 422)
    assert_error(answer, answer.status_code, answer.json()["code"])


@pytest.mark.parametrize("group", ["-g", ".g", "_g", "g%20h", "g%C3%A9", "g%0A", "g" * 513, "g+h", "g@h"])
def test_invalid_group_id_of_a_group_submit_is_refused(still: httpx.Client, group: str) -> None:
    for form in ("analyze", "analyze/longitudinal"):
        answer = post_form(still, f"/v2/signs/stress/groups/{group}/{form}")
        assert_error(answer, 400, "INVALID_REQUEST")


def test_percent_encoded_and_longest_group_ids_name_the_group(still: httpx.Client) -> None:
    plain = f"{uuid.uuid4()}:a~b._c"
    encoded = plain.replace(":", "%3A").replace("~", "%7E").replace("-", "%2D")
    assert submit(still, f"/v2/signs/stress/groups/{encoded}/analyze")["group_id"] == plain
    assert read(still, f"/v2/groups/{plain}/jobs")["total_jobs"] == 1
    longest = f"{uuid.uuid4()}".ljust(512, "x")
    assert submit(still, f"/v2/signs/stress/groups/{longest}/analyze")["group_id"] == longest
    assert read(still, f"/v2/groups/{longest}/jobs")["total_jobs"] == 1


def test_group_submit_creates_the_group_and_a_second_joins_it(still: httpx.Client) -> None:
    group = new_group()
    first = submit(still, f"/v2/models/pulse/groups/{group}/analyze")["job_id"]
    second = submit(still, f"/v2/signs/stress/groups/{group}/analyze/longitudinal")["job_id"]
    listed = read(still, f"/v2/groups/{group}/jobs")
    assert {item["job_id"] for item in listed["jobs"]} == {first, second}
    assert {item["status"] for item in listed["jobs"]} <= set(UNFAILED)


def test_refused_submit_stores_and_charges_nothing(still: httpx.Client) -> None:
    group = new_group()
    submit(still, "/v2/signs/stress/analyze")
    before = credits(still), read(still, "/v2/jobs")["jobs"][0]["job_id"]
    path = f"/v2/signs/stress/groups/{group}/analyze"
    assert post_form(still, path, b"this is no recording").status_code == 400
    assert post_form(still, path, None).status_code == 400
    assert post_form(still, path, diarize="perhaps").status_code == 422
    assert_error(still.get(f"/v2/groups/{group}/jobs"), 404, "NOT_FOUND")
    assert (credits(still), read(still, "/v2/jobs")["jobs"][0]["job_id"]) == before


def test_idempotency_key_used_for_one_group_makes_no_claim_of_another(still: httpx.Client) -> None:
    first, second, headers = new_group(), new_group(), {"Idempotency-Key": str(uuid.uuid4())}
    files = {"audio": SPEECH}
    job = accepted(still.post(f"/v2/signs/stress/groups/{first}/analyze", files=files, headers=headers))
    again = accepted(still.post(f"/v2/signs/stress/groups/{first}/analyze", files=files, headers=headers))
    assert again["job_id"] == job["job_id"]
    before = credits(still)
    answer = still.post(f"/v2/signs/stress/groups/{second}/analyze", files=files, headers=headers)
    assert_error(answer, 409, "CONFLICT")
    assert_error(still.get(f"/v2/groups/{second}/jobs"), 404, "NOT_FOUND")
    assert credits(still) == before


def test_idempotency_key_gives_the_first_job_again_and_charges_once(still: httpx.Client) -> None:
    before, headers = credits(still), {"Idempotency-Key": str(uuid.uuid4())}
    answers = [
        accepted(still.post("/v2/signs/stress/analyze", files={"audio": SPEECH}, headers=headers)) for _ in range(2)
    ]
    assert answers[0]["job_id"] == answers[1]["job_id"]
    assert before - credits(still) == 10
