"""`vbdesk worker` as a process: on PostgreSQL alone, through a stop by the system, until it is told to end."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
import typer
from typer.testing import CliRunner

from patience import HANGS_S, until
from vbdesk.cli.worker import worker
from vbdesk.clock import SystemClock
from vbdesk.service.engine import executors
from vbdesk.service.engine.dbos_engine import DbosQueue
from vbdesk.service.jobs import repository
from vbdesk.service.kernel.db.tables import credit_entries

if sys.platform == "win32":
    pytest.skip("stops processes by POSIX signals", allow_module_level=True)


def run_here(*options):
    app = typer.Typer()
    app.command()(worker)
    return CliRunner().invoke(app, [str(option) for option in options])


def test_on_sqlite_it_refuses_in_one_sentence(tmp_path):
    result = run_here("--data-dir", tmp_path)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "PostgreSQL" in result.stderr


def test_without_slots_it_refuses_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("VBDESK_DATABASE_URL", "postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    result = run_here("--data-dir", tmp_path, "--workers", 0)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "--workers" in result.stderr


class Worker:
    """A worker and its children, in a group of processes of their own."""

    def __init__(self, folder, settings):
        self._ready_file = folder / "worker.json"
        self.log = folder / "worker.log"
        command = [sys.executable, "-m", "vbdesk", "worker", "--data-dir", settings.data_dir, "--workers", "1"]
        key = {"VBDESK_KEY_FILE": str(settings.key_file)} if settings.key_file else {}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--ready-file", self._ready_file],
                env={**os.environ, "VBDESK_DATABASE_URL": settings.database_url, **key},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_ready(self):
        until(self._ready_file.exists, "the worker to be ready")
        ready = json.loads(self._ready_file.read_text())
        assert (ready["pid"], ready["ops_url"]) == (self._process.pid, None)
        return ready["executor_id"]

    def send(self, name):
        os.killpg(self._process.pid, name)

    def end(self):
        self._process.terminate()
        code = self._process.wait(HANGS_S)
        assert not self._ready_file.exists()
        return code

    def kill(self):
        with suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        self._process.wait()


class LateQueue:
    """The database does not exist before the bench does."""

    queue: DbosQueue

    def enqueue(self, connection, job_id, queue_tag):
        self.queue.enqueue(connection, job_id, queue_tag)


def test_a_worker_that_was_stopped_and_struck_out_comes_back_under_another_name_and_every_job_ends_once(
    make_bench, postgresql, tmp_path
):
    late = LateQueue()
    bench = make_bench(**postgresql.make(None), clock=SystemClock(), queue=late)
    context = bench.service.context
    late.queue = DbosQueue(context.settings.resolved_database_url)
    process = Worker(tmp_path, context.settings)

    def row(job_id):
        with context.database.reading() as connection:
            return repository.find(connection, job_id)

    def signed_on():
        with context.database.reading() as connection:
            return executors.list_signed_on(connection)

    try:
        name = process.wait_ready()
        jobs = [bench.submit("/v2/signs/stress/analyze") for _ in range(3)]
        until(lambda: any(row(job).executor_id == name for job in jobs))
        process.send(signal.SIGSTOP)
        with context.database.writing() as connection:  # what a sweeper elsewhere does after a while
            executors.sign_off(connection, name)
            repository.take_from(connection, [name])
        assert {bench.status(job) for job in jobs} != {"done"}
        process.send(signal.SIGCONT)
        until(lambda: {bench.status(job) for job in jobs} == {"done"})
        until(signed_on)  # the jobs may be done before it has its new name
        assert name not in signed_on()
        with context.database.reading() as connection:
            captures = [entry for entry in connection.execute(credit_entries.select()) if entry.kind == "capture"]
        assert sorted(entry.job_id for entry in captures) == sorted(jobs)
        assert bench.credits() == 100_000 - 3 * 10
        assert process.end() == 0
        assert "Traceback" not in process.log.read_text()
        assert signed_on() == set()
    finally:
        process.kill()
        late.queue.close()
