"""The ledger, the limiter and the groups against models of themselves, whatever happens in whatever order."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from math import ceil
from types import SimpleNamespace

import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.groups import repository as groups_repository
from vbdesk.service.groups.repository import JobFilter
from vbdesk.service.groups.service import GroupService
from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import credit_entries
from vbdesk.service.kernel.errors import Conflict, InsufficientCredits, NotFound
from vbdesk.service.limits.rate_windows import MemoryRateWindows
from vbdesk.service.ports.identity import Account

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUICK = settings(max_examples=25, stateful_step_count=25, deadline=None, database=None)


class Noon:
    def now(self) -> datetime:
        return NOON


@contextmanager
def in_memory(tables: sa.MetaData) -> Iterator[Database]:
    """A database that is gone at the end of the block."""
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    tables.create_all(engine)
    database = Database(engine)
    yield database
    database.close()


class Machine(RuleBasedStateMachine):
    """Runs over a database of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._closing = ExitStack()
        self.database = self._closing.enter_context(in_memory(metadata))

    def teardown(self) -> None:
        self._closing.close()


JOBS = st.sampled_from([f"job-{number}" for number in range(5)])


class Ledger(Machine):
    """Grants, holds, captures and releases in any order; also those that make no sense."""

    @initialize(credits=st.integers(0, 100))
    def open_account(self, credits: int) -> None:
        self.credits = CreditsService(Noon())
        with self.database.writing() as connection:
            account = AccountService(Noon()).create(connection, "Test", Plan.STANDARD, credits)
        self.account_id = account.account_id
        self.granted = credits
        self.held: dict[str, int] = {}
        self.settled: dict[str, tuple[str, int]] = {}

    @rule(amount=st.integers(1, 50))
    def grant(self, amount: int) -> None:
        with self.database.writing() as connection:
            self.credits.grant(connection, self.account_id, amount)
        self.granted += amount

    @rule(job=JOBS, amount=st.integers(0, 60))
    def hold(self, job: str, amount: int) -> None:
        try:
            with self.database.writing() as connection:
                self.credits.hold(connection, self.account_id, amount, job)
        except InsufficientCredits:
            assert amount > self.balance
        except sa.exc.IntegrityError:
            assert job in self.held or job in self.settled
        else:
            assert amount <= self.balance
            assert job not in self.held
            assert job not in self.settled
            self.held[job] = amount

    @rule(job=JOBS, how=st.sampled_from(["capture", "release"]))
    def settle(self, job: str, how: str) -> None:
        with self.database.writing() as connection:
            assert getattr(self.credits, how)(connection, job) == (job in self.held)
        if job in self.held:
            self.settled[job] = how, self.held.pop(job)

    @property
    def balance(self) -> int:
        captured = sum(amount for how, amount in self.settled.values() if how == "capture")
        return self.granted - sum(self.held.values()) - captured

    @invariant()
    def the_balance_is_grants_minus_holds_minus_captures(self) -> None:
        with self.database.reading() as connection:
            assert self.credits.balance(connection, self.account_id) == self.balance >= 0

    @invariant()
    def the_ledger_sums_up_to_the_balance(self) -> None:
        with self.database.reading() as connection:
            entries = connection.execute(sa.select(credit_entries)).all()
        assert sum(entry.delta for entry in entries) == self.balance
        kinds = Counter((entry.job_id, entry.kind) for entry in entries if entry.job_id)
        assert set(kinds.values()) <= {1}


def test_the_ledger_is_exact_in_every_order() -> None:
    run_state_machine_as_test(Ledger, settings=QUICK)


GROUP_IDS = st.sampled_from(["a", "b", "c"])
JOB_IDS = [new_id() for _ in range(6)]


