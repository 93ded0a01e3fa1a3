"""The rows of the durable engine are data: nothing in them runs as code, and nothing planted there loses a job."""

import base64
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from dbos._schemas.system_database import SystemSchema
from dbos._serialization import DefaultSerializer
from worker_tasks import analyse_at_once, nothing_to_prepare

from patience import until
from vbdesk.clock import SystemClock
from vbdesk.service.engine.dbos_engine import DbosEngine, DbosQueue
from vbdesk.service.engine.dbos_rows import PickleRefused
from vbdesk.service.engine.runtime import Runtime
from vbdesk.service.jobs import repository

SERIALIZED = {
    "workflow_status": ("inputs", "output", "error"),
    "workflow_input": ("inputs",),
    "workflow_output": ("output", "error"),
    "operation_outputs": ("output", "error"),
    "notifications": ("message",),
    "workflow_events": ("value",),
    "workflow_events_history": ("value",),
    "streams": ("value",),
    "workflow_schedules": ("context",),
}
"""Every column of DBOS that holds what a serializer wrote."""

OTHERS: dict[str, dict[str, Any]] = {
    "workflow_output": {"retention_timestamp": 1},
    "operation_outputs": {"function_id": 1, "function_name": "step", "retention_timestamp": 1},
    "notifications": {"message_uuid": "message", "created_at_epoch_ms": 1, "topic": "topic"},
    "workflow_events": {"key": "key"},
    "workflow_events_history": {"key": "key", "function_id": 1},
    "streams": {"key": "key", "offset": 0, "function_id": 1},
    "workflow_schedules": {
        "schedule_id": "schedule",
        "schedule_name": "schedule",
        "workflow_name": "vbdesk_run_job",
        "schedule": "* * * * * *",
        "last_fired_at": "2026-01-01T00:00:00+00:00",
        "automatic_backfill": True,
    },
}


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        return open, (str(self._path), "w")


def pickled(value: object) -> str:
    """As the default serializer of DBOS writes it."""
    return base64.b64encode(pickle.dumps(value)).decode()


@pytest.fixture(params=["sqlite", "postgresql"])
def engine_bench(request, make_bench) -> Iterator[Any]:
    """A bench whose submits go to the real engine, on each database."""
    settings = request.getfixturevalue("postgresql").make(None) if request.param == "postgresql" else {}
    opened: list[DbosQueue] = []

    class LateQueue:
        """The database does not exist before the bench does."""

        def enqueue(self, connection, job_id, queue_tag):
            opened[0].enqueue(connection, job_id, queue_tag)

    bench = make_bench(clock=SystemClock(), queue=LateQueue(), **settings)
    opened.append(DbosQueue(bench.service.context.settings.resolved_database_url))
    bench.queue = opened[0]
    yield bench
    opened[0].close()


def run_until_done(bench, jobs, executor_id="local-0"):
    runtime = Runtime(
        bench.service.context,
        bench.queue,
        workers=1,
        executor_id=executor_id,
        analysis=analyse_at_once,
        prepare_child=nothing_to_prepare,
    )
    runtime.start()
    try:
        until(lambda: all(bench.status(job) == "done" for job in jobs), "the jobs to be done")
    finally:
        runtime.stop()


def plant(bench, job_id, table_name, content, label="py_pickle"):
    """Write `content` into every serialized column of a table, for this job, labelled as a pickle."""
    rows = bench.queue.client._sys_db
    table = getattr(rows.tables, table_name)
    values = dict.fromkeys(SERIALIZED[table_name], content)
    if "serialization" in table.c:
        values["serialization"] = label
    owner = "destination_uuid" if table_name == "notifications" else "workflow_uuid"
    with rows.engine.begin() as connection:
        if table_name in ("workflow_status", "workflow_input"):
            connection.execute(sa.update(table).where(table.c[owner] == job_id).values(values))
        else:
            others = OTHERS[table_name] | ({owner: job_id} if owner in table.c else {})
            connection.execute(sa.insert(table).values(others | values))


def label(bench, job_id, label):
    rows = bench.queue.client._sys_db
    table = rows.tables.workflow_status
    with rows.engine.begin() as connection:
        connection.execute(sa.update(table).where(table.c.workflow_uuid == job_id).values(serialization=label))


def stored(bench, table_name):
    rows = bench.queue.client._sys_db
    with rows.engine.begin() as connection:
        return [row._asdict() for row in connection.execute(sa.select(getattr(rows.tables, table_name)))]


def test_every_serialized_column_of_dbos_is_known():
    """A new release of DBOS may bring more: then they belong into these tests."""
    labelled = {table.name for table in SystemSchema.metadata_obj.sorted_tables if "serialization" in table.c}
    assert labelled <= set(SERIALIZED)
    named = {"inputs", "output", "error", "message", "value", "context"}
    found = {
        table.name: tuple(column.name for column in table.c if column.name in named)
        for table in SystemSchema.metadata_obj.sorted_tables
    }
    assert {name: set(columns) for name, columns in found.items() if columns} == {
        name: set(columns) for name, columns in SERIALIZED.items()
    }


def test_planted_pickles_do_not_run_and_the_jobs_are_done(engine_bench, tmp_path):
    jobs = {table_name: engine_bench.submit() for table_name in SERIALIZED}
    for table_name, job_id in jobs.items():
        plant(engine_bench, job_id, table_name, pickled(Bomb(tmp_path / f"ran {table_name}")))
        label(engine_bench, job_id, "py_pickle")
    run_until_done(engine_bench, jobs.values())
    assert list(tmp_path.glob("ran*")) == []
    assert engine_bench.credits() == 100_000 - 60 * len(jobs)


