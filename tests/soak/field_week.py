"""A week offline: 200 recordings, then a bad network, kills and a standard plan; the Outbox page is checked throughout.

    python tests/soak/field_week.py [--takes 200] [--seed 1] [--good]

Real: the takes (speech, written by the recorder's writer), the library, the sync worker, the client, TCP through two
flaky proxies with their worst settings, the service (routes, storage, ledger, jobs, groups, and rate limits by its own
clock), and the page's view model with its workers.
Simulated: waiting time. The laptop and the service share one clock, which runs in real time and is moved forward when
the sync worker has nothing due. Uploads, latency and stalls take real time, and answers carry this clock's date. The
analysis is a prepared result after 3 to 25 s. A kill is a copy of the folder at one step of the database or the
network, as in tests/outbox/simulated_laptop.py; outbox_processes.py kills real processes. `--good` keeps the network
good and kills nobody, so that the first estimate can be compared with the time it took.

Prints one JSON object. Exits with 0 if each take arrived once, no request was refused for its rate, and the page always
matched the database and the service.
"""

import argparse
import json
import os
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "outbox")]

import httpx
import numpy as np
import soundfile as sf
from processes import SPEECH, Proxy
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from service_in_process import ServiceInProcess, http_date
from service_records import StoredJob, samples_sha256
from simulated_laptop import KEY, MONDAY, Killed, Laptop, PowerCut, World

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.playback import SilentPlayer
from vbdesk.client import Client, Credentials, RequestBudget, RetryRule
from vbdesk.contract.limits import Plan
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import TaskOwner
from vbdesk.desk.outbox.view_model import OutboxViewModel
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.shell.workspace import Workspace, open_budget
from vbdesk.desk.ui.cells import StateCell
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.network import UnknownNetwork
from vbdesk.outbox.sync.sync_worker import SyncStatus

TARGET, COST, CREDITS = RecordingTarget("sign", "stress"), 10, 100_000
ANALYSIS_S = (3.0, 25.0)
TAKE_S = (15.5, 19.5)
SUBJECTS = 12
LONGEST_SKIP_S = 2.0
GIVEN_UP_AFTER_S = 24 * 3600.0
WORST = (
    ("latency=90", "jitter=150"),
    ("latency=30", "rate=300000"),
    ("lose_reply=1", "faults=3"),
    ("lose_reply=1", "faults=1", "latency=60"),
    ("up_limit=2000", "then=rst", "faults=2"),
    ("up_limit=120000", "then=rst", "faults=1"),
    ("down_limit=60", "then=fin", "faults=3"),
    ("up_limit=400", "then=stall", "faults=1"),
    ("link=stall",),
    ("link=down",),
)
STALLING = {("up_limit=400", "then=stall", "faults=1"), ("link=stall",)}  # abandoned after a second
QUICK = Path("/dev/shm")  # in memory, if available


