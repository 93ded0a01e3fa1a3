"""The real service without sockets: API and object store behind one function, on SQLite, with a manual clock.

Routes, storage, ledger, jobs and groups are the product's. Only the analysis is replaced by a worker that returns a
prepared result on demand.
"""

import asyncio
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
from service_records import ServiceRecords

from patience import HANGS_S
from vbdesk.client import Credentials
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.composition.app import create_app
from vbdesk.service.composition.open_context import close_context, open_context
from vbdesk.service.composition.serve import embedded_origin
from vbdesk.service.composition.servers import run_servers
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.encryption.recording_files import StoredRecording
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.errors import AudioRejected
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.ports.audio_inspector import AudioFacts, AudioRefusal, inspect_recording

sys.path.append(str(Path(__file__).parents[1] / "service" / "support"))

from migrated_database import migrated_database
from sample_results import result_json

API, STORAGE = "http://service.test", "http://storage.test"
CHUNK_BYTES = 64 * 1024


class Clock:
    """The time of day for the service; the test moves it."""

    def __init__(self, start: datetime) -> None:
        self.moment = start

    def now(self) -> datetime:
        return self.moment


class _Inspector:
    """Looks at recordings in this process."""

    async def inspect(self, recording: StoredRecording, sender: str) -> AudioFacts:
        with recording.open("rb") as file:
            seen = await asyncio.to_thread(inspect_recording, file)
        if isinstance(seen, AudioRefusal):
            raise AudioRejected(seen.code, seen.message)
        return seen


class _Queue:
    def __init__(self) -> None:
        self.job_ids: list[str] = []

    def enqueue(self, connection: Any, job_id: str, queue_tag: int) -> None:
        self.job_ids.append(job_id)


def without_fields(response: httpx.Response, *fields: str) -> None:
    """Take the announcement of these fields out of an answer, as of a service that does not read them."""
    if "X-Vbdesk-Fields" in response.headers:
        names = [name for name in response.headers["X-Vbdesk-Fields"].split(", ") if name not in fields]
        response.headers["X-Vbdesk-Fields"] = ", ".join(names)


