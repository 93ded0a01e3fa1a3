"""The trajectory read: all signs of one subject over the window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from pydantic_core import to_json

from vbdesk.contract.catalog import label_of
from vbdesk.contract.limits import HISTORY_DAYS, HISTORY_JOBS
from vbdesk.contract.longitudinal import SignTrajectory, TrajectoryRead
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.longitudinal.anomaly import episodes
from vbdesk.longitudinal.cohort import CohortReference, population_z
from vbdesk.longitudinal.filtered_series import FilteredSeries, filter_signs, has_score, last_estimate, score_array
from vbdesk.longitudinal.first_submission import null_trajectory
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.intervals import Intervals, score_intervals
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters
from vbdesk.longitudinal.rounding import DECIMALS, rounded, rounded_age_days, rounded_difference, rounded_pair
from vbdesk.longitudinal.scale import Array, score_of
from vbdesk.longitudinal.trend import SlopeEstimate, slopes
from vbdesk.longitudinal.variance_factors import quality_factors
from vbdesk.longitudinal.window import DONE, HISTORY, window_as_of

DATE_LENGTH = len("2026-03-01")
PENDING = ("queued", "running")

Values = dict[str, Any]
"""Fields of a wire model, or of a part of it, by name."""


def trajectory(
    group_id: str,
    history: Sequence[HistoryEntry],
    as_of: datetime,
    *,
    labels: Mapping[str, str],
    signs: Sequence[str] | None = None,
    references: Mapping[str, CohortReference] | None = None,
    computed_at: datetime | None = None,
    done_job_count: int | None = None,
    pending_job_count: int | None = None,
    parameters: Parameters | None = None,
) -> TrajectoryRead:
    """Compute a subject's trajectory, rounded for the wire.

    Args:
        group_id: the group.
        history: its jobs in any order and any status.
        as_of: moment of the read, aware.
        labels: display name by sign; `label_of` its name by default.
        signs: only these; all signs in the window by default.
        references: population reference by sign.
        computed_at: when it was computed; `as_of` by default.
        done_job_count: finished jobs of the whole group; counted in `history` by default.
        pending_job_count: queued and running jobs of the group; counted in `history` by default.
        parameters: the shipped ones by default.
    """
    header = _ReadHeader(
        group_id=group_id,
        as_of=as_of,
        computed_at=computed_at or as_of,
        done_job_count=_count(history, (DONE,)) if done_job_count is None else done_job_count,
        pending_job_count=_count(history, PENDING) if pending_job_count is None else pending_job_count,
    )
    return TrajectoryRead.model_validate(
        _values(header, history, labels, signs, references or {}, parameters or shipped_parameters())
    )


def trajectory_json(
    group_id: str,
    history: Sequence[HistoryEntry],
    as_of: datetime,
    *,
    labels: Mapping[str, str],
    references: Mapping[str, CohortReference],
    done_job_count: int,
    pending_job_count: int,
    parameters: Parameters | None = None,
) -> str:
    """JSON of `trajectory`, without building its ten thousand models."""
    header = _ReadHeader(group_id, as_of, as_of, done_job_count, pending_job_count)
    return to_json(_values(header, history, labels, None, references, parameters or shipped_parameters())).decode()


@dataclass(frozen=True, slots=True)
class _ReadHeader:
    group_id: str
    as_of: datetime
    computed_at: datetime
    done_job_count: int
    pending_job_count: int


def _values(
    header: _ReadHeader,
    history: Sequence[HistoryEntry],
    labels: Mapping[str, str],
    signs: Sequence[str] | None,
    references: Mapping[str, CohortReference],
    parameters: Parameters,
) -> Values:
    """A `TrajectoryRead` as plain values, with formatted times."""
    ahead = parameters.window.future_hours
    window = window_as_of(history, header.as_of, ahead)
    entries = window.entries
    names = sorted(set(signs) if signs else {sign for entry in entries for sign in entry.signs})
    times = [format_timestamp(entry.recorded_at) for entry in entries]
    all_series = _series_by_sign(entries, times, names, parameters)
    return {
        "status": "done",
        "group_id": header.group_id,
        "as_of": format_timestamp(header.as_of),
        "computed_at": format_timestamp(header.computed_at),
        "method": parameters.method,
        "parameters": _method_parameters(parameters),
        "interval_level": parameters.interval.level,
        "window": {
            "days": HISTORY_DAYS,
            "from": format_timestamp(header.as_of - HISTORY),
            "to": format_timestamp(header.as_of + timedelta(hours=ahead)),
            "max_jobs": HISTORY_JOBS,
            "jobs_used": len(entries),
            "truncated": window.truncated,
            "future_excluded": window.future_excluded,
        },
        "done_job_count": header.done_job_count,
        "pending_job_count": header.pending_job_count,
        "signs": [
            all_series[name].sign(name, labels.get(name, label_of(name)), header.as_of, references.get(name))
            if name in all_series
            else null_trajectory(
                name,
                labels.get(name, label_of(name)),
                parameters.class_of(name),
                [entry.recorded_at for entry in entries if has_score(entry, name)],
                header.as_of,
            )
            for name in names
        ],
        "data_points": _data_points(entries, times, names, parameters),
    }


def select_signs(read: TrajectoryRead, names: Sequence[str], parameters: Parameters | None = None) -> TrajectoryRead:
    """Reduce a read to these signs; a sign that was never measured has null fields."""
    wanted = sorted(set(names))
    found = {sign.name: sign for sign in read.signs}
    parameters = parameters or shipped_parameters()
    points = [
        point.model_copy(update={"signals": [signal for signal in point.signals if signal.name in wanted]})
        for point in read.data_points
    ]
    return read.model_copy(
        update={
            "signs": [
                found[name]
                if name in found
                else SignTrajectory.model_validate(
                    null_trajectory(name, label_of(name), parameters.class_of(name), (), read.as_of)
                )
                for name in wanted
            ],
            "data_points": [point for point in points if point.signals],
        }
    )


class _SeriesToWire:
    """Wire values of the signs of one `FilteredSeries`."""

    def __init__(self, series: FilteredSeries, times: Mapping[str, str], parameters: Parameters) -> None:
        self._filtered_series = series
        self._parameters = parameters
        self._intervals: Intervals = score_intervals(series.filtered, series.steps, series.sign_class, parameters)
        self._slopes = slopes(series.timepoints, series.filtered, series.sign_class, parameters)
        self._last = series.recordings[-1].recorded_at
        self._times = [times[series.recordings[k].job_id] for k in series.timepoints.last.tolist()]

    def sign(self, name: str, label: str, as_of: datetime, reference: CohortReference | None) -> Values:
        """Fields of a `SignTrajectory`."""
        series, column = self._filtered_series, self._filtered_series.signs.index(name)
        estimate = last_estimate(series, column, self._parameters)
        return {
            "name": name,
            "label": label,
            "time_scale": series.sign_class.time_scale,
            "n_recordings": len(series.recordings),
            "n_timepoints": len(self._times),
            "last_recorded_at": self._times[-1],
            "age_days": rounded_age_days(as_of, self._last),
            "latest_score": rounded(estimate.latest_score),
            "latest_interval": rounded_pair(self._intervals.latest[:, -1, column]),
            "baseline_score": rounded(estimate.baseline_score),
            "baseline_interval": rounded_pair(self._intervals.baseline[:, -1, column]),
            "normal_range": rounded_pair(self._intervals.normal_range[:, -1, column]),
            "deviation_from_baseline": rounded_difference(estimate.latest_score, estimate.baseline_score),
            "z_score": rounded(estimate.z_score),
            "z_sustained": rounded(series.detections.z_sustained[-1, column]),
            "anomaly": estimate.anomaly,
            "population_z": rounded(population_z(estimate.level, reference)),
            "population_reference": None if reference is None else _population_reference(reference),
            "subject_sd_ratio": rounded(np.sqrt(series.filtered.variance_ratio[-1, column])),
            "trend": _trend(self._slopes[column], series.sign_class.trend_days),
            "anomalies": self._episodes(column),
            "series": self._series(column),
        }

    def _episodes(self, column: int) -> list[Values]:
        return [
            {
                "start": self._times[episode.first],
                "end": self._times[episode.last],
                "direction": episode.direction,
                "kind": episode.kind,
                "peak_z": rounded(episode.peak_z),
                "timepoints": episode.last - episode.first + 1,
                "open": episode.open,
            }
            for episode in episodes(self._filtered_series.detections, column)
        ]

    def _series(self, column: int) -> list[Values]:
        series, offset = self._filtered_series, self._parameters.scale.offset
        detections = series.detections
        columns = {
            "t": self._times,
            "n": series.timepoints.counts.tolist(),
            "reading": _rounded_list(score_of(series.timepoints.values[:, column], offset)),
            "latest": _rounded_list(score_of(series.filtered.level[:, column], offset)),
            "latest_interval": _rounded_pairs(self._intervals.latest[:, :, column]),
            "baseline": _rounded_list(score_of(series.filtered.trait[:, column], offset)),
            "normal_range": _rounded_pairs(self._intervals.normal_range[:, :, column]),
            "z": _rounded_list(detections.z[:, column]),
            "z_sustained": _rounded_list(detections.z_sustained[:, column]),
            "anomaly": detections.anomaly[:, column].tolist(),
            "kind": np.where(
                detections.sustained[:, column], "sustained", np.where(detections.acute[:, column], "acute", "none")
            ).tolist(),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _series_by_sign(
    entries: Sequence[HistoryEntry], times: Sequence[str], names: Sequence[str], parameters: Parameters
) -> dict[str, _SeriesToWire]:
    by_sign = {}
    time_of_job = {entry.job_id: time for entry, time in zip(entries, times, strict=True)}
    for series in filter_signs(entries, names, parameters):
        on_wire = _SeriesToWire(series, time_of_job, parameters)
        by_sign.update(dict.fromkeys(series.signs, on_wire))
    return by_sign


def _data_points(
    entries: Sequence[HistoryEntry], times: Sequence[str], names: Sequence[str], parameters: Parameters
) -> list[Values]:
    weights = _rounded_list(1.0 / quality_factors(entries, parameters.quality))
    scores = {name: _own_scores(entries, name) for name in names}
    return [
        {
            "job_id": entry.job_id,
            "recorded_at": times[k],
            "timepoint": times[k][:DATE_LENGTH],
            "relative_weight": weights[k],
            "audio_quality": {
                "issues": entry.issues,
                "voice_percentage": rounded(entry.voice_percentage),
                "audio_clarity": rounded(entry.audio_clarity),
            },
            "signals": [
                {"name": name, "score": scores[name][k], "level": reading.level, "flagged": reading.flagged}
                | ({} if reading.version is None else {"sign_version": reading.version})
                for name, reading in entry.signs.items()
                if name in scores
            ],
        }
        for k, entry in enumerate(entries)
    ]


def _own_scores(entries: Sequence[HistoryEntry], name: str) -> list[float | None]:
    """Scores of the recordings, clipped to 0..1; None where nothing was measured."""
    scores = score_array([entry.signs.get(name) for entry in entries])
    return [score if score == score else None for score in _rounded_list(np.clip(scores, 0.0, 1.0))]


def _trend(slope: SlopeEstimate, horizon_days: float) -> Values:
    interval = None if slope.low is None or slope.high is None else rounded_pair((slope.low, slope.high))
    return {
        "direction": slope.direction,
        "slope_per_30d": rounded(slope.slope_per_30d),
        "interval": interval,
        "horizon_days": round(horizon_days),
    }


def _method_parameters(parameters: Parameters) -> Values:
    account = parameters.account_fit
    return {
        "version": parameters.version,
        "source": "shipped" if account is None else "account_groups",
        "n_groups": None if account is None else account.n_groups,
        "fitted_at": None if account is None else format_timestamp(account.fitted_at),
    }


def _population_reference(reference: CohortReference) -> Values:
    taken = reference.snapshot_at
    return {
        "source": reference.source,
        "n_groups": reference.n_groups,
        "snapshot_at": None if taken is None else format_timestamp(taken),
    }


def _count(history: Sequence[HistoryEntry], statuses: Sequence[str]) -> int:
    return sum(entry.status in statuses for entry in history)


def _rounded_list(values: Array) -> list[float]:
    result: list[float] = (np.round(values, DECIMALS) + 0.0).tolist()
    return result


def _rounded_pairs(pairs: Array) -> list[tuple[float, float]]:
    """Rows (low, high) from shape (2, n)."""
    low, high = np.round(pairs, DECIMALS).tolist()
    return list(zip(low, high, strict=True))
