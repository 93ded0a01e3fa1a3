"""Durable engine on DBOS, in the jobs' database: a job and its queue entry commit together.

A workflow is one idempotent function of the job id, without DBOS steps. The job's row is authoritative; DBOS only calls
the function until it returns. The application version is a constant, because DBOS never runs workflows of other
versions.
"""

import copy
import logging
import math
import time
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

from dbos import DBOS, DBOSClient, EnqueueOptions, Queue
from sqlalchemy import Connection

from vbdesk.clock import utc_now
from vbdesk.service.engine.dbos_rows import JSON, RowGuard, treat_rows_as_data
from vbdesk.service.engine.job_engine import HandedBack, RunJob

APPLICATION = "vbdesk"
APPLICATION_VERSION = "1"
WORKFLOW = "vbdesk_run_job"
QUEUE = "vbdesk_jobs"
POLL_EVERY_S = 0.1
MAX_RECOVERIES = 1_000_000  # the job's own start counter sets the limit
STOP_WAIT_S = 2
PURGE_AT_ONCE = 500
QUEUE_CONNECTIONS = 3
ENGINE_CONNECTIONS = 4  # in addition to one for each job

_run: RunJob | None = None  # DBOS finds workflow functions by name in the process; these call it
_hand_back: RunJob | None = None
_last_end = -math.inf

log = logging.getLogger(__name__)

treat_rows_as_data()


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=MAX_RECOVERIES)
def _workflow(job_id: str) -> None:
    global _last_end
    try:
        if _run is not None:
            _run(job_id)
    except HandedBack:
        if _hand_back is not None:
            _hand_back(job_id)
        raise
    finally:
        _last_end = time.monotonic()


class DbosQueue:
    """Enqueues jobs; sufficient for a process that only serves the API."""

    def __init__(self, database_url: str) -> None:
        """Connect, creating DBOS's tables if they are missing."""
        _log_through_ours()
        DBOS.migrate(database_url)
        self._client = DBOSClient(
            system_database_url=database_url,
            serializer=JSON,
            application_name=APPLICATION,
            system_database_pool_size=QUEUE_CONNECTIONS,
            retry_connection_errors=False,  # retries would block the caller until the database is back
        )

    @property
    def client(self) -> DBOSClient:
        """DBOS client."""
        return self._client

    def enqueue(self, connection: Connection, job_id: str, queue_tag: int) -> None:
        """Enqueue the job in the caller's transaction."""
        options: EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": QUEUE,
            "workflow_id": job_id,
            "priority": queue_tag,
        }
        self._client.enqueue_in_transaction(connection, options, job_id)

    def close(self) -> None:
        """Close the connections."""
        self._client.destroy()


