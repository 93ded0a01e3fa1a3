"""Full disks: the response, the files left behind, and the recovery of the service."""

import errno
import os
import shutil
import threading
import time
from collections import namedtuple
from contextlib import suppress
from pathlib import Path

import httpx
import psycopg
import pytest
import sqlalchemy as sa
from console_person import Person
from sample_audio import noise_wav
from served import Served, wait_for_end
from sqlalchemy.exc import OperationalError

from patience import HANGS_S, until
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.service.health.findings import Health
from vbdesk.service.health.host_checks import check_free_disk
from vbdesk.service.health.state_metrics import StateCollector
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.settings import load_settings

AUDIO = noise_wav(16)
LARGE = 4 * 1024**2
BOUNDARY = "part"
ANALYZE = [
    "/v2/models/pulse/analyze",
    "/v2/signs/stress/analyze",
    "/v2/models/pulse/groups/g/analyze",
    "/v2/signs/stress/groups/g/analyze",
    "/v2/models/pulse/groups/g/analyze/longitudinal",
    "/v2/signs/stress/groups/g/analyze/longitudinal",
    "/v2/use-cases/wellness/groups/g/analyze",
    "/v2/conditions/anxiety/groups/g/analyze",
    "/v2/use-case/analyze",
    "/v2/condition/analyze",
    "/api/v1/wellness/analyze-audio",
    "/api/v1/wellness/analyze-and-diarize-audio",
]
READS = [
    "/v2/models",
    "/v2/signs/stress",
    "/v2/jobs",
    "/v2/jobs/{job}",
    "/v2/account/credits",
    "/v2/groups",
    "/v2/groups/g/jobs",
    "/v2/groups/g/longitudinal",
    "/v2/groups/g/aggregate",
    "/api/v1/account/jobs",
    "/api/v1/account/jobs/{job}",
    "/api/v1/account/credits",
]
Usage = namedtuple("Usage", "total used free")


def all_headers(account) -> dict[str, str]:
    return account.headers | account.v1_headers


