"""One case's trajectory and a job's own fields at full precision, for research, ready for JSON."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import sqrt
from typing import Any

from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.longitudinal.anomaly import episodes
from vbdesk.longitudinal.bands import bands
from vbdesk.longitudinal.case_file import Case
from vbdesk.longitudinal.cohort import CohortReference, population_z
from vbdesk.longitudinal.course import Course, Standing, follow, measured, standing_of
from vbdesk.longitudinal.follower import follow_each
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.job_fields import job_standings
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters
from vbdesk.longitudinal.scale import score_of
from vbdesk.longitudinal.timepoints import SECONDS_PER_DAY
from vbdesk.longitudinal.trend import SlopeEstimate, slopes
from vbdesk.longitudinal.window import DONE, order, window_as_of, window_of_job

References = Mapping[str, CohortReference]
NULLS: dict[str, None] = dict.fromkeys(LongitudinalFields.model_fields)
ENDS_SHOWN = 3  # timepoints at either end of a brief series


def case_report(case: Case) -> dict[str, Any]:
    """The trajectory as of the case's moment, and the fields of one job as of its own time."""
    parameters = shipped_parameters().with_signs(case.time_scales)
    trajectory = trajectory_numbers(case.history, case.as_of, case.signs, case.references, parameters)
    if case.brief:
        for numbers in trajectory.values():
            if "series" in numbers:
                numbers["series"] = {
                    name: values[:ENDS_SHOWN] + values[-ENDS_SHOWN:] for name, values in numbers["series"].items()
                }
    report: dict[str, Any] = {"trajectory": trajectory}
    job_id = case.job_id or _last_job(case)
    if job_id is not None:
        report["job_fields"] = job_numbers(case.history, job_id, case.references, parameters)
    return report


def each_job_report(case: Case) -> dict[str, Any]:
    """The fields of every finished job as of its own time, in the order of the recordings."""
    wanted = None if case.signs is None else set(case.signs)
    parameters = shipped_parameters().with_signs(case.time_scales)
    return {
        "job_fields": [
            {
                "job_id": entry.job_id,
                "signs": {
                    sign: NULLS if standing is None else _fields(standing, case.references.get(sign))
                    for sign, standing in standings.items()
                    if wanted is None or sign in wanted
                },
            }
            for entry, standings in follow_each(case.history, parameters)
        ]
    }


def trajectory_numbers(
    history: Sequence[HistoryEntry],
    as_of: datetime,
    signs: Sequence[str] | None,
    references: References,
    parameters: Parameters | None = None,
) -> dict[str, dict[str, Any]]:
    """Numbers by sign as of a moment; a sign with fewer than two recordings has nulls and its counts."""
    parameters = parameters or shipped_parameters()
    entries = window_as_of(history, as_of, parameters.window.future_hours).entries
    names = sorted(set(signs) if signs else {sign for entry in entries for sign in entry.signs})
    followed: dict[str, dict[str, Any]] = {}
    for course in follow(entries, names, parameters):
        followed.update(_course(course, references, parameters))
    return {name: followed[name] if name in followed else _few(entries, name) for name in names}


def job_numbers(
    history: Sequence[HistoryEntry], job_id: str, references: References, parameters: Parameters
) -> dict[str, Any]:
    """The longitudinal fields of a job, by sign, as of its own time.

    Raises:
        ValueError: the job is not in the history.
    """
    standings = job_standings(history, job_id, parameters)
    entries = window_of_job(history, next(entry for entry in history if entry.job_id == job_id))
    return {
        "job_id": job_id,
        "signs": {
            sign: _few(entries, sign) if standing is None else _fields_and_counts(standing, references.get(sign))
            for sign, standing in standings.items()
        },
    }


def _fields(standing: Standing, reference: CohortReference | None) -> dict[str, Any]:
    return {
        "latest_score": standing.latest_score,
        "baseline_score": standing.baseline_score,
        "deviation_from_baseline": standing.deviation_from_baseline,
        "anomaly": standing.anomaly,
        "z_score": standing.z_score,
        "population_z": population_z(standing.level, reference),
    }


def _fields_and_counts(standing: Standing, reference: CohortReference | None) -> dict[str, Any]:
    return _fields(standing, reference) | {"n_recordings": standing.recordings, "n_timepoints": standing.timepoints}


def _few(entries: Sequence[HistoryEntry], sign: str) -> dict[str, Any]:
    """A sign that was measured once or never: nulls and its counts."""
    n = sum(measured(entry, sign) for entry in entries)
    return NULLS | {"n_recordings": n, "n_timepoints": n}


def _course(course: Course, references: References, parameters: Parameters) -> dict[str, dict[str, Any]]:
    ranges = bands(course.estimates, course.steps, course.sign_class, parameters)
    trends = slopes(course.timepoints, course.estimates, course.sign_class, parameters)
    seconds = (course.timepoints.days * SECONDS_PER_DAY).tolist()
    offset, verdicts, estimates = parameters.scale.offset, course.verdicts, course.estimates
    report = {}
    for column, sign in enumerate(course.signs):
        standing = standing_of(course, column, parameters)
        columns = {
            "reading": score_of(course.timepoints.values[:, column], offset),
            "latest": score_of(estimates.level[:, column], offset),
            "latest_lo": ranges.latest[0, :, column],
            "latest_hi": ranges.latest[1, :, column],
            "baseline": score_of(estimates.trait[:, column], offset),
            "norm_lo": ranges.normal_range[0, :, column],
            "norm_hi": ranges.normal_range[1, :, column],
            "z": verdicts.z[:, column],
            "z_sustained": verdicts.z_sustained[:, column],
            "anomaly": verdicts.anomaly[:, column],
            "kind": verdicts.sustained[:, column] + 2 * verdicts.acute[:, column],  # none, sustained, acute
        }
        report[sign] = _fields_and_counts(standing, references.get(sign)) | {
            "latest_interval": ranges.latest[:, -1, column].tolist(),
            "baseline_interval": ranges.baseline[:, -1, column].tolist(),
            "subject_sd_ratio": sqrt(estimates.variance_ratio[-1, column]),
            "trend": _trend(trends[column]),
            "anomalies": _episodes(course, column, seconds),
            "series": {
                "t": seconds,
                "n": course.timepoints.counts.tolist(),
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


def _episodes(course: Course, column: int, seconds: Sequence[float]) -> list[dict[str, Any]]:
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
        for episode in episodes(course.verdicts, column)
    ]


def _last_job(case: Case) -> str | None:
    """The last finished recording that the read at the case's moment knows of."""
    ahead = timedelta(hours=shipped_parameters().window.future_hours)
    done = [entry for entry in case.history if entry.status == DONE and entry.recorded_at - case.as_of <= ahead]
    return max(done, key=order).job_id if done else None
