"""Summary of a subject for Cohort: the newest recording against earlier ones. No Qt."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from vbdesk.contract.levels import Level, overall_level
from vbdesk.contract.longitudinal import DataPoint, SignTrajectory, TrajectoryRead
from vbdesk.contract.results import Result, Signal, signals_of
from vbdesk.json_lines import parse_json_lines
from vbdesk.outbox.library.items import RecordingItem

_RESULT: TypeAdapter[Result] = TypeAdapter(Result)
USUAL = "none"
SOME = "unusual"


@dataclass(frozen=True, slots=True)
class SignState:
    """One sign of a subject, as of the newest recording.

    Attributes:
        score: of the newest recording; None if inconclusive.
        before: level in the previous recording; None without one.
        held: number of newest recordings in a row that are flagged.
        flagged_before: it was also flagged before that run.
        baseline, deviation, z: against the subject's own baseline; None without one.
        unusual: `none`, `sustained`, `acute`, or `unusual` if the kind is unknown.
        trend: direction over the last 90 days; empty if unknown.
        n: number of conclusive readings.
    """

    level: Level
    score: float | None
    before: Level | None
    held: int
    flagged_before: bool
    baseline: float | None
    deviation: float | None
    z: float | None
    unusual: str
    trend: str
    n: int


@dataclass(frozen=True, slots=True)
class SubjectSummary:
    """One subject.

    Attributes:
        recorded_at: of the newest recording with a result.
        recordings: number in the summary.
        issues: codes of the newest recording's quality issues.
        read_at: time of the read from service or library.
        whole: made from the subject's history at the service, not only from local recordings.
    """

    group_id: str
    recorded_at: datetime
    job_id: str | None
    take_id: str | None
    recordings: int
    issues: tuple[str, ...]
    signs: Mapping[str, SignState]
    read_at: datetime
    whole: bool

    @property
    def level(self) -> Level:
        """The overall level of the newest recording."""
        return overall_level(sign.level for sign in self.signs.values())


def of_trajectory(read: TrajectoryRead, read_at: datetime, *, whole: bool = True) -> SubjectSummary | None:
    """Summarise a subject's history; None while no recording has a result. `whole`: the service's history."""
    if not read.data_points:
        return None
    newest, signs = read.data_points[-1], {sign.name: sign for sign in read.signs}
    states = {}
    for signal in newest.signals:
        history = [_signal(point, signal.name) for point in read.data_points]
        levels = [level for level, _ in filter(None, history)]
        sign = signs.get(signal.name)
        states[signal.name] = _state(signal.level, signal.score, levels, sign, newest)
    return SubjectSummary(
        group_id=read.group_id,
        recorded_at=newest.recorded_at,
        job_id=newest.job_id,
        take_id=None,
        recordings=len(read.data_points),
        issues=tuple(newest.audio_quality.issues),
        signs=states,
        read_at=read_at,
        whole=whole,
    )


def labels_of(read: TrajectoryRead) -> dict[str, str]:
    """Display names of the signs."""
    return {sign.name: sign.label for sign in read.signs}


def _signal(point: DataPoint, name: str) -> tuple[Level, float | None] | None:
    return next(((signal.level, signal.score) for signal in point.signals if signal.name == name), None)


def _state(
    level: Level, score: float | None, levels: Sequence[Level], sign: SignTrajectory | None, newest: DataPoint
) -> SignState:
    """State of a sign; `levels` of all recordings, oldest first."""
    held = _held(levels)
    unusual = USUAL
    if sign is not None and sign.anomaly and level is not Level.INCONCLUSIVE:
        kinds = [point.kind for point in sign.series[-1:] if point.t.date() == newest.recorded_at.date()]
        unusual = kinds[0] if kinds and kinds[0] != USUAL else SOME
    return SignState(
        level=level,
        score=score,
        before=levels[-2] if len(levels) > 1 else None,
        held=held,
        flagged_before=any(earlier.flagged for earlier in levels[: len(levels) - held]),
        baseline=None if sign is None else sign.baseline_score,
        deviation=None if sign is None else sign.deviation_from_baseline,
        z=None if sign is None else sign.z_score,
        unusual=unusual,
        trend="" if sign is None else sign.trend.direction,
        n=sum(level is not Level.INCONCLUSIVE for level in levels),
    )


def _held(levels: Sequence[Level]) -> int:
    count = 0
    for level in reversed(levels):
        if not level.flagged:
            break
        count += 1
    return count


def of_items(items: Sequence[RecordingItem], read_at: datetime) -> tuple[SubjectSummary, dict[str, str]]:
    """Summarise local results, newest first; return the signs' display names too."""
    results = [_RESULT.validate_json(item.result_json or b"") for item in items]
    newest = results[0]
    states = {}
    for signal in signals_of(newest):
        found = (_named(result, signal.name) for result in reversed(results))
        levels = [other.level for other in found if other is not None]
        states[signal.name] = _state_of_signal(signal, levels)
    first = items[0]
    summary = SubjectSummary(
        group_id=first.group_id,
        recorded_at=first.recorded_at,
        job_id=first.job_id,
        take_id=first.take_id,
        recordings=len(items),
        issues=tuple(newest.audio_quality.issues),
        signs=states,
        read_at=read_at,
        whole=False,
    )
    return summary, {signal.name: signal.label for signal in signals_of(newest)}


