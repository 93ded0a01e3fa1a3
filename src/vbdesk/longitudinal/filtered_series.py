"""Filter the signs of a window: from readings to estimates and anomalies.

Signs of one class that were measured in the same recordings share times and qualities, and therefore gains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from vbdesk.longitudinal.anomaly import Detections, detect_anomalies
from vbdesk.longitudinal.filter import FilterOutput, run_filter
from vbdesk.longitudinal.first_submission import has_history
from vbdesk.longitudinal.gains import GainStep, gain_steps
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.parameters import Parameters, SignClass
from vbdesk.longitudinal.scale import Array, score_of, started_logit
from vbdesk.longitudinal.timepoints import Timepoints, daily_timepoints
from vbdesk.longitudinal.variance_factors import quality_factors, reading_factors


@dataclass(frozen=True, slots=True)
class FilteredSeries:
    """Filter results of signs that share class and recordings; n timepoints, b signs.

    Attributes:
        signs: the b signs.
        sign_class: their class.
        recordings: the recordings with these signs, in time order.
        timepoints: the recordings merged by day; `timepoints.last` indexes `recordings`.
        steps: n gain steps.
        filtered: trait, state and shift.
        detections: z-scores and anomalies.
    """

    signs: tuple[str, ...]
    sign_class: SignClass
    recordings: list[HistoryEntry]
    timepoints: Timepoints
    steps: list[GainStep]
    filtered: FilterOutput
    detections: Detections


@dataclass(frozen=True, slots=True)
class SignEstimate:
    """Estimate of a sign after its last timepoint; `level` is a started logit.

    `unconfirmed`: a slow sign changed at this timepoint and needs a second one to confirm it.
    """

    latest_score: float
    baseline_score: float
    deviation_from_baseline: float
    anomaly: bool
    unconfirmed: bool
    z_score: float
    level: float
    recordings: int
    timepoints: int


def has_score(entry: HistoryEntry, sign: str) -> bool:
    """Whether the recording has a score for `sign`."""
    reading = entry.signs.get(sign)
    return reading is not None and reading.score is not None and isfinite(reading.score)


def score_array(readings: Sequence[SignReading | None]) -> Array:
    """Scores of readings, shape (n,); NaN where nothing was measured."""
    scores = np.array([None if r is None else r.score for r in readings], dtype=np.float64)
    scores[np.isinf(scores)] = nan
    return scores


def filter_signs(entries: Sequence[HistoryEntry], signs: Sequence[str], parameters: Parameters) -> list[FilteredSeries]:
    """Filter the `signs` with at least two scores over `entries` (ordered)."""
    by_quality = quality_factors(entries, parameters.quality)
    seconds = np.array([entry.recorded_at.timestamp() for entry in entries])
    shared: dict[tuple[str, bytes, bytes], list[tuple[str, Array]]] = {}
    for sign in signs:
        readings = [entry.signs.get(sign) for entry in entries]
        scores = score_array(readings)
        present = np.isfinite(scores)
        if has_history(int(np.count_nonzero(present))):
            factors = reading_factors(readings, by_quality, sign, parameters)
            key = (parameters.class_name(sign), present.tobytes(), factors[present].tobytes())
            shared.setdefault(key, []).append((sign, scores))
    all_series = []
    for (class_name, present_bytes, factors_bytes), members in shared.items():
        present = np.frombuffer(present_bytes, dtype=np.bool_)
        timepoints = daily_timepoints(
            seconds[present],
            np.frombuffer(factors_bytes),
            started_logit(np.stack([scores[present] for _, scores in members], axis=1), parameters.scale.offset),
            shared_variance=parameters.timepoint.shared_variance,
            usable_factor=parameters.quality.usable_factor,
        )
        recordings = [entries[k] for k in np.flatnonzero(present).tolist()]
        signs_here = tuple(sign for sign, _ in members)
        all_series.append(_filter(signs_here, recordings, timepoints, parameters.classes[class_name], parameters))
    return all_series


def last_estimate(series: FilteredSeries, column: int, parameters: Parameters) -> SignEstimate:
    """Estimate of the sign in `column` after its last timepoint."""
    filtered, detections, offset = series.filtered, series.detections, parameters.scale.offset
    trait, level = float(filtered.trait[-1, column]), float(filtered.level[-1, column])
    return SignEstimate(
        latest_score=float(score_of(level, offset)),
        baseline_score=float(score_of(trait, offset)),
        deviation_from_baseline=float(detections.deviation[-1, column]),
        anomaly=bool(detections.anomaly[-1, column]),
        unconfirmed=bool(detections.unconfirmed[-1, column]),
        z_score=float(detections.z[-1, column]),
        level=level,
        recordings=len(series.recordings),
        timepoints=len(series.steps),
    )


def _filter(
    signs: tuple[str, ...],
    recordings: list[HistoryEntry],
    timepoints: Timepoints,
    sign_class: SignClass,
    parameters: Parameters,
) -> FilteredSeries:
    steps, _ = gain_steps(timepoints.days.tolist(), timepoints.variance_factors.tolist(), sign_class, parameters.prior)
    filtered = run_filter(timepoints.values, steps, sign_class, parameters)
    detections = detect_anomalies(timepoints, steps, filtered, sign_class, parameters)
    return FilteredSeries(signs, sign_class, recordings, timepoints, steps, filtered, detections)