def test_planted_inputs_under_other_labels_do_not_run_and_the_jobs_are_done(engine_bench, tmp_path):
    jobs = {name: engine_bench.submit() for name in ("portable_json", "custom_serializer", "")}
    for name, job_id in jobs.items():
        plant(engine_bench, job_id, "workflow_input", pickled(Bomb(tmp_path / f"ran{name}")))
        label(engine_bench, job_id, name or None)
    run_until_done(engine_bench, jobs.values())
    assert list(tmp_path.glob("ran*")) == []


def test_a_row_that_names_another_job_does_not_run_it_in_its_own_place(engine_bench):
    job_id, other = engine_bench.submit(), engine_bench.submit()
    [row] = [row for row in stored(engine_bench, "workflow_input") if row["workflow_uuid"] == other]
    plant(engine_bench, job_id, "workflow_input", row["inputs"])
    run_until_done(engine_bench, [job_id, other])


def test_a_planted_row_of_no_job_is_deleted_and_nothing_runs(engine_bench, tmp_path):
    job_id = engine_bench.submit()
    rows = engine_bench.queue.client._sys_db
    with rows.engine.begin() as connection:
        [status] = connection.execute(sa.select(rows.tables.workflow_status)).mappings().all()
        connection.execute(
            sa.insert(rows.tables.workflow_status).values(
                {
                    **status,
                    "workflow_uuid": "planted",
                    "inputs": pickled(Bomb(tmp_path / "ran")),
                    "serialization": None,
                    "priority": 0,  # so that it is claimed first
                }
            )
        )
    run_until_done(engine_bench, [job_id])
    left = {row["workflow_uuid"] for row in stored(engine_bench, "workflow_status")}
    assert left <= {job_id}  # whose row may be cleared by now
    assert not (tmp_path / "ran").exists()


def test_nothing_that_dbos_can_read_is_unpickled(engine_bench, tmp_path):
    """Also by the calls of DBOS that the service does not make, such as those of its command line."""
    job_id = engine_bench.submit()
    for table_name in SERIALIZED:
        plant(engine_bench, job_id, table_name, pickled(Bomb(tmp_path / "ran")))
    client = engine_bench.queue.client
    rows = client._sys_db
    with rows.engine.begin() as connection:
        table = rows.tables.workflow_status
        connection.execute(sa.update(table).values(status="SUCCESS"))
    for read in (
        client.list_workflows,
        client.list_schedules,
        lambda: client.list_workflow_steps(job_id),
        lambda: client.get_event(job_id, "key", 0),
        lambda: client.retrieve_workflow(job_id).get_result(),
        lambda: list(client.read_stream(job_id, "key")),
        lambda: rows.get_all_events(job_id),
        lambda: rows.recv_consume(job_id, 5, "topic"),
    ):
        with suppress(Exception):  # it may refuse, or show the text as it stands
            read()
        assert not (tmp_path / "ran").exists()


def test_the_pickle_serializer_refuses():
    for refused in (
        lambda: DefaultSerializer().deserialize(pickled(1)),
        lambda: DefaultSerializer().serialize(1),
    ):
        with pytest.raises(PickleRefused):
            refused()


def write_as_the_last_release(bench, job_id):
    """The row as a release wrote it that let DBOS pickle."""
    plant(bench, job_id, "workflow_input", pickled({"args": (job_id,), "kwargs": {}}))
    label(bench, job_id, "py_pickle")


def test_jobs_of_a_release_that_pickled_are_done_after_the_upgrade_and_charged_once(engine_bench):
    queued, taken, running = (engine_bench.submit() for _ in range(3))
    for job_id in (queued, taken, running):
        write_as_the_last_release(engine_bench, job_id)
    engine_bench.start(running)
    rows = engine_bench.queue.client._sys_db
    with rows.engine.begin() as connection:  # what the old process had taken when it was stopped
        table = rows.tables.workflow_status
        update = sa.update(table).where(table.c.workflow_uuid.in_([taken, running]))
        connection.execute(
            update.values(status="PENDING", executor_id="old-1", owner_xid="old", application_version="1")
        )
    run_until_done(engine_bench, [queued, taken, running], executor_id="new-2")
    assert engine_bench.credits() == 100_000 - 3 * 60
    for table_name, columns in SERIALIZED.items():
        for row in stored(engine_bench, table_name):
            assert row.get("serialization") in (None, "portable_json")
            assert not any(str(row[column]).startswith("gA") for column in columns)  # how a pickle begins


def test_a_replaced_row_keeps_its_place_in_the_queue(engine_bench):
    jobs = [engine_bench.submit() for _ in range(3)]
    for job_id in (jobs[0], jobs[2]):
        write_as_the_last_release(engine_bench, job_id)
    before = {row["workflow_uuid"]: row["priority"] for row in stored(engine_bench, "workflow_status")}
    engine = DbosEngine(engine_bench.service.context.settings.resolved_database_url, engine_bench.queue, "one")
    begun: list[str] = []
    engine.start(begun.append, at_once=1)
    until(lambda: len(begun) >= 3, "3 jobs to begin")
    engine.stop()
    assert {row["workflow_uuid"]: row["priority"] for row in stored(engine_bench, "workflow_status")} == before
    with engine_bench.service.context.database.reading() as connection:
        assert {repository.find(connection, job_id).status for job_id in jobs} == {"queued"}
