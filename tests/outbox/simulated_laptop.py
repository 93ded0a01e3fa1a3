"""A laptop with the outbox, a network that follows a schedule, and simulated power cuts.

A power cut may happen at any statement of the database or step of the network. The folder is copied as it is at that
moment (what kill -9 leaves), the old life has no network any more, and the next life starts on the copy. The dying code
may still write to the old folder, which is not read again.
"""

import shutil
from collections import Counter, deque
from collections.abc import Callable
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

import httpx
import numpy as np
from service_in_process import API, STORAGE, Clock, ServiceInProcess, without_fields

from list_by_hand import trace_statements
from vbdesk.boot_clock import BootTime
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.client import Client, Credentials, RetryRule
from vbdesk.contract.limits import Plan
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow, connect
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.sync.sync_worker import SyncWorker

KEY = bytes(range(32))
RATE = 8000
MONDAY = datetime(2026, 3, 2, 9, 0, 12, 345678, tzinfo=UTC)


class Fault(StrEnum):
    """What happens to one request."""

    REFUSED = "refused"  # never arrived
    NO_NAME = "no name"
    CONNECT_TIMEOUT = "connect timeout"
    PORTAL = "portal"  # a login page answers
    REDIRECT = "redirect"
    CUT_UP = "cut up"  # half of the request arrives
    CUT_DOWN = "cut down"  # done; half of the answer arrives
    LOST = "lost"  # done; no answer
    STALL = "stall"  # done; a minute of silence
    LATE = "late"  # it arrives seconds after the caller gave up
    SLOW = "slow"  # seconds each way
    ERROR_500 = "500"  # nothing was done
    ERROR_503 = "503"
    GATEWAY = "502 after"  # done; a gateway lost the answer
    CRASH = "500 after"  # done; the service failed before it could answer
    PAUSE = "429"
    PAUSE_UNTIMED = "429 untimed"
    NO_KEY = "401"
    NO_CREDITS = "402"


class Precision(StrEnum):
    """Precision of `recorded_at` at the service."""

    MICROSECONDS = "microseconds"
    MILLISECONDS = "milliseconds"
    SECONDS = "seconds"


class Killed(BaseException):
    """Ends the present life; must not be caught."""


class World:
    """The simulated time for service and laptop, and delayed requests."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._late: list[tuple[datetime, Callable[[], object]]] = []

    def advance(self, seconds: float) -> None:
        end = self.clock.moment + timedelta(seconds=seconds)
        while due := [entry for entry in self._late if entry[0] <= end]:
            first = min(due, key=lambda entry: entry[0])
            self._late.remove(first)
            self.clock.moment = max(self.clock.moment, first[0])
            first[1]()
        self.clock.moment = end

    def later(self, seconds: float, deed: Callable[[], object]) -> None:
        self._late.append((self.clock.moment + timedelta(seconds=seconds), deed))

    @property
    def idle(self) -> bool:
        return not self._late


class LaptopClock:
    """The laptop's two clocks: a settable one, and one that stops during sleep and restarts with the computer."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._began = world.clock.moment
        self.wrong_by_s = 0.0
        self.slept_s = 0.0

    def now(self) -> datetime:
        return self._world.clock.moment + timedelta(seconds=self.wrong_by_s)

    def monotonic(self) -> float:
        return (self._world.clock.moment - self._began).total_seconds() - self.slept_s

    def boot(self) -> BootTime:
        return BootTime(f"{self._began}", (self._world.clock.moment - self._began).total_seconds())

    def restart(self) -> None:
        self._began, self.slept_s = self._world.clock.moment, 0.0


class PowerCut:
    """Counts the steps of a life, and copies the folder at its last one."""

    def __init__(self, folder: Path, copy: Path) -> None:
        self.folder, self.copy = folder, copy
        self.ends_in: int | None = None
        self.dead = False
        self._off = False

    def step(self, *_: object) -> None:
        if self._off or self.dead or self.ends_in is None:
            return
        self.ends_in -= 1
        if self.ends_in <= 0:
            self.end()

    def end(self) -> None:
        shutil.copytree(self.folder, self.copy, ignore=shutil.ignore_patterns("*-shm"))
        self.dead = True

    @contextmanager
    def off(self):
        """Do not count steps while the test reads."""
        before, self._off = self._off, True
        try:
            yield
        finally:
            self._off = before


