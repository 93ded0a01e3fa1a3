"""Rounding to four decimals, done once: where a result becomes a wire model."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import overload

DECIMALS = 4
DAY = timedelta(days=1)


@overload
def rounded(value: float) -> float: ...
@overload
def rounded(value: None) -> None: ...
def rounded(value: float | None) -> float | None:
    """Round `value` to four decimals; None stays None."""
    return None if value is None else round(float(value), DECIMALS) + 0.0  # never -0.0


def rounded_pair(pair: Iterable[float]) -> tuple[float, float]:
    """Round both ends of an interval."""
    low, high = pair
    return rounded(low), rounded(high)


def rounded_difference(minuend: float, subtrahend: float) -> float:
    """Difference of the rounded values, so that a client's own subtraction agrees."""
    return rounded(rounded(minuend) - rounded(subtrahend))


def rounded_age_days(as_of: datetime, last: datetime) -> float:
    """Age of `last` in days; 0 if it is after `as_of`."""
    return rounded(max(as_of - last, timedelta()) / DAY)
