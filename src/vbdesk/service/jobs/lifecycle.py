"""How a job goes from state to state, and what follows: credits, membership, webhook, the jobs that waited for it.

Every method works in the caller's transaction, so that a job, its money, its place in a group's history and its webhook
move together or not at all.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row
from sqlalchemy.exc import SQLAlchemyError

from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.results import ModelResult, Result
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.groups import job_history
from vbdesk.service.groups import repository as groups
from vbdesk.service.jobs import repository
from vbdesk.service.jobs.history_record import parse_result, record_of
from vbdesk.service.jobs.repository import Hold
from vbdesk.service.jobs.target import Target
from vbdesk.service.kernel.clock import Clock
from vbdesk.service.kernel.db.events import JobEnded, publish
from vbdesk.service.webhooks.service import WebhookService
from vbdesk.signs.longitudinal_result import add_longitudinal

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

    def __init__(self, clock: Clock, webhooks: WebhookService, language: str, parameters: Parameters) -> None:
        self._language = language
        self._parameters = parameters
        self._clock = clock
        self._credits = CreditsService(clock)
        self._webhooks = webhooks

    def start(self, connection: Connection, job_id: str, executor_id: str, timeout_s: float) -> Run | None:
        """Begin or begin again; None when there is nothing left to analyse, or another live executor is at it.

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
        row = self._find_to_end(connection, job_id)
        if row is None:
            return
        if row.history_key is None:
            parsed = parse_result(result)
            self._end(connection, row, JobStatus.DONE, result=result, reading=record_of(parsed), by=by)
        elif repository.set_aside(connection, job_id, result, by):
            self.settle(connection, [row.history_key])

    def fail(self, connection: Connection, job_id: str, by: Hold | None = None) -> None:
        """The analysis ended without a result."""
        self._end_unsuccessfully(connection, job_id, JobStatus.FAILED, by)

    def time_out(self, connection: Connection, job_id: str, by: Hold | None = None) -> None:
        """The analysis did not end in time."""
        self._end_unsuccessfully(connection, job_id, JobStatus.TIMED_OUT, by)

    def settle(self, connection: Connection, group_keys: Iterable[str]) -> None:
        """Finish, in the order of their recordings, the analyses whose turn has come.

        An analysis waits while any unfinished job of its group was recorded before it.
        """
        waiting = set(group_keys)
        while waiting:
            group_key = waiting.pop()
            groups.lock(connection, [group_key])
            for row in groups.list_unfinished(connection, group_key):
                if row.analysis is None or row.history_key != group_key:
                    break
                waiting |= self._finish_in_history(connection, row)
                waiting.discard(group_key)  # this loop goes on with it

    def _finish_in_history(self, connection: Connection, row: Row[Any]) -> set[str]:
        """End a set-aside analysis with its longitudinal fields; the groups that this may concern."""
        try:
            result = self._longitudinal(connection, row)
        except SQLAlchemyError:  # the database's fault, not the history's: whoever called tries again
            raise
        except Exception:
            log.exception("The history of job %s could not be read; it failed.", row.job_id)
            return self._record_end(connection, row, JobStatus.FAILED)
        return self._record_end(
            connection, row, JobStatus.DONE, result=result.model_dump_json(), reading=record_of(result)
        )

    def _longitudinal(self, connection: Connection, row: Row[Any]) -> Result:
        result = parse_result(row.analysis)
        fields, unconfirmed = job_history.read_job(connection, row, record_of(result), self._parameters)
        if isinstance(result, ModelResult):
            return add_longitudinal(result, fields, unconfirmed, language=self._language)
        return add_longitudinal(result, fields, unconfirmed, language=self._language)

    def _end_unsuccessfully(self, connection: Connection, job_id: str, status: JobStatus, by: Hold | None) -> None:
        row = self._find_to_end(connection, job_id)
        if row is not None:
            self._end(connection, row, status, by=by)

    def _find_to_end(self, connection: Connection, job_id: str) -> Row[Any] | None:
        """The job, once its groups are ours to change."""
        row = repository.find(connection, job_id)
        if row is not None:
            groups.lock(connection, groups.keys_of_job(connection, job_id) | ({row.history_key} - {None}))
        return row

    def _end(
        self,
        connection: Connection,
        row: Row[Any],
        status: JobStatus,
        *,
        result: str | None = None,
        reading: str | None = None,
        by: Hold | None = None,
    ) -> None:
        self.settle(connection, self._record_end(connection, row, status, result=result, reading=reading, by=by))

    def _record_end(
        self,
        connection: Connection,
        row: Row[Any],
        status: JobStatus,
        *,
        result: str | None = None,
        reading: str | None = None,
        by: Hold | None = None,
    ) -> set[str]:
        """Write the terminal state once, with all that follows from it; the groups in which others may have waited."""
        now = self._clock.now()
        completed_at = None if status is JobStatus.TIMED_OUT else now
        if not repository.finish(
            connection, row.job_id, status, completed_at=completed_at, result=result, reading=reading, by=by
        ):
            return set()
        publish(connection, JobEnded(status.value))
        if status is JobStatus.DONE:
            self._credits.capture(connection, row.job_id)
        else:
            self._credits.release(connection, row.job_id)
        self._webhooks.schedule(connection, row)
        concerned = groups.keys_of_job(connection, row.job_id)
        for group_key in concerned:
            groups.touch_history(connection, group_key)
        return concerned | ({row.history_key} - {None})
