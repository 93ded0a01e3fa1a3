"""The method's numbers at full precision, for research: what the wire rounds, plus the whole series."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from vbdesk.longitudinal.anomaly import episodes
from vbdesk.longitudinal.bands import bands
from vbdesk.longitudinal.course import Course, follow, measured, standing_of
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters
from vbdesk.longitudinal.scale import score_of
from vbdesk.longitudinal.trend import slopes
from vbdesk.longitudinal.window import window_as_of


def unrounded_trajectory(
    history: Sequence[HistoryEntry], as_of: datetime, signs: Sequence[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Numbers by sign, ready for JSON; a sign with fewer than two recordings has its counts alone."""
    parameters = shipped_parameters()
    entries = window_as_of(history, as_of, parameters.window.future_hours).entries
    names = sorted(set(signs) if signs else {sign for entry in entries for sign in entry.signs})
    counts = {name: sum(measured(entry, name) for entry in entries) for name in names}
    report: dict[str, dict[str, Any]] = {name: {"n_recordings": n, "n_timepoints": n} for name, n in counts.items()}
    for course in follow(entries, names, parameters):
        report.update(_course(course, parameters))
    return report


def _course(course: Course, parameters: Parameters) -> dict[str, dict[str, Any]]:
    offset, verdicts, estimates = parameters.scale.offset, course.verdicts, course.estimates
    ranges = bands(estimates, course.steps, course.sign_class, parameters)
    trends = slopes(course.timepoints, estimates, course.sign_class, parameters)
    times = [course.recordings[k].recorded_at.isoformat() for k in course.timepoints.last.tolist()]
    report = {}
    for column, sign in enumerate(course.signs):
        standing = standing_of(course, column, parameters)
        trend = trends[column]
        series = {
            "reading": score_of(course.timepoints.values[:, column], offset),
            "latest": score_of(estimates.level[:, column], offset),
            "latest_low": ranges.latest[0, :, column],
            "latest_high": ranges.latest[1, :, column],
            "baseline": score_of(estimates.trait[:, column], offset),
            "baseline_low": ranges.baseline[0, :, column],
            "baseline_high": ranges.baseline[1, :, column],
            "normal_low": ranges.normal_range[0, :, column],
            "normal_high": ranges.normal_range[1, :, column],
            "z": verdicts.z[:, column],
            "z_sustained": verdicts.z_sustained[:, column],
            "sustained": verdicts.sustained[:, column],
            "acute": verdicts.acute[:, column],
        }
        report[sign] = {
            "time_scale": course.sign_class.time_scale,
            "n_recordings": len(course.recordings),
            "n_timepoints": len(times),
            "latest_score": standing.latest_score,
            "baseline_score": standing.baseline_score,
            "deviation_from_baseline": standing.deviation_from_baseline,
            "z_score": standing.z_score,
            "anomaly": standing.anomaly,
            "subject_sd_ratio": float(np.sqrt(estimates.variance_ratio[-1, column])),
            "trend": {
                "direction": trend.direction,
                "slope_per_30d": trend.slope_per_30d,
                "interval": None if trend.low is None else [trend.low, trend.high],
            },
            "anomalies": [
                {
                    "start": times[episode.first],
                    "end": times[episode.last],
                    "direction": episode.direction,
                    "kind": episode.kind,
                    "peak_z": episode.peak_z,
                    "timepoints": episode.last - episode.first + 1,
                    "open": episode.open,
                }
                for episode in episodes(verdicts, column)
            ],
            "series": {
                "t": times,
                "n": course.timepoints.counts.tolist(),
                **{name: values.tolist() for name, values in series.items()},
            },
        }
    return report
