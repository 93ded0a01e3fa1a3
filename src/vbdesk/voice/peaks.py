"""Local maxima of many correlation functions in parallel, interpolated between samples."""

import numpy as np

from vbdesk.voice.recording import Samples
from vbdesk.voice.short_term import Floats, Indices

SINC_REACH = 12  # samples on either side for the interpolation of a band-limited height
_PHASES = 32
_STEP = 6  # phases between the three heights of the final parabola


def refined_peaks(
    correlation: Samples,
    shortest: int,
    weakest: float,
    most: int,
    *,
    within: tuple[Floats, Floats] | None = None,
    band_limited: bool = False,
) -> tuple[Floats, Floats]:
    """Find the local maxima in each row of `correlation`, shape (rows, lags), and refine them with a parabola.

    Heights above 1 are inverted; only rounding or the division by the window's correlation can cause them.

    Args:
        correlation: starts at lag 0.
        shortest: shortest lag, at least 1, and more than `SINC_REACH` if `band_limited`.
        weakest: peaks must be higher than this.
        most: maximum number of peaks per row; the highest are kept.
        within: lowest and highest lag for each row, each of shape (rows,); None searches all lags.
        band_limited: interpolate heights as for a band-limited function before the parabola. Required if peaks are only
            a few samples wide. The last `SINC_REACH` lags are then not searched.

    Returns:
        Lag and height, each of shape (rows, most); lag 0 for missing peaks.
    """
    end = correlation.shape[1] - (SINC_REACH + 1 if band_limited else 1)
    middle = correlation[:, shortest:end]
    rising = middle > correlation[:, shortest - 1 : end - 1]
    rows, columns = np.nonzero((middle > weakest) & rising & (middle >= correlation[:, shortest + 1 : end + 1]))
    columns += shortest
    if within is not None:
        counts = (columns >= within[0][rows]) & (columns <= within[1][rows])
        rows, columns = rows[counts], columns[counts]
    around = [correlation[rows, columns + step].astype(np.float64) for step in (-1, 0, 1)]
    shift, height = _parabola(*around)
    lag = columns + shift
    if band_limited:
        phase = np.rint(lag * _PHASES).astype(np.int64)
        around = [_between_samples(correlation, rows, phase + step) for step in (-_STEP, 0, _STEP)]
        shift, height = _parabola(*around)
        lag = (phase + shift * _STEP) / _PHASES
    return _highest(rows, lag, np.where(height > 1, 1 / height, height), correlation.shape[0], most)


def _parabola(left: Floats, centre: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Vertex of the parabola through three equidistant heights: offset from the centre in steps, and height."""
    slope, curvature = (right - left) / 2, 2 * centre - left - right
    shift = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
    shift = np.clip(shift, -1, 1)
    return shift, centre + slope * shift / 2


def _sinc_table() -> Samples:
    """Weights of the samples -`SINC_REACH` + 1 to `SINC_REACH` around each phase between two samples."""
    distance = np.arange(_PHASES)[:, None] / _PHASES - np.arange(1 - SINC_REACH, SINC_REACH + 1)
    weights: Samples = (np.sinc(distance) * np.cos(np.pi * distance / (2 * SINC_REACH + 2))).astype(np.float32)
    return weights


_SINC = _sinc_table()


def _between_samples(correlation: Samples, rows: Indices, phase: Indices) -> Floats:
    """Height of each row in `rows` at a lag of `phase` / `_PHASES` samples."""
    first = phase // _PHASES - SINC_REACH + 1
    taps = correlation[rows[:, None], first[:, None] + np.arange(2 * SINC_REACH)]
    height: Floats = np.einsum("nt,nt->n", taps, _SINC[phase % _PHASES]).astype(np.float64)
    return height


def _highest(rows: Indices, lag: Floats, height: Floats, row_count: int, most: int) -> tuple[Floats, Floats]:
    """The `most` highest peaks of each row as columns, highest first. `rows` ascends."""
    order = np.lexsort((-height, rows))
    rank = np.arange(rows.size) - np.searchsorted(rows, np.arange(row_count))[rows]
    kept, where = order[rank < most], (rows[rank < most], rank[rank < most])
    lags, heights = np.zeros((row_count, most)), np.zeros((row_count, most))
    lags[where], heights[where] = lag[kept], height[kept]
    return lags, heights
