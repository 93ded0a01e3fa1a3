"""The one rounding step, at the edge to the wire: four decimals."""

from collections.abc import Iterable
from typing import overload

DECIMALS = 4


@overload
def rounded(value: float) -> float: ...
@overload
def rounded(value: None) -> None: ...
def rounded(value: float | None) -> float | None:
    """`value` to four decimals; None stays None."""
    return None if value is None else round(float(value), DECIMALS) + 0.0  # never -0.0


def rounded_pair(pair: Iterable[float]) -> tuple[float, float]:
    """Both ends of an interval, rounded."""
    low, high = pair
    return rounded(low), rounded(high)


def rounded_difference(minuend: float, subtrahend: float) -> float:
    """Difference of the rounded values, so that the reader's own subtraction agrees."""
    return rounded(rounded(minuend) - rounded(subtrahend))
