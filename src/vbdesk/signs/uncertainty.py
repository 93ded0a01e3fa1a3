"""Uncertainty of a score: its spread over bootstrap resamples of the speech."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vbdesk.signs.calibration import ScoringRules, SignCalibration
from vbdesk.signs.norms import ZScores
from vbdesk.signs.score_to_level import index_to_score
from vbdesk.signs.scoring import Reading, sign_index

NORMAL_90 = 1.6449  # half width of a 90 % interval in standard errors


def standard_error(measure: Callable[[ZScores], float], replicates: Sequence[ZScores]) -> float:
    """Bootstrap standard error of `measure`; 0 with fewer than two replicates."""
    return float(np.std([measure(z) for z in replicates], ddof=1)) if len(replicates) > 1 else 0.0


def index_error(sign: SignCalibration, rules: ScoringRules, replicates: Sequence[ZScores], tract_share: float) -> float:
    """Standard error of the index, in reference SD; that of a retest with fewer than two replicates."""
    if len(replicates) < 2:
        return math.sqrt(1 - sign.icc_free_speech)
    return rules.error_factor(sign.weights) * standard_error(lambda z: sign_index(sign, z, tract_share), replicates)


def add_score_interval(
    reading: Reading,
    sign: SignCalibration,
    rules: ScoringRules,
    replicates: Sequence[ZScores],
    tract_share: float,
) -> Reading:
    """Add the 90 % interval of the score; it is normal on the index scale, where errors are symmetrical."""
    if reading.index is None:
        return reading
    half_width = NORMAL_90 * index_error(sign, rules, replicates, tract_share)
    interval = (index_to_score(sign, reading.index - half_width), index_to_score(sign, reading.index + half_width))
    return replace(reading, interval=interval)
