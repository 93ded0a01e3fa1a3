"""The trajectory read: one subject, every sign, over the window."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from vbdesk.contract.catalog import label_of
from vbdesk.contract.levels import Level
from vbdesk.contract.limits import HISTORY_DAYS, HISTORY_JOBS
from vbdesk.contract.longitudinal import (
    AnomalyEpisode,
    AnomalyKind,
    DataPoint,
    PopulationReference,
    SeriesPoint,
    SignTrajectory,
    TrajectoryRead,
    TrajectorySignal,
    TrajectoryWindow,
    Trend,
)
from vbdesk.contract.results import AudioQuality
from vbdesk.longitudinal.anomaly import episodes
from vbdesk.longitudinal.bands import Bands, bands
from vbdesk.longitudinal.cohort import CohortReference, population_z
from vbdesk.longitudinal.course import Course, follow, measured, standing_of
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters
from vbdesk.longitudinal.precision import variance_factors
from vbdesk.longitudinal.rounding import DECIMALS, rounded, rounded_difference, rounded_pair
from vbdesk.longitudinal.scale import Array, score_of
from vbdesk.longitudinal.trend import NO_SLOPE, SlopeEstimate, slopes
from vbdesk.longitudinal.window import DONE, HISTORY, window_as_of

DAY = timedelta(days=1)
PENDING = ("queued", "running")


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
) -> TrajectoryRead:
    """Read a subject's trajectory, rounded for the wire.

    Args:
        group_id: the group.
        history: its jobs in any order and any status.
        as_of: moment of the read, aware.
        labels: display name by sign; a sign without one shows the words of its name.
        signs: only these; all that the window holds by default.
        references: population reference by sign.
        computed_at: when it was computed; `as_of` by default.
        done_job_count: finished jobs of the whole group; counted in `history` by default.
        pending_job_count: queued and running jobs of the group; counted in `history` by default.
    """
    parameters = shipped_parameters()
    window = window_as_of(history, as_of, parameters.window.future_hours)
    names = sorted(set(signs) if signs else {sign for entry in window.entries for sign in entry.signs})
    courses = _courses_by_sign(window.entries, names, parameters)
    return TrajectoryRead(
        group_id=group_id,
        as_of=as_of,
        computed_at=computed_at or as_of,
        method=parameters.method,
        interval_level=parameters.interval.level,
        window=TrajectoryWindow(
            days=HISTORY_DAYS,
            from_=as_of - HISTORY,
            to=as_of + timedelta(hours=parameters.window.future_hours),
            max_jobs=HISTORY_JOBS,
            jobs_used=len(window.entries),
            truncated=window.truncated,
            future_excluded=window.future_excluded,
        ),
        done_job_count=_count(history, (DONE,)) if done_job_count is None else done_job_count,
        pending_job_count=_count(history, PENDING) if pending_job_count is None else pending_job_count,
        signs=[
            courses[name].sign(name, labels.get(name, label_of(name)), as_of, (references or {}).get(name))
            if name in courses
            else _unfollowed(name, labels.get(name, label_of(name)), window.entries, as_of, parameters)
            for name in names
        ],
        data_points=_data_points(window.entries, set(names), parameters),
    )


def only_signs(read: TrajectoryRead, names: Sequence[str]) -> TrajectoryRead:
    """The part of a read that is about these signs; those that were never measured are there with nulls."""
    wanted = sorted(set(names))
    found = {sign.name: sign for sign in read.signs}
    parameters = shipped_parameters()
    points = [
        point.model_copy(update={"signals": [signal for signal in point.signals if signal.name in wanted]})
        for point in read.data_points
    ]
    return read.model_copy(
        update={
            "signs": [
                found[name] if name in found else _unfollowed(name, label_of(name), (), read.as_of, parameters)
                for name in wanted
            ],
            "data_points": [point for point in points if point.signals],
        }
    )


class _CourseOnWire:
    """One course, with what the trajectory shows beside the verdicts."""

    def __init__(self, course: Course, parameters: Parameters) -> None:
        self._course = course
        self._parameters = parameters
        self._bands: Bands = bands(course.estimates, course.steps, course.sign_class, parameters)
        self._slopes = slopes(course.timepoints, course.estimates, course.sign_class, parameters)
        self._times = [course.recordings[k].recorded_at for k in course.timepoints.last.tolist()]

    def sign(self, name: str, label: str, as_of: datetime, reference: CohortReference | None) -> SignTrajectory:
        """The wire's view of one of the course's signs."""
        course, column = self._course, self._course.signs.index(name)
        standing = standing_of(course, column, self._parameters)
        return SignTrajectory(
            name=name,
            label=label,
            time_scale=course.sign_class.time_scale,
            n_recordings=len(course.recordings),
            n_timepoints=len(self._times),
            last_recorded_at=self._times[-1],
            age_days=_age_days(as_of, self._times[-1]),
            latest_score=rounded(standing.latest_score),
            latest_interval=rounded_pair(self._bands.latest[:, -1, column]),
            baseline_score=rounded(standing.baseline_score),
            baseline_interval=rounded_pair(self._bands.baseline[:, -1, column]),
            normal_range=rounded_pair(self._bands.normal_range[:, -1, column]),
            deviation_from_baseline=rounded_difference(standing.latest_score, standing.baseline_score),
            z_score=rounded(standing.z_score),
            z_sustained=rounded(course.verdicts.z_sustained[-1, column]),
            anomaly=standing.anomaly,
            population_z=rounded(population_z(standing.level, reference)),
            population_reference=None
            if reference is None
            else PopulationReference(
                source=reference.source, n_groups=reference.n_groups, snapshot_at=reference.snapshot_at
            ),
            subject_sd_ratio=rounded(np.sqrt(course.estimates.variance_ratio[-1, column])),
            trend=_trend(self._slopes[column], course.sign_class.trend_days),
            anomalies=self._episodes(column),
            series=self._series(column),
        )

    def _episodes(self, column: int) -> list[AnomalyEpisode]:
        return [
            AnomalyEpisode(
                start=self._times[episode.first],
                end=self._times[episode.last],
                direction=episode.direction,
                kind=episode.kind,
                peak_z=rounded(episode.peak_z),
                timepoints=episode.last - episode.first + 1,
                open=episode.open,
            )
            for episode in episodes(self._course.verdicts, column)
        ]

    def _series(self, column: int) -> list[SeriesPoint]:
        course, offset = self._course, self._parameters.scale.offset
        verdicts = course.verdicts
        kinds: list[AnomalyKind] = [
            "sustained" if sustained else "acute" if acute else "none"
            for sustained, acute in zip(verdicts.sustained[:, column], verdicts.acute[:, column], strict=True)
        ]
        return [
            SeriesPoint(
                t=t,
                n=n,
                reading=reading,
                latest=latest,
                latest_interval=latest_interval,
                baseline=baseline,
                normal_range=normal_range,
                z=z,
                z_sustained=z_sustained,
                anomaly=kind != "none",
                kind=kind,
            )
            for t, n, reading, latest, latest_interval, baseline, normal_range, z, z_sustained, kind in zip(
                self._times,
                course.timepoints.counts.tolist(),
                _rounded_list(score_of(course.timepoints.values[:, column], offset)),
                _rounded_list(score_of(course.estimates.level[:, column], offset)),
                _rounded_pairs(self._bands.latest[:, :, column]),
                _rounded_list(score_of(course.estimates.trait[:, column], offset)),
                _rounded_pairs(self._bands.normal_range[:, :, column]),
                _rounded_list(verdicts.z[:, column]),
                _rounded_list(verdicts.z_sustained[:, column]),
                kinds,
                strict=True,
            )
        ]


def _courses_by_sign(
    entries: Sequence[HistoryEntry], names: Sequence[str], parameters: Parameters
) -> dict[str, _CourseOnWire]:
    by_sign = {}
    for course in follow(entries, names, parameters):
        on_wire = _CourseOnWire(course, parameters)
        by_sign.update(dict.fromkeys(course.signs, on_wire))
    return by_sign


def _unfollowed(
    name: str, label: str, entries: Sequence[HistoryEntry], as_of: datetime, parameters: Parameters
) -> SignTrajectory:
    """A sign with at most one recording: everything estimated is null."""
    times = [entry.recorded_at for entry in entries if measured(entry, name)]
    sign_class = parameters.class_of(name)
    return SignTrajectory(
        name=name,
        label=label,
        time_scale=sign_class.time_scale,
        n_recordings=len(times),
        n_timepoints=len(times),
        last_recorded_at=times[-1] if times else None,
        age_days=_age_days(as_of, times[-1]) if times else None,
        latest_score=None,
        latest_interval=None,
        baseline_score=None,
        baseline_interval=None,
        normal_range=None,
        deviation_from_baseline=None,
        z_score=None,
        z_sustained=None,
        anomaly=None,
        population_z=None,
        population_reference=None,
        subject_sd_ratio=None,
        trend=_trend(NO_SLOPE, sign_class.trend_days),
        anomalies=[],
        series=[],
    )


def _data_points(entries: Sequence[HistoryEntry], names: set[str], parameters: Parameters) -> list[DataPoint]:
    weights = _rounded_list(1.0 / variance_factors(entries, parameters.quality))
    return [
        DataPoint(
            job_id=entry.job_id,
            recorded_at=entry.recorded_at,
            timepoint=entry.recorded_at.astimezone(UTC).date().isoformat(),
            relative_weight=weight,
            audio_quality=AudioQuality(
                issues=list(entry.issues),
                voice_percentage=rounded(entry.voice_percentage),
                audio_clarity=rounded(entry.audio_clarity),
            ),
            signals=[
                TrajectorySignal(
                    name=name,
                    score=_own_score(entry, name),
                    level=Level(reading.level),
                    flagged=reading.flagged,
                )
                for name, reading in entry.signs.items()
                if name in names
            ],
        )
        for entry, weight in zip(entries, weights, strict=True)
    ]


def _own_score(entry: HistoryEntry, name: str) -> float | None:
    """The recording's own score as it counts: within 0..1, None where nothing was measured."""
    score = entry.signs[name].score
    return min(max(rounded(score), 0.0), 1.0) if score is not None and measured(entry, name) else None


def _trend(slope: SlopeEstimate, horizon_days: float) -> Trend:
    interval = None if slope.low is None or slope.high is None else rounded_pair((slope.low, slope.high))
    return Trend(
        direction=slope.direction,
        slope_per_30d=rounded(slope.slope_per_30d),
        interval=interval,
        horizon_days=round(horizon_days),
    )


def _age_days(as_of: datetime, last: datetime) -> float:
    return rounded(max(as_of - last, timedelta()) / DAY)


def _count(history: Sequence[HistoryEntry], statuses: Sequence[str]) -> int:
    return sum(entry.status in statuses for entry in history)


def _rounded_list(values: Array) -> list[float]:
    result: list[float] = (np.round(values, DECIMALS) + 0.0).tolist()
    return result


def _rounded_pairs(pairs: Array) -> list[tuple[float, float]]:
    """Rows (low, high) from shape (2, n)."""
    low, high = np.round(pairs, DECIMALS).tolist()
    return list(zip(low, high, strict=True))