def _named(result: Result, name: str) -> Signal | None:
    return next((signal for signal in signals_of(result) if signal.name == name), None)


def _state_of_signal(signal: Signal, levels: Sequence[Level]) -> SignState:
    held = _held(levels)
    return SignState(
        level=signal.level,
        score=None if signal.level is Level.INCONCLUSIVE else signal.score,
        before=levels[-2] if len(levels) > 1 else None,
        held=held,
        flagged_before=any(earlier.flagged for earlier in levels[: len(levels) - held]),
        baseline=None,  # comes with the trajectory: a result may compare with recordings that left the course since
        deviation=None,
        z=None,
        unusual=USUAL,
        trend="",
        n=sum(level is not Level.INCONCLUSIVE for level in levels),
    )


def to_json(summaries: Iterable[SubjectSummary], labels: Mapping[str, str]) -> bytes:
    """Return one short line for each subject: one long text would block the window."""
    lines = [json.dumps(labels)]
    for entry in summaries:
        signs = {name: astuple(state) for name, state in entry.signs.items()}
        times = (entry.recorded_at.isoformat(), entry.read_at.isoformat())
        facts = (entry.group_id, *times, entry.job_id, entry.take_id, entry.recordings, entry.issues, entry.whole)
        lines.append(json.dumps((*facts, signs)))
    return "\n".join(lines).encode()


def from_json(body: bytes) -> tuple[dict[str, SubjectSummary], dict[str, str]]:
    """Read the output of `to_json`: subjects by id, and the names of signs."""
    names, *lines = parse_json_lines(body.splitlines())
    return {entry.group_id: entry for entry in map(_summary, lines)}, names


def _summary(line: Sequence[Any]) -> SubjectSummary:
    group_id, recorded_at, read_at, job_id, take_id, recordings, issues, whole, signs = line
    return SubjectSummary(
        group_id=group_id,
        recorded_at=datetime.fromisoformat(recorded_at),
        job_id=job_id,
        take_id=take_id,
        recordings=recordings,
        issues=tuple(issues),
        signs={name: _stored_state(state) for name, state in signs.items()},
        read_at=datetime.fromisoformat(read_at),
        whole=whole,
    )


def _stored_state(state: Sequence[Any]) -> SignState:
    level, score, before, *rest = state
    return SignState(_LEVELS[level], score, None if before is None else _LEVELS[before], *rest)


_LEVELS = {level.value: level for level in Level}
