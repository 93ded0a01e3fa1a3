"""How far a number would move had the same person said other words: the spread over resampled speech."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vbdesk.signs.calibration import SignCalibration
from vbdesk.signs.norms import Standardised
from vbdesk.signs.scoring import Reading, index_of, score_of

NORMAL_90 = 1.6449  # half width of a 90 % interval in standard errors


def standard_error(measure: Callable[[Standardised], float], replicates: Sequence[Standardised]) -> float:
    """Standard error of `measure` by the bootstrap; 0 with fewer than two replicates."""
    return float(np.std([measure(z) for z in replicates], ddof=1)) if len(replicates) > 1 else 0.0


def with_interval(
    reading: Reading, sign: SignCalibration, replicates: Sequence[Standardised], female_share: float | None
) -> Reading:
    """Add the 90 % interval of the score: normal on the index, where errors are symmetrical."""
    if reading.index is None:
        return reading
    half_width = NORMAL_90 * standard_error(lambda z: index_of(sign, z, female_share), replicates)
    interval = (score_of(sign, reading.index - half_width), score_of(sign, reading.index + half_width))
    return replace(reading, interval=interval)
