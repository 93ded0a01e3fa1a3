"""Local maxima of many correlation functions at once."""

import numpy as np

from vbdesk.voice.recording import Samples
from vbdesk.voice.short_term import Floats


def refined_peaks(correlation: Samples, shortest: int, weakest: float, most: int) -> tuple[Floats, Floats]:
    """Find the local maxima in each row of `correlation`, shape (rows, lags), and refine them with a parabola.

    Only lags of at least `shortest` and heights above `weakest` count; of more than `most` a row, the highest stay.
    Heights above 1, which only rounding or the division by the window's correlation can give, are inverted.

    Returns:
        Lag and height, each of shape (rows, most); lag 0 where a row has fewer peaks.
    """
    middle = correlation[:, shortest:-1]
    is_peak = (
        (middle > weakest) & (middle > correlation[:, shortest - 1 : -2]) & (middle >= correlation[:, shortest + 1 :])
    )
    rows, columns = np.nonzero(is_peak)
    columns += shortest
    left = correlation[rows, columns - 1].astype(np.float64)
    centre = correlation[rows, columns].astype(np.float64)
    right = correlation[rows, columns + 1].astype(np.float64)
    slope, curvature = (right - left) / 2, 2 * centre - left - right
    height = centre + slope**2 / (2 * curvature)
    height = np.where(height > 1, 1 / height, height)

    order = np.lexsort((-height, rows))
    first_of_row = np.searchsorted(rows, np.arange(correlation.shape[0]))
    rank = np.arange(rows.size) - first_of_row[rows]
    kept = order[rank < most]
    lags = np.zeros((correlation.shape[0], most))
    heights = np.zeros((correlation.shape[0], most))
    where = (rows[kept], rank[rank < most])
    lags[where] = columns[kept] + (slope / curvature)[kept]
    heights[where] = height[kept]
    return lags, heights
