"""How tests wait: for a condition, as long as the busiest machine needs."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 120.0  # only ends a test that hangs; it takes a fraction of a second on a quiet machine
LOOK_EVERY_S = 0.01

Found = TypeVar("Found")


def until(condition: Callable[[], Found], what: str = "the condition") -> Found:
    """Wait until `condition()` is true, and return what it gave."""
    ends_at = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < ends_at, f"waited in vain for {what}"
        time.sleep(LOOK_EVERY_S)
    return found
