"""Window of a history [F13]: last 270 days, at most 1,000 recordings."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from vbdesk.contract.limits import HISTORY_DAYS, HISTORY_JOBS
from vbdesk.longitudinal.history import HistoryEntry

HISTORY = timedelta(days=HISTORY_DAYS)
DONE = "done"


@dataclass(frozen=True, slots=True)
class HistoryWindow:
    """The recordings in the window, in order of (recorded_at, job_id).

    Attributes:
        entries: at most 1,000.
        truncated: there were more than 1,000; the oldest are left out.
        future_excluded: number of finished recordings too far in the future.
    """

    entries: list[HistoryEntry]
    truncated: bool
    future_excluded: int


def history_order(entry: HistoryEntry) -> tuple[datetime, str]:
    """Sort key of a history."""
    return entry.recorded_at, entry.job_id


def window_as_of(history: Iterable[HistoryEntry], as_of: datetime, future_hours: float) -> HistoryWindow:
    """Window of a read at `as_of`, plus `future_hours` for clocks that run ahead."""
    ahead = timedelta(hours=future_hours)
    kept: list[HistoryEntry] = []
    future_excluded = 0
    for entry in history:
        if entry.status != DONE:
            continue
        age = as_of - entry.recorded_at
        if age < -ahead:
            future_excluded += 1
        elif age < HISTORY:
            kept.append(entry)
    kept.sort(key=history_order)
    return HistoryWindow(kept[-HISTORY_JOBS:], len(kept) > HISTORY_JOBS, future_excluded)


def window_of_job(history: Iterable[HistoryEntry], job: HistoryEntry) -> list[HistoryEntry]:
    """Window of a job's own fields: earlier recordings, and the job [F14]."""
    earlier = [
        entry
        for entry in history
        if entry.status == DONE
        and history_order(entry) < history_order(job)
        and job.recorded_at - entry.recorded_at < HISTORY
    ]
    return [*sorted(earlier, key=history_order), job][-HISTORY_JOBS:]