class Groups(Machine):
    """Groups of two accounts; the model is a dictionary of sets."""

    @initialize()
    def open_accounts(self) -> None:
        lifecycle = SimpleNamespace(settle=lambda *_: None)
        self.groups = GroupService(Noon(), lifecycle, page_size=4)  # type: ignore[arg-type]
        self.model: dict[tuple[str, str], set[str]] = {}
        self.owner: dict[str, str] = {}
        self.accounts = []
        with self.database.writing() as connection:
            for name in ("one", "two"):
                made = AccountService(Noon()).create(connection, name, Plan.STANDARD, 0)
                self.accounts.append(Account(made.account_id, Plan.STANDARD))
            for number, job_id in enumerate(JOB_IDS):
                self.owner[job_id] = self.accounts[number % 2].account_id
                connection.execute(sa.insert(jobs).values(**a_job(job_id, self.owner[job_id], number)))

    @rule(who=st.integers(0, 1), group_id=GROUP_IDS)
    def create(self, who: int, group_id: str) -> None:
        key = self.accounts[who].account_id, group_id
        try:
            with self.database.writing() as connection:
                self.groups.create(connection, self.accounts[who], group_id)
        except Conflict:
            assert key in self.model
        else:
            assert key not in self.model
            self.model[key] = set()

    @rule(who=st.integers(0, 1), group_id=GROUP_IDS)
    def ensure(self, who: int, group_id: str) -> None:
        with self.database.writing() as connection:
            self.groups.ensure(connection, self.accounts[who], group_id)
        self.model.setdefault((self.accounts[who].account_id, group_id), set())

    @rule(who=st.integers(0, 1), group_id=GROUP_IDS)
    def delete(self, who: int, group_id: str) -> None:
        key = self.accounts[who].account_id, group_id
        try:
            with self.database.writing() as connection:
                self.groups.delete(connection, self.accounts[who], group_id)
        except NotFound:
            assert key not in self.model
        else:
            del self.model[key]

    @rule(who=st.integers(0, 1), group_id=GROUP_IDS, job_ids=st.lists(st.sampled_from([*JOB_IDS, "unknown"])))
    def add(self, who: int, group_id: str, job_ids: list[str]) -> None:
        key = self.accounts[who].account_id, group_id
        try:
            with self.database.writing() as connection:
                answer = self.groups.add_jobs(connection, self.accounts[who], group_id, job_ids)
        except NotFound:
            assert key not in self.model
            return
        mine = {job_id for job_id in job_ids if self.owner.get(job_id) == key[0]}
        assert set(answer.added) == mine - self.model[key]
        assert set(answer.skipped) == mine & self.model[key]
        assert set(answer.not_found) == set(job_ids) - mine
        assert set(answer.not_yet_done) <= set(answer.added)
        self.model[key] |= mine

    @rule(who=st.integers(0, 1), group_id=GROUP_IDS, job_id=st.sampled_from([*JOB_IDS, "unknown"]))
    def remove(self, who: int, group_id: str, job_id: str) -> None:
        key = self.accounts[who].account_id, group_id
        try:
            with self.database.writing() as connection:
                self.groups.remove_job(connection, self.accounts[who], group_id, job_id)
        except NotFound:
            assert job_id not in self.model.get(key, set())
        else:
            self.model[key].remove(job_id)

    @invariant()
    def every_account_lists_its_own(self) -> None:
        for account in getattr(self, "accounts", []):
            mine = {
                group_id: members for (owner, group_id), members in self.model.items() if owner == account.account_id
            }
            with self.database.reading() as connection:
                listed = self.groups.list_groups(connection, account, 0)
                assert {group.group_id: group.job_count for group in listed.groups} == {
                    group_id: len(members) for group_id, members in mine.items()
                }
                for group_id, members in mine.items():
                    group = groups_repository.find(connection, account.account_id, group_id)
                    page = self.groups.list_jobs(connection, group, JobFilter(), 0)
                    in_order = [job_id for job_id in JOB_IDS if job_id in members]
                    assert (page.total_jobs, [job.job_id for job in page.jobs]) == (len(members), in_order[:4])


def a_job(job_id: str, account_id: str, number: int) -> dict[str, object]:
    moment = NOON + timedelta(days=number)
    return {
        "job_id": job_id,
        "account_id": account_id,
        "status": "queued",
        "created_at": moment,
        "recorded_at": moment,
        "job_type": "sign",
        "sign_name": "stress",
        "api_version": "v2",
        "diarize": False,
        "audio_content_type": "audio/wav",
        "audio_size_bytes": 1,
        "audio_duration_seconds": 20.0,
    }


def test_groups_are_what_a_dictionary_of_sets_would_be() -> None:
    run_state_machine_as_test(Groups, settings=QUICK)


class BruteForceWindow:
    """Remembers every request that passed."""

    def __init__(self) -> None:
        self._passed: list[float] = []

    def counted(self, moment: float) -> int:
        return sum(earlier + 60 > moment for earlier in self._passed)

    def hit(self, limit: int, moment: float) -> int:
        counted = sorted(earlier for earlier in self._passed if earlier + 60 > moment)
        if len(counted) < limit:
            self._passed.append(moment)
            return 0
        return next(
            seconds
            for seconds in range(1, 61)
            if seconds == 60 or sum(earlier + 60 > moment + seconds for earlier in counted) < limit
        )


# Steps on a grid of eighths of a second: exact in binary, and two requests often meet at the window's very edge.
STEPS = st.lists(st.integers(0, 480).map(lambda eighths: eighths / 8), min_size=1, max_size=40)


@settings(max_examples=150, deadline=None, database=None)
@given(steps=STEPS, limit=st.integers(1, 5))
def test_the_limiter_answers_as_brute_force_does(steps: list[float], limit: int) -> None:
    windows, model, moment = MemoryRateWindows(), BruteForceWindow(), NOON
    for step in steps:
        moment += timedelta(seconds=step)
        assert windows.hit("a", "general", limit, moment) == model.hit(limit, moment.timestamp())
        assert windows.counted("a", "general", moment) == model.counted(moment.timestamp())


@settings(max_examples=50, deadline=None, database=None)
@given(steps=st.lists(st.floats(0, 30), min_size=1, max_size=60), limit=st.integers(1, 5))
def test_whoever_waits_as_told_is_let_through_and_never_more_than_the_limit_pass(steps, limit) -> None:
    windows, passed, moment = MemoryRateWindows(), [], NOON
    for step in steps:
        moment += timedelta(seconds=step)
        wait_s = windows.hit("a", "general", limit, moment)
        assert wait_s == ceil(wait_s) <= 60
        if wait_s:
            moment += timedelta(seconds=wait_s)
            assert windows.hit("a", "general", limit, moment) == 0
        passed.append(moment)
        assert sum(moment - earlier < timedelta(seconds=60) for earlier in passed) <= limit
