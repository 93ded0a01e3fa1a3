"""How tests wait: for a condition, and no longer than a hang may take, which is the only time limit of a test."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

HANGS_S = 600.0
"""Only ends a test that hangs: `faulthandler_timeout` in pyproject.toml ends it after as long, and shows all stacks."""
NAMED_BEFORE_S = 20.0  # a wait fails this long before, and says what it waited for; in a test's programs, twice that
CHECK_INTERVAL_S = 0.01
_BEGAN_AT = "TEST_BEGAN_AT"  # by the clock that all processes share

Found = TypeVar("Found")

_began_at = float(os.environ[_BEGAN_AT]) - NAMED_BEFORE_S if _BEGAN_AT in os.environ else None


def begin_test() -> None:
    """Start the time of a test, and of the programs that it starts: their waits end together."""
    global _began_at
    _began_at = time.monotonic() - NAMED_BEFORE_S
    os.environ[_BEGAN_AT] = str(_began_at)


def seconds_left() -> float:
    """How long a wait that begins now may take."""
    return HANGS_S if _began_at is None else max(_began_at + HANGS_S - time.monotonic(), 0.0)


def until(
    condition: Callable[[], Found],
    what: str | Callable[[], str] = "the condition",
    look_every_s: float = CHECK_INTERVAL_S,
) -> Found:
    """Wait until `condition()` is true, and return what it gave; a failure says `what` it waited for."""
    ends_at = time.monotonic() + seconds_left()
    while not (found := condition()):
        assert time.monotonic() < ends_at, f"waited in vain for {what() if callable(what) else what}"
        time.sleep(look_every_s)
    return found
