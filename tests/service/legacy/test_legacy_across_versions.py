"""One account, one set of jobs: every job reads right through every version."""

import json

import pytest

from vbdesk.contract.webhooks import signature_matches
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker


def test_v1_jobs_appear_in_v2_and_the_other_way_round(bench):
    submits = [
        lambda: bench.job_v1(),
        lambda: bench.job("/v2/models/breath/analyze")["job_id"],
        lambda: bench.job("/v2/use-case/analyze", use_case="recovery")["job_id"],
        lambda: bench.job("/v2/condition/analyze", condition="adhd")["job_id"],
    ]
    jobs = []
    for submit in submits:
        jobs.insert(0, submit())
        bench.service.clock.advance(1)
    in_v2, in_v1 = bench.get("/v2/jobs")["jobs"], bench.get_v1("account/jobs")["jobs"]
    assert [job["job_id"] for job in in_v2] == [job["job_id"] for job in in_v1] == jobs
    assert [job["status"] for job in in_v2] == ["running", "running", "queued", "running"]
    assert {job["status"] for job in in_v1} == {"pending"}


@pytest.mark.parametrize(
    ("condition", "use_case"), [("wellness", "wellness"), ("cognitive", "cognitive"), ("anemia", "womens-health")]
)
def test_a_v1_job_reads_through_v2_as_a_use_case_job_of_v1(bench, condition, use_case):
    job_id = bench.job_v1(f"{condition}/analyze-audio")
    waiting = bench.get(f"/v2/jobs/{job_id}")
    assert (waiting["job_type"], waiting["api_version"], waiting["status"]) == ("use_case", "v1", "running")
    bench.finish(job_id)
    job = bench.get(f"/v2/jobs/{job_id}")
    assert (job["use_case"], job["model_name"], job["sign_name"]) == (use_case, None, None)
    assert job["result"] == bench.get_v1(f"account/jobs/{job_id}")["result"]
    assert all(signal["model_id"] == signal["name"] for signal in job["result"]["signals"])


@pytest.mark.parametrize(
    ("path", "fields", "pipeline"),
    [
        ("/v2/models/pulse/analyze", {}, "pulse"),
        ("/v2/signs/stress/analyze", {"diarize": "true"}, "stress-diarized"),
        ("/v2/use-case/analyze", {"use_case": "womens-health"}, "womens-health"),
        ("/v2/condition/analyze", {"condition": "anemia", "diarize": "true"}, "anemia-diarized"),
        ("/v2/models/clarity/groups/g/analyze/longitudinal", {}, "clarity"),
    ],
)
def test_a_v2_job_reads_through_v1_under_its_own_name(bench, path, fields, pipeline):
    job_id = bench.job(path, **fields)["job_id"]
    assert bench.get_v1(f"account/jobs/{job_id}")["status"] == "pending"
    bench.finish(job_id)
    job = bench.get_v1(f"account/jobs/{job_id}")
    assert (job["status"], job["pipeline_type"]) == ("done", pipeline)
    signals = job["result"].get("signals") or [job["result"]["signal"]]
    assert all(signal["model_id"] == signal["name"] for signal in signals)


def test_reading_through_v1_changes_nothing_in_v2(bench):
    job_id = bench.job("/v2/models/pulse/groups/g/analyze/longitudinal")["job_id"]
    bench.finish(job_id)
    before = bench.get(f"/v2/jobs/{job_id}")
    through_v1 = bench.get_v1(f"account/jobs/{job_id}")["result"]
    assert bench.get(f"/v2/jobs/{job_id}") == before
    assert "baseline_score" in through_v1["signals"][0]
    for signal in through_v1["signals"]:
        del signal["model_id"]
    assert through_v1 == before["result"]


def test_jobs_of_every_version_join_groups_and_feed_them(bench):
    jobs = [bench.job_v1("cognitive/analyze-audio"), bench.job("/v2/condition/analyze", condition="fatigue")["job_id"]]
    bench.finish(jobs[0])
    bench.client.post("/v2/groups", json={"group_id": "g"})
    added = bench.client.post("/v2/groups/g/jobs", json={"job_ids": jobs}).json()
    assert (added["added"], added["not_yet_done"]) == (jobs, jobs[1:])
    bench.finish(jobs[1])
    listed = bench.get("/v2/groups/g/jobs")["jobs"]
    assert [(job["use_case"], job["condition"]) for job in listed] == [("cognitive", None), (None, "fatigue")]
    points = bench.get("/v2/groups/g/longitudinal")["data_points"]
    assert {signal["name"] for point in points for signal in point["signals"]} == {"cognitive-impairment", "fatigue"}


class Postbox:
    """Takes deliveries in place of the network."""

    def __init__(self):
        self.posts = []

    def post(self, url, body, headers, account_id):
        self.posts.append((url, body, headers))
        return 200


def test_webhooks_of_older_jobs_carry_the_job_as_v2_reads_it(bench):
    context, postbox = bench.service.context, Postbox()
    delivery_worker = DeliveryWorker(context.database, context.clock, context.secrets, postbox)
    bench.v1.post("/api/v1/account/webhook", json={"url": "https://93.184.216.34/", "secret_key": "account secret"})
    own = {"webhook_url": "https://93.184.216.35/", "webhook_secret_key": "own secret"}
    jobs = [
        (bench.job_v1("anemia/analyze-and-diarize-audio"), "finish", "account secret"),
        (bench.job_v1(), "time_out", "account secret"),
        (bench.job("/v2/use-case/analyze", use_case="wellness")["job_id"], "fail", "account secret"),
        (bench.job("/v2/condition/analyze", condition="anxiety", **own)["job_id"], "finish", "own secret"),
    ]
    for job_id, end, secret in jobs:
        getattr(bench, end)(job_id)
        delivery_worker.deliver_due()
        _, body, headers = postbox.posts[-1]
        assert json.loads(body) == bench.get(f"/v2/jobs/{job_id}")
        assert signature_matches(body, secret, headers["X-Webhook-Signature"])
        assert headers["Content-Type"] == "application/json"
    assert len(postbox.posts) == 4
    delivery_worker.finish()
