"""A group's jobs as the longitudinal method wants them."""

from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.longitudinal import HistoryEntry, job_fields, unconfirmed_changes
from vbdesk.service.groups import cohort, repository
from vbdesk.service.jobs.reading import history_entry


def load(connection: Connection, group_key: str) -> list[HistoryEntry]:
    """Every job of the group, in any state."""
    return [history_entry(row, row.reading, row.status) for row in repository.list_history(connection, group_key)]


def read_job(
    connection: Connection, job: Row[Any], reading: str
) -> tuple[dict[str, LongitudinalFields], frozenset[str]]:
    """The longitudinal fields, by sign, of a job that is just being finished with `reading`.

    Beside them the slow signs whose change waits for a second timepoint. The job counts into its own history even if
    it was taken out of the group meanwhile.
    """
    others = [entry for entry in load(connection, job.history_key) if entry.job_id != job.job_id]
    history = [*others, history_entry(job, reading, JobStatus.DONE.value)]
    references = cohort.references(connection, job.account_id, job.history_key)
    return job_fields(history, job.job_id, references), unconfirmed_changes(history, job.job_id)