class SmallDisk:
    """A small disk that a test can fill and empty."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        with self._filler.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(64 * 1024))
        with self._filler.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x")

    def clear(self) -> None:
        self._filler.unlink(missing_ok=True)


@pytest.fixture
def disk(disk_of):
    return SmallDisk(disk_of("48m"))


@pytest.fixture
def full(start_service, disk):
    """A service whose data folder and database are on a small disk; the reserve is off."""
    if os.environ.get("SERVICE_TESTS_ON") == "postgresql":
        pytest.skip("the database is on the small disk")
    data_dir = disk.folder / "data"
    data_dir.mkdir()
    return start_service(data_dir=data_dir, disk_reserve_mb=0)


def form_that_fills(disk, account, audio=AUDIO, **fields):
    """A multipart body; the disk becomes full while it is sent."""
    text = "".join(
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    head = f'{text}--{BOUNDARY}\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'.encode()

    def body():
        yield head + audio[: len(audio) // 2]
        disk.fill()
        yield audio[len(audio) // 2 :]
        yield f"\r\n--{BOUNDARY}--\r\n".encode()

    headers = all_headers(account) | {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    return {"content": body(), "headers": headers}


def assert_no_room(answer: httpx.Response) -> None:
    assert answer.status_code == 503, answer.text
    body = answer.json()
    assert (body["code"], body["status"]) == ("SERVICE_UNAVAILABLE", 503)
    assert "disk space" in body["message"]
    assert int(answer.headers["Retry-After"]) >= 1


def objects_of(service) -> list[str]:
    root = service.context.settings.data_dir / "objects"
    return [str(path) for path in root.rglob("*") if path.is_file() and path.name != "store-id"]


@pytest.mark.parametrize("path", ANALYZE)
def test_a_disk_that_fills_up_during_a_submit_is_reported_and_leaves_nothing(full, disk, path):
    account = full.add_account()
    client = full.client()
    fields = (
        {"use_case": "wellness"} if "use-case/" in path else {"condition": "anxiety"} if "condition/" in path else {}
    )
    large = noise_wav(200)  # more than one flush of the spool
    before = objects_of(full)
    assert_no_room(client.post(path, **form_that_fills(disk, account, large, **fields)))
    assert objects_of(full) == before
    assert client.get("/v2/account/credits", headers=account.headers).json() == {"credits": 100_000}
    disk.clear()
    again = client.post(path, files={"audio": AUDIO}, data=fields, headers=all_headers(account))
    assert again.status_code == 200, again.text


def test_a_disk_that_fills_up_after_the_upload_leaves_no_recording(full, disk, monkeypatch):
    account = full.add_account()
    client = full.client(account)
    adopt = full.context.storage.adopt

    def adopt_and_fill(key, path):
        adopt(key, path)
        disk.fill()

    monkeypatch.setattr(type(full.context.storage), "adopt", lambda _store, key, path: adopt_and_fill(key, path))
    statuses = set()
    for number in range(200):  # the database's log may have room for the first ones
        answer = client.post("/v2/models/pulse/analyze", files={"audio": AUDIO})
        statuses.add(answer.status_code)
        if answer.status_code != 200:
            break
        disk.clear()
        client.post("/v2/groups", json={"group_id": f"{number}-" + "x" * 500})
    assert_no_room(answer)
    monkeypatch.undo()
    with full.context.database.reading() as connection:
        known = {f"audio/{job_id}" for job_id in connection.execute(sa.select(jobs.c.job_id)).scalars()}
    assert set(full.context.storage.keys("audio")) == known
    disk.clear()
    assert client.post("/v2/models/pulse/analyze", files={"audio": AUDIO}).status_code == 200


def test_on_a_full_disk_every_other_write_is_refused_and_every_read_works(full, disk, caplog):
    account = full.add_account()
    client = full.client()
    headers = all_headers(account)
    job = client.post("/v2/models/pulse/groups/g/analyze", files={"audio": AUDIO}, headers=headers).json()["job_id"]
    person = Person(full.client())
    person.sign_in(account)
    writes = [
        ("POST", "/v2/audio/uploads", {"content_type": "audio/wav"}),
        ("POST", "/v2/groups", {"group_id": "h" * 500}),
        ("POST", "/v2/account/webhook", {"url": "https://example.org/" + "x" * 1000, "secret_key": "k" * 1000}),
        ("POST", "/api/v1/account/webhook", {"url": "https://example.org/" + "x" * 1000, "secret_key": "k" * 1000}),
        ("POST", "/v2/groups/g/jobs", {"job_ids": [job]}),
        ("DELETE", f"/v2/groups/g/jobs/{job}", None),
        ("DELETE", "/v2/groups/g", None),
    ]
    disk.fill()
    refused = set()
    for round_ in range(30):
        for method, path, body in writes[:4]:
            if path == "/v2/groups":
                body = {"group_id": f"{round_}{'h' * 500}"}
            answer = client.request(method, path, json=body, headers=headers)
            assert answer.status_code in (200, 201, 503), answer.text
            if answer.status_code == 503:
                assert_no_room(answer)
                refused.add(path)
    assert refused == {path for _, path, _ in writes[:4]}
    for path in READS:
        answer = client.get(path.format(job=job), headers=headers)
        assert answer.status_code == 200, (path, answer.text)
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").json()["reasons"] == [{"check": "store", "reason": "unreachable"}]
    for page in ("", "/webhook", "/keys"):
        assert person.open(f"/console{page}").status_code == 200
    assert not [record for record in caplog.records if record.exc_info]  # tracebacks would fill the disk further
    made = person.send("/console/keys", name="k" * 200)
    assert made.status_code == 503
    assert int(made.headers["Retry-After"]) >= 1
    assert "disk space" in made.text
    for method, path, body in writes[4:]:
        assert client.request(method, path, json=body, headers=headers).status_code in (200, 503)
    disk.clear()
    for method, path, body in writes[:4]:
        assert client.request(method, path, json=body, headers=headers).status_code in (200, 201)


def test_a_put_that_fills_the_disk_gets_the_stores_error_and_may_be_retried(full, disk):
    account = full.add_account()
    client = full.client(account)
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()

    def body():
        yield bytes(LARGE)
        disk.fill()
        yield bytes(LARGE)

    headers = grant["required_headers"]
    answer = httpx.put(grant["upload_url"], content=body(), headers=headers, trust_env=False, timeout=HANGS_S)
    assert answer.status_code == 503
    assert "<Code>ServiceUnavailable</Code>" in answer.text
    assert int(answer.headers["Retry-After"]) >= 1
    assert objects_of(full) == []
    disk.clear()
    assert (
        httpx.put(grant["upload_url"], content=AUDIO, headers=headers, trust_env=False, timeout=HANGS_S).status_code
        == 200
    )


def test_a_fetch_that_fills_the_disk_is_refused_and_leaves_nothing(start_service, disk, serve_app):
    data_dir = disk.folder / "data"
    data_dir.mkdir()
    full = start_service(data_dir=data_dir, disk_reserve_mb=0, allow_private_addresses=True)
    account = full.add_account()
    large = noise_wav(300)

    async def server(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": large[: len(large) // 2], "more_body": True})
        disk.fill()
        await send({"type": "http.response.body", "body": large[len(large) // 2 :]})

    address = serve_app(server)
    client = full.client()
    path = "/api/v1/wellness/analyze-audio-url"
    assert_no_room(client.post(path, json={"url": f"{address}/a.wav"}, headers=account.v1_headers))
    assert objects_of(full) == []


def test_a_worker_keeps_its_job_on_a_full_disk_and_continues_when_there_is_room(tmp_path, disk):
    (tmp_path / "served").mkdir()
    served = Served(tmp_path / "served", disk_reserve_mb="0")
    served.data_dir = disk.folder / "data"
    served._command[served._command.index("--data-dir") + 1] = str(served.data_dir)
    served.start()
    try:
        served.make_account(10_000)
        with served.client() as client:
            first = client.post("/v2/models/pulse/analyze", files={"audio": noise_wav(20)}).json()["job_id"]
            wait_for_end(client, first)
            submitted = [
                client.post("/v2/models/pulse/analyze", files={"audio": noise_wav(60, seed=number)}).json()["job_id"]
                for number in range(3)
            ]
            disk.fill()

            def is_refused():
                return client.post("/v2/groups", json={"group_id": os.urandom(250).hex()}).status_code == 503

            until(is_refused, "a refusal", look_every_s=0)  # the log of the database fills up first
            time.sleep(3)  # a worker that gives up would fail the jobs in this time
            assert client.get("/healthz").status_code == 200
            states = [client.get(f"/v2/jobs/{job_id}").json()["status"] for job_id in submitted]
            assert not {"failed", "timed-out"} & set(states)
            disk.clear()
            for job_id in submitted:
                assert wait_for_end(client, job_id)["status"] == "done"
            later = client.post("/v2/models/pulse/analyze", files={"audio": noise_wav(20)}).json()["job_id"]
            assert wait_for_end(client, later)["status"] == "done"
            credits = client.get("/v2/account/credits").json()["credits"]
        assert credits == 10_000 - 5 * 60
        assert served.stop() == 0
    finally:
        served.kill()


def test_a_start_on_a_full_disk_is_refused_in_one_sentence(tmp_path, disk):
    (tmp_path / "served").mkdir()
    served = Served(tmp_path / "served")
    served._command[served._command.index("--data-dir") + 1] = str(disk.folder / "data")
    served.start()
    assert served.stop() == 0
    disk.fill()
    served.launch()
    assert served.process.wait(HANGS_S) != 0
    log = served.log.read_text()
    assert "Traceback" not in log
    assert "full" in log or "No space left on device" in log
    disk.clear()
    served.start()
    assert served.stop() == 0


# The reserve


@pytest.fixture
def scarce(monkeypatch):
    """Set the free space of every disk in bytes."""

    def set_free(count: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _folder: Usage(10**12, 10**12 - count, count))

    return set_free


def test_below_the_reserve_only_submits_mints_and_puts_are_refused(start_service, scarce):
    service = start_service(disk_reserve_mb=100)
    account = service.add_account()
    client = service.client()
    headers = all_headers(account)
    job = client.post("/v2/models/pulse/groups/g/analyze", files={"audio": AUDIO}, headers=headers).json()["job_id"]
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}, headers=headers).json()
    scarce(100 * 1024**2 - 1)
    for path in ANALYZE:
        assert_no_room(client.post(path, files={"audio": AUDIO}, headers=headers))
    for path in ("/api/v1/wellness/analyze-audio-url", "/api/v1/anemia/analyze-and-diarize-audio-url"):
        assert_no_room(client.post(path, json={"url": "https://example.org/a.wav"}, headers=headers))
    assert_no_room(client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}, headers=headers))
    put = httpx.put(
        grant["upload_url"], content=AUDIO, headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
    )
    assert (put.status_code, "<Code>ServiceUnavailable</Code>" in put.text) == (503, True)
    for path in READS:
        assert client.get(path.format(job=job), headers=headers).status_code == 200, path
    assert client.post("/v2/groups", json={"group_id": "new"}, headers=headers).status_code == 201
    assert client.post("/v2/models/pulse/analyze", headers={"X-Account-ID": "x"}).status_code == 401
    scarce(100 * 1024**2 + MAX_AUDIO_BYTES)
    assert client.post(ANALYZE[0], files={"audio": AUDIO}, headers=headers).status_code == 200
    put = httpx.put(
        grant["upload_url"], content=AUDIO, headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
    )
    assert put.status_code == 200


def test_a_body_in_transit_stops_at_the_reserve(start_service, scarce):
    service = start_service(disk_reserve_mb=100)
    account = service.add_account()
    large = noise_wav(300)
    calls = []

    def free(_folder):
        calls.append(_folder)
        free_now = 100 * 1024**2 + 2 * 1024**2 if len(calls) == 1 else 100 * 1024**2 + 1024
        return Usage(10**12, 0, free_now)

    scarce(0)
    shutil.disk_usage = free  # the fixture restores it
    answer = service.client().post("/v2/models/pulse/analyze", files={"audio": large}, headers=account.headers)
    assert_no_room(answer)
    assert objects_of(service) == []


def test_readiness_metrics_and_doctor_report_the_reserve_while_writes_still_work(start_service, scarce):
    service = start_service(disk_reserve_mb=100)
    client = service.client(service.add_account())
    assert client.get("/readyz").status_code == 200
    scarce(100 * 1024**2 - 1)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["reasons"] == [{"check": "disk", "reason": "low"}]
    assert client.post("/v2/groups", json={"group_id": "still-written"}).status_code == 201
    told = {
        metric.name: metric.samples[0].value
        for metric in StateCollector(service.context).collect()
        if metric.name.startswith("vbdesk_disk")
    }
    assert (told["vbdesk_disk_free_bytes"], told["vbdesk_disk_reserve_bytes"]) == (100 * 1024**2 - 1, 100 * 1024**2)
    disk, _ = check_free_disk(service.context.settings)
    assert disk.health is Health.REPAIR
    assert "0.1 GiB are kept in reserve" in disk.sentence
    scarce(10 * 1024**3)
    assert client.get("/readyz").status_code == 200
    disk, _ = check_free_disk(service.context.settings)
    assert disk.health is Health.OK


def test_a_reserve_of_zero_is_off_and_the_disk_of_a_database_elsewhere_is_checked(tmp_path):
    assert load_settings(tmp_path, disk_reserve_mb=0).disk_reserve_mb == 0
    elsewhere = load_settings(tmp_path, database_url=f"sqlite:///{tmp_path}/other/vbdesk.db")
    assert elsewhere.written_folders == [tmp_path, tmp_path / "other"]
    server = load_settings(tmp_path, database_url="postgresql+psycopg://u@h/n")
    assert server.written_folders == [tmp_path]
    _, missing, _ = check_free_disk(elsewhere)
    assert (missing.health, "cannot be read" in missing.sentence) == (Health.REPAIR, True)


# A remote disk: errors as the server's driver and the system raise them


class DiskFullOfPostgresql(psycopg.errors.DiskFull):
    sqlstate = "53100"


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("INSERT", {}, DiskFullOfPostgresql("could not extend file")),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_every_kind_of_full_disk_error_is_answered_503(start_service, monkeypatch, error):
    service = start_service()
    client = service.client(service.add_account())

    def fail(*_args, **_more):
        raise error

    monkeypatch.setattr("vbdesk.service.groups.service.repository.insert", fail)
    assert_no_room(client.post("/v2/groups", json={"group_id": "g"}))


def test_another_system_error_is_answered_500(start_service, monkeypatch):
    service = start_service()
    client = service.client(service.add_account())

    def fail(*_args, **_more):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("vbdesk.service.groups.service.repository.insert", fail)
    answer = client.post("/v2/groups", json={"group_id": "g"})
    assert (answer.status_code, answer.json()["code"]) == (500, "PROCESSING_ERROR")


def test_reads_continue_when_the_server_can_no_longer_count_requests(start_service, postgresql, monkeypatch):
    service = start_service(**postgresql.make(None), rate_limits={"enterprise": {"general": 3}})
    client = service.client(service.add_account())

    def full_disk(*_args):
        raise OperationalError("SELECT", {}, DiskFullOfPostgresql("could not extend file"))

    monkeypatch.setattr(service.context.rates, "_count", full_disk)
    assert [client.get("/v2/groups").status_code for _ in range(4)] == [200, 200, 200, 429]


def test_many_slow_forms_on_a_disk_that_runs_full_end_with_503_and_no_files(full, disk):
    account = full.add_account()
    answers: list[int] = []
    halfway = threading.Barrier(4)

    def send() -> None:
        def body():
            head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
            yield head.encode() + bytes(2 * 1024**2)
            halfway.wait(HANGS_S)
            disk.fill()
            yield bytes(6 * 1024**2)
            yield f"\r\n--{BOUNDARY}--\r\n".encode()

        headers = account.headers | {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        with httpx.Client(trust_env=False, timeout=HANGS_S) as client:
            url = f"{full.base_url}/v2/models/pulse/analyze"
            answers.append(client.post(url, content=body(), headers=headers).status_code)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [503] * 4
    assert objects_of(full) == []