class BadNetwork(httpx.BaseTransport):
    """The network between the laptop and the service."""

    def __init__(self, service: ServiceInProcess, world: World, *, reads_refs: bool, precision: Precision) -> None:
        self.service, self.world = service, world
        self.tripwire: PowerCut | None = None
        self.faults: dict[str, deque[tuple[Fault, float]]] = {kind: deque() for kind in (*KINDS, "any")}
        self.online = True
        self.statuses: Counter[tuple[str, int]] = Counter()  # answers of the service itself
        self.met: Counter[str] = Counter()  # faults that hit a request
        self.base_url = API
        self.drops = ""  # whose headers a gateway drops: those of "requests" or "answers"
        self._reads_refs, self._precision = reads_refs, precision

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._pass()
        kind = kind_of(request)
        queue = self.faults[kind] or self.faults["any"]
        fault, seconds = queue.popleft() if queue else (None, 0.0)
        if not self.online:
            raise httpx.ConnectError("[Errno 101] Network is unreachable", request=request)
        if fault is not None:
            self.met[fault] += 1
        before = _BEFORE.get(fault) if fault else None
        if before is not None:
            return before(request)
        content = b"".join(request.stream)
        self._pass()
        answer = self._carry(request, content, kind, fault, seconds)
        self._pass()
        return answer

    def _pass(self) -> None:
        if self.tripwire is not None:
            self.tripwire.step()
            if self.tripwire.dead:
                raise Killed

    def _carry(
        self, request: httpx.Request, content: bytes, kind: str, fault: Fault | None, seconds: float
    ) -> httpx.Response:
        if fault is Fault.CUT_UP:
            self._deliver(request, content[: len(content) // 2], kind, broken_off=True)
            raise httpx.WriteError("cut", request=request)
        if fault is Fault.LATE:
            self.world.later(seconds, lambda: self._deliver(request, content, kind))
            raise httpx.ReadError("cut", request=request)
        if fault is Fault.SLOW:
            self.world.advance(seconds)
        answer = self._deliver(request, content, kind)
        if fault is Fault.SLOW:
            self.world.advance(seconds)
        if fault is Fault.STALL:
            self.world.advance(60)
            raise httpx.ReadTimeout("silence", request=request)
        if fault is Fault.LOST:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)
        if fault is Fault.CUT_DOWN:
            return httpx.Response(answer.status_code, headers=answer.headers, stream=_Torn(answer.content))
        if fault is Fault.CRASH:
            return _answering(500, "PROCESSING_ERROR")(request)
        if fault is Fault.GATEWAY:
            return httpx.Response(502, html="<h1>Bad gateway</h1>")
        return answer

    def _deliver(
        self, request: httpx.Request, content: bytes, kind: str, *, broken_off: bool = False
    ) -> httpx.Response:
        if not self._reads_refs or self.drops == "requests":
            request.headers.pop("Idempotency-Key", None)
        if kind == "analyze":
            content = _cut_moment(content, self._precision)
        answer = self.service.exchange(request, content, broken_off=broken_off)
        if not self._reads_refs:
            without_fields(answer, "client_ref")
        if self.drops == "answers":
            answer.headers.pop("X-Vbdesk-Fields", None)
        self.statuses[kind, answer.status_code] += 1
        return answer


KINDS = ("mint", "put", "analyze", "job", "group", "credits")


def kind_of(request: httpx.Request) -> str:
    path = request.url.path
    if request.url.host == httpx.URL(STORAGE).host:
        return "put"
    if path == "/v2/audio/uploads":
        return "mint"
    if "/analyze" in path:
        return "analyze"
    if path.startswith("/v2/jobs/"):
        return "job"
    return "group" if path.startswith("/v2/groups/") else "credits"


class _Torn(httpx.SyncByteStream):
    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self):
        yield self._content[: len(self._content) // 2]
        raise httpx.ReadError("cut")


def _failing(error: type[httpx.TransportError], words: str) -> Callable[[httpx.Request], httpx.Response]:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error(words, request=request)

    return fail


def _answering(status: int, code: str = "", **headers: str) -> Callable[[httpx.Request], httpx.Response]:
    body = {"code": code, "message": "No.", "status": status}
    return lambda request: httpx.Response(status, json=body, headers=headers)


_PAGE = "<html><body>Welcome to the guest network. Accept the terms.</body></html>"
_BEFORE: dict[Fault, Callable[[httpx.Request], httpx.Response]] = {
    Fault.REFUSED: _failing(httpx.ConnectError, "[Errno 111] Connection refused"),
    Fault.NO_NAME: _failing(httpx.ConnectError, "[Errno -2] Name or service not known"),
    Fault.CONNECT_TIMEOUT: _failing(httpx.ConnectTimeout, "timed out"),
    Fault.PORTAL: lambda request: httpx.Response(200, html=_PAGE),
    Fault.REDIRECT: lambda request: httpx.Response(302, headers={"Location": "http://portal.test/"}),
    Fault.ERROR_500: _answering(500, "PROCESSING_ERROR"),
    Fault.ERROR_503: _answering(503, "PROCESSING_ERROR"),
    Fault.PAUSE: _answering(429, "RATE_LIMIT_EXCEEDED", **{"Retry-After": "7"}),
    Fault.PAUSE_UNTIMED: _answering(429, "RATE_LIMIT_EXCEEDED"),
    Fault.NO_KEY: _answering(401, "UNAUTHORIZED"),
    Fault.NO_CREDITS: _answering(402, "INSUFFICIENT_CREDITS"),
}


def _cut_moment(content: bytes, precision: Precision) -> bytes:
    """The form as seen by a service that keeps fewer digits of `recorded_at`."""
    digits = {Precision.MICROSECONDS: 6, Precision.MILLISECONDS: 3, Precision.SECONDS: 0}[precision]
    head, found, rest = content.partition(b'name="recorded_at"')
    if not found or digits == 6:
        return content
    value, end, tail = rest.lstrip(b"\r\n").partition(b"\r\n")
    whole, dot, fraction = value.partition(b".")
    if dot:
        zone = fraction.lstrip(b"0123456789")
        value = whole + (dot + fraction[:digits] if digits else b"") + zone
    return head + found + b"\r\n\r\n" + value + end + tail


class Laptop:
    """The outbox, through all its lives."""

    def __init__(self, folder: Path, network: BadNetwork, credentials: Credentials, plan: Plan) -> None:
        self.network, self.plan = network, plan
        self.service, self.world = network.service, network.world
        self.clock = LaptopClock(self.world)
        self.account_id = credentials.account_id
        self.key_here = credentials  # what is in the keyring
        self.takes: dict[str, str] = {}  # take id: digest of its samples
        self.lives = 0
        self._folder = folder
        self._begin(folder / "library-0")

    def _begin(self, folder: Path) -> None:
        self.lives += 1
        self.folder = folder
        self.tripwire = PowerCut(folder, self._folder / f"library-{self.lives}")
        self.library = Library(folder, KEY, self.clock)
        with self.library.store.changing() as database:
            trace_statements(database, self.tripwire.step)
        self._beside = connect(folder / "library.sqlite", KEY, read_only=True)
        self.network.tripwire = self.tripwire
        self.sync_worker = SyncWorker(self.library, self._connect, self.clock, plan=self.plan)
        self.sync_worker.recover()

    def _connect(self) -> Client:
        return Client(self.network.base_url, self.key_here, retries=RetryRule.NEVER, transport=self.network)

    def do(self, deed: Callable[[], object]) -> object:
        """Do something in this life; if it ends meanwhile, start the next one and return None."""
        try:
            done = deed()
        except Killed:
            done = None
        if not self.tripwire.dead:
            return done
        self._let_go()
        shutil.rmtree(self.tripwire.folder)
        self.clock.restart()
        self._begin(self.tripwire.copy)
        return None

    def kill(self) -> None:
        """Cut the power now."""
        self.tripwire.end()
        self.do(lambda: None)

    def restart(self) -> None:
        """Close normally, and open again."""
        self._let_go()
        self.clock.restart()
        self._begin(self.folder)

    def close(self) -> None:
        self.network.tripwire = None
        self._let_go()

    def _let_go(self) -> None:
        self._beside.close()
        self.sync_worker.disconnect()
        self.library.close()

    def record(self, number: int, recorded_at: datetime, group_id: str, target: RecordingTarget) -> None:
        """Record, add and queue a take; repeat it if the power fails before it was added."""
        path = self.library.recording_folder / f"{number}.take"
        samples = _sound(number)
        writer = EncryptedTakeWriter(path, KEY, RATE)
        writer.append(samples)
        writer.close()
        metadata = TakeMetadata(group_id, recorded_at, target)
        take_id = self.do(lambda: self.library.add_take(path, metadata))
        if take_id is None:  # rescue: the file is in the recorder's folder, or already in the library
            take_id = self._rescued(metadata)
        self.takes[str(take_id)] = _digest(samples)
        if self.library.get(str(take_id)).state == "checked":
            self.do(lambda: self.library.queue(str(take_id)))

    def _rescued(self, metadata: TakeMetadata) -> str:
        with self.tripwire.off():
            for path in self.library.recording_folder.glob("*.take"):
                return self.library.add_take(path, metadata)
            return next(item.take_id for item in self.library.list() if item.take_id not in self.takes)

    def raw(self, query: str) -> list[DatabaseRow]:
        """Read the library's database directly."""
        return self._beside.rows(query)


_SOUNDS: dict[int, np.ndarray] = {}


def _sound(number: int) -> np.ndarray:
    """Faint noise with a beat, of a unique length; quick to encode and small."""
    if number not in _SOUNDS:
        noise = np.random.default_rng(number).integers(-40, 40, round((15.2 + 0.05 * number) * RATE))
        noise[:: RATE // 4] = 3000 + number
        _SOUNDS[number] = noise.astype(np.int16)
    return _SOUNDS[number]


def _digest(samples: np.ndarray) -> str:
    import hashlib

    return hashlib.sha256(samples.astype("<i2").tobytes()).hexdigest()
