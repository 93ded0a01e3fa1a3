"""Counts of Python calls: a measure of work that is the same on every machine."""

import sys
from collections.abc import Callable


def calls_of(work: Callable[[], object]) -> int:
    """Number of functions that `work` calls, including C functions."""
    count = 0

    def on_event(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