class ServiceInProcess:
    """One service for any number of accounts; `close` ends it.

    Attributes:
        records: its data.
        answered: statuses of the API's answers, whether or not they arrived.
    """

    def __init__(self, folder: Path, clock: Clock, storage_origin: str = STORAGE) -> None:
        self.clock = clock
        settings = load_settings(folder)
        if not settings.database_file.exists():
            folder.mkdir(exist_ok=True)
            settings.database_file.write_bytes(migrated_database())
        database = open_database(settings)
        upgrade(database, folder)
        self._queue = _Queue()
        self.context = open_context(settings, database, self._queue, _Inspector(), clock, storage_origin)
        self._api = create_app(self.context)
        self._store = embedded_origin(self.context)
        self._lifecycle = JobLifecycle.of(self.context)
        self._accounts = AccountService(clock)
        self._credits = CreditsService(clock)
        self.records = ServiceRecords(folder)
        self._started: set[str] = set()
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._serving: Future[None] | None = None
        self.answered: Counter[int] = Counter()
        self._thread = threading.Thread(target=self._run, name="service", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(HANGS_S)
        self.records.close()
        close_context(self.context)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_the_end())  # one task, so that the pool's threads stay

    async def _until_the_end(self) -> None:
        await self._ending.wait()
        if self._serving is not None:
            await asyncio.wrap_future(self._serving)

    # Requests

    def exchange(self, request: httpx.Request, body: bytes, *, broken_off: bool = False) -> httpx.Response:
        """Answer a request; `broken_off`: only `body` arrives, then the connection breaks."""
        answering = self._answer(request, body, broken_off)
        return asyncio.run_coroutine_threadsafe(answering, self._loop).result(HANGS_S)

    async def _answer(self, request: httpx.Request, body: bytes, broken_off: bool) -> httpx.Response:
        raw_path, _, query = request.url.raw_path.partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote(raw_path.decode()),
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": ("laptop", 1),
            "server": (request.url.host, 80),
        }
        pieces = _pieces(body, broken_off)
        status, headers, content = 500, [], bytearray()

        async def receive() -> Any:
            return next(pieces)

        async def send(message: Any) -> None:
            nonlocal status, headers
            if message["type"] == "http.response.start":
                status, headers = message["status"], message["headers"]
            else:
                content.extend(message.get("body", b""))

        app = self._api if request.url.host == httpx.URL(API).host else self._store
        await app(scope, receive, send)
        headers = [*headers, (b"date", http_date(self.clock.now()))]  # as the real server does
        return httpx.Response(status, headers=headers, content=bytes(content), request=request)

    def listen(self, api: socket.socket, store: socket.socket) -> None:
        """Also serve on two sockets, until `close`."""
        ready = threading.Event()
        apps = [(self._counted(self._api), api), (self._store, store)]
        serving = run_servers(apps, self._ending, ready.set)
        self._serving = asyncio.run_coroutine_threadsafe(serving, self._loop)
        assert ready.wait(HANGS_S), "the service did not start"

    def _counted(self, app: Any) -> Any:
        async def counting(scope: Any, receive: Any, send: Any) -> None:
            async def watched(message: Any) -> None:
                if message["type"] == "http.response.start":
                    self.answered[message["status"]] += 1
                await send(message)

            await app(scope, receive, watched)

        counting.state = app.state
        return counting

    # Operator and analysis worker

    def add_account(self, plan: Plan, credits: int) -> Credentials:
        with self.context.database.writing() as connection:
            account = self._accounts.create(connection, "Test", plan, credits)
            key = self._accounts.create_key(connection, account.account_id, "laptop")
        return Credentials(account.account_id, key.api_key)

    def change_key(self, credentials: Credentials) -> Credentials:
        """Revoke every key of the account, and make another."""
        account_id = credentials.account_id
        with self.context.database.writing() as connection:
            for key in self._accounts.list_keys(connection, account_id):
                self._accounts.revoke_key(connection, account_id, key.key_id)
            key = self._accounts.create_key(connection, account_id, "laptop")
        return Credentials(account_id, key.api_key)

    def grant(self, account_id: str, credits: int) -> None:
        with self.context.database.writing() as connection:
            self._credits.grant(connection, account_id, credits)

    def spend(self, account_id: str, credits: int) -> None:
        """Another computer of the account spends credits."""
        with self.context.database.writing() as connection:
            self._credits.hold(connection, account_id, credits, new_id())

    def queued(self) -> list[str]:
        """Ids of unfinished jobs, oldest first."""
        return list(self._queue.job_ids)

    def start(self, job_id: str) -> None:
        """Start a job as a worker does; nothing if it has started already."""
        if job_id in self._started:
            return
        self._started.add(job_id)
        with self.context.database.writing() as connection:
            self._lifecycle.start(connection, job_id, "bench", 3600)

    def finish(self, job_id: str, ends_as: str = "done") -> None:
        """Start and end a job as a worker does."""
        self._queue.job_ids.remove(job_id)
        with self.context.database.writing() as connection:
            run = self._lifecycle.start(connection, job_id, "bench", 3600)
            if run is None:
                return
            if ends_as == "failed":
                self._lifecycle.fail(connection, job_id)
            elif ends_as == "timed-out":
                self._lifecycle.time_out(connection, job_id)
            else:
                kind = "model" if run.target.sign_count > 1 else "sign"
                self._lifecycle.analysed(connection, job_id, result_json(kind, run.target.analysed, 0.4))


def http_date(moment: datetime) -> bytes:
    return format_datetime(moment, usegmt=True).encode()


def _pieces(body: bytes, broken_off: bool) -> Iterator[dict[str, Any]]:
    starts = range(0, len(body), CHUNK_BYTES) or [0]
    for start in starts:
        more = broken_off or start + CHUNK_BYTES < len(body)
        yield {"type": "http.request", "body": body[start : start + CHUNK_BYTES], "more_body": more}
    while True:
        yield {"type": "http.disconnect"}
