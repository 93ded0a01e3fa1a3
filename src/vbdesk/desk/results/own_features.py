"""Vocal features of a recording against its subject's own usual range, from the results on this computer."""

from datetime import datetime
from typing import TYPE_CHECKING

from vbdesk.contract.results import Result
from vbdesk.outbox.library.items import ItemFilter
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.results.subject_history import in_trajectory

if TYPE_CHECKING:
    from vbdesk.report.own_ranges import OwnRanges


def own_ranges_here(
    library: Library, group_id: str, job_id: str, recorded_at: datetime, result: Result, seconds: float | None
) -> "OwnRanges":
    """Own range by feature of one recording. Reads every result of the subject: call it in a task.

    Empty with too few earlier results on this computer, and for a recording that was excluded from the course.
    """
    # imported late: windows open without the longitudinal method
    from vbdesk.report.own_ranges import CountedResult, own_ranges_by_job

    items = library.list(ItemFilter(group_id=group_id, states=frozenset({OutboxState.DONE})))
    if any(item.excluded and job_id in (item.job_id, item.take_id) for item in items):
        return {}
    results = {}
    for item in in_trajectory(items):
        known, own_id = item.result, item.job_id or item.take_id
        if known is not None:
            results[own_id] = CountedResult(own_id, item.recorded_at, known, item.duration_s)
    results.setdefault(job_id, CountedResult(job_id, recorded_at, result, seconds))
    return own_ranges_by_job(results.values()).get(job_id, {})
