"""Changes of a recording against its subject's own baseline, always taken from the trajectory.

A result carries such changes too, as they were when it was made. They compare with every recording that was in the
group then, also with one that has been moved or removed since. The trajectory is computed from the present recordings,
and its series has the same numbers as of each day. So the fields in a result are never shown.
"""

from enum import StrEnum

from vbdesk.contract.jobs import Job
from vbdesk.contract.longitudinal import DataPoint, LongitudinalFields, SignTrajectory, TrajectoryRead
from vbdesk.contract.results import AnySignal, LongitudinalSignal, ModelResult, Result, SignResult, SpeakerResult

OWN_RANGE_Z = 1.96
"""95 % of a subject's own readings are within so many standard deviations of its baseline."""

_NOTHING = LongitudinalFields()
_DIGITS = 4


class Comparison(StrEnum):
    """Whether a recording is compared with earlier ones of its subject."""

    COMPARED = "compared"
    FIRST = "first"  # it is the subject's first
    PENDING = "pending"  # the trajectory was not read since
    EXCLUDED = "excluded"  # it is not in the subject's course


def comparison_of(trajectory: TrajectoryRead | None, job_id: str | None) -> Comparison:
    """Whether the trajectory compares the recording with this job."""
    points = [] if trajectory is None else trajectory.data_points
    own = _point(points, job_id)
    if own is None or trajectory is None:
        return Comparison.PENDING
    if own is min(points, key=lambda point: (point.recorded_at, point.job_id)):
        return Comparison.FIRST
    return Comparison.COMPARED if any(sign.series for sign in trajectory.signs) else Comparison.PENDING


def with_changes(result: Result, trajectory: TrajectoryRead | None, job_id: str | None) -> Result:
    """Copy of a result with the changes of the trajectory in place of its own; None where that has none."""
    points = [] if trajectory is None else trajectory.data_points
    own = _point(points, job_id)
    signs = {} if trajectory is None else {sign.name: sign for sign in trajectory.signs}

    def changed(signal: AnySignal) -> AnySignal:
        if not isinstance(signal, LongitudinalSignal):
            return signal
        sign = signs.get(signal.name)
        fields = _NOTHING if own is None or sign is None else _fields(sign, own, points)
        return signal.model_copy(update=fields.model_dump())

    def without(signal: AnySignal) -> AnySignal:
        """The trajectory knows no speakers."""
        return signal.model_copy(update=_NOTHING.model_dump()) if isinstance(signal, LongitudinalSignal) else signal

    def of_speaker(speaker: SpeakerResult) -> SpeakerResult:
        signals = None if speaker.signals is None else [without(signal) for signal in speaker.signals]
        signal = None if speaker.signal is None else without(speaker.signal)
        return speaker.model_copy(update={"signals": signals, "signal": signal})

    speakers = None if result.speakers is None else [of_speaker(speaker) for speaker in result.speakers]
    if isinstance(result, SignResult):
        return result.model_copy(update={"signal": changed(result.signal), "speakers": speakers})
    signals = [changed(signal) for signal in result.signals]
    return ModelResult.model_copy(result, update={"signals": signals, "speakers": speakers})


def job_with_changes(job: Job, trajectory: TrajectoryRead | None) -> Job:
    """Copy of a job whose result has the changes of the trajectory."""
    if job.result is None:
        return job
    return job.model_copy(update={"result": with_changes(job.result, trajectory, job.job_id)})


def _point(points: list[DataPoint], job_id: str | None) -> DataPoint | None:
    return next((point for point in points if point.job_id == job_id), None)


def _fields(sign: SignTrajectory, own: DataPoint, points: list[DataPoint]) -> LongitudinalFields:
    """The fields of one sign as of the day of a recording; none on the sign's first recording."""
    scored = [point for point in points if _score(point, sign.name) is not None]
    first = min(scored, key=lambda point: (point.recorded_at, point.job_id), default=None)
    if first is None or first is own or _score(own, sign.name) is None:
        return _NOTHING
    day = own.recorded_at.date()
    known = next((point for point in sign.series if point.t.date() == day), None)
    if known is None:
        return _NOTHING
    return LongitudinalFields(
        latest_score=known.latest,
        baseline_score=known.baseline,
        deviation_from_baseline=round(known.latest - known.baseline, _DIGITS),
        anomaly=known.anomaly,
        z_score=known.z,
        population_z=sign.population_z if known is sign.series[-1] else None,
    )


def _score(point: DataPoint, name: str) -> float | None:
    return next((signal.score for signal in point.signals if signal.name == name), None)
