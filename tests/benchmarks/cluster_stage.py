"""What the figures of the cluster stand on: services on both databases, filled with true rows, and their costs."""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import sqlalchemy as sa

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "service" / "cluster")]
sys.path.append(str(Path(__file__).parents[1] / "service" / "support"))

from own_postgresql import OwnPostgresql
from served import VbdeskProcess

from vbdesk.clock import SystemClock
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.longitudinal.parameters import shipped_parameters
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.engine.analysis import AnalysisRequest, analyse_file
from vbdesk.service.jobs.history_record import parse_result, record_of
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import Database, open_database
from vbdesk.service.kernel.db.tables import cohort_snapshots, credit_entries, groups, memberships, webhook_deliveries
from vbdesk.service.kernel.settings import load_settings
from vbdesk.signs.plugins.source import PluginSource

TESTS = Path(__file__).parents[1]
SPEECH = TESTS / "data" / "speech_kathleen_20s.flac"
DIALOGUE = TESTS / "data" / "dialogue_two_speakers_40s.flac"
PLENTY = {"rate_limits": {"enterprise": dict.fromkeys(("general", "analyze", "polling"), 10**9)}}
PER_GROUP = 100
DAYS = 100
# as it is set up in earnest, but for its size: what commits must be on the disk
POSTGRESQL = "-c max_connections=200 -c shared_buffers=512MB -c listen_addresses=127.0.0.1"


def request_for(name: str, *, diarize: bool = False) -> AnalysisRequest:
    """What a child is asked: a model's name, or a sign's."""
    kind = "sign" if name == "stress" else "model"
    return AnalysisRequest(kind, name, diarize, PluginSource(Path("/nowhere"), False), "en")


@dataclass
class Filled:
    """A service with one account and its groups of finished jobs."""

    name: str
    process: VbdeskProcess
    database: Database
    headers: dict[str, str]
    groups: int
    job_id: str
    _connection: http.client.HTTPConnection

    def get(self, path: str) -> float:
        """Seconds that a read takes on a kept connection."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers=self.headers)
        answer = self._connection.getresponse()
        body = answer.read()
        took_s = time.perf_counter() - began
        assert answer.status == 200, body
        return took_s

    def post(self, path: str, body: bytes, content_type: str) -> float:
        """Seconds that a submit takes."""
        began = time.perf_counter()
        self._connection.request("POST", path, body, {**self.headers, "Content-Type": content_type})
        answer = self._connection.getresponse()
        said = answer.read()
        took_s = time.perf_counter() - began
        assert answer.status == 200, said
        return took_s


@contextmanager
def filled_services(group_count: int, *, full_only: bool = False) -> Iterator[dict[str, Filled]]:
    """Services on both databases, one with a single group and one with `group_count`, all of 100 recordings."""
    with SPEECH.open("rb") as recording:
        result = analyse_file(recording, request_for("pulse")).result
    with ExitStack() as stack:
        server = OwnPostgresql(POSTGRESQL)
        stack.callback(server.close)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vbdesk-figures-")))
        made = {}
        for kind in ("sqlite", "postgresql"):
            for size, count in (("full", group_count),) if full_only else (("empty", 1), ("full", group_count)):
                url = server.make_database(f"{kind}_{size}") if kind == "postgresql" else ""
                made[f"{kind} {size}"] = _start(stack, folder / f"{kind}-{size}", url, count, result)
        yield made


def _start(stack: ExitStack, folder: Path, url: str, count: int, result: str) -> Filled:
    data_dir = folder / "data"
    data_dir.mkdir(parents=True)
    settings = load_settings(data_dir, database_url=url)
    database = open_database(settings)
    stack.callback(database.close)
    upgrade(database, data_dir)
    accounts = AccountService(SystemClock())
    with database.writing() as connection:
        account = accounts.create(connection, "Figures", Plan.ENTERPRISE, 10**9)
        key = accounts.create_key(connection, account.account_id, "figures")
    job_id = fill(database, account.account_id, count, result)
    (data_dir / "vbdesk.toml").write_text(
        f"database_url = {json.dumps(url)}\nrate_limits.enterprise = "
        "{general = 1000000000, analyze = 1000000000, polling = 1000000000}\n"
    )
    ports = ["--port", 0, "--storage-port", 0]
    process = VbdeskProcess(folder, "serve", "--data-dir", data_dir, "--workers", 0, *ports)
    process.start()
    stack.callback(process.kill)
    _wait_for_snapshot(database, count)
    address = urlsplit(process.ready["base_url"])
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
    stack.callback(connection.close)
    headers = {"X-Account-ID": account.account_id, "X-API-Key": key.api_key}
    return Filled(folder.name, process, database, headers, count, job_id, connection)


def _wait_for_snapshot(database: Database, group_count: int, within_s: float = 300) -> None:
    """Wait for the day's snapshot of a cohort that is large enough for one: it takes the process some seconds."""
    ends_at = time.monotonic() + within_s
    taken = sa.select(sa.func.count()).select_from(cohort_snapshots)
    while group_count > shipped_parameters().cohort.min_groups and time.monotonic() < ends_at:
        with database.reading() as connection:
            if connection.execute(taken).scalar_one():
                return
        time.sleep(0.5)


