"""A subject's trajectory, brought up to date with what this computer knows better than the service's last answer.

That is: corrections of the course, recordings that are being erased, and results that came after the trajectory was
read. Where a correction changes the recordings, the estimates of the service no longer hold: they are left out until
it has computed them again.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from vbdesk.contract.longitudinal import (
    DataPoint,
    SignTrajectory,
    TrajectoryRead,
    TrajectorySignal,
    TrajectoryWindow,
    Trend,
)
from vbdesk.contract.results import signals_of
from vbdesk.language import message
from vbdesk.outbox.library.corrections import Correction
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.states import OutboxState

GRACE = timedelta(minutes=5)
"""A trajectory that was read so soon after a correction may have been requested before it."""

WINDOW = timedelta(days=270)
_FULL_WEIGHT_S = 30.0  # of speech
_NO_TREND = Trend(direction="insufficient_data", slope_per_30d=None, interval=None, horizon_days=90)


def is_newer(entry: Correction, read_at: datetime | None) -> bool:
    """Whether an answer that was read at `read_at` may not know of a correction yet."""
    return entry.settled_at is None or read_at is None or read_at < entry.settled_at + GRACE


def left_and_joined(
    group_id: str, entries: Iterable[Correction], read_at: datetime | None
) -> tuple[frozenset[str], dict[str, Correction]]:
    """Jobs that left a group since `read_at`, and finished jobs that joined it with their correction."""
    left: set[str] = set()
    joined: dict[str, Correction] = {}
    for entry in entries:
        if not is_newer(entry, read_at):
            continue
        jobs = entry.member.job_ids
        if entry.source == group_id:
            left.update(jobs)
            for job_id in jobs:
                joined.pop(job_id, None)
        if entry.target == group_id:
            left.difference_update(jobs)
            if entry.member.finished is not None:
                joined[entry.member.finished] = entry
    return frozenset(left), joined


def in_trajectory(items: Iterable[RecordingItem]) -> list[RecordingItem]:
    """The recordings of this computer that have a result and count in their subject's course."""
    return [
        item
        for item in items
        if item.state is OutboxState.DONE and not item.excluded and item.encrypted_result is not None
    ]


def corrected(
    read: TrajectoryRead, read_at: datetime | None, items: Sequence[RecordingItem], entries: Sequence[Correction]
) -> TrajectoryRead:
    """A trajectory without the recordings that left the course, and with those that joined it."""
    left, joined = left_and_joined(read.group_id, entries, read_at)
    points = [point for point in read.data_points if point.job_id not in left]
    known = {point.job_id for point in points}
    more = [point for point in _joined_points(joined, in_trajectory(items)) if point.job_id not in known]
    if not more and len(points) == len(read.data_points):
        return read
    away = len(read.data_points) - len(points)
    return _with_points(read, [*points, *more], read.done_job_count - away + len(more), estimated=False)


def with_results(
    group_id: str,
    read: TrajectoryRead | None,
    read_at: datetime | None,
    items: Sequence[RecordingItem],
    entries: Sequence[Correction],
    now: datetime,
) -> TrajectoryRead | None:
    """A subject's history: the corrected trajectory, with the results of this computer that are newer than it.

    Without a trajectory, the results of this computer alone; None without any.
    """
    mine = in_trajectory(items)
    if read is None:
        left, joined = left_and_joined(group_id, entries, read_at)
        points = [point_of(item) for item in mine if item.job_id not in left]
        known = {point.job_id for point in points}
        points += [point for point in _joined_points(joined, mine) if point.job_id not in known]
        return _of_points(group_id, points, mine, now) if points else None
    whole = corrected(read, read_at, items, entries)
    known = {point.job_id for point in whole.data_points}
    newer = [item for item in mine if item.job_id not in known and (read_at is None or item.updated_at > read_at)]
    if not newer:
        return whole
    return _with_points(
        whole,
        [*whole.data_points, *(point_of(item) for item in newer)],
        whole.done_job_count + len(newer),
        estimated=True,
        signs=_signs_of(newer),
    )


