"""Variance factors: how much less precise a reading is than a reference recording."""

from collections.abc import Sequence
from math import nan
from typing import Protocol

import numpy as np

from vbdesk.contract.levels import Level
from vbdesk.longitudinal.history import SignReading
from vbdesk.longitudinal.parameters import Parameters, QualityRule
from vbdesk.longitudinal.scale import Array, started_logit
from vbdesk.longitudinal.student_t import normal_quantile


class RecordedQuality(Protocol):
    """Quality of a recording; None where unknown."""

    @property
    def duration_s(self) -> float | None:
        """Length of the recording."""

    @property
    def voice_percentage(self) -> float | None:
        """Share of speech, 0..100."""

    @property
    def audio_clarity(self) -> float | None:
        """Freedom from noise, 0..100."""


def quality_factors(entries: Sequence[RecordedQuality], rule: QualityRule) -> Array:
    """Variance factor of each recording by its quality, shape (n,) [F2].

    1 is 30 s of speech in a quiet room. Less speech and more noise increase the factor. A missing quality (None or
    NaN) counts as ordinary.
    """
    duration_s = _known([e.duration_s for e in entries], rule.unknown_duration_s)
    voice_percentage = _known([e.voice_percentage for e in entries], rule.unknown_voice_percentage)
    voiced_s = np.clip(duration_s * voice_percentage / 100.0, *rule.voiced_range_s)
    length_factor = rule.base + rule.voiced_seconds / voiced_s
    clarity = np.array([e.audio_clarity for e in entries], dtype=np.float64)
    noise_factor = rule.noise_at_zero ** (np.maximum(rule.clear_from - clarity, 0.0) / rule.clear_from)
    noise_factor = np.where(np.isfinite(clarity), noise_factor, rule.unknown_noise_factor)
    return np.clip(length_factor * noise_factor, *rule.factor_range)


def interval_factors(low: Array, high: Array, usual_variance: float, offset: float, rule: QualityRule) -> Array:
    """Variance factor of readings by their score interval (NaN without), shape (n,).

    It can only raise the factor by quality. Resampling one recording does not show differences between days, so a
    narrow interval does not make a reading more precise.

    Args:
        low: shape (n,), lower ends of the intervals; NaN where unknown.
        high: shape (n,), upper ends.
        usual_variance: variance that an interval has in a reference recording, started logit.
        offset: offset of the started logit.
        rule: level of the intervals and largest factor.
    """
    width = started_logit(high, offset) - started_logit(low, offset)
    sd = width / (2.0 * normal_quantile(rule.score_interval_level))
    return np.minimum(sd * sd / usual_variance, rule.factor_range[1])


def reading_factors(
    readings: Sequence[SignReading | None], by_quality: Array, sign: str, parameters: Parameters
) -> Array:
    """Variance factor of readings of `sign` by quality, score interval and level."""
    rule = parameters.quality
    factors = by_quality
    if any(r is not None and r.interval is not None for r in readings):
        known = [(nan, nan) if r is None or r.interval is None else r.interval for r in readings]
        low, high = (np.array([interval[end] for interval in known]) for end in (0, 1))
        own = interval_factors(low, high, parameters.interval_variance(sign), parameters.scale.offset, rule)
        factors = np.fmax(factors, own)  # NaN counts as nothing
    inconclusive = np.array([r is not None and r.level == Level.INCONCLUSIVE for r in readings])
    return np.where(inconclusive, rule.factor_range[1], factors)


def _known(values: Sequence[float | None], unknown: float) -> Array:
    given = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(given), given, unknown)
