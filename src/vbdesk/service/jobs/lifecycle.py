"""How a job goes from state to state. What follows from its end is done by subscribers of its events.

Every method works in the caller's transaction: a job, its credits, its place in a group's history and its webhook
change together or not at all.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.clock import Clock
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.results import Result
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.history_record import parse_result, record_of
from vbdesk.service.jobs.repository import Hold
from vbdesk.service.jobs.target import Target
from vbdesk.service.kernel.db import events
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.job_events import JobEvents

MAX_STARTS = 3

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Run:
    """A job given to an executor: what to analyse."""

    job_id: str
    target: Target
    diarize: bool
    audio_key: str
    created_at: datetime
    hold: Hold
    trace_parent: str | None
    audio_s: float


class JobLifecycle:
    """The one way to change a job."""

    def __init__(self, clock: Clock, job_events: JobEvents) -> None:
        self._clock = clock
        self._events = job_events

    @classmethod
    def of(cls, context: Context) -> "JobLifecycle":
        """The state changes of a running service's jobs."""
        return cls(context.clock, context.job_events)

    def start(self, connection: Connection, job_id: str, executor_id: str, timeout_s: float) -> Run | None:
        """Begin or begin again; None when there is nothing left to analyse, or another live executor has the job.

        A job that was started too often before is failed here: something in it ends every process that touches it.
        """
        now = self._clock.now()
        row = repository.start(connection, job_id, executor_id, now, now + timedelta(seconds=timeout_s))
        if row is None:
            return None
        if row.starts > MAX_STARTS:
            log.error("Job %s was started %d times without an end; it failed.", job_id, MAX_STARTS)
            self.fail(connection, job_id)
            return None
        hold = Hold(executor_id, row.starts)
        return Run(
            job_id,
            Target.of_row(row),
            row.diarize,
            row.audio_key,
            row.created_at,
            hold,
            row.trace_parent,
            row.audio_duration_seconds,
        )

    def hand_back(self, connection: Connection, job_id: str, by: Hold) -> None:
        """Undo a start that was cut short for no fault of the job's, so that it does not count."""
        repository.hand_back(connection, job_id, by)

    def analysed(self, connection: Connection, job_id: str, result: str, by: Hold | None = None) -> None:
        """Take the finished analysis: the job is done, or waits for its turn in its group's history.

        Here and below, an outcome of a run (`by`) counts only while the job is still held by it.
        """
        job = self._find_to_end(connection, job_id)
        if job is None:
            return
        if job.history_key is None:
            self.finish(connection, job, parse_result(result), result, by)
        elif repository.set_aside(connection, job_id, result, by):
            self._events.job_analysed(connection, job)

    def fail(self, connection: Connection, job_id: str, by: Hold | None = None) -> None:
        """End the job: the analysis ended without a result."""
        self._end_unsuccessfully(connection, job_id, JobStatus.FAILED, by)

    def time_out(self, connection: Connection, job_id: str, by: Hold | None = None) -> None:
        """End the job: the analysis did not end in time."""
        self._end_unsuccessfully(connection, job_id, JobStatus.TIMED_OUT, by)

    def finish(self, connection: Connection, job: Row[Any], result: Result, text: str, by: Hold | None = None) -> None:
        """Write that the job is done, with its result and the same as `text`. Its groups are locked already."""
        self._end(connection, job, JobStatus.DONE, text, record_of(result), by)

    def finish_failed(self, connection: Connection, job: Row[Any]) -> None:
        """Write that the job failed. Its groups are locked already."""
        self._end(connection, job, JobStatus.FAILED)

    def _end_unsuccessfully(self, connection: Connection, job_id: str, status: JobStatus, by: Hold | None) -> None:
        job = self._find_to_end(connection, job_id)
        if job is not None:
            self._end(connection, job, status, by=by)

    def _find_to_end(self, connection: Connection, job_id: str) -> Row[Any] | None:
        """The job, once its subscribers have their locks."""
        job = repository.find(connection, job_id)
        if job is not None:
            self._events.job_ending(connection, job)
        return job

    def _end(
        self,
        connection: Connection,
        job: Row[Any],
        status: JobStatus,
        result: str | None = None,
        reading: str | None = None,
        by: Hold | None = None,
    ) -> None:
        """Write the terminal state once, and publish it."""
        completed_at = None if status is JobStatus.TIMED_OUT else self._clock.now()
        if repository.finish(
            connection, job.job_id, status, completed_at=completed_at, result=result, reading=reading, by=by
        ):
            events.publish(connection, events.JobEnded(status.value))
            self._events.job_ended(connection, job, status)
