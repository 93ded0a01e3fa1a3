"""Longitudinal fields of a job, from its group."""

from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.longitudinal import job_estimates, unconfirmed_changes, wire_fields
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.service.groups import cohort_snapshots, history_entries
from vbdesk.service.jobs.history_record import history_entry


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
