"""Data folders of earlier releases open with everything in them."""

import json
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

sys.path.append(str(Path(__file__).parents[1] / "outbox"))

from service_in_process import API, Clock, ServiceInProcess

DATA = Path(__file__).parents[1] / "data"
WRITTEN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PATH = "/v2/signs/stress/groups/ward4-0172/analyze"


@pytest.fixture
def old(tmp_path):
    """The folder of the last release with schema 0006, served by the present one an hour later."""
    with zipfile.ZipFile(DATA / "service_6.zip") as archive:
        archive.extractall(tmp_path)
    service = ServiceInProcess(tmp_path, Clock(WRITTEN + timedelta(hours=1)))
    service.known = json.loads((tmp_path / "known.json").read_text())
    yield service
    service.close()


def ask(service, method, path, *, key=None, audio=None):
    headers = {"X-Account-ID": service.known["account_id"], "X-API-Key": service.known["api_key"]}
    if key is not None:
        headers["Idempotency-Key"] = key
    files = None if audio is None else {"audio": ("a.flac", audio, "audio/flac")}
    request = httpx.Request(method, f"{API}{path}", headers=headers, files=files)
    return service.exchange(request, request.read())


def test_everything_of_a_folder_with_schema_0006_is_still_there(old):
    done, queued = old.known["job_ids"]
    assert ask(old, "GET", f"/v2/jobs/{done}").json()["result"]["signal"]["name"] == "stress"
    assert ask(old, "GET", f"/v2/jobs/{queued}").json()["status"] == "queued"
    assert ask(old, "GET", "/v2/account/credits").json() == {"credits": 980}
    listed = ask(old, "GET", "/v2/groups/ward4-0172/jobs").json()
    assert [job["job_id"] for job in listed["jobs"]] == [done, queued]


def test_a_key_from_before_the_upgrade_answers_its_job_and_a_new_one_is_bound_to_its_recording(old):
    done, _ = old.known["job_ids"]
    jobs = {job.job_id: job for job in old.books.jobs(old.known["account_id"])}
    audio = old.books.audio(jobs[done])
    assert ask(old, "POST", PATH, key="take-1", audio=audio).json()["job_id"] == done
    new = ask(old, "POST", PATH, key="take-2", audio=audio).json()["job_id"]
    assert ask(old, "POST", PATH, key="take-2", audio=audio).json()["job_id"] == new
    assert ask(old, "POST", PATH, key="take-2", audio=audio + bytes(1)).status_code == 409
