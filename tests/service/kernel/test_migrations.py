"""The migrations create the tables that the metadata describes."""

import threading

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from later_release import become_later_release

from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.engine import create_engine
from vbdesk.service.kernel.db.migrate import (
    REVISION,
    MigrationFailed,
    SchemaState,
    SchemaStatus,
    configuration,
    status,
    upgrade,
)
from vbdesk.service.kernel.db.migrations.filters import is_ours
from vbdesk.service.kernel.db.session import Database


@pytest.fixture
def database(tmp_path):
    database = Database(create_engine(f"sqlite:///{tmp_path}/vbdesk.db"))
    yield database
    database.close()


def constraints(engine: sa.Engine) -> dict[str, set[str]]:
    """Parts of SQLite's table and index definitions, sorted, without white space and quotes."""
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")).all()
    return {
        name: set("".join(text.replace('"', "").split()).partition("(")[2].removesuffix(")").split(","))
        for name, text in rows
        if name != "alembic_version"
    }


def test_the_migrations_create_the_tables_of_the_metadata(tmp_path, database):
    upgrade(database, tmp_path)
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_object": is_ours})
        assert compare_metadata(context, metadata) == []


def test_constraints_and_partial_indexes_match_the_metadata(tmp_path, database):
    upgrade(database, tmp_path)
    described = create_engine(f"sqlite:///{tmp_path}/described.db")
    metadata.create_all(described)
    assert constraints(database.engine) == constraints(described)
    described.dispose()


def test_a_second_start_changes_nothing_and_loses_nothing(tmp_path, database):
    upgrade(database, tmp_path)
    with database.writing() as connection:
        connection.execute(sa.text("INSERT INTO executors (executor_id, seen_at) VALUES ('local-0', '2026-03-01')"))
    upgrade(database, tmp_path)
    with database.reading() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM executors")).scalar_one() == 1


def test_tables_of_the_job_engine_are_left_alone(tmp_path, database):
    with database.writing() as connection:
        connection.execute(sa.text("CREATE TABLE workflow_status (workflow_uuid TEXT)"))
    upgrade(database, tmp_path)
    with database.reading() as connection:
        assert "workflow_status" in sa.inspect(connection).get_table_names()
        context = MigrationContext.configure(connection, opts={"include_object": is_ours})
        assert compare_metadata(context, metadata) == []


def test_processes_starting_together_take_turns(tmp_path):
    failures = []

    def start() -> None:
        database = Database(create_engine(f"sqlite:///{tmp_path}/vbdesk.db"))
        try:
            upgrade(database, tmp_path)
        except Exception as error:
            failures.append(error)
        finally:
            database.close()

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_database_from_before_the_first_release_is_refused_and_stays_as_it_is(tmp_path, database):
    upgrade(database, tmp_path)
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0012'"))
    with pytest.raises(MigrationFailed, match="schema 0012, from before the first release"):
        upgrade(database, tmp_path)
    with database.reading() as connection:
        assert status(connection).revision == "0012"


def test_a_later_release_migrates_this_one_and_keeps_what_is_there(tmp_path, database, monkeypatch):
    upgrade(database, tmp_path)
    with database.writing() as connection:
        connection.execute(sa.text("INSERT INTO executors (executor_id, seen_at) VALUES ('local-0', '2026-03-01')"))
    become_later_release(monkeypatch, tmp_path / "migrations")
    upgrade(database, tmp_path)
    with database.reading() as connection:
        assert status(connection).state is SchemaState.CURRENT
        assert connection.execute(sa.text("SELECT count(*) FROM executors")).scalar_one() == 1
        assert {index["name"] for index in sa.inspect(connection).get_indexes("jobs")} >= {"ix_jobs_note"}


def test_the_revisions_form_one_line_that_ends_at_the_current_one():
    assert ScriptDirectory.from_config(configuration()).get_heads() == [REVISION]


def make_newer(database: Database, oldest_code: str) -> None:
    """Change the schema like a migration of a later release."""
    with database.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
        connection.execute(sa.text("UPDATE schema_floor SET oldest_revision = :oldest"), {"oldest": oldest_code})


def test_this_code_starts_on_a_newer_schema_that_allows_it(tmp_path, database):
    upgrade(database, tmp_path)
    make_newer(database, REVISION)
    upgrade(database, tmp_path)
    with database.reading() as connection:
        assert status(connection) == SchemaStatus(SchemaState.AHEAD, "9999", REVISION, REVISION)


def test_this_code_refuses_a_newer_schema_that_does_not_allow_it(tmp_path, database):
    upgrade(database, tmp_path)
    make_newer(database, "9998")
    with pytest.raises(MigrationFailed, match="schema 9999, which needs a newer vbdesk"):
        upgrade(database, tmp_path)


def test_revisions_are_comparable_and_the_floor_is_one_of_them(tmp_path, database):
    with database.reading() as connection:
        assert status(connection).state is SchemaState.EMPTY
    upgrade(database, tmp_path)
    revisions = [script.revision for script in ScriptDirectory.from_config(configuration()).walk_revisions()]
    assert sorted(revisions, reverse=True) == revisions
    with database.reading() as connection:
        found = status(connection)
    assert (found.state, found.revision) == (SchemaState.CURRENT, REVISION)
    assert found.oldest_revision in revisions