def fill(database: Database, account_id: str, group_count: int, result: str) -> str:
    """Store finished jobs as the service would have left them, a group at a time; the id of one."""
    now = datetime.now(UTC)
    reading = record_of(parse_result(result))
    per_day = timedelta(days=DAYS) / PER_GROUP
    job_id = ""
    for number in range(group_count):
        group_key, made_at = new_id(), now - timedelta(days=DAYS, seconds=group_count - number)
        moments = [made_at + per_day * k + timedelta(seconds=number) for k in range(PER_GROUP)]
        ids = [new_id() for _ in moments]
        with database.writing() as connection:
            values = {"group_key": group_key, "account_id": account_id, "group_id": f"subject-{number:05d}"}
            connection.execute(sa.insert(groups).values(**values, created_at=made_at, updated_at=now, revision=0))
            connection.execute(sa.insert(jobs), _jobs(account_id, ids, moments, result, reading))
            connection.execute(sa.insert(memberships), [{"group_key": group_key, "job_id": one} for one in ids])
            connection.execute(sa.insert(credit_entries), _entries(account_id, ids, moments))
            connection.execute(sa.insert(webhook_deliveries), _deliveries(account_id, ids, moments))
            connection.execute(sa.update(groups).where(groups.c.group_key == group_key).values(revision=1))
        job_id = ids[0]
    if database.engine.dialect.name == "postgresql":  # as it does by itself within minutes
        with database.reading() as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
    return job_id


def _jobs(
    account_id: str, ids: list[str], moments: list[datetime], result: str, reading: str
) -> list[dict[str, object]]:
    job = {
        "account_id": account_id, "status": "done", "job_type": "model", "api_version": "v2", "model_name": "pulse",
        "diarize": False, "audio_content_type": "audio/flac", "audio_size_bytes": SPEECH.stat().st_size,
        "audio_duration_seconds": 20.0, "audio_sample_rate": 44_100, "starts": 1, "result": result, "reading": reading,
    }  # fmt: skip
    return [
        job | {"job_id": job_id, "created_at": moment, "recorded_at": moment, "completed_at": moment}
        | {"started_at": moment, "audio_key": f"audio/{job_id}" if moment > moments[-30] else None}
        for job_id, moment in zip(ids, moments, strict=True)
    ]  # fmt: skip


def _entries(account_id: str, ids: list[str], moments: list[datetime]) -> list[dict[str, object]]:
    return [
        {"entry_id": new_id(), "account_id": account_id, "job_id": job_id, "created_at": moment}
        | {"kind": kind, "amount": 60, "delta": delta}
        for job_id, moment in zip(ids, moments, strict=True)
        for kind, delta in (("hold", -60), ("capture", 0))
    ]


def _deliveries(account_id: str, ids: list[str], moments: list[datetime]) -> list[dict[str, object]]:
    delivery = {"account_id": account_id, "url": "https://clinic.example/hook", "secret": b"0" * 76, "attempts": 1}
    return [
        delivery | {"delivery_id": new_id(), "job_id": job_id, "state": "sent", "due_at": moment}
        | {"created_at": moment, "last_status": 200, "last_error": None}
        for job_id, moment in zip(ids, moments, strict=True)
    ]  # fmt: skip


def cpu_s(pids: list[int]) -> float:
    """Processor time that these processes took so far (Linux)."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """Every process below this one, at this moment."""
    found = [pid]
    for parent in found:  # grows on the way
        listed = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
        found += map(int, listed.stdout.split())
    return found[1:]
