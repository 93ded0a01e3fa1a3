"""The durable engine on DBOS, in the same database as the jobs: a job and its place in the queue commit together.

A workflow here is one idempotent function of the job id, without DBOS steps: the job's row holds the truth, DBOS only
sees to it that the function is called until it returns. The application version is a constant, for DBOS leaves
workflows of other versions alone for ever.
"""

import logging
import math
import time
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from dbos import DBOS, DBOSClient, EnqueueOptions
from sqlalchemy import Connection

from vbdesk.service.work.port import RunJob

APPLICATION = "vbdesk"
APPLICATION_VERSION = "1"
WORKFLOW = "vbdesk_run_job"
QUEUE = "vbdesk_jobs"
POLL_EVERY_S = 0.1
MAX_RECOVERIES = 1_000_000  # the job's own count of starts decides, not DBOS's
STOP_WAIT_S = 2
PURGE_AT_ONCE = 500

_run: RunJob | None = None  # DBOS finds workflow functions by name in the process; this is what ours calls
_last_end = -math.inf


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=MAX_RECOVERIES)
def _workflow(job_id: str) -> None:
    global _last_end
    try:
        if _run is not None:
            _run(job_id)
    finally:
        _last_end = time.monotonic()


class DbosQueue:
    """The enqueuing half: enough for a process that only serves the API."""

    def __init__(self, database_url: str) -> None:
        """Connect, making DBOS's tables first if they are not there."""
        _log_through_ours()
        DBOS.migrate(database_url)
        self._client = DBOSClient(system_database_url=database_url, application_name=APPLICATION)

    @property
    def client(self) -> DBOSClient:
        """DBOS seen from outside."""
        return self._client

    def enqueue(self, connection: Connection, job_id: str) -> None:
        """Enqueue the job in the caller's transaction."""
        options: EnqueueOptions = {"workflow_name": WORKFLOW, "queue_name": QUEUE, "workflow_id": job_id}
        self._client.enqueue_in_transaction(connection, options, job_id)

    def close(self) -> None:
        """Close the connections."""
        self._client.destroy()


class DbosEngine:
    """The running half. DBOS allows one of them in a process at a time."""

    def __init__(self, database_url: str, queue: DbosQueue, executor_id: str) -> None:
        self._database_url = database_url
        self._queue = queue
        self._executor_id = executor_id

    def enqueue(self, connection: Connection, job_id: str) -> None:
        """Enqueue the job in the caller's transaction."""
        self._queue.enqueue(connection, job_id)

    def start(self, run: RunJob, *, at_once: int) -> None:
        """Begin to run jobs in this process; first those that this executor left behind."""
        global _run, _last_end
        _run, _last_end = run, -math.inf
        self._queue.client.register_queue(
            QUEUE, worker_concurrency=at_once, polling_interval_sec=POLL_EVERY_S, application_name=APPLICATION
        )
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._database_url,
                "executor_id": self._executor_id,
                "application_version": APPLICATION_VERSION,
                "log_level": "ERROR",
                "notification_listener_polling_interval_sec": POLL_EVERY_S,  # its thread must end before `stop` does
            }
        )
        DBOS.listen_queues([QUEUE])
        DBOS.launch()

    def stop(self) -> None:
        """Run no more jobs; those under way have ended or been handed back before."""
        global _run
        nothing_to_note = time.monotonic() - _last_end > STOP_WAIT_S
        # To wait takes DBOS a second at least; what ended just now is still being noted in the database.
        DBOS.destroy(workflow_completion_timeout_sec=0 if nothing_to_note else STOP_WAIT_S)
        _run = None

    def recover(self, live_executors: Collection[str]) -> int:
        """Queue again what executors that are not alive left unfinished."""
        client = self._queue.client
        unfinished = client.list_workflows(status="PENDING", queue_name=QUEUE, load_input=False, load_output=False)
        left_behind = [workflow for workflow in unfinished if workflow.executor_id not in live_executors]
        for workflow in left_behind:
            client.resume_workflow(workflow.workflow_id, queue_name=QUEUE)
        return len(left_behind)

    def purge(self, keep: timedelta) -> int:
        """Forget runs that ended longer ago than `keep`."""
        client = self._queue.client
        ended = client.list_workflows(
            status=["SUCCESS", "ERROR"],
            queue_name=QUEUE,
            completed_before=(datetime.now(UTC) - keep).isoformat(),
            limit=PURGE_AT_ONCE,
            load_input=False,
            load_output=False,
        )
        if ended:
            client.delete_workflows([workflow.workflow_id for workflow in ended])
        return len(ended)


def _log_through_ours() -> None:
    """Let DBOS speak through this process's logging, errors only; by itself it writes to the console."""
    log = logging.getLogger("dbos")
    for handler in log.handlers[:]:
        log.removeHandler(handler)
    log.addHandler(logging.NullHandler())  # DBOS adds its own only where there is none
    log.propagate = True
    log.setLevel(logging.ERROR)
