"""The one rule for lengths and shares as whole numbers."""

import math

from vbdesk.contract.timestamps import bounded

_TOLERANCE = 1e-6  # a length is often a sum of blocks: 14.999999999 s are 15 s


def whole(value: float) -> int:
    """Round down: what is shown as 15 s has the 15 s, and every place shows the same number. NaN gives 0."""
    return math.floor(bounded(value) + _TOLERANCE)