def point_of(item: RecordingItem) -> DataPoint:
    """The data point of a recording of this computer, as the service will make it, but for its exact weight."""
    result = item.result
    if result is None:
        raise ValueError(message("This recording has no result."))
    quality = result.audio_quality
    speech_s = item.duration_s * (quality.voice_percentage or 0.0) / 100
    readings = [
        TrajectorySignal(
            name=signal.name,
            score=None if signal.level == "inconclusive" else signal.score,
            level=signal.level,
            flagged=signal.flagged,
            sign_version=signal.sign_version,
        )
        for signal in signals_of(result)
    ]
    return DataPoint(
        job_id=item.job_id or item.take_id,
        recorded_at=item.recorded_at,
        timepoint=item.recorded_at.astimezone(UTC).date().isoformat(),
        relative_weight=min(1.0, speech_s / _FULL_WEIGHT_S),
        audio_quality=quality,
        signals=readings,
    )


def _joined_points(joined: Mapping[str, Correction], mine: Sequence[RecordingItem]) -> list[DataPoint]:
    """Data points of recordings that a correction puts into the course."""
    here = {item.job_id: item for item in mine}
    points = []
    for job_id, entry in joined.items():
        if job_id in here:
            points.append(point_of(here[job_id]))
        elif entry.member.take_id is None and entry.member.reading is not None:
            points.append(DataPoint.model_validate(entry.member.reading))
    return points


def _with_points(
    read: TrajectoryRead,
    points: list[DataPoint],
    done: int,
    *,
    estimated: bool,
    signs: Sequence[SignTrajectory] = (),
) -> TrajectoryRead:
    """Copy with other recordings; `signs` of recordings that it did not have, estimates only if `estimated`."""
    points = sorted(points, key=lambda point: (point.recorded_at, point.job_id))
    known = {sign.name for sign in read.signs}
    every = [*read.signs, *(sign for sign in signs if sign.name not in known)]
    window = read.window.model_copy(update={"jobs_used": len(points)})
    changed = [sign if estimated and sign.series else _without_estimates(sign, points) for sign in every]
    return read.model_copy(
        update={"data_points": points, "signs": changed, "window": window, "done_job_count": max(done, len(points))}
    )


def _of_points(group_id: str, points: list[DataPoint], items: Sequence[RecordingItem], now: datetime) -> TrajectoryRead:
    window = TrajectoryWindow.model_validate(
        {
            "days": WINDOW.days,
            "from": now - WINDOW,
            "to": now + timedelta(days=1),
            "max_jobs": 1000,
            "jobs_used": len(points),
            "truncated": False,
            "future_excluded": 0,
        }
    )
    empty = TrajectoryRead(
        group_id=group_id,
        as_of=now,
        computed_at=max((item.updated_at for item in items), default=points[-1].recorded_at),
        method="",
        interval_level=0.9,
        window=window,
        done_job_count=len(points),
        pending_job_count=0,
        signs=_signs_in(points, items),
        data_points=[],
    )
    return _with_points(empty, points, len(points), estimated=False)


def _signs_of(items: Sequence[RecordingItem]) -> list[SignTrajectory]:
    """The signs in the results of these recordings, without estimates."""
    return [_empty_sign(name, label) for name, label in _labels(items).items()]


def _signs_in(points: Sequence[DataPoint], items: Sequence[RecordingItem]) -> list[SignTrajectory]:
    """The signs of these data points, without estimates; a label that no result has is made from the name."""
    labels = _labels(items)
    names = dict.fromkeys(signal.name for point in points for signal in point.signals)
    return [_empty_sign(name, labels.get(name, name.replace("-", " ").title())) for name in names]


def _labels(items: Sequence[RecordingItem]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for item in items:
        if item.result is not None:
            labels |= {signal.name: signal.label for signal in signals_of(item.result)}
    return labels


def _empty_sign(name: str, label: str) -> SignTrajectory:
    return SignTrajectory(
        name=name,
        label=label,
        time_scale="slow",
        n_recordings=0,
        n_timepoints=0,
        last_recorded_at=None,
        age_days=None,
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
        trend=_NO_TREND,
        anomalies=[],
        series=[],
    )


def _without_estimates(sign: SignTrajectory, points: Sequence[DataPoint]) -> SignTrajectory:
    """A sign with its recordings counted again, and nothing else."""
    scored = [point for point in points if any(_is_scored(signal, sign.name) for signal in point.signals)]
    return _empty_sign(sign.name, sign.label).model_copy(
        update={
            "time_scale": sign.time_scale,
            "n_recordings": len(scored),
            "n_timepoints": len({point.timepoint for point in scored}),
            "last_recorded_at": scored[-1].recorded_at if scored else None,
        }
    )


def _is_scored(signal: TrajectorySignal, name: str) -> bool:
    return signal.name == name and signal.score is not None
