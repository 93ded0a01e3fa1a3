"""Trajectory and job fields of a history file at full precision, for JSON."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import sqrt
from typing import Any

from vbdesk.lab.history_file import HistoryFile
from vbdesk.longitudinal.anomaly import episodes
from vbdesk.longitudinal.cohort import CohortReference, population_z
from vbdesk.longitudinal.filtered_series import FilteredSeries, SignEstimate, filter_signs, has_score, last_estimate
from vbdesk.longitudinal.first_submission import NULL_JOB_FIELDS
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.incremental_filter import estimates_by_job
from vbdesk.longitudinal.intervals import score_intervals
from vbdesk.longitudinal.job_fields import job_estimates
from vbdesk.longitudinal.parameters import Method, Parameters, shipped_parameters
from vbdesk.longitudinal.scale import score_of
from vbdesk.longitudinal.timepoints import SECONDS_PER_DAY
from vbdesk.longitudinal.trend import SlopeEstimate, slopes
from vbdesk.longitudinal.window import DONE, history_order, window_as_of, window_of_job

References = Mapping[str, CohortReference]
NULLS = NULL_JOB_FIELDS.model_dump()
ENDS_SHOWN = 3  # timepoints at either end of a brief series
METHOD_OF_FILES: Method = "tss-1"
"""Method of a file that names none: such files and their expected numbers are older than the second version."""


def unrounded_report(file: HistoryFile, parameters: Parameters | None = None) -> dict[str, Any]:
    """The trajectory as of `file.as_of`, and the fields of one job as of its own time.

    With `parameters`, or in a file that names its method, the report names method and version of the parameters.
    """
    named = _named(file, parameters)
    parameters = _parameters_for(file, parameters)
    trajectory = unrounded_trajectory(file.history, file.as_of, file.signs, file.references, parameters)
    if file.brief:
        for numbers in trajectory.values():
            if "series" in numbers:
                numbers["series"] = {
                    name: values[:ENDS_SHOWN] + values[-ENDS_SHOWN:] for name, values in numbers["series"].items()
                }
    report: dict[str, Any] = named | {"trajectory": trajectory}
    job_id = file.job_id or _last_job(file, parameters)
    if job_id is not None:
        report["job_fields"] = unrounded_job_fields(file.history, job_id, file.references, parameters)
    return report


def unrounded_fields_of_all_jobs(file: HistoryFile, parameters: Parameters | None = None) -> dict[str, Any]:
    """The fields of every finished job as of its own time, in recording order."""
    wanted = None if file.signs is None else set(file.signs)
    named = _named(file, parameters)
    parameters = _parameters_for(file, parameters)
    return named | {
        "job_fields": [
            {
                "job_id": entry.job_id,
                "signs": {
                    sign: NULLS if estimate is None else _fields(estimate, file.references.get(sign))
                    for sign, estimate in estimates.items()
                    if wanted is None or sign in wanted
                },
            }
            for entry, estimates in estimates_by_job(file.history, parameters)
        ]
    }


def unrounded_trajectory(
    history: Sequence[HistoryEntry],
    as_of: datetime,
    signs: Sequence[str] | None,
    references: References,
    parameters: Parameters | None = None,
) -> dict[str, dict[str, Any]]:
    """Trajectory by sign at `as_of`; only counts on a first submission."""
    parameters = parameters or shipped_parameters()
    entries = window_as_of(history, as_of, parameters.window.future_hours).entries
    names = sorted(set(signs) if signs else {sign for entry in entries for sign in entry.signs})
    reports: dict[str, dict[str, Any]] = {}
    for series in filter_signs(entries, names, parameters):
        reports.update(_sign_reports(series, references, parameters))
    return {name: reports[name] if name in reports else _null_fields(entries, name) for name in names}


def unrounded_job_fields(
    history: Sequence[HistoryEntry], job_id: str, references: References, parameters: Parameters
) -> dict[str, Any]:
    """The longitudinal fields of a job, by sign, as of its own time.

    Raises:
        ValueError: the job is not in the history.
    """
    estimates = job_estimates(history, job_id, parameters)
    entries = window_of_job(history, next(entry for entry in history if entry.job_id == job_id))
    return {
        "job_id": job_id,
        "signs": {
            sign: _null_fields(entries, sign)
            if estimate is None
            else _fields_and_counts(estimate, references.get(sign))
            for sign, estimate in estimates.items()
        },
    }


def _fields(estimate: SignEstimate, reference: CohortReference | None) -> dict[str, Any]:
    return {
        "latest_score": estimate.latest_score,
        "baseline_score": estimate.baseline_score,
        "deviation_from_baseline": estimate.deviation_from_baseline,
        "anomaly": estimate.anomaly,
        "z_score": estimate.z_score,
        "population_z": population_z(estimate.level, reference),
    }


def _fields_and_counts(estimate: SignEstimate, reference: CohortReference | None) -> dict[str, Any]:
    return _fields(estimate, reference) | {"n_recordings": estimate.recordings, "n_timepoints": estimate.timepoints}


def _null_fields(entries: Sequence[HistoryEntry], sign: str) -> dict[str, Any]:
    """Fields of a sign with at most one recording: null, with counts."""
    n = sum(has_score(entry, sign) for entry in entries)
    return NULLS | {"n_recordings": n, "n_timepoints": n}


def _sign_reports(series: FilteredSeries, references: References, parameters: Parameters) -> dict[str, dict[str, Any]]:
    intervals = score_intervals(series.filtered, series.steps, series.sign_class, parameters)
    trends = slopes(series.timepoints, series.filtered, series.sign_class, parameters)
    seconds = (series.timepoints.days * SECONDS_PER_DAY).tolist()
    offset, detections, filtered = parameters.scale.offset, series.detections, series.filtered
    report = {}
    for column, sign in enumerate(series.signs):
        estimate = last_estimate(series, column, parameters)
        columns = {
            "reading": score_of(series.timepoints.values[:, column], offset),
            "latest": score_of(filtered.level[:, column], offset),
            "latest_lo": intervals.latest[0, :, column],
            "latest_hi": intervals.latest[1, :, column],
            "baseline": score_of(filtered.trait[:, column], offset),
            "norm_lo": intervals.normal_range[0, :, column],
            "norm_hi": intervals.normal_range[1, :, column],
            "z": detections.z[:, column],
            "z_sustained": detections.z_sustained[:, column],
            "anomaly": detections.anomaly[:, column],
            "kind": detections.sustained[:, column] + 2 * detections.acute[:, column],  # none, sustained, acute
        }
        report[sign] = _fields_and_counts(estimate, references.get(sign)) | {
            "latest_interval": intervals.latest[:, -1, column].tolist(),
            "baseline_interval": intervals.baseline[:, -1, column].tolist(),
            "subject_sd_ratio": sqrt(filtered.variance_ratio[-1, column]),
            "trend": _trend(trends[column]),
            "anomalies": _episodes(series, column, seconds),
            "series": {
                "t": seconds,
                "n": series.timepoints.counts.tolist(),
                **{name: values.tolist() for name, values in columns.items()},
            },
        }
    return report


def _trend(slope: SlopeEstimate) -> dict[str, Any]:
    return {
        "direction": slope.direction,
        "slope_per_30d": slope.slope_per_30d,
        "slope_lo": slope.low,
        "slope_hi": slope.high,
    }


def _episodes(series: FilteredSeries, column: int, seconds: Sequence[float]) -> list[dict[str, Any]]:
    return [
        {
            "start": seconds[episode.first],
            "end": seconds[episode.last],
            "direction": episode.direction,
            "kind": episode.kind,
            "peak_z": episode.peak_z,
            "timepoints": episode.last - episode.first + 1,
            "open": episode.open,
        }
        for episode in episodes(series.detections, column)
    ]


def _parameters_for(file: HistoryFile, parameters: Parameters | None) -> Parameters:
    return (parameters or shipped_parameters(file.method or METHOD_OF_FILES)).with_signs(file.time_scales)


def _named(file: HistoryFile, parameters: Parameters | None) -> dict[str, Any]:
    if parameters is None and file.method is None:
        return {}
    used = _parameters_for(file, parameters)
    return {"method": used.method, "parameters_version": used.version}


def _last_job(file: HistoryFile, parameters: Parameters) -> str | None:
    """The last finished recording in the window of a read at `file.as_of`."""
    ahead = timedelta(hours=parameters.window.future_hours)
    done = [entry for entry in file.history if entry.status == DONE and entry.recorded_at - file.as_of <= ahead]
    return max(done, key=history_order).job_id if done else None
