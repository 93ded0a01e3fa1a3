"""Group histories: a longitudinal analysis finishes when its turn in the group comes."""

import logging
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row
from sqlalchemy.exc import SQLAlchemyError

from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.contract.results import ModelResult, Result
from vbdesk.longitudinal import job_estimates, unconfirmed_changes, wire_fields
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.service.groups import cohort_snapshots, history_entries, repository
from vbdesk.service.jobs.history_record import history_entry, parse_result, record_of
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.job_events import JobSubscriber
from vbdesk.signs.longitudinal_result import add_longitudinal

_WAITING = "vbdesk_groups_to_settle"

log = logging.getLogger(__name__)


class GroupHistories(JobSubscriber):
    """Subscribes to job ends: marks histories as changed and finishes the jobs that waited."""

    def __init__(self, lifecycle: JobLifecycle, language: str, parameters: Parameters) -> None:
        self._lifecycle = lifecycle
        self._language = language
        self._parameters = parameters

    @classmethod
    def of(cls, context: Context) -> "GroupHistories":
        """Create the histories for a running context."""
        return cls(JobLifecycle.of(context), context.settings.narrative_language, context.parameters)

    def job_ending(self, connection: Connection, job: Row[Any]) -> None:
        """Lock the job's groups."""
        repository.lock(connection, repository.keys_of_job(connection, job.job_id) | _history_of(job))

    def job_analysed(self, connection: Connection, job: Row[Any]) -> None:
        """Finish the job and others of its group, if it is their turn."""
        self.settle(connection, [job.history_key])

    def job_ended(self, connection: Connection, job: Row[Any], status: JobStatus) -> None:
        """Mark the job's groups as changed, and finish jobs that waited for it."""
        concerned = repository.keys_of_job(connection, job.job_id)
        for group_key in concerned:
            repository.touch_history(connection, group_key)
        self.settle(connection, concerned | _history_of(job))

    def settle(self, connection: Connection, group_keys: Iterable[str]) -> None:
        """Finish the analyses that no earlier job blocks, in the order of their recordings.

        An analysis waits while any unfinished job of its group was recorded earlier. Each finished job publishes its
        end, which adds groups to this loop instead of starting another.
        """
        if _WAITING in connection.info:
            connection.info[_WAITING].update(group_keys)
            return
        waiting = connection.info[_WAITING] = set(group_keys)
        try:
            while waiting:
                self._settle_one(connection, waiting.pop(), waiting)
        finally:
            del connection.info[_WAITING]

    def _settle_one(self, connection: Connection, group_key: str, waiting: set[str]) -> None:
        repository.lock(connection, [group_key])
        for job in repository.list_unfinished(connection, group_key):
            if job.analysis is None or job.history_key != group_key:
                break
            self._finish(connection, job)
            waiting.discard(group_key)  # this loop continues with it

    def _finish(self, connection: Connection, job: Row[Any]) -> None:
        """Finish an analysis that was set aside, with its longitudinal fields."""
        try:
            result = self._longitudinal(connection, job)
        except SQLAlchemyError:  # a database fault: the caller tries again
            raise
        except Exception:
            log.exception("The history of job %s could not be read; it failed.", job.job_id)
            self._lifecycle.finish_failed(connection, job)
            return
        self._lifecycle.finish(connection, job, result, result.model_dump_json())

    def _longitudinal(self, connection: Connection, job: Row[Any]) -> Result:
        result = parse_result(job.analysis)
        fields, unconfirmed = read_job(connection, job, record_of(result), self._parameters)
        if isinstance(result, ModelResult):
            return add_longitudinal(result, fields, unconfirmed, language=self._language)
        return add_longitudinal(result, fields, unconfirmed, language=self._language)


def _history_of(job: Row[Any]) -> set[str]:
    return set() if job.history_key is None else {job.history_key}


def read_job(
    connection: Connection, job: Row[Any], reading: str, parameters: Parameters
) -> tuple[dict[str, LongitudinalFields], frozenset[str]]:
    """Return the longitudinal fields by sign of a job that is being finished with `reading`.

    Also return the slow signs whose change needs a second timepoint. The job counts in its own history even if it was
    removed from the group in the meantime.
    """
    members = history_entries.load(connection, job.history_key, job.recorded_at)
    others = [entry for entry in members if entry.job_id != job.job_id]
    history = [*others, history_entry(job, reading, JobStatus.DONE.value)]
    references = cohort_snapshots.references(connection, job.account_id, job.history_key)
    parameters = cohort_snapshots.account_parameters(connection, job.account_id, parameters)
    estimates = job_estimates(history, job.job_id, parameters)
    return wire_fields(estimates, references), unconfirmed_changes(estimates)
