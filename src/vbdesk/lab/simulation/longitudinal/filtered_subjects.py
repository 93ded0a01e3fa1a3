"""Run the shipped filter over simulated subjects."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.contract.limits import HISTORY_DAYS
from vbdesk.lab.simulation.longitudinal.simulated_subjects import SimulatedSubjects
from vbdesk.longitudinal.anomaly import Detections, detect_anomalies
from vbdesk.longitudinal.filter import FilterOutput, run_filter
from vbdesk.longitudinal.gains import gain_steps
from vbdesk.longitudinal.intervals import Intervals, score_intervals
from vbdesk.longitudinal.parameters import Parameters, SignClass
from vbdesk.longitudinal.scale import Array, score_of, started_logit
from vbdesk.longitudinal.timepoints import Timepoints
from vbdesk.longitudinal.trend import Direction, slopes


@dataclass(frozen=True, slots=True)
class FilteredSubjects:
    """Results of the method after each recording, shape (B, n), in scores.

    Attributes:
        latest: current level.
        latest_band: shape (B, 2, n), its interval; the other bands have the same shape.
        baseline: personal norm.
        baseline_band: interval of the baseline.
        normal_range: prediction interval of the next reading.
        deviation: latest minus baseline.
        z: z-score of the deviation.
        anomaly: whether there is an anomaly.
        trends: direction at the end, one per subject.
    """

    latest: Array
    latest_band: Array
    baseline: Array
    baseline_band: Array
    normal_range: Array
    deviation: Array
    z: Array
    anomaly: NDArray[np.bool_]
    trends: list[Direction]


@dataclass(frozen=True, slots=True)
class RollingReads:
    """Results of a read at each recording, from the 270 days before it; shape (B, n)."""

    baseline: Array
    anomaly: NDArray[np.bool_]


def filter_subjects(subjects: SimulatedSubjects, sign_class: SignClass, parameters: Parameters) -> FilteredSubjects:
    """Filter every subject from the first recording to the last."""
    offset = parameters.scale.offset
    rows = []
    trends: list[Direction] = []
    for days, readings, factors in zip(subjects.days, subjects.readings, subjects.factors, strict=True):
        timepoints, filtered, detections, band = _filter_readings(days, readings, factors, sign_class, parameters)
        rows.append(
            (
                score_of(filtered.level[:, 0], offset),
                band.latest[:, :, 0],
                score_of(filtered.trait[:, 0], offset),
                band.baseline[:, :, 0],
                band.normal_range[:, :, 0],
                detections.deviation[:, 0],
                detections.z[:, 0],
                detections.anomaly[:, 0],
            )
        )
        trends.append(slopes(timepoints, filtered, sign_class, parameters)[0].direction)
    latest, latest_band, baseline, baseline_band, normal_range, deviation, z, anomaly = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    return FilteredSubjects(latest, latest_band, baseline, baseline_band, normal_range, deviation, z, anomaly, trends)


def filter_rolling(subjects: SimulatedSubjects, sign_class: SignClass, parameters: Parameters) -> RollingReads:
    """Filter the window of every recording of every subject, as a service does."""
    offset = parameters.scale.offset
    baseline = np.empty_like(subjects.days)
    anomaly = np.zeros(subjects.days.shape, dtype=np.bool_)
    for row, (days, readings, factors) in enumerate(
        zip(subjects.days, subjects.readings, subjects.factors, strict=True)
    ):
        within = int(np.searchsorted(days, days[0] + HISTORY_DAYS))  # until then no recording leaves the window
        for last in [within - 1, *range(within, len(days))]:
            first = int(np.searchsorted(days, days[last] - HISTORY_DAYS, side="right"))
            part = slice(first, last + 1)
            _, filtered, detections, _ = _filter_readings(
                days[part], readings[part], factors[part], sign_class, parameters
            )
            target = slice(0, within) if last < within else slice(last, last + 1)
            source = slice(None) if last < within else slice(-1, None)
            baseline[row, target] = score_of(filtered.trait[source, 0], offset)
            anomaly[row, target] = detections.anomaly[source, 0]
    return RollingReads(baseline, anomaly)


def _filter_readings(
    days: Array, readings: Array, factors: Array, sign_class: SignClass, parameters: Parameters
) -> tuple[Timepoints, FilterOutput, Detections, Intervals]:
    n = len(days)
    values = started_logit(readings, parameters.scale.offset)[:, None]
    usable = factors <= parameters.quality.usable_factor
    timepoints = Timepoints(days, factors, values, np.ones(n, np.intp), np.arange(n), usable)
    steps, _ = gain_steps(days.tolist(), factors.tolist(), sign_class, parameters.prior)
    filtered = run_filter(values, steps, sign_class, parameters)
    detections = detect_anomalies(timepoints, steps, filtered, sign_class, parameters)
    return timepoints, filtered, detections, score_intervals(filtered, steps, sign_class, parameters)
