"""Data folders of earlier releases open with everything in them."""

import json
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

sys.path.append(str(Path(__file__).parents[2] / "outbox"))

from service_in_process import API, Clock, ServiceInProcess

from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.engine.analysis import analyse_file, prepare
from vbdesk.service.engine.background_recompute import SEARCH_INTERVAL_S, BackgroundRecompute
from vbdesk.service.engine.outdated_readings import search
from vbdesk.service.engine.shared_clock import ProcessTime
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.erasure.service import Eraser, list_erasures
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.db.tables import account_webhooks, uploads
from vbdesk.signs.reference_data import load_reference_data

DATA = Path(__file__).parents[2] / "data"
WRITTEN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PATH = "/v2/signs/stress/groups/ward4-0172/analyze"


@pytest.fixture(params=["service_6.zip", "service_8.zip"])
def archive(request):
    return request.param


@pytest.fixture
def old(tmp_path, archive):
    """The folder of the last release with an older schema, served by the present one an hour later."""
    with zipfile.ZipFile(DATA / archive) as opened:
        opened.extractall(tmp_path)
    service = ServiceInProcess(tmp_path, Clock(WRITTEN + timedelta(hours=1)))
    service.known = json.loads((tmp_path / "known.json").read_text())
    yield service
    service.close()


def ask(service, method, path, *, key=None, audio=None, fields=None):
    headers = {"X-Account-ID": service.known["account_id"], "X-API-Key": service.known["api_key"]}
    if key is not None:
        headers["Idempotency-Key"] = key
    files = None if audio is None else {"audio": ("a.flac", audio, "audio/flac")}
    request = httpx.Request(method, f"{API}{path}", headers=headers, files=files, data=fields)
    return service.exchange(request, request.read())


def test_everything_of_an_older_folder_is_still_there(old):
    done, queued = old.known["job_ids"]
    assert ask(old, "GET", f"/v2/jobs/{done}").json()["result"]["signal"]["name"] == "stress"
    assert ask(old, "GET", f"/v2/jobs/{queued}").json()["status"] == "queued"
    assert ask(old, "GET", "/v2/account/credits").json() == {"credits": 980}
    listed = ask(old, "GET", "/v2/groups/ward4-0172/jobs").json()
    assert [job["job_id"] for job in listed["jobs"]] == [done, queued]


def test_a_key_from_before_the_upgrade_answers_its_job_and_a_new_one_is_bound_to_its_recording(old):
    done, _ = old.known["job_ids"]
    jobs = {job.job_id: job for job in old.records.jobs(old.known["account_id"])}
    audio = old.records.audio(jobs[done])
    assert ask(old, "POST", PATH, key="take-1", audio=audio).json()["job_id"] == done
    new = ask(old, "POST", PATH, key="take-2", audio=audio).json()["job_id"]
    assert ask(old, "POST", PATH, key="take-2", audio=audio).json()["job_id"] == new
    assert ask(old, "POST", PATH, key="take-2", audio=audio + bytes(1)).status_code == 409


def test_jobs_of_an_older_folder_say_nothing_about_the_language_and_a_used_key_stands_for_that(old):
    done, queued = old.known["job_ids"]
    audio = old.records.audio({job.job_id: job for job in old.records.jobs(old.known["account_id"])}[done])
    with old.context.database.writing() as connection:
        run = JobLifecycle.of(old.context).start(connection, queued, "one", 60)
    assert run.spoken == SpokenLanguage()
    assert ask(old, "POST", PATH, key="take-1", audio=audio, fields={"language": "de"}).status_code == 409
    new = ask(old, "POST", PATH, key="take-2", audio=audio, fields={"language": "de"}).json()["job_id"]
    with old.context.database.writing() as connection:
        assert JobLifecycle.of(old.context).start(connection, new, "one", 60).spoken == SpokenLanguage("de")


def test_a_kept_recording_of_an_older_release_is_analysed_again_without_a_person(old):
    done, queued = old.known["job_ids"]
    context = old.context
    before = ask(old, "GET", f"/v2/jobs/{done}").json()
    with context.database.writing() as connection:
        JobLifecycle.of(context).fail(connection, queued)  # nothing happens while it waits
    slots = SlotPool(1, prepare)
    try:
        task = BackgroundRecompute(context, slots, analyse_file, ProcessTime(context.clock))
        assert task.round() == SEARCH_INTERVAL_S
    finally:
        slots.close()
    version = load_reference_data().calibration.meta.version
    read = ask(old, "GET", "/v2/groups/ward4-0172/longitudinal").json()
    assert [signal["sign_version"] for point in read["data_points"] for signal in point["signals"]] == [version]
    assert ask(old, "GET", f"/v2/jobs/{done}").json() == before
    assert search(context.database, version).due == []


@pytest.mark.parametrize("archive", ["service_8.zip"])
def test_records_of_erasures_uploads_and_webhooks_of_a_folder_are_still_there(old, archive):
    database, account_id = old.context.database, old.known["account_id"]
    with database.reading() as connection:
        assert [(line.kind, line.jobs) for line in list_erasures(connection)] == [("job", 1), ("group", 1)]
        [listed] = AccountService(old.clock).list_accounts(connection)
        assert (listed.account_id, listed.state) == (account_id, "active")
        [upload] = connection.execute(sa.select(uploads)).all()
        assert (upload.upload_ref, upload.held_bytes, upload.settled) == (old.known["upload_ref"], None, False)
        assert connection.execute(sa.select(account_webhooks.c.url)).scalar_one() == "https://example.org/hook"
    request = httpx.Request(
        "POST",
        f"{API}/v2/signs/stress/analyze",
        data={"audio_upload_ref": old.known["upload_ref"]},
        files={"x": b""},
        headers={"X-Account-ID": account_id, "X-API-Key": old.known["api_key"]},
    )
    assert old.exchange(request, request.read()).status_code == 200


@pytest.mark.parametrize("archive", ["service_8.zip"])
def test_an_account_of_a_folder_can_be_deleted(old, archive):
    context, account_id = old.context, old.known["account_id"]
    Eraser(context.database, context.storage, GroupHistories.of(context), context.clock).erase_account(account_id)
    with context.database.reading() as connection:
        kinds = [(line.kind, line.jobs) for line in list_erasures(connection)]
    assert kinds == [("job", 1), ("group", 1), ("account", 2)]
    assert [*context.storage.keys("audio"), *context.storage.keys("uploads")] == []