class RunningClock:
    """Real time from Monday on, plus the skipped time; for laptop and service."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self.skipped_s = 0.0

    @property
    def moment(self) -> datetime:
        return MONDAY + timedelta(days=7, seconds=time.perf_counter() - self._began + self.skipped_s)

    def now(self) -> datetime:
        return self.moment


class Road(httpx.BaseTransport):
    """Real TCP to the proxies; a life may end at any step, and the page is checked meanwhile."""

    def __init__(self, service: ServiceInProcess, clock: RunningClock, base_url: str) -> None:
        self.service, self.base_url = service, base_url
        self.world = World(clock)
        self.tripwire: PowerCut | None = None
        self.meanwhile: Callable[[], None] = lambda: None
        self._real = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._pass()
        stream = _Watched(request.stream, self._pass)
        request = httpx.Request(
            request.method, request.url, headers=request.headers, stream=stream, extensions=request.extensions
        )
        response = self._real.handle_request(request)
        content = response.read()
        self._pass()
        others = [
            (name, value) for name, value in response.headers.raw if name.lower() not in (b"date", b"content-encoding")
        ]
        headers = [*others, (b"date", http_date(self.service.clock.now()))]
        return httpx.Response(response.status_code, headers=headers, content=content, request=request)

    def _pass(self) -> None:
        assert self.tripwire is not None
        self.tripwire.step()
        if self.tripwire.dead:
            raise Killed
        self.meanwhile()


class _Watched(httpx.SyncByteStream):
    def __init__(self, stream, step) -> None:
        self._stream, self._step = stream, step

    def __iter__(self):
        for chunk in self._stream:
            self._step()
            yield chunk


@dataclass
class Tally:
    """Counts over the week."""

    looks: int = 0
    checks: int = 0
    uploading_seen: int = 0
    offline_seen: int = 0
    roads: Counter[str] = field(default_factory=Counter)
    told: list[tuple[float, float]] = field(default_factory=list)  # time, estimated seconds left

    def holds(self, fact: bool, otherwise: str) -> None:
        self.checks += 1
        if not fact:
            raise AssertionError(otherwise)


class Page:
    """The Outbox page's view model over the library of one life, with its sync worker.

    The test runs the sync worker itself, instead of the desk's thread, so that it can move the clock.
    """

    def __init__(self, folder: Path, laptop: Laptop, tally: Tally) -> None:
        self._laptop, self._tally, self._tasks = laptop, tally, TaskOwner()
        clock, silence = laptop.clock, FileMicrophone(np.zeros(1, np.int16), 48_000)
        profile = Profile("p1", "Field", "service", laptop.network.base_url, laptop.account_id, plan=laptop.plan)
        keyring = MemoryVault()
        keyring.set(profile.api_key_name, laptop.key_here.api_key)
        ports = DeskPorts(
            folder,
            folder,
            clock,
            silence,
            silence,
            SilentPlayer,
            keyring,
            connect=self._connect,
            network=UnknownNetwork,
        )
        budget = open_budget(profile, laptop.library)
        self._workspace = Workspace(profile, laptop.library, budget, ProgramFlow(ProgramContext(ports), self._tasks))
        self._shown = OutboxViewModel(self._workspace.flow)
        self._refusals: list[str] = []
        self._shown.refused.connect(self._refusals.append)
        self._shown.set_shown(True)
        laptop.sync_worker = self._workspace._sync_worker
        laptop.sync_worker.recover()

    def _connect(self, base_url: str, credentials: Credentials, budget: RequestBudget | None = None) -> Client:
        return Client(base_url, credentials, retries=RetryRule.NEVER, budget=budget, transport=self._laptop.network)

    def close(self) -> None:
        self._workspace.close()
        self._shown.deleteLater()
        self._workspace.deleteLater()
        self._pump()

    def look(self, jobs: list[StoredJob]) -> None:
        """Compare everything on the page with the database and the service."""
        laptop, tally, shown = self._laptop, self._tally, self._shown
        shown.refresh()
        self._pump()
        status = laptop.sync_worker.status
        tally.holds(not self._refusals, f"the page could not read the library: {self._refusals}")
        tally.looks += 1
        state_of = {row["take_id"]: row for row in laptop.raw("SELECT take_id, state, job_id FROM recordings")}
        count = Counter(row["state"] for row in state_of.values())
        rows = {row.key: row for row in shown.table.rows()}
        tally.holds(rows.keys() == state_of.keys(), "the page lists other recordings")
        figures = shown.figures
        told = (figures.waiting, figures.uploading, figures.running, figures.attention)
        stopped = count["failed"] + count["timed_out"] + count["needs_attention"]
        true = (count["waiting"], count["uploading"], count["submitted"] + count["running"], stopped)
        tally.holds(told == true, f"the page counts {told}, the database {true}")
        there = {job.job_id: job.status for job in jobs}
        for take_id, fact in state_of.items():
            [mark] = [cell for cell in rows[take_id].cells if isinstance(cell, StateCell)]
            tally.holds(mark.state == fact["state"], f"{mark.state} on the page, {fact['state']} in the database")
            allowed = _TRUE_OF_SERVICE.get(OutboxState(fact["state"]))
            tally.holds(
                allowed is None or there.get(fact["job_id"]) in allowed, f"{mark.state}, and the service knows better"
            )
        self._check_banner(count, status)
        tally.uploading_seen += bool(figures.uploading)

    def _check_banner(self, count: Counter[str], status: SyncStatus) -> None:
        banner, moving = self._shown._data.banner, sum(count[state] for state in ON_THEIR_WAY)
        if not moving:
            self._tally.holds(banner is None or status.on_hold is not None, "the page speaks of what is done")
            return
        self._tally.holds(banner is not None, "the page says nothing of what is on its way")
        assert banner is not None
        self._tally.offline_seen += status.connected is False
        self._tally.holds(banner.warning == (status.connected is False), f"{status.connected}: {banner.sentence}")
        if not banner.warning:
            self._tally.holds(
                banner.sentence.startswith(f"{moving} recording"), f"{moving} are told as: {banner.sentence}"
            )

    def _pump(self) -> None:
        app = QApplication.instance()
        assert app is not None
        app.processEvents()
        reads = self._workspace.flow.reads
        while self._tasks.busy or any(entry._reading is not None for entry in reads._entries.values()):
            time.sleep(0.0005)
            app.processEvents()
        app.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


_TRUE_OF_SERVICE = {
    OutboxState.WAITING: {None},
    OutboxState.UPLOADING: {None},
    OutboxState.SUBMITTED: {"queued", "running", "done"},
    OutboxState.RUNNING: {"running", "done"},
    OutboxState.DONE: {"done"},
}
"""What the service may say of the job that the database names."""


class Week:
    """One laptop, one service, and the network between them."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.options, self.chance, self.tally = options, random.Random(options.seed), Tally()
        self.folder, self.clock = folder, RunningClock()
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        ports = [bound.getsockname()[1] for bound in sockets]
        self.proxies = [Proxy(folder, name, port) for name, port in zip(("api", "storage"), ports, strict=True)]
        (folder / "service").mkdir()
        self.service = ServiceInProcess(folder / "service", self.clock, self.proxies[1].address)
        self.service.listen(*sockets)
        credentials = self.service.add_account(Plan.STANDARD, CREDITS)
        self.road = Road(self.service, self.clock, self.proxies[0].address)
        self.laptop = Laptop(folder, self.road, credentials, Plan.STANDARD)
        self.page = Page(folder, self.laptop, self.tally)
        self.road.meanwhile = self.look
        self.ends_at: dict[str, datetime] = {}
        self.timers: list[threading.Timer] = []

    def close(self) -> None:
        for timer in self.timers:
            timer.join()
        self.page.close()
        self.laptop.close()
        for proxy in self.proxies:
            proxy.stop()
        self.service.close()

    # The week

    def record(self) -> None:
        """Make and queue a week's takes without a network."""
        speech, rate = sf.read(SPEECH, dtype="int16")
        for number in range(self.options.takes):
            length = round(self.chance.uniform(*TAKE_S) * rate)
            first = self.chance.randrange(len(speech) - length)
            path = self.laptop.library.recording_folder / f"{number}.take"
            writer = EncryptedTakeWriter(path, KEY, rate)
            for start in range(first, first + length, rate):
                writer.append(speech[start : min(start + rate, first + length)] + np.int16(number % 5))
            writer.close()
            moment = MONDAY + timedelta(minutes=number * 7 * 24 * 60 / self.options.takes)
            facts = TakeMetadata(f"village-{number % SUBJECTS}", moment, TARGET)
            take_id = self.laptop.library.add_take(path, facts)
            self.laptop.takes[take_id] = self.laptop.library.audio(take_id).sha256()
            self.laptop.library.queue(take_id)

    def offline(self) -> None:
        """Without an answer, the page says so."""
        for proxy in self.proxies:
            proxy.say("link=down")
        for _ in range(4):
            self.step()

    def send(self) -> float:
        """Run until everything arrived; returns the seconds by the clock."""
        began = self.clock.now()
        self.repair()
        self.laptop.sync_worker.resume()
        for number in range(1_000_000):
            if not self.options.good and number % 25 == 0:
                self.repair() if number % 100 == 0 else self.worsen()
            if not self.options.good and self.chance.random() < 1 / 80 and self.laptop.tripwire.ends_in is None:
                self.laptop.tripwire.ends_in = self.chance.randint(1, 60)
            self.step()
            counts = self.laptop.library.counts()
            if not any(counts[state] for state in ON_THEIR_WAY):
                break
            self.tally.holds(counts[OutboxState.NEEDS_ATTENTION] == 0, f"a person was asked: {self.reasons()}")
            self.tally.holds(self.clock.now() - began < timedelta(seconds=GIVEN_UP_AFTER_S), f"stuck: {counts}")
        return (self.clock.now() - began).total_seconds()

    def step(self) -> None:
        lives = self.laptop.lives
        due_s = self.laptop.do(self.laptop.sync_worker.step)
        if self.laptop.lives != lives:
            self.page.close()
            self.page = Page(self.folder, self.laptop, self.tally)
        self.analyse()
        self.look()
        self.clock.skipped_s += min(max(float(str(due_s or 0.0)), 0.0), LONGEST_SKIP_S)

    def look(self) -> None:
        if self.laptop.tripwire.dead:
            return
        with self.laptop.tripwire.off():
            self.page.look(self.service.records.jobs(self.laptop.account_id))
            forecast = self.laptop.sync_worker.forecast()
            if forecast.whole_s is not None:
                self.tally.told.append(((self.clock.now() - MONDAY).total_seconds(), forecast.whole_s))

    def analyse(self) -> None:
        """The service's analysis worker."""
        now = self.clock.now()
        for job_id in self.service.queued():
            if job_id not in self.ends_at:
                self.ends_at[job_id] = now + timedelta(seconds=self.chance.uniform(*ANALYSIS_S))
                self.service.start(job_id)
            elif now >= self.ends_at[job_id]:
                self.service.finish(job_id)

    def repair(self) -> None:
        for proxy in self.proxies:
            proxy.say("reset", "cut")

    def worsen(self) -> None:
        for proxy in self.proxies:
            words = self.chance.choice(WORST)
            self.tally.roads[" ".join(words)] += 1
            proxy.say("reset", *words)
            if words in STALLING:
                timer = threading.Timer(1.0, proxy.say, ("link=up", "then=rst", "cut"))
                self.timers.append(timer)
                timer.start()

    def reasons(self) -> list[str | None]:
        return [item.reason for item in self.laptop.library.list() if item.state is OutboxState.NEEDS_ATTENTION]

    # Invariants at the end

    def judge(self) -> None:
        jobs = self.service.records.jobs(self.laptop.account_id)
        items = {item.job_id: item for item in self.laptop.library.list()}
        tally = self.tally
        tally.holds(len(items) == len(self.laptop.takes) == self.options.takes, "a take was lost, or is there twice")
        tally.holds(len(jobs) == self.options.takes, f"{len(jobs)} jobs for {self.options.takes} takes")
        for job in jobs:
            item = items[job.job_id]
            sound = samples_sha256(self.service.records.audio(job))
            tally.holds(sound == self.laptop.takes[item.take_id], "another sound at the service")
            tally.holds((item.state, job.status) == ("done", "done"), f"{item.state} here, {job.status} there")
        tally.holds(not self.laptop.raw("SELECT 1 FROM pending"), "something is still to be done")
        balance, _ = self.service.records.ledger(self.laptop.account_id)
        tally.holds(balance == CREDITS - COST * self.options.takes, "paid more or less than once")
        tally.holds(self.service.answered[429] == 0, f"{self.service.answered[429]} requests were refused for the rate")

    def figures(self, took_s: float) -> dict[str, object]:
        done_at = self.tally.told[-1][0] if self.tally.told else 0.0
        off = [told / (done_at - when) for when, told in self.tally.told if done_at - when > 120]
        first = self.tally.told[0][1] if self.tally.told else None
        return {
            "takes": self.options.takes,
            "network": "good" if self.options.good else "worst",
            "clock_minutes": round(took_s / 60, 1),
            "told_at_start_minutes": first and round(first / 60, 1),
            "told_against_true": [round(share, 2) for share in statistics.quantiles(off, n=10)]
            if len(off) > 10
            else off,
            "kills": self.laptop.lives - 1,
            "answers": dict(self.service.answered),
            "faulted": [proxy.say("status")["faulted"] for proxy in self.proxies],
            **{name: value for name, value in vars(self.tally).items() if name != "told"},
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--takes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--good", action="store_true", help="no faults and no kills")
    options = parser.parse_args()
    app = QApplication(sys.argv[:1])
    began, failure, took_s = time.monotonic(), "", 0.0
    with tempfile.TemporaryDirectory(prefix="vbdesk-soak-", dir=QUICK if os.access(QUICK, os.W_OK) else None) as folder:
        week = Week(Path(folder), options)
        try:
            week.record()
            week.offline()
            took_s = week.send()
            week.judge()
        except AssertionError as error:
            failure = f"FAILED: {error}"
        figures = week.figures(took_s)
        week.close()
    print(json.dumps({"seed": options.seed, "real_s": round(time.monotonic() - began, 1), **figures}, indent=1))
    if failure:
        print(failure)
    app.shutdown()
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
