"""How far one recording can be trusted: its quality as a factor on the variance of a reading [F2]."""

from collections.abc import Sequence

import numpy as np

from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.parameters import QualityRule
from vbdesk.longitudinal.scale import Array


def variance_factors(entries: Sequence[HistoryEntry], rule: QualityRule) -> Array:
    """Variance factor of each recording, shape (n,); 1 is 30 s of speech in quiet, more is worse.

    Little speech and noise enlarge it; what is unknown (None or NaN) counts as an ordinary recording.
    """
    duration_s = _known([e.duration_s for e in entries], rule.unknown_duration_s)
    voice_percentage = _known([e.voice_percentage for e in entries], rule.unknown_voice_percentage)
    voiced_s = np.clip(duration_s * voice_percentage / 100.0, *rule.voiced_range_s)
    length_factor = rule.base + rule.voiced_seconds / voiced_s
    clarity = np.array([e.audio_clarity for e in entries], dtype=np.float64)
    noise_factor = rule.noise_at_zero ** (np.maximum(rule.clear_from - clarity, 0.0) / rule.clear_from)
    noise_factor = np.where(np.isfinite(clarity), noise_factor, rule.unknown_noise_factor)
    return np.clip(length_factor * noise_factor, *rule.factor_range)


def _known(values: Sequence[float | None], unknown: float) -> Array:
    given = np.array(values, dtype=np.float64)
    return np.where(np.isfinite(given), given, unknown)
