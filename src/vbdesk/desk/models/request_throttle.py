"""Long reads of a page: they leave half of the plan's requests to the recordings on their way."""

import time

from vbdesk.client import RequestBudget
from vbdesk.contract.limits import Bucket
from vbdesk.desk.tasks import TaskContext

_LOOK_S = 0.25


def has_room(budget: RequestBudget) -> bool:
    """Whether one more request may go now, and half a minute's requests are still left for others."""
    left = budget.limit(Bucket.GENERAL) // 2
    return budget.wait_s(Bucket.GENERAL, time.monotonic(), 1 + left) <= 0


def wait_for_room(budget: RequestBudget, context: TaskContext) -> None:
    """On a worker: wait until there is room. Raises Cancelled when the task is asked to stop."""
    context.check()
    while not has_room(budget):
        time.sleep(_LOOK_S)
        context.check()


def expected_s(budget: RequestBudget, reads: int) -> float:
    """How long so many reads will take at least."""
    a_minute = max(1, budget.limit(Bucket.GENERAL) - budget.limit(Bucket.GENERAL) // 2)
    return max(0, reads - a_minute) * 60.0 / a_minute
