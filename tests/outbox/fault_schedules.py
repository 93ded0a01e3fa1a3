"""Schedules of faults for the outbox: their moves, how to play them, and the invariants of each step and of the end.

`Bench.play` plays a schedule against the real service in process; `generate` makes a random one; `smallest_that_fails`
shrinks a failing one.
"""

import hashlib
import itertools
import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random

from service_in_process import Clock, ServiceInProcess
from service_records import StoredJob, samples_sha256
from simulated_laptop import KEY, KINDS, MONDAY, BadNetwork, Fault, Laptop, Precision, World

from vbdesk.contract.limits import Plan
from vbdesk.desk.outbox.banner import OutboxBanner, banner_of
from vbdesk.desk.outbox.rows import OutboxRow, RowAction, RowContext
from vbdesk.desk.outbox.sorting import SortedOutbox
from vbdesk.desk.ui.cells import StateCell
from vbdesk.outbox.library import audit, audit_reader
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow
from vbdesk.outbox.library.items import RecordingTarget
from vbdesk.outbox.library.library import NotAllowed
from vbdesk.outbox.library.settings import Retention, RetentionRule, SendRule
from vbdesk.outbox.library.states import ON_THEIR_WAY, Fix, OutboxState

SUBJECTS = ("ward4-0172", "ward4-0063")
TARGETS = (RecordingTarget("model", "pulse"), RecordingTarget("sign", "stress"))
COST = {"pulse": 60, "stress": 10}
ENDED = {OutboxState.DONE: "done", OutboxState.FAILED: "failed", OutboxState.TIMED_OUT: "timed-out"}
SETTLED_WITHIN_S = 3 * 3600.0
MOST_STEPS = 3000


# The moves of a schedule


@dataclass(frozen=True)
class Record:
    """A recording is made and sent, so many microseconds after the one before."""

    after_us: int = 0
    subject: int = 0
    target: int = 0


@dataclass(frozen=True)
class Work:
    """The sync worker does so many steps on the manual clock."""

    steps: int


@dataclass(frozen=True)
class Wait:
    """So many seconds pass."""

    seconds: float


@dataclass(frozen=True)
class Meet:
    """The next request of a kind (or any) meets a fault; `times` of them in a row."""

    fault: Fault
    kind: str = "any"
    times: int = 1
    seconds: float = 1.0


@dataclass(frozen=True)
class Kill:
    """kill -9 after so many steps of the database and the network from now; 0: now."""

    after: int


@dataclass(frozen=True)
class Restart:
    """Closed normally and opened again."""


@dataclass(frozen=True)
class ClockStep:
    """Set the laptop's clock."""

    seconds: float


@dataclass(frozen=True)
class Sleep:
    """The laptop sleeps for so long."""

    seconds: float


@dataclass(frozen=True)
class Offline:
    """The network goes away or comes back."""

    gone: bool


@dataclass(frozen=True)
class Analyse:
    """The service's worker starts its oldest jobs, or ends them."""

    count: int
    ends_as: str = "done"  # or "running"


@dataclass(frozen=True)
class KeyRevoked:
    """The account gets another key; `told`: the laptop has it at once."""

    told: bool


@dataclass(frozen=True)
class Spend:
    """The account's credits are spent elsewhere."""


@dataclass(frozen=True)
class Rules:
    """Change the settings: pause, send by hand, delete sounds after their result."""

    paused: bool = False
    by_hand: bool = False
    remove: bool = False


@dataclass(frozen=True)
class Person:
    """Press a button of a recording in any state."""

    does: str  # one of _BUTTONS
    take: int


Move = (
    Rules
    | Record
    | Work
    | Wait
    | Meet
    | Kill
    | Restart
    | ClockStep
    | Sleep
    | Offline
    | Analyse
    | KeyRevoked
    | Spend
    | Person
)


@dataclass(frozen=True)
class Schedule:
    """Conditions and moves."""

    moves: tuple[Move, ...]
    plan: Plan = Plan.STANDARD
    reads_refs: bool = False
    precision: Precision = Precision.MICROSECONDS

    def __str__(self) -> str:
        lines = ",\n    ".join(map(repr, self.moves))
        return f"Schedule((\n    {lines},\n  ),\n  {self.plan!r}, {self.reads_refs!r}, {self.precision!r})"


