"""A group's recordings as input of the longitudinal method."""

from datetime import datetime

from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.longitudinal import HistoryEntry
from vbdesk.longitudinal.window import HISTORY
from vbdesk.service.groups import repository
from vbdesk.service.jobs.history_record import history_entry


def load(connection: Connection, group_key: str, as_of: datetime) -> list[HistoryEntry]:
    """Load the group's finished jobs that a history at this moment may use, and those recorded later."""
    rows = repository.list_history(connection, group_key, after=as_of - HISTORY)
    return [history_entry(row, row.reading, JobStatus.DONE.value) for row in rows]
