"""State changes of jobs; subscribers of job events handle the consequences.

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
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.history_record import parse_result, record_of
from vbdesk.service.jobs.repository import Hold
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.kernel.db import events
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.job_events import JobEvents

MAX_STARTS = 3

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Run:
    """Job given to an executor, with what to analyse."""

    job_id: str
    target: JobTarget
    diarize: bool
    audio_key: str
    created_at: datetime
    hold: Hold
    trace_parent: str | None
    audio_s: float
    spoken: SpokenLanguage


class JobLifecycle:
    """The only way to change a job's state."""

    def __init__(self, clock: Clock, job_events: JobEvents) -> None:
        self._clock = clock
        self._events = job_events

    @classmethod
    def of(cls, context: Context) -> "JobLifecycle":
        """Create the lifecycle for a running context."""
        return cls(context.clock, context.job_events)

    def start(self, connection: Connection, job_id: str, executor_id: str, timeout_s: float) -> Run | None:
        """Start or restart the job; None if nothing is left to analyse or another live executor holds it.

        A job that was started too often is failed here: it probably crashes every process that runs it.
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
            JobTarget.of_row(row),
            row.diarize,
            row.audio_key,
            row.created_at,
            hold,
            row.trace_parent,
            row.audio_duration_seconds,
            SpokenLanguage.of_json(row.spoken),
        )

    def hand_back(self, connection: Connection, job_id: str, by: Hold) -> None:
        """Undo an interrupted start that was not the job's fault, so that it does not count."""
        repository.hand_back(connection, job_id, by)

    def analysed(self, connection: Connection, job_id: str, result: str, by: Hold | None = None) -> None:
        """Store the finished analysis: the job is done, or waits for its turn in its group's history.

        Here and below, the outcome of a run (`by`) counts only while that run still holds the job.
        """
        job = self._find_to_end(connection, job_id)
        if job is None:
            return
        if job.history_key is None:
            self.finish(connection, job, parse_result(result), result, by)
        elif repository.set_aside(connection, job_id, result, by):
            self._events.job_analysed(connection, job)

    def fail(self, connection: Connection, job_id: str, by: Hold | None = None) -> None:
        """End the job as failed."""
        self._end_unsuccessfully(connection, job_id, JobStatus.FAILED, by)

    def time_out(self, connection: Connection, job_id: str, by: Hold | None = None) -> None:
        """End the job as timed out."""
        self._end_unsuccessfully(connection, job_id, JobStatus.TIMED_OUT, by)

    def finish(self, connection: Connection, job: Row[Any], result: Result, text: str, by: Hold | None = None) -> None:
        """Store that the job is done; `text` is the encoded result. The caller has locked its groups."""
        self._end(connection, job, JobStatus.DONE, text, record_of(result), by)

    def finish_failed(self, connection: Connection, job: Row[Any]) -> None:
        """Store that the job failed. The caller has locked its groups."""
        self._end(connection, job, JobStatus.FAILED)

    def _end_unsuccessfully(self, connection: Connection, job_id: str, status: JobStatus, by: Hold | None) -> None:
        job = self._find_to_end(connection, job_id)
        if job is not None:
            self._end(connection, job, status, by=by)

    def _find_to_end(self, connection: Connection, job_id: str) -> Row[Any] | None:
        """Return the job after its subscribers took their locks."""
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
        """Store the terminal state once, and publish it."""
        completed_at = None if status is JobStatus.TIMED_OUT else self._clock.now()
        if repository.finish(
            connection, job.job_id, status, completed_at=completed_at, result=result, reading=reading, by=by
        ):
            events.publish(connection, events.JobEnded(status.value))
            self._events.job_ended(connection, job, status)
