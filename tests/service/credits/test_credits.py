"""The ledger is exact and never below zero."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.credits.service import CreditsService, read_ledger
from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.engine import create_engine
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import credit_balances, credit_entries
from vbdesk.service.kernel.errors import InsufficientCredits, NotFound

from datetime import UTC, datetime  # isort: skip


class Noon:
    def now(self) -> datetime:
        return datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(tmp_path):
    database = Database(create_engine(f"sqlite:///{tmp_path}/ledger.db"))
    metadata.create_all(database.engine)
    yield database
    database.close()


@pytest.fixture
def credits() -> CreditsService:
    return CreditsService(Noon())


@pytest.fixture
def account_id(database) -> str:
    with database.writing() as connection:
        return AccountService(Noon()).create(connection, "Test", Plan.STANDARD, 100).account_id


def balance(database, credits, account_id: str) -> int:
    """The balance, checked against the sum of the ledger."""
    with database.reading() as connection:
        deltas = sa.select(sa.func.sum(credit_entries.c.delta)).where(credit_entries.c.account_id == account_id)
        assert connection.execute(deltas).scalar_one() == credits.balance(connection, account_id)
        return credits.balance(connection, account_id)


def test_a_hold_lowers_the_balance_and_a_capture_keeps_it(database, credits, account_id):
    with database.writing() as connection:
        credits.hold(connection, account_id, 60, "job")
    assert balance(database, credits, account_id) == 40
    with database.writing() as connection:
        assert credits.capture(connection, "job")
    assert balance(database, credits, account_id) == 40


def test_a_release_returns_the_credits(database, credits, account_id):
    with database.writing() as connection:
        credits.hold(connection, account_id, 60, "job")
        assert credits.release(connection, "job")
    assert balance(database, credits, account_id) == 100


@pytest.mark.parametrize("first", ["capture", "release"])
@pytest.mark.parametrize("second", ["capture", "release"])
def test_a_job_is_settled_once(database, credits, account_id, first, second):
    with database.writing() as connection:
        credits.hold(connection, account_id, 60, "job")
        assert getattr(credits, first)(connection, "job")
        assert not getattr(credits, second)(connection, "job")
    assert balance(database, credits, account_id) == (40 if first == "capture" else 100)


def test_a_job_holds_credits_once(database, credits, account_id):
    with database.writing() as connection:
        credits.hold(connection, account_id, 10, "job")
    with pytest.raises(sa.exc.IntegrityError), database.writing() as connection:
        credits.hold(connection, account_id, 10, "job")
    assert balance(database, credits, account_id) == 90


def test_a_hold_beyond_the_balance_is_refused_and_changes_nothing(database, credits, account_id):
    with pytest.raises(InsufficientCredits), database.writing() as connection:
        credits.hold(connection, account_id, 101, "job")
    assert balance(database, credits, account_id) == 100


def test_the_last_credit_can_be_spent(database, credits, account_id):
    with database.writing() as connection:
        credits.hold(connection, account_id, 100, "job")
    assert balance(database, credits, account_id) == 0


def test_concurrent_holds_never_overspend(database, credits, account_id):
    def submit(_: int) -> bool:
        try:
            with database.writing() as connection:
                credits.hold(connection, account_id, 7, new_id())
        except InsufficientCredits:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        accepted = sum(pool.map(submit, range(40)))
    assert accepted == 14
    assert balance(database, credits, account_id) == 2


def test_a_job_that_fails_to_store_is_not_charged(database, credits, account_id):
    with pytest.raises(RuntimeError), database.writing() as connection:
        credits.hold(connection, account_id, 60, "job")
        raise RuntimeError
    assert balance(database, credits, account_id) == 100


def test_the_database_itself_refuses_a_negative_balance(database, account_id):
    with pytest.raises(sa.exc.IntegrityError), database.writing() as connection:
        connection.execute(sa.update(credit_balances).values(credits=-1))


def test_a_grant_needs_an_account_and_an_amount(database, credits, account_id):
    with database.writing() as connection:
        assert credits.grant(connection, account_id, 5) == 105
        with pytest.raises(NotFound):
            credits.grant(connection, new_id(), 5)
        with pytest.raises(ValueError, match="at least one"):
            credits.grant(connection, account_id, 0)


def test_a_single_credit_can_be_granted_and_is_in_the_ledger(database, credits, account_id):
    with database.writing() as connection:
        assert credits.grant(connection, account_id, 1) == 101
    assert balance(database, credits, account_id) == 101


def test_the_ledger_sums_up_what_moved_and_how_far_balances_are_from_it(database, credits, account_id):
    with database.writing() as connection:
        for job_id, amount in (("done", 60), ("failed", 10), ("open", 5)):
            credits.hold(connection, account_id, amount, job_id)
        credits.capture(connection, "done")
        credits.release(connection, "failed")
        ledger = read_ledger(connection)
        assert ledger.moved == {"grant": 100, "hold": 75, "capture": 60, "release": 10}
        assert ledger.mismatch == 0
        connection.execute(sa.update(credit_balances).values(credits=42))  # 35 by the ledger
        assert read_ledger(connection).mismatch == 7


def test_an_empty_ledger_agrees(database):
    with database.reading() as connection:
        ledger = read_ledger(connection)
    assert (ledger.moved, ledger.mismatch) == ({}, 0)


def test_the_balance_is_read_over_http(service):
    account = service.add_account(credits=42)
    assert service.client(account).get("/v2/account/credits").json() == {"credits": 42}
