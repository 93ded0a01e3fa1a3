"""Throttle for long reads of a page: half of the plan's requests stay free for uploads."""

import time

from vbdesk.client import RequestBudget
from vbdesk.contract.limits import Bucket
from vbdesk.desk.flow.tasks import TaskContext

_CHECK_INTERVAL_S = 0.25


def has_room(budget: RequestBudget) -> bool:
    """Whether a request can be sent now, with half a minute's requests left for others."""
    left = budget.limit(Bucket.GENERAL) // 2
    return budget.wait_s(Bucket.GENERAL, time.monotonic(), 1 + left) <= 0


def wait_for_room(budget: RequestBudget, context: TaskContext) -> None:
    """Wait until a request can be sent; on a worker. Raises TaskCancelled when the task has to stop."""
    context.check()
    while not has_room(budget):
        time.sleep(_CHECK_INTERVAL_S)
        context.check()


def expected_s(budget: RequestBudget, reads: int) -> float:
    """Minimum duration of a number of reads."""
    a_minute = max(1, budget.limit(Bucket.GENERAL) - budget.limit(Bucket.GENERAL) // 2)
    return max(0, reads - a_minute) * 60.0 / a_minute
