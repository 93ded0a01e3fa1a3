"""A person's vocal features against that person's own usual range.

Each feature is brought to its own scale and divided by the usual SD within people. After that it is a series of the
method like a sign: the same filter, personal variance, z and limits. The prior says little and the readings decide.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import sqrt
from typing import Literal

import numpy as np

from vbdesk.longitudinal.anomaly import detect_anomalies
from vbdesk.longitudinal.feature_scales import FeatureScale, FeatureScales, shipped_feature_scales
from vbdesk.longitudinal.filter import run_filter
from vbdesk.longitudinal.gains import gain_steps
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters
from vbdesk.longitudinal.student_t import normal_equivalent, normal_quantile, t_of_normal
from vbdesk.longitudinal.timepoints import daily_timepoints
from vbdesk.longitudinal.variance_factors import quality_factors

Position = Literal["below", "within", "above"]


@dataclass(frozen=True, slots=True)
class FeatureReading:
    """One feature of one recording.

    Attributes:
        value: None where it was not measured.
        version: of the analysis that measured it; None if the result does not state it.
        duration_s, voice_percentage, audio_clarity: quality of the recording; None where unknown.
    """

    job_id: str
    recorded_at: datetime
    value: float | None
    unit: str
    version: str | None
    duration_s: float | None = None
    voice_percentage: float | None = None
    audio_clarity: float | None = None


@dataclass(frozen=True, slots=True)
class OwnRange:
    """The usual range of a person, from earlier days, and where a recording lies.

    Attributes:
        low: lower end, in the feature's unit.
        high: upper end.
        z: distance of the recording from the person's norm, as a normal deviate; the range ends at the quantile of
            its level.
        position: of the recording.
        changed: the method's limits for an anomaly are passed: a change that lasts, or one far outlier.
        days: days with earlier recordings.
    """

    low: float
    high: float
    z: float
    position: Position
    changed: bool
    days: int


def own_ranges(
    feature: str,
    readings: Sequence[FeatureReading],
    scales: FeatureScales | None = None,
    parameters: Parameters | None = None,
) -> dict[str, OwnRange]:
    """Own ranges by job id, of every reading with enough earlier days; empty for an unknown feature.

    A reading is compared with those of earlier UTC days that the same version of the analysis measured in the same
    unit. One of an unknown version is compared with nothing.

    Args:
        feature: name of the feature.
        readings: of one person, in any order.
        scales: scales and usual variances; the shipped ones by default.
        parameters: of the method; the shipped ones by default.
    """
    scales = scales or shipped_feature_scales()
    scale = scales.feature.get(feature)
    if scale is None:
        return {}
    by_version: dict[str, list[tuple[FeatureReading, float]]] = defaultdict(list)
    for reading in sorted(readings, key=lambda one: (one.recorded_at, one.job_id)):
        transformed = scale.transform(reading.value)
        if reading.version is not None and transformed is not None and reading.unit == scale.unit:
            by_version[reading.version].append((reading, transformed))
    ranges: dict[str, OwnRange] = {}
    for same in by_version.values():
        ranges |= _ranges(same, scale, scales, parameters or shipped_parameters())
    return ranges


def _ranges(
    series: Sequence[tuple[FeatureReading, float]], scale: FeatureScale, scales: FeatureScales, parameters: Parameters
) -> dict[str, OwnRange]:
    readings = [reading for reading, _ in series]
    sign_class = parameters.classes[scales.sign_class]
    origin = series[0][1]
    unit = sqrt(scale.within_variance / sign_class.within_variance)
    sign_class = sign_class.model_copy(
        update={
            "trait_mean": (scale.mean - origin) / unit,
            "trait_variance": scale.between_variance / unit**2,
        }
    )
    values = (np.array([transformed for _, transformed in series]) - origin) / unit
    factors = quality_factors(readings, parameters.quality)
    timepoints = daily_timepoints(
        np.array([reading.recorded_at.timestamp() for reading in readings]),
        factors,
        values[:, None],
        shared_variance=parameters.timepoint.shared_variance,
        usable_factor=parameters.quality.usable_factor,
    )
    days = timepoints.days.tolist()
    if len(days) <= scales.min_earlier_days:
        return {}
    steps, _ = gain_steps(days, timepoints.variance_factors.tolist(), sign_class, parameters.prior)
    filtered = run_filter(timepoints.values, steps, sign_class, parameters)
    # around the norm, which is a score of 0.5: the least deviation is in scores, and these hardly move far from 0.5
    around = replace(timepoints, values=timepoints.values - filtered.trait)
    departures = replace(filtered, trait=np.zeros_like(filtered.trait))
    changed = detect_anomalies(around, steps, departures, sign_class, parameters).anomaly[:, 0]
    widest = sign_class.trait_variance * parameters.prior.trait_widening
    limit = normal_quantile(scales.level)
    ranges = {}
    for k, reading in enumerate(readings):
        day = int(np.searchsorted(timepoints.last, k))
        if day < scales.min_earlier_days:
            continue
        gap = days[day] - days[day - 1]
        trait_variance = min(steps[day - 1].trait_variance * 2.0 ** (gap / sign_class.trait_half_life_days), widest)
        noise = sign_class.reading_variance * float(factors[k])
        variance = trait_variance + sign_class.state_variance + sign_class.shift_variance + noise
        centre, df = float(filtered.trait[day - 1, 0]), float(filtered.null_df[day - 1, 0])
        sd = sqrt(variance * float(filtered.null_ratio[day - 1, 0]))
        t = (float(values[k]) - centre) / sd
        half = t_of_normal(limit, df) * sd
        ranges[reading.job_id] = OwnRange(
            low=scale.restore(origin + (centre - half) * unit),
            high=scale.restore(origin + (centre + half) * unit),
            z=float(normal_equivalent(t, df)),
            position="below" if t * sd < -half else "above" if t * sd > half else "within",
            changed=bool(changed[day]),
            days=day,
        )
    return ranges
