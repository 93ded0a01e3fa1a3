"""A group's recordings as input of the longitudinal method."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.longitudinal import HistoryEntry
from vbdesk.longitudinal.window import HISTORY
from vbdesk.service.groups import repository
from vbdesk.service.jobs.history_record import history_entry, versions_of


def load(connection: Connection, group_key: str, as_of: datetime) -> list[HistoryEntry]:
    """Load the group's finished jobs that a history at this moment may use, and those recorded later."""
    rows = repository.list_history(connection, group_key, after=as_of - HISTORY)
    return [history_entry(row, row.reading, JobStatus.DONE.value) for row in rows]


def with_versions(connection: Connection, entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """Add the calibrations of readings that an older release stored; they are in the results only."""
    unknown = [entry.job_id for entry in entries if any(reading.version is None for reading in entry.signs.values())]
    found = {row.job_id: versions_of(row.result) for row in repository.list_results(connection, unknown)}
    return [_with_versions(entry, found.get(entry.job_id, {})) for entry in entries]


def _with_versions(entry: HistoryEntry, versions: Mapping[str, str | None]) -> HistoryEntry:
    if not versions:
        return entry
    signs = {
        name: reading if reading.version is not None else reading._replace(version=versions.get(name))
        for name, reading in entry.signs.items()
    }
    return replace(entry, signs=signs)
