"""A group's recordings as the longitudinal method wants them."""

from datetime import datetime

from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.longitudinal import HistoryEntry
from vbdesk.longitudinal.window import HISTORY
from vbdesk.service.groups import repository
from vbdesk.service.jobs.history_record import history_entry


def load(connection: Connection, group_key: str, as_of: datetime) -> list[HistoryEntry]:
    """The finished jobs of the group that a history as of this moment may rest on, and those recorded later."""
    rows = repository.list_history(connection, group_key, after=as_of - HISTORY)
    return [history_entry(row, row.reading, JobStatus.DONE.value) for row in rows]
