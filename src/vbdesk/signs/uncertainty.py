"""How far a number would move had the same person said other words: the spread over resampled speech."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vbdesk.signs.calibration import ScoringRules, SignCalibration
from vbdesk.signs.norms import Standardised
from vbdesk.signs.scoring import Reading, index_of, score_of

NORMAL_90 = 1.6449  # half width of a 90 % interval in standard errors


def standard_error(measure: Callable[[Standardised], float], replicates: Sequence[Standardised]) -> float:
    """Standard error of `measure` by the bootstrap; 0 with fewer than two replicates."""
    return float(np.std([measure(z) for z in replicates], ddof=1)) if len(replicates) > 1 else 0.0


def index_error(
    sign: SignCalibration, rules: ScoringRules, replicates: Sequence[Standardised], female_share: float | None
) -> float:
    """Standard error of the index, in reference SD; where there is nothing to resample, that of a retest."""
    if len(replicates) < 2:
        return math.sqrt(1 - sign.icc_free_speech)
    return rules.error_factor(sign.weights) * standard_error(lambda z: index_of(sign, z, female_share), replicates)


def with_interval(
    reading: Reading,
    sign: SignCalibration,
    rules: ScoringRules,
    replicates: Sequence[Standardised],
    female_share: float | None,
) -> Reading:
    """Add the 90 % interval of the score: normal on the index, where errors are symmetrical."""
    if reading.index is None:
        return reading
    half_width = NORMAL_90 * index_error(sign, rules, replicates, female_share)
    interval = (score_of(sign, reading.index - half_width), score_of(sign, reading.index + half_width))
    return replace(reading, interval=interval)
