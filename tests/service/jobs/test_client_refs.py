"""`client_ref`: a submission is accepted and charged once, for as long as its job lives, and afterwards never again.

What would double or pay twice: a bundle that is carried twice, a restored copy of a library, a person who sends again,
a gateway that drops request headers, and two computers at the same moment. All of them repeat one reference.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_audio import noise_wav

from vbdesk.service.composition.eraser import open_eraser
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.secret_box import open_secrets
from vbdesk.service.maintenance.resealing import forget_sealed, reseal

REF, ANOTHER = "take-0001-attempt-1", "take-0001-attempt-2"
PATH = "/v2/signs/stress/groups/g/analyze"
AT = "2026-03-01T09:00:00.000001Z"
AUDIO, OTHER_AUDIO = noise_wav(15.5), noise_wav(15.5, seed=2)
ROUTES = [
    "/v2/models/pulse/analyze",
    "/v2/signs/stress/analyze",
    "/v2/models/pulse/groups/g/analyze",
    "/v2/signs/stress/groups/g/analyze",
    "/v2/models/pulse/groups/g/analyze/longitudinal",
    "/v2/signs/stress/groups/g/analyze/longitudinal",
]


def upload(bench, audio):
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    put = bench.service.client().put(grant["upload_url"], content=audio, headers=grant["required_headers"])
    assert put.status_code == 200
    return grant["upload_ref"]


def jobs(bench):
    return [job["job_id"] for job in bench.get("/v2/jobs")["jobs"]]


@pytest.fixture
def eraser(bench):
    context = bench.service.context
    return open_eraser(context.settings, context.database, context.clock)


@pytest.mark.parametrize("path", ROUTES)
def test_a_repeat_a_year_later_gets_the_first_answer_and_costs_nothing(bench, path):
    first = bench.post(path, client_ref=REF).json()
    credits = bench.credits()
    bench.finish(first["job_id"])
    bench.service.clock.advance(370 * 86_400)
    assert bench.post(path, client_ref=REF).json() == first
    assert (bench.credits(), jobs(bench)) == (credits, [first["job_id"]])


def test_a_repeat_may_upload_again_and_may_name_an_upload_that_is_gone(bench):
    old, asked = upload(bench, AUDIO), {"client_ref": REF, "recorded_at": AT}
    first = bench.post(PATH, None, **asked, audio_upload_ref=old).json()
    assert bench.post(PATH, None, **asked, audio_upload_ref=upload(bench, AUDIO)).json() == first
    assert bench.post(PATH, None, **asked, audio_upload_ref=upload(bench, OTHER_AUDIO)).status_code == 409
    bench.service.clock.advance(3 * 86_400)
    assert bench.post(PATH, None, **asked, audio_upload_ref=old).json() == first
    assert bench.post(PATH, AUDIO, **asked).json() == first
    assert jobs(bench) == [first["job_id"]]


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        (PATH, {"audio": OTHER_AUDIO}),
        (PATH, {"diarize": "true"}),
        (PATH, {"language": "de"}),
        (PATH, {"recorded_at": "2026-03-01T09:00:00.000002Z"}),
        (PATH, {"recorded_at": ""}),
        (PATH, {"webhook_url": "https://example.org/other"}),
        (PATH, {"webhook_url": "", "webhook_secret_key": ""}),
        (f"{PATH}/longitudinal", {}),
        ("/v2/signs/stress/groups/other/analyze", {}),
        ("/v2/signs/stress/analyze", {}),
        ("/v2/signs/fatigue/groups/g/analyze", {}),
        ("/v2/models/pulse/groups/g/analyze", {}),
    ],
)
@pytest.mark.parametrize("named", ["reference", "key"])
def test_a_used_name_answers_nothing_else(bench, path, changed, named):
    asked = {"recorded_at": AT, "webhook_url": "https://example.org/x", "webhook_secret_key": "s"}
    asked |= {"client_ref": REF} if named == "reference" else {"headers": {"Idempotency-Key": "k"}}
    first = bench.post(PATH, **asked).json()
    credits = bench.credits()
    answer = bench.post(path, **{**asked, **changed})
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
    assert (bench.credits(), jobs(bench)) == (credits, [first["job_id"]])
    assert [group["group_id"] for group in bench.get("/v2/groups")["groups"]] == ["g"]
    assert bench.post(PATH, **{**asked, "webhook_secret_key": "another"}).json() == first


@pytest.mark.parametrize("end", ["fail", "time_out"])
def test_a_job_that_ended_badly_keeps_its_reference_and_the_next_number_is_a_new_job(bench, end):
    first = bench.submit(PATH, client_ref=REF)
    getattr(bench, end)(first)
    assert bench.submit(PATH, client_ref=REF) == first
    assert bench.submit(PATH, client_ref=ANOTHER) != first


def test_references_belong_to_the_account(bench):
    account = bench.service.add_account()
    other = type(bench)(bench.service, account, bench.service.client(account))
    assert other.submit(PATH, client_ref=REF) != bench.submit(PATH, client_ref=REF)


def test_refused_submits_use_no_reference_up(make_bench):
    bench = make_bench(credits=9)
    assert bench.post(PATH, client_ref=REF).status_code == 402
    assert bench.post(PATH, client_ref=REF, recorded_at="yesterday").status_code == 400
    assert bench.post(PATH, client_ref=REF, diarize="perhaps").status_code == 422
    with bench.service.context.database.writing() as connection:
        CreditsService(bench.service.clock).grant(connection, bench.account.account_id, 100)
    assert bench.post(PATH, b"no sound", client_ref=REF).status_code == 400
    first = bench.submit(PATH, client_ref=REF)
    assert bench.submit(PATH, client_ref=REF) == first


def test_a_repeat_is_answered_when_the_first_submit_spent_the_last_credits(make_bench):
    bench = make_bench(credits=10)
    first = bench.submit(PATH, client_ref=REF)
    assert bench.submit(PATH, client_ref=REF) == first
    assert bench.post(PATH, client_ref=ANOTHER).status_code == 402


@pytest.mark.parametrize("text", ["a" * 15, "a" * 65, "with a space in it", "slash/slash/slash", "é" * 16])
def test_another_form_is_refused(bench, text):
    answer = bench.post(PATH, client_ref=text)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "client_ref"]
    assert jobs(bench) == []


def test_an_empty_field_is_no_reference(bench):
    assert bench.submit(PATH, client_ref="") != bench.submit(PATH, client_ref="")


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v2/use-case/analyze", {"use_case": "wellness"}),
        ("/v2/condition/analyze", {"condition": "anxiety"}),
        ("/v2/use-cases/wellness/groups/g/analyze", {}),
        ("/v2/conditions/anxiety/groups/g/analyze", {}),
    ],
)
def test_the_earlier_form_does_not_read_it(bench, path, fields):
    assert bench.submit(path, client_ref="short", **fields) != bench.submit(path, client_ref="short", **fields)


def test_the_field_is_announced_only_to_who_has_an_account(bench):
    for answer in (bench.client.get("/v2/models"), bench.post(PATH, b"no sound")):
        assert "client_ref" in answer.headers["X-Vbdesk-Fields"].split(", ")
    assert "X-Vbdesk-Fields" not in bench.client.get("/v2/models", headers={"X-API-Key": "wrong"}).headers


def test_a_reference_and_a_key_of_two_jobs_are_a_conflict(bench):
    first = bench.submit(PATH, client_ref=REF, headers={"Idempotency-Key": "one"})
    other = bench.submit(PATH, client_ref=ANOTHER, headers={"Idempotency-Key": "two"})
    assert bench.post(PATH, client_ref=REF, headers={"Idempotency-Key": "two"}).status_code == 409
    assert bench.post(PATH, client_ref="take-0001-attempt-3", headers={"Idempotency-Key": "one"}).status_code == 409
    assert bench.submit(PATH, client_ref=REF, headers={"Idempotency-Key": "new"}) == first
    assert set(jobs(bench)) == {first, other}


def test_a_gateway_that_drops_request_headers_cannot_double(bench):
    first = bench.submit(PATH, client_ref=REF)
    assert bench.submit(PATH, client_ref=REF, headers={"Idempotency-Key": REF}) == first
    assert bench.submit(PATH, client_ref=REF) == first


def rows(bench):
    """Every row of the two tables, without the account."""
    with bench.service.context.database.reading() as connection:
        return {
            name: [
                tuple(row)[1:]
                for row in connection.execute(sa.select(metadata.tables[name]))
                if row.account_id == bench.account.account_id
            ]
            for name in ("client_refs", "client_ref_keys")
        }


def test_the_reference_of_an_erased_job_stays_used_and_says_nothing(bench, eraser):
    job_id = bench.submit(PATH, client_ref=REF, recorded_at=AT)
    eraser.erase_job(bench.account.account_id, job_id)
    answer = bench.post(PATH, client_ref=REF, recorded_at=AT)
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
    assert jobs(bench) == []
    [[digest, *others]] = rows(bench)["client_refs"]
    assert digest != REF and others == [None, None, None, None]


def test_an_erased_group_and_a_deleted_account_are_treated_alike(bench, eraser):
    bench.submit(PATH, client_ref=REF)
    eraser.erase_group(bench.account.account_id, "g")
    assert bench.post(PATH, client_ref=REF).status_code == 409
    eraser.erase_account(bench.account.account_id)
    assert rows(bench) == {"client_refs": [], "client_ref_keys": []}


def test_a_reference_whose_job_is_gone_some_other_way_stays_used(bench):
    job_id = bench.submit("/v2/signs/stress/analyze", client_ref=REF)
    with bench.service.context.database.writing() as connection:
        connection.execute(sa.text("DELETE FROM jobs WHERE job_id = :job"), {"job": job_id})
    assert bench.post("/v2/signs/stress/analyze", client_ref=REF).status_code == 409


def test_the_digests_key_is_renewed_with_the_services_and_forgotten_with_it(make_bench):
    bench = make_bench()
    job_id, context = bench.submit(PATH, client_ref=REF), bench.service.context
    assert reseal(context.database, open_secrets(context.settings)).present == 1
    assert bench.submit(PATH, client_ref=REF) == job_id
    assert forget_sealed(context.database, context.clock.now()) == 1
    assert rows(bench)["client_ref_keys"] == []


@pytest.mark.parametrize("count", [2, 6])
def test_racing_submits_with_one_reference_make_one_job(make_bench, count):
    bench = make_bench(credits=10)  # enough for one
    with ThreadPoolExecutor(count) as threads:
        answers = list(threads.map(lambda _: bench.post(PATH, client_ref=REF, recorded_at=AT), range(count)))
    assert [answer.status_code for answer in answers] == [200] * count
    assert {answer.json()["job_id"] for answer in answers} == set(jobs(bench))
    assert (bench.credits(), len(bench.stored_audio())) == (0, 1)


STEP = st.tuples(
    st.sampled_from(["send", "send", "erase", "day"]),
    st.integers(0, 1),  # which take
    st.integers(1, 2),  # which attempt
    st.booleans(),  # whether a gateway drops the header
    st.booleans(),  # whether it is another recording
)


@given(steps=st.lists(STEP, max_size=12))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_repeated_a_reference_makes_one_job(bench, eraser, steps):
    account = bench.service.add_account()
    bench = type(bench)(bench.service, account, bench.service.client(account))
    first, erased = {}, set()
    for action, take, attempt, dropped, other in steps:
        ref = f"take-{take}-attempt-{attempt:04d}"
        if action == "day":
            bench.service.clock.advance(86_401)
        elif action == "erase" and ref in first.keys() - erased:
            eraser.erase_job(account.account_id, first[ref][0])
            erased.add(ref)
        elif action == "send":
            headers = {} if dropped else {"Idempotency-Key": ref}
            answer = bench.post(PATH, OTHER_AUDIO if other else AUDIO, headers=headers, client_ref=ref)
            if ref not in first:
                first[ref] = (answer.json()["job_id"], other)
            elif ref in erased or first[ref][1] != other:
                assert answer.status_code == 409
            else:
                assert answer.json()["job_id"] == first[ref][0]
    assert set(jobs(bench)) == {job for ref, (job, _) in first.items() if ref not in erased}
    spent = 100_000 - bench.credits()
    assert 10 * (len(first) - len(erased)) <= spent <= 10 * len(first)