class DbosEngine:
    """Runs jobs. DBOS allows one instance per process."""

    def __init__(self, database_url: str, queue: DbosQueue, executor_id: str) -> None:
        self._database_url = database_url
        self._queue = queue
        self._executor_id = executor_id
        self._at_once = 0

    def enqueue(self, connection: Connection, job_id: str, queue_tag: int) -> None:
        """Enqueue the job in the caller's transaction."""
        self._queue.enqueue(connection, job_id, queue_tag)

    def start(self, run: RunJob, *, at_once: int) -> None:
        """Start running jobs, first those that this executor left unfinished."""
        global _run, _hand_back, _last_end
        _run, _hand_back, _last_end = run, self._put_back, -math.inf
        self._at_once = at_once
        self._queue.client.register_queue(
            QUEUE, worker_concurrency=0, polling_interval_sec=POLL_EVERY_S, application_name=APPLICATION
        )
        dbos = DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._database_url,
                "serializer": JSON,
                "executor_id": self._executor_id,
                "application_version": APPLICATION_VERSION,
                "log_level": "ERROR",
                "sys_db_pool_size": at_once + ENGINE_CONNECTIONS,
                "notification_listener_polling_interval_sec": POLL_EVERY_S,  # its thread must end before `stop` does
            }
        )
        DBOS.listen_queues([QUEUE])
        DBOS.launch()
        self._check_rows(dbos)
        self._limit_claims(dbos)

    def pause(self) -> None:
        """Stop taking jobs; running jobs continue."""
        self._at_once = 0

    def stop(self) -> None:
        """Stop the engine, after running jobs have ended or were handed back."""
        global _run, _hand_back
        nothing_to_note = time.monotonic() - _last_end > STOP_WAIT_S
        # Waiting takes DBOS at least one second. Wait only while a job that just ended is being recorded.
        DBOS.destroy(workflow_completion_timeout_sec=0 if nothing_to_note else STOP_WAIT_S)
        _run = _hand_back = None

    def recover(
        self, list_live: Callable[[], Collection[str]], find_forgotten: Callable[[Collection[str]], Collection[str]]
    ) -> int:
        """Requeue jobs that dead executors left unfinished and that living executors lost.

        A connection lost during a claim can leave the claim in place without a run.
        """
        client = self._queue.client
        unfinished = client.list_workflows(status="PENDING", queue_name=QUEUE, load_input=False, load_output=False)
        if not unfinished:
            return 0
        live = list_live()
        left_behind = [workflow.workflow_id for workflow in unfinished if workflow.executor_id not in live]
        taken = [workflow.workflow_id for workflow in unfinished if workflow.executor_id in live]
        requeued = [*left_behind, *find_forgotten(taken)]
        for job_id in requeued:
            client.resume_workflow(job_id, queue_name=QUEUE)
        return len(requeued)

    def purge(self, keep: timedelta) -> int:
        """Delete runs that ended longer ago than `keep`."""
        client = self._queue.client
        before = (utc_now() - keep).isoformat()
        purged = 0
        while True:
            ended = client.list_workflows(
                status=["SUCCESS", "ERROR"],
                queue_name=QUEUE,
                completed_before=before,
                limit=PURGE_AT_ONCE,
                load_input=False,
                load_output=False,
            )
            if ended:
                client.delete_workflows([workflow.workflow_id for workflow in ended])
            purged += len(ended)
            if len(ended) < PURGE_AT_ONCE:
                return purged

    def _put_back(self, job_id: str) -> None:
        """Requeue a job of this process at its old position."""
        try:
            self._queue.client.resume_workflow(job_id, queue_name=QUEUE)
        except Exception as error:  # a sweeper finds the job after this executor is gone
            log.warning("A job could not be handed back (%s); others take it later.", type(error).__name__)

    def _check_rows(self, dbos: DBOS) -> None:
        """Make DBOS run only rows that match what this service writes. Call it before `_limit_claims`."""
        database = dbos._sys_db
        guard = RowGuard(database, WORKFLOW, self._queue.enqueue)
        claim = database.start_queued_workflows

        def claim_sound(*args: Any, **kwargs: Any) -> tuple[list[str], Any]:
            claimed, stopped_by = claim(*args, **kwargs)
            return (guard.sound_only(claimed) if claimed else claimed), stopped_by

        database.start_queued_workflows = claim_sound  # type: ignore[method-assign]

    def _limit_claims(self, dbos: DBOS) -> None:
        """Let this process claim only as many jobs as it has slots.

        WORKAROUND: DBOS 3.4 keeps one limit for all executors in the database. It reads the limit before every poll
        (`dbos._queue.queue_worker_thread`), where a lost connection would delay the poll by a minute. The limit in the
        database is 0, so a process without its own limit claims nothing; here it is replaced by this process's limit.
        """
        database = dbos._sys_db
        shared = database.get_queue(QUEUE)

        def own_limit(name: str) -> Queue | None:
            if name != QUEUE or shared is None:
                return database_says(name)
            own = copy.copy(shared)
            own._worker_concurrency = self._at_once
            return own

        database_says = database.get_queue
        database.get_queue = own_limit  # type: ignore[assignment,method-assign]


def _log_through_ours() -> None:
    """Send DBOS errors to this process's log; by default DBOS writes to the console."""
    log = logging.getLogger("dbos")
    for handler in log.handlers[:]:
        log.removeHandler(handler)
    log.addHandler(logging.NullHandler())  # DBOS adds its own handler only if there is none
    log.propagate = True
    log.setLevel(logging.ERROR)
