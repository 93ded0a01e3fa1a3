"""The two fields of the language: read by every analyze route, kept with the job, and part of a key's request."""

import json

import pytest
import sqlalchemy as sa

from vbdesk.contract.jobs import JobType
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.jobs.submission import Submission
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.encrypted_text import PREFIX, data_keys_of

GROUP_ROUTE = "/v2/signs/stress/groups/g/analyze"
ROUTES = [
    "/v2/models/pulse/analyze",
    "/v2/signs/stress/analyze",
    "/v2/models/pulse/groups/g/analyze/longitudinal",
    GROUP_ROUTE,
    "/v2/use-cases/wellness/groups/g/analyze",
    "/v2/conditions/acute-stress/groups/g/analyze",
]
EARLIER = [("/v2/use-case/analyze", {"use_case": "wellness"}), ("/v2/condition/analyze", {"condition": "acute-stress"})]


def kept(bench, job_id):
    """What an executor is given."""
    with bench.service.context.database.writing() as connection:
        run = JobLifecycle.of(bench.service.context).start(connection, job_id, "bench", 120)
    return run.spoken


@pytest.mark.parametrize(("path", "fields"), [*((route, {}) for route in ROUTES), *EARLIER])
def test_every_route_keeps_the_language_with_the_job(bench, path, fields):
    job_id = bench.post(path, language="pt-br", second_language="true", **fields).json()["job_id"]
    assert kept(bench, job_id) == SpokenLanguage("pt-BR", second_language=True)


@pytest.mark.parametrize(
    ("fields", "spoken"),
    [
        ({}, SpokenLanguage()),
        ({"language": "", "second_language": " "}, SpokenLanguage()),
        ({"language": "und"}, SpokenLanguage()),
        ({"language": "EN-gb"}, SpokenLanguage("en-GB")),
        ({"second_language": "0"}, SpokenLanguage(None, second_language=False)),
    ],
)
def test_what_is_not_said_is_unknown(bench, fields, spoken):
    job_id = bench.post("/v2/signs/stress/analyze", **fields).json()["job_id"]
    with bench.service.context.database.reading() as connection:
        text = connection.execute(sa.select(jobs.c.spoken).where(jobs.c.job_id == job_id)).scalar_one()
    assert (text is None) is not spoken.is_known
    assert kept(bench, job_id) == spoken


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("language", "english"),
        ("language", "en_US"),
        ("language", "e"),
        ("language", "en-"),
        ("language", "zh-" + "x" * 40),
        ("language", "не"),
        ("second_language", "perhaps"),
    ],
)
@pytest.mark.parametrize("path", ["/v2/signs/stress/analyze", "/v2/conditions/acute-stress/groups/g/analyze"])
def test_another_value_is_a_validation_error_and_costs_nothing(bench, path, field, value):
    answer = bench.post(path, **{field: value})
    assert (answer.status_code, answer.json()["code"]) == (422, "VALIDATION_ERROR")
    assert answer.json()["detail"][0]["loc"] == ["body", field]
    assert bench.credits() == 100_000


def test_a_key_stands_for_the_language_too(bench):
    headers = {"Idempotency-Key": "take-1"}
    first = bench.post(GROUP_ROUTE, headers=headers, language="de", second_language="false").json()
    same = bench.post(GROUP_ROUTE, headers=headers, language="DE", second_language="0").json()
    assert same["job_id"] == first["job_id"]
    for fields in ({}, {"language": "de"}, {"language": "fr", "second_language": "false"}, {"second_language": "true"}):
        assert bench.post(GROUP_ROUTE, headers=headers, **fields).status_code == 409


@pytest.mark.parametrize(
    ("name", "diarize", "group", "digest"),
    [
        (("model", "pulse"), False, None, "4dcd0288341149ffb0966119a2a38131e77c0a14a7848e97513ec9b5bf2f0802"),
        (("sign", "stress"), True, "s-1", "2655caebd247c2e119c39e720558caef238649e218e92ec60c93f6feb134c45b"),
    ],
)
def test_a_request_without_a_language_has_the_digest_of_earlier_releases(name, diarize, group, digest):
    class Group:
        group_id, longitudinal = group, True

    target = JobTarget.of(JobType(name[0]), name[1])
    submission = Submission(None, target, diarize=diarize, group=Group() if group else None)
    assert submission.request == digest


def test_every_authenticated_answer_announces_the_fields(bench):
    assert bench.client.get("/v2/jobs").headers["X-Vbdesk-Fields"] == "language, second_language, client_ref"
    stranger = bench.client.get("/v2/jobs", headers={"X-API-Key": "wrong"})
    assert "X-Vbdesk-Fields" not in stranger.headers


def test_the_language_is_encrypted_where_the_service_encrypts(bench):
    job_id = bench.post("/v2/signs/stress/analyze", language="de").json()["job_id"]
    database = bench.service.context.database
    with database.reading() as connection:
        stored = connection.execute(sa.text("SELECT spoken FROM jobs WHERE job_id = :id"), {"id": job_id}).scalar_one()
    if data_keys_of(database.engine) is None:
        assert json.loads(stored) == {"language": "de"}
    else:
        assert stored.startswith(PREFIX)