def generate(random: Random) -> Schedule:
    """A random schedule of one to four recordings, with sync steps between most faults."""
    precision = random.choice(list(Precision))
    moves: list[Move] = [_record(random, precision)]
    for _ in range(random.randint(2, 14)):
        moves.append(random.choices(_CHOICES, _WEIGHTS)[0](random, precision))
        if random.random() < 0.7:
            moves.append(Work(random.randint(1, 12)))
    return Schedule(tuple(moves), random.choice(list(Plan)), random.random() < 0.3, precision)


def _record(random: Random, precision: Precision) -> Record:
    # services that truncate times cannot distinguish recordings of one subject within that precision
    least_us = {Precision.MICROSECONDS: 0, Precision.MILLISECONDS: 2000, Precision.SECONDS: 2_000_000}[precision]
    return Record(random.choice((least_us, least_us + 1, 90_000_000)), random.randint(0, 1), random.randint(0, 1))


def _meet(random: Random, precision: Precision) -> Meet:
    fault = random.choice(list(Fault))
    if fault in (Fault.LOST, Fault.LATE, Fault.GATEWAY, Fault.CRASH, Fault.CUT_DOWN) and random.random() < 0.5:
        kind = "analyze"
    else:
        kind = random.choice((*KINDS, "any", "any"))
    return Meet(fault, kind, random.choice((1, 1, 1, 2, 7)), round(random.uniform(0.1, 4.0), 1))


_STEPS_OF_CLOCK_S = (-86_400.0, -3600.0, -30.0, -4.0, 4.0, 30.0, 1200.0, 86_400.0)
_BUTTONS = ("cancel", "queue", "retry", "send now")
_ENDS = ("done", "done", "running", "failed", "timed-out")
_MAKERS: dict[Callable[[Random, Precision], Move], int] = {
    _record: 4,
    _meet: 9,
    lambda random, _: Kill(random.choice((0, random.randint(1, 12), random.randint(1, 80)))): 6,
    lambda random, _: Restart(): 1,
    lambda random, _: ClockStep(random.choice(_STEPS_OF_CLOCK_S)): 2,
    lambda random, _: Sleep(random.choice((5.0, 70.0, 1000.0, 90_000.0))): 2,
    lambda random, _: Wait(random.choice((1.0, 6.0, 61.0, 1000.0))): 2,
    lambda random, _: Offline(random.random() < 0.6): 2,
    lambda random, _: Analyse(random.randint(1, 4), random.choice(_ENDS)): 5,
    lambda random, _: KeyRevoked(random.random() < 0.5): 1,
    lambda random, _: Spend(): 1,
    lambda random, _: Rules(random.random() < 0.3, random.random() < 0.3, random.random() < 0.5): 1,
    lambda random, _: Person(random.choice(_BUTTONS), random.randint(0, 3)): 3,
}
_CHOICES, _WEIGHTS = list(_MAKERS), list(_MAKERS.values())


