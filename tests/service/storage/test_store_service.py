"""A service with a remote store: callers see no difference, and audio bypasses the service."""

import errno
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest

from patience import HANGS_S
from vbdesk.clock import SystemClock
from vbdesk.service.composition.eraser import open_eraser
from vbdesk.service.engine.sweeper import Sweeper
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.maintenance.orphans import sweep_orphans
from vbdesk.service.maintenance.retention import remove_erased_audio, remove_old_audio
from vbdesk.service.uploads.service import UploadService

SPEECH = (Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac").read_bytes()
DAY_S = 24 * 3600


class NoRuns:
    """An engine without jobs."""

    def recover(self, _live, _forgotten):
        return 0

    def purge(self, _keep):
        return 0


class MovableClock:
    """The computer's time plus an offset."""

    def __init__(self):
        self.ahead = 0.0

    def now(self):
        return SystemClock().now() + timedelta(seconds=self.ahead)


@pytest.fixture
def clock():
    return MovableClock()


@pytest.fixture
def service(cloud, start_service, clock):
    started = start_service(clock=clock, **cloud.settings)
    cloud.emulator.moods.counts.clear()  # the start writes the store's id
    return started


@pytest.fixture
def api(service):
    return service.client(service.add_account())


def uploaded(api, content=SPEECH, **told):
    grant = api.post("/v2/audio/uploads", json={"content_type": "audio/flac", **told}).json()
    answer = httpx.put(
        grant["upload_url"], content=content, headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
    )
    return grant["upload_ref"], answer


def analyze(api, upload_ref):
    return api.post("/v2/models/pulse/analyze", files={"audio_upload_ref": (None, upload_ref)})


def folders(cloud):
    """Return the folder of every object in the bucket, and the one object that is in none."""
    return sorted(found.name.split("/")[3] for found in cloud.emulator.objects.below(""))


def credits_of(api):
    return api.get("/v2/account/credits").json()["credits"]


def test_a_recording_goes_to_the_store_without_passing_through_the_service(cloud, service, api):
    upload_ref, put = uploaded(api)
    assert put.status_code == 200
    counts = cloud.emulator.moods.counts
    assert (counts["signed-put"], counts["own-put"] + counts["own-post"]) == (1, 0)
    job = analyze(api, upload_ref).json()
    assert (job["status"], job["audio_size_bytes"], job["audio_content_type"]) == ("queued", len(SPEECH), "audio/flac")
    assert counts["own-put"] + counts["own-post"] == 1, "the one copy inside the store"
    with service.context.storage.open(f"audio/{job['job_id']}") as file:
        assert file.read() == SPEECH
    assert list(service.context.storage.incoming.iterdir()) == []


def test_a_recording_sent_in_a_form_is_stored_in_the_store(service, api):
    job = api.post("/v2/models/pulse/analyze", files={"audio": ("take.flac", SPEECH, "audio/flac")}).json()
    assert service.context.storage.size(f"audio/{job['job_id']}") == len(SPEECH)


def test_an_upload_that_is_too_large_is_refused_and_removed(place_of, start_service):
    place = place_of("s3")  # Google Cloud Storage refuses it automatically
    service = start_service(clock=SystemClock(), **place.settings)
    api = service.client(service.add_account())
    upload_ref, put = uploaded(api, bytes(32 * 1024 * 1024 + 1))
    assert put.status_code == 200
    before = credits_of(api)
    refused = analyze(api, upload_ref)
    assert (refused.status_code, refused.json()["code"]) == (413, "AUDIO_TOO_LARGE")
    assert not service.context.storage.exists(f"uploads/{upload_ref}")
    assert analyze(api, upload_ref).json()["message"] == "Invalid audio_upload_ref"
    assert credits_of(api) == before


def test_the_store_enforces_a_declared_size(api):
    _, put = uploaded(api, SPEECH, size_bytes=len(SPEECH))
    assert put.status_code == 200
    too_large = api.post("/v2/audio/uploads", json={"content_type": "audio/flac", "size_bytes": 32 * 1024 * 1024 + 1})
    assert (too_large.status_code, too_large.json()["code"]) == (413, "AUDIO_TOO_LARGE")
    assert api.post("/v2/audio/uploads", json={"content_type": "audio/flac", "size_bytes": 0}).status_code == 422


def test_an_unreachable_store_costs_no_credits_and_is_reported(cloud, service, api):
    upload_ref, _ = uploaded(api)
    before = credits_of(api)
    cloud.feel(refuse=1)
    with ThreadPoolExecutor(2) as pool:  # each waits for retries
        form = {"audio": ("take.flac", SPEECH, "audio/flac")}
        asked = [pool.submit(analyze, api, upload_ref), pool.submit(api.post, "/v2/models/pulse/analyze", files=form)]
    for answer in (future.result() for future in asked):
        assert (answer.status_code, answer.json()["code"]) == (500, "PROCESSING_ERROR")
        assert "Try again" in answer.json()["message"]
    assert (api.get("/v2/jobs").json()["jobs"], credits_of(api)) == ([], before)
    assert service.queue.job_ids == []
    cloud.feel()
    assert analyze(api, upload_ref).status_code == 200


def test_a_submit_refused_for_credits_leaves_nothing_in_the_store(service):
    poor = service.client(service.add_account(credits=1))
    upload_ref, _ = uploaded(poor)
    assert analyze(poor, upload_ref).status_code == 402
    assert list(service.context.storage.keys("audio")) == []


def test_erased_jobs_are_removed_from_the_store(cloud, service, api):
    upload_ref, _ = uploaded(api)
    job_id = analyze(api, upload_ref).json()["job_id"]
    settings = service.context.settings
    account_id = api.headers["X-Account-ID"]
    database = open_database(settings)
    open_eraser(settings, database, service.clock).erase_job(account_id, job_id)
    database.close()
    assert folders(cloud) == ["store-id", "uploads"]
    assert service.context.storage.size(f"uploads/{upload_ref}") == 0, "it only keeps the address from being used"


def test_the_address_of_an_erased_upload_refuses_files_until_it_expires(cloud, service, api, clock):
    grant = api.post("/v2/audio/uploads", json={"content_type": "audio/flac"}).json()
    put = partial(httpx.put, grant["upload_url"], content=SPEECH, headers=grant["required_headers"], trust_env=False)
    assert put().status_code == 200
    job_id = analyze(api, grant["upload_ref"]).json()["job_id"]
    context = service.context
    open_eraser(context.settings, context.database, service.clock).erase_job(api.headers["X-Account-ID"], job_id)
    assert put().status_code == 412
    assert analyze(api, grant["upload_ref"]).json()["message"] == "Invalid audio_upload_ref"
    sweeper = Sweeper(context, NoRuns())
    clock.ahead = 1800
    sweeper.tidy()
    assert put().status_code == 412, "no sweep opens the address again while a file may be on its way"
    clock.ahead = DAY_S
    sweeper.tidy()
    assert folders(cloud) == ["store-id"]


def test_a_late_file_that_the_store_accepted_is_removed_without_quarantine(cloud, service, api, clock):
    upload_ref, _ = uploaded(api)
    job_id = analyze(api, upload_ref).json()["job_id"]
    context = service.context
    open_eraser(context.settings, context.database, service.clock).erase_job(api.headers["X-Account-ID"], job_id)
    key = f"uploads/{upload_ref}"
    context.storage.delete(key)
    late = context.storage.incoming / "late"
    late.write_bytes(SPEECH)
    context.storage.adopt(key, late)
    clock.ahead = 1800
    Sweeper(context, NoRuns()).tidy()
    assert folders(cloud) == ["store-id", "uploads"]
    assert context.storage.size(key) == 0


def test_old_audio_uploads_and_orphans_are_removed(cloud, service, api, clock, tmp_path):
    context = service.context
    upload_ref, _ = uploaded(api)
    job_id = analyze(api, upload_ref).json()["job_id"]
    orphan = context.storage.incoming / "orphan"
    shutil.copy(Path(__file__), orphan)
    context.storage.adopt("audio/01890000-0000-7000-8000-000000000000", orphan)
    assert sweep_orphans(context).quarantined == 1
    clock.ahead = 2 * DAY_S
    assert UploadService.of(context).remove_past() == 1
    assert folders(cloud) == ["audio", "quarantine", "store-id"]
    with context.database.writing() as connection:
        JobLifecycle.of(context).fail(connection, job_id)
    clock.ahead = 40 * DAY_S
    assert remove_old_audio(context) == 1
    assert folders(cloud) == ["quarantine", "store-id"]


def test_a_deleted_account_leaves_nothing_in_the_bucket_not_even_later_uploads(cloud, service, clock):
    account, other = service.add_account(), service.add_account()
    api, others = service.client(account), service.client(other)
    analyze(api, uploaded(api)[0])
    uploaded(api)
    open_grant = api.post("/v2/audio/uploads", json={"content_type": "audio/flac"}).json()
    kept = analyze(others, uploaded(others)[0]).json()["job_id"]
    others_objects = 2
    context = service.context
    eraser = open_eraser(context.settings, context.database, clock)
    eraser.erase_account(account.account_id)
    withdrawn = 3
    assert len(folders(cloud)) == 1 + others_objects + withdrawn
    put = httpx.put(
        open_grant["upload_url"],
        content=SPEECH,
        headers=open_grant["required_headers"],
        trust_env=False,
        timeout=HANGS_S,
    )
    assert put.status_code == 412, "an empty object lies there until the address has ended"
    clock.ahead += 7200
    assert sweep_orphans(context).quarantined == 0
    assert remove_erased_audio(context) > 0
    assert len(folders(cloud)) == 1 + others_objects
    assert others.get(f"/v2/jobs/{kept}").status_code == 200


def test_a_bucket_unreachable_during_a_deletion_is_cleared_afterwards(cloud, service, clock):
    account = service.add_account()
    api = service.client(account)
    analyze(api, uploaded(api)[0])
    uploaded(api)
    context = service.context
    eraser = open_eraser(context.settings, context.database, clock)
    cloud.feel(refuse=1.0)
    eraser.erase_account(account.account_id)
    cloud.feel()
    assert len(folders(cloud)) == 4
    assert api.get("/v2/jobs").status_code == 401
    remove_erased_audio(context)
    assert folders(cloud) == ["store-id", "uploads", "uploads"], "two addresses are withdrawn until they have ended"
    clock.ahead += 7200
    remove_erased_audio(context)
    assert folders(cloud) == ["store-id"]


def test_the_quota_counts_the_files_in_the_bucket(cloud, start_service, clock):
    service = start_service(clock=clock, upload_quota_mb={"enterprise": 64}, **cloud.settings)
    api = service.client(service.add_account())
    for _ in range(5):
        upload_ref, put = uploaded(api)  # reserves half of the quota, uses little of it
        assert put.status_code == 200
    mint = {"content_type": "audio/flac"}
    assert [api.post("/v2/audio/uploads", json=mint).status_code for _ in range(2)] == [200, 429]
    assert analyze(api, upload_ref).status_code == 200


def test_a_full_disk_for_a_recording_in_transit_is_answered_503(cloud, service, api, monkeypatch):
    upload_ref, _ = uploaded(api)

    def full(**_where):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("vbdesk.service.storage.remote.tempfile.mkstemp", full)
    answer = analyze(api, upload_ref)
    assert (answer.status_code, answer.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    monkeypatch.undo()
    assert analyze(api, upload_ref).status_code == 200
