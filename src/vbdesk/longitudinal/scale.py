"""The scale on which the method computes: the started logit of a score [F1].

The offset keeps scores of 0 and 1 finite. It also keeps small differences near 0 small; the plain logit inflates them.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def started_logit(score: ArrayLike, offset: float) -> Array:
    """`ln((s + c) / (1 - s + c))` of scores clipped to 0..1, any shape."""
    clipped = np.clip(np.asarray(score, dtype=np.float64), 0.0, 1.0)
    return np.asarray(np.log((clipped + offset) / (1.0 - clipped + offset)))


def score_of(value: ArrayLike, offset: float) -> Array:
    """Inverse of `started_logit`, clipped to 0..1, any shape."""
    y = np.asarray(value, dtype=np.float64)
    small = np.exp(-np.abs(y))  # never overflows
    share = np.where(y >= 0.0, 1.0, small) / (1.0 + small)
    return np.clip((1.0 + 2.0 * offset) * share - offset, 0.0, 1.0)