def smallest_that_fails(schedule: Schedule, fails: Callable[[Schedule], bool]) -> Schedule:
    """Remove moves from a schedule while it still fails."""
    size = max(1, len(schedule.moves) // 2)
    while size:
        for start in range(len(schedule.moves) - size, -1, -1):
            shorter = replace(schedule, moves=schedule.moves[:start] + schedule.moves[start + size :])
            if fails(shorter):
                schedule = shorter
        size //= 2
    return schedule


# Playing one


@dataclass
class Tally:
    """Counts over all schedules."""

    schedules: int = 0
    takes: int = 0
    jobs: int = 0
    kills: int = 0
    steps: int = 0
    looks: int = 0
    checks: int = 0
    by_hand: int = 0  # recordings that a person had to send once more
    requests: int = 0
    refused_by_limit: int = 0  # 429 that the service itself gave
    simulated_s: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    moves: Counter[str] = field(default_factory=Counter)


class Broken(AssertionError):
    """An invariant does not hold."""


class FaultsOfOurs(logging.Handler):
    """Errors logged by the outbox, which no schedule explains."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            self.said.append(f"{record.getMessage()} {record.exc_info and record.exc_info[1]!r}")


class Bench:
    """The service shared by all schedules; each has an account of its own."""

    def __init__(self, folder: Path) -> None:
        self.tally = Tally()
        self._folder = folder
        self._faults = FaultsOfOurs()
        logging.getLogger("vbdesk").addHandler(self._faults)
        (folder / "service").mkdir()
        self._clock = Clock(MONDAY)
        self._service = ServiceInProcess(folder / "service", self._clock)

    def close(self) -> None:
        self._service.close()
        logging.getLogger("vbdesk").removeHandler(self._faults)

    def play(self, schedule: Schedule) -> None:
        """Play a schedule to its end; raises Broken."""
        self._clock.moment += timedelta(minutes=10)  # all rate windows have passed
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            game = _Game(schedule, self._service, self._clock, Path(folder), self.tally)
            try:
                game.play()
                game.holds(not self._faults.said, "; ".join(self._faults.said))
            finally:
                self._faults.said.clear()
                game.close()
        self.tally.schedules += 1


@contextmanager
def opened_bench(folder: Path) -> Iterator[Bench]:
    bench = Bench(folder)
    try:
        yield bench
    finally:
        bench.close()


class _Game:
    """A running schedule."""

    def __init__(self, schedule: Schedule, service: ServiceInProcess, clock: Clock, folder: Path, tally: Tally) -> None:
        self.schedule, self.service, self.tally = schedule, service, tally
        self.world = World(clock)
        self.network = BadNetwork(service, self.world, reads_refs=schedule.reads_refs, precision=schedule.precision)
        self.credentials = service.add_account(schedule.plan, 100_000)
        self.granted = 100_000
        self.spent_elsewhere = 0
        self.laptop = Laptop(folder, self.network, self.credentials, schedule.plan)
        self.recorded_at = MONDAY
        self.numbers = itertools.count()
        self.expected_jobs: Counter[str] = Counter()  # by take: one, plus one for each retry after a failed job
        self.unproven: Counter[str] = Counter()  # by take: unproven jobs that a person resolved by sending again
        self.arranged, self.arranged_in = SortedOutbox(), 0
        self.began = clock.moment

    def close(self) -> None:
        self.tally.kills += self.laptop.lives - 1
        self.tally.requests += sum(self.network.statuses.values())
        self.tally.refused_by_limit += self.refused_by_limit
        self.tally.simulated_s += (self.world.clock.moment - self.began).total_seconds()
        self.tally.faults.update(self.network.met)
        for job_id in self.service.queued():  # of an interrupted schedule
            self.service.finish(job_id)
        self.laptop.close()

    def play(self) -> None:
        for move in self.schedule.moves:
            self.tally.moves[type(move).__name__] += 1
            _DOES[type(move)](self, move)
            self.look()
        self.settle()
        self.judge()

    @property
    def refused_by_limit(self) -> int:
        return sum(count for (_, status), count in self.network.statuses.items() if status == 429)

    # Moves

    def record(self, move: Record) -> None:
        if len(self.laptop.takes) == 4:  # more make a schedule slower, not harder
            return
        self.recorded_at += timedelta(microseconds=move.after_us)
        before = set(self.laptop.takes)
        number = next(self.numbers)
        self.laptop.record(number, self.recorded_at, SUBJECTS[move.subject], TARGETS[move.target])
        for take_id in set(self.laptop.takes) - before:
            self.expected_jobs[take_id] = 1

    def work(self, move: Work) -> None:
        for _ in range(move.steps):
            self.step()

    def step(self, longest_s: float = 20.0) -> None:
        self.tally.steps += 1
        due_s = self.laptop.do(self.laptop.sync_worker.step)
        self.look()
        self.world.advance(0.01 if due_s is None else min(max(float(str(due_s)), 0.01), longest_s))

    def meet(self, move: Meet) -> None:
        self.network.faults[move.kind].extend([(move.fault, move.seconds)] * move.times)

    def kill(self, move: Kill) -> None:
        if move.after:
            self.laptop.tripwire.ends_in = move.after
        else:
            self.laptop.kill()

    def sleep(self, move: Sleep) -> None:
        self.world.advance(move.seconds)
        self.laptop.clock.slept_s += move.seconds

    def set_clock(self, move: ClockStep) -> None:
        self.laptop.clock.wrong_by_s += move.seconds

    def offline(self, move: Offline) -> None:
        self.network.online = not move.gone

    def analyse(self, move: Analyse) -> None:
        for job_id in self.service.queued()[: move.count]:
            if move.ends_as == "running":
                self.service.start(job_id)
            else:
                self.service.finish(job_id, move.ends_as)

    def revoke(self, move: KeyRevoked) -> None:
        self.credentials = self.service.change_key(self.credentials)
        if move.told:
            self.laptop.key_here = self.credentials
            self.laptop.sync_worker.resume()

    def spend(self, move: Spend) -> None:
        balance, _ = self.service.records.ledger(self.credentials.account_id)
        if balance:
            self.service.spend(self.credentials.account_id, balance)
            self.spent_elsewhere += balance

    def set_rules(self, move: Rules) -> None:
        rule = SendRule.BY_HAND if move.by_hand else SendRule.AT_ONCE
        retention = Retention(RetentionRule.AFTER_RESULT) if move.remove else Retention()
        library = self.laptop.library
        self.laptop.do(lambda: library.change_settings(paused=move.paused, send_rule=rule, retention=retention))

    def press(self, move: Person) -> None:
        take_ids = sorted(self.laptop.takes)
        if move.take < len(take_ids):
            self.press_at(take_ids[move.take], move.does)

    def press_at(self, take_id: str, does: str) -> None:
        with self.laptop.tripwire.off():
            before = self.laptop.library.get(take_id).state
        deed = {
            "cancel": self.laptop.library.cancel,
            "queue": self.laptop.library.queue,
            "retry": self.laptop.library.retry,
            "send now": lambda take_id: self.laptop.library.send_now([take_id]),
        }[does]
        try:
            self.laptop.do(lambda: deed(take_id))
        except NotAllowed:
            return
        after = self.laptop.library.get(take_id).state
        if does == "retry" and before in (OutboxState.FAILED, OutboxState.TIMED_OUT) and after is OutboxState.WAITING:
            self.expected_jobs[take_id] += 1

    # The end

    def settle(self) -> None:
        """End all faults and fix what needs a person; then everything arrives."""
        self.network.faults = {kind: type(queue)() for kind, queue in self.network.faults.items()}
        self.network.online = True
        self.laptop.tripwire.ends_in = None
        self.laptop.clock.wrong_by_s = 0.0
        self.laptop.key_here = self.credentials
        self.service.grant(self.credentials.account_id, 50_000)
        self.granted += 50_000
        self.laptop.library.change_settings(paused=False, send_rule=SendRule.AT_ONCE)
        self.laptop.sync_worker.resume()
        end = self.world.clock.moment + timedelta(seconds=SETTLED_WITHIN_S)
        for _ in range(MOST_STEPS):
            self.step(longest_s=60.0)
            for job_id in self.service.queued():
                self.service.finish(job_id)
            items = self.laptop.library.list()
            for item in items:
                if item.fix is Fix.SEND_AGAIN:
                    self.send_again(item.take_id)
                elif item.state is OutboxState.NEEDS_ATTENTION:
                    self.holds(item.fix is Fix.TRY_AGAIN, f"{item.fix} was asked for: {item.reason}")
                    self.tally.by_hand += 1
                    self.press_at(item.take_id, "retry")
                elif item.state is OutboxState.CHECKED:
                    self.press_at(item.take_id, "queue")
            if self.world.idle and all(item.state in ENDED for item in items):
                return
            if self.world.clock.moment > end:
                break
        states = [(item.state.value, item.reason) for item in self.laptop.library.list()]
        raise Broken(f"nothing moves any more: {states}, {self.laptop.sync_worker.status}")

    def send_again(self, take_id: str) -> None:
        """Decide as a person: only needed if the service reads no references and truncates the identifying time."""
        self.holds(not self.schedule.reads_refs, "a person was asked at a service that reads references")
        self.holds(self.schedule.precision is not Precision.MICROSECONDS, "a person was asked though times prove jobs")
        mine = self.jobs_by_take(self.service.records.jobs(self.credentials.account_id))[take_id]
        self.unproven[take_id] = len(mine) - (self.expected_jobs[take_id] - 1 - self.unproven[take_id])
        self.expected_jobs[take_id] = len(mine) + 1
        self.tally.by_hand += 1
        self.laptop.do(lambda: self.laptop.library.send_again(take_id))

    def judge(self) -> None:
        """Invariants at the end of every schedule."""
        jobs = self.service.records.jobs(self.credentials.account_id)
        items = {item.take_id: item for item in self.laptop.library.list()}
        self.holds(items.keys() == self.laptop.takes.keys(), "a take was lost, or is there twice")
        by_take = self.jobs_by_take(jobs)
        for take_id, item in items.items():
            mine = by_take[take_id]
            wanted = self.expected_jobs[take_id]
            self.holds(len(mine) == wanted, f"{len(mine)} jobs instead of {wanted} for one take")
            [job] = [job for job in mine if job.job_id == item.job_id] or [None]
            self.holds(job is not None, "the job here is none of the take's at the service")
            self.holds(ENDED[item.state] == job.status, f"{item.state} here, {job.status} there")
            sent = hashlib.sha256(self.service.records.audio(job)).hexdigest()
            self.holds(item.sent_sha256 == sent, "other bytes were sent than are at the service")
            self.holds((item.result_json is not None) == (job.status == "done"), "a result without end, or none")
        self.holds(len(jobs) == sum(self.expected_jobs.values()), "a job belongs to no take")
        self.holds(not self.laptop.raw("SELECT * FROM pending"), "something is still to be done")
        self.judge_ledger(jobs)
        self.judge_audit()
        # a request counts when it arrives, and a restart keeps the budget by the time of day
        if not self.network.met[Fault.LATE] and not any(isinstance(move, ClockStep) for move in self.schedule.moves):
            self.holds(not self.refused_by_limit, f"{self.refused_by_limit} requests were refused for the rate")
        self.tally.takes += len(items)
        self.tally.jobs += len(jobs)

    def judge_audit(self) -> None:
        """The audit log is consistent and names each job once."""
        log = audit_reader.AuditReader(self.laptop.folder, KEY)
        found = log.verify()
        self.holds(found.ok, f"the audit log is broken: {found}")
        sent = Counter(str(entry.take_id) for entry in log.entries() if entry.what == audit.AuditAction.SENT)
        self.holds(sent == self.expected_jobs - self.unproven, f"the audit log tells of {sent}")
        self.holds(not self.laptop.library.warnings, f"{self.laptop.library.warnings}")

    def judge_ledger(self, jobs: list[StoredJob]) -> None:
        balance, entries = self.service.records.ledger(self.credentials.account_id)
        paid = 0
        for job in jobs:
            cost = COST[job.name]
            settled = "capture" if job.status == "done" else "release"
            self.holds(
                sorted(entries.get(job.job_id, [])) == sorted([f"hold {cost}", f"{settled} {cost}"]),
                f"the ledger has {entries.get(job.job_id)} for a job that is {job.status}",
            )
            paid += cost if job.status == "done" else 0
        self.holds(balance == self.granted - self.spent_elsewhere - paid, "the balance is not what was paid")

    def jobs_by_take(self, jobs: list[StoredJob]) -> dict[str, list[StoredJob]]:
        """The service's jobs by take, matched by the samples in the service's store."""
        take_of = {digest: take_id for take_id, digest in self.laptop.takes.items()}
        by_take: dict[str, list[StoredJob]] = {take_id: [] for take_id in self.laptop.takes}
        for job in jobs:
            digest = samples_sha256(self.service.records.audio(job))
            self.holds(digest in take_of, "the sound at the service is that of no take")
            by_take[take_of[digest]].append(job)
        return by_take

    # After every step

    def look(self) -> None:
        """The Outbox page matches the database, and the database matches the service."""
        self.tally.looks += 1
        with self.laptop.tripwire.off():
            library = self.laptop.library
            rows = {row["take_id"]: row for row in self.laptop.raw("SELECT * FROM recordings")}
            pending = {row["take_id"]: row for row in self.laptop.raw("SELECT * FROM pending")}
            items = library.list()
            self.holds({item.take_id: item.state for item in items} == {t: r["state"] for t, r in rows.items()}, "list")
            counted = Counter(row["state"] for row in rows.values())
            self.holds(+Counter({s.value: n for s, n in library.counts().items()}) == counted, "counts")
            self.holds(not counted["uploading"], "an upload is shown, and the courier has nothing in hand")
            self.look_at_page(counted, pending)
            jobs = {job.job_id: job for job in self.service.records.jobs(self.credentials.account_id)}
            known = {row["job_id"] for row in self.laptop.raw("SELECT job_id FROM jobs")}
            for item in items:
                self.look_at_item(item, pending.get(item.take_id), jobs, known)

    def look_at_page(self, counted: Counter[str], pending: Mapping[str, DatabaseRow]) -> None:
        """Check the page: figures, rows, buttons, order of the queue, banner."""
        library, sync_worker, now = self.laptop.library, self.laptop.sync_worker, self.laptop.clock.now()
        if self.arranged_in != self.laptop.lives:
            self.arranged, self.arranged_in = SortedOutbox(), self.laptop.lives
        self.arranged = self.arranged.after(library.changes_since(self.arranged.version))
        figures, items = self.arranged.figures(now), self.arranged.items
        told = (figures.waiting, figures.uploading, figures.running, figures.attention)
        stopped = counted["needs_attention"] + counted["failed"] + counted["timed_out"]
        true = (counted["waiting"], counted["uploading"], counted["submitted"] + counted["running"], stopped)
        self.holds(told == true, f"the page counts {told}, the database has {true}")
        context = RowContext(
            now, sync_worker.status, library.settings(), None, sync_worker.forecast(), {}, self.arranged
        )
        for take_id, item in items.items():
            row = OutboxRow(item, context)
            [shown] = [cell.state for cell in row.cells if isinstance(cell, StateCell)]
            self.holds(shown == item.state, "a row shows another state")
            by_hand = library.settings().send_rule is SendRule.BY_HAND and not item.released
            can_cancel = (
                not (by_hand and item.state is OutboxState.WAITING)
                and item.state in (OutboxState.WAITING, OutboxState.UPLOADING)
                and not pending[take_id]["asked_at"]
            )
            self.holds(
                (row.action is RowAction.CANCEL) == can_cancel, f"{row.action} is offered for what is {item.state}"
            )
        line = sorted((item.recorded_at, key) for key, item in items.items() if item.state is OutboxState.WAITING)
        shown_line = self.arranged.of_states({OutboxState.WAITING})
        self.holds([key for _, key in line] == shown_line, "the page shows the line in another order")
        self.check_banner(banner_of(figures, context), sum(told[:3]), context)

    def check_banner(self, banner: OutboxBanner | None, moving: int, context: RowContext) -> None:
        status, settings = context.status, context.settings
        stands = status.on_hold is not None or settings.paused or (moving > 0 and status.connected is False)
        self.holds((banner is not None and banner.warning) == stands, f"{status} is told as {banner}")
        self.holds((banner is not None) == (stands or moving > 0), f"{moving} on their way are told as {banner}")
        if banner is not None and not stands and settings.send_rule is SendRule.AT_ONCE:
            self.holds(banner.sentence.startswith(f"{moving} recording"), f"{moving} are told as {banner.sentence}")

    def look_at_item(self, item, pending, jobs: dict[str, StoredJob], known: set[str]) -> None:
        way = item.state in ON_THEIR_WAY
        sound = self.laptop.library.store.path(item.take_id)
        self.holds(item.state is OutboxState.DONE or sound.exists(), f"the sound of what is {item.state} is gone")
        self.holds(pending is not None or not way, f"{item.state} without anything to be done")
        self.holds(item.state not in ENDED or pending is None, f"{item.state} and still something to be done")
        mine = [job for job in jobs.values() if self.is_of(job, item)]
        unheard = [job for job in mine if job.job_id not in known]
        self.holds(len(mine) <= self.expected_jobs.get(item.take_id, 1), "sent twice")
        if len(unheard) > self.unproven[item.take_id] and item.take_id in self.expected_jobs:
            self.holds(pending is not None and pending["asked_at"] is not None, "the service has it, and nobody knows")
        if item.job_id is not None:
            self.holds(item.job_id in jobs, f"{item.state} here, and the service does not have it")
            status = jobs[item.job_id].status
            allowed = {
                OutboxState.RUNNING: {"running", "done", "failed", "timed-out"},
                OutboxState.DONE: {"done"},
                OutboxState.FAILED: {"failed"},
                OutboxState.TIMED_OUT: {"timed-out"},
            }.get(item.state)
            self.holds(allowed is None or status in allowed, f"{item.state} here, {status} there")
        elif item.state in (OutboxState.SUBMITTED, OutboxState.RUNNING, *ENDED):
            raise Broken(f"{item.state} without a job")

    def is_of(self, job: StoredJob, item) -> bool:
        digits = {Precision.MICROSECONDS: 1, Precision.MILLISECONDS: 1000, Precision.SECONDS: 1_000_000}
        step = digits[self.schedule.precision]
        moment = item.recorded_at.replace(microsecond=item.recorded_at.microsecond // step * step)
        return job.group_id == item.group_id and job.recorded_at == moment

    def holds(self, fact: bool, otherwise: str) -> None:
        self.tally.checks += 1
        if not fact:
            raise Broken(otherwise)


_DOES: dict[type, Callable] = {
    Record: _Game.record,
    Work: _Game.work,
    Wait: lambda game, move: game.world.advance(move.seconds),
    Meet: _Game.meet,
    Kill: _Game.kill,
    Restart: lambda game, move: game.laptop.restart(),
    ClockStep: _Game.set_clock,
    Sleep: _Game.sleep,
    Offline: _Game.offline,
    Analyse: _Game.analyse,
    KeyRevoked: _Game.revoke,
    Spend: _Game.spend,
    Rules: _Game.set_rules,
    Person: _Game.press,
}
