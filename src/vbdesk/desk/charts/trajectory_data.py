"""Arrays of a trajectory for the charts; made on a worker."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from vbdesk.contract.catalog import models
from vbdesk.contract.levels import Level
from vbdesk.contract.longitudinal import (
    AnomalyEpisode,
    DataPoint,
    SignTrajectory,
    TrajectoryRead,
    TrajectorySignal,
    Trend,
)
from vbdesk.contract.timestamps import in_zone
from vbdesk.language import N_, _, formats, ngettext
from vbdesk.report.analysis_changes import AnalysisChange, analysis_changes, calibrations_of, one_change
from vbdesk.report.reader_words import label_word

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_CHANGED_HERE = N_(
    "Analysis changed here (calibration {earlier} to {later}): levels before and after are not on one scale."
)
_LANGUAGE_HERE = N_(
    "From here on compared in another way, because of the language: levels before and after are not on one scale."
)
_UNUSUAL_ONCE = {
    "above": N_("Unusual for this person: well above their own baseline, at one recording only."),
    "below": N_("Unusual for this person: well below their own baseline, at one recording only."),
}
GAP_DAYS = 21.0
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Readings:
    """Readings of one sign, one for each recording, in time order.

    Attributes:
        t: epoch seconds.
        score: 0..1.
        weight: relative precision; 1 is 30 s of speech in quiet.
        has_issues: recordings with quality issues.
        levels: each reading's own level.
        job_ids: job of each reading.
    """

    t: Floats
    score: Floats
    weight: Floats
    has_issues: Flags
    levels: tuple[Level, ...]
    job_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EstimateSeries:
    """Estimate of one sign with interval, own baseline and normal range; one value for each timepoint.

    Attributes:
        t: epoch seconds.
        estimate, interval_low, interval_high: score and its interval.
        baseline: the subject's usual score.
        own_low, own_high: normal range for one good recording of this subject.
        anomaly: timepoints outside the normal range.
    """

    t: Floats
    estimate: Floats
    interval_low: Floats
    interval_high: Floats
    baseline: Floats
    own_low: Floats
    own_high: Floats
    anomaly: Flags

    def stretches(self) -> list[slice]:
        """Runs of timepoints without a gap longer than `GAP_DAYS`."""
        if not len(self.t):
            return []
        breaks = np.flatnonzero(np.diff(self.t) > GAP_DAYS * DAY_S) + 1
        edges = [0, *breaks.tolist(), len(self.t)]
        return [slice(start, stop) for start, stop in itertools.pairwise(edges)]

    def gaps(self) -> list[tuple[int, int]]:
        """Neighbouring timepoints with a longer gap between them."""
        runs = self.stretches()
        return [(before.stop - 1, after.start) for before, after in itertools.pairwise(runs)]


@dataclass(frozen=True, slots=True)
class SignChart:
    """Everything that one row of the Subject page shows.

    Attributes:
        level: level of the newest conclusive reading.
        trend: the trend as text.
        trend_detail: slope with uncertainty, as a sentence; empty if too early.
        cuts: lowest score of each level above none; empty if the calibration is unknown.
        episodes: unusual episodes, in time order.
        unusual: indices of the unusual readings.
        other_voice: indices of the readings whose voice raises a question.
        silent: times of the recordings without a reading of this sign.
        changes: where another calibration made the readings, in time order.
    """

    name: str
    label: str
    level: Level
    trend: str
    trend_detail: str
    readings: Readings
    estimates: EstimateSeries
    cuts: Mapping[Level, float]
    episodes: tuple[AnomalyEpisode, ...]
    unusual: frozenset[int]
    other_voice: frozenset[int]
    silent: Floats
    changes: tuple[AnalysisChange, ...] = ()

    @property
    def shown_label(self) -> str:
        """The name of the sign in the reader's language."""
        return label_word(self.label)

    def explanation(self, index: int) -> str:
        """Why reading `index` is unusual, as a sentence; empty if it is not."""
        if not self.is_unusual(index):
            return ""
        moment = self.readings.t[index]
        for episode in self.episodes:
            if episode.start.timestamp() - DAY_S < moment <= episode.end.timestamp():
                if episode.kind == "acute" or episode.timepoints == 1:
                    return _(_UNUSUAL_ONCE[episode.direction])
                return _unusual_text(episode)
        return ""

    def is_unusual(self, index: int) -> bool:
        """Whether reading `index` is the newest of a timepoint that is marked as an anomaly."""
        return index in self.unusual

    def change_at(self, moment_s: float) -> str:
        """That another calibration made the readings from this moment on, as a sentence; empty if it did not."""
        for change in self.changes:
            if change.after.timestamp() == moment_s:
                if change.is_language_only:
                    return _(_LANGUAGE_HERE)
                return _(_CHANGED_HERE, earlier=change.earlier, later=change.later)
        return ""

    @property
    def present(self) -> AnomalyEpisode | None:
        """Episode of the newest recording; None if it is not unusual."""
        return next((episode for episode in self.episodes if episode.open), None)

    def reading_at(self, moment_s: float) -> int | None:
        """Index of the reading at a moment; the newest of several."""
        index = int(np.searchsorted(self.readings.t, moment_s, side="right")) - 1
        return index if index >= 0 and self.readings.t[index] == moment_s else None


@dataclass(frozen=True, slots=True)
class NoteMarker:
    """A note about a moment.

    Attributes:
        t: epoch seconds.
        text: the note.
    """

    t: float
    text: str


@dataclass(frozen=True, slots=True)
class TrajectoryChart:
    """The charts of one subject, on one time axis.

    Attributes:
        as_of: the moment of the read.
        window: start and end of the time that counts, epoch seconds; the read has no other recordings.
        window_days: its length.
        recordings: number shown.
        truncated: the oldest recordings are left out.
        times, jobs: of every recording in time order, also inconclusive ones.
        issues: codes of each recording's quality issues.
        marks: notes, in time order.
        voice_questions: what to ask about the voice of a recording, by its job.
    """

    group_id: str
    as_of: datetime
    window: tuple[float, float]
    window_days: int
    signs: tuple[SignChart, ...]
    recordings: int
    truncated: bool
    times: Floats
    jobs: tuple[str, ...]
    issues: tuple[tuple[str, ...], ...]
    marks: tuple[NoteMarker, ...] = ()
    voice_questions: Mapping[str, str] = field(default_factory=dict)

    @property
    def changes(self) -> tuple[AnalysisChange, ...]:
        """Changes of the analysis in all signs."""
        return tuple(change for sign in self.signs for change in sign.changes)

    @property
    def change_note(self) -> str:
        """That the readings come from several calibrations, as a sentence; empty if they do not."""
        changes = self.changes
        if changes and all(change.is_language_only for change in changes):
            return _(
                "Some recordings were compared more cautiously because of their language: levels on the two sides of "
                "a mark are not on one scale."
            )
        one = one_change(changes)
        if one is not None:
            return _(
                "The analysis changed with the recording of {day} (calibration {earlier} to {later}): levels before "
                "and after are not on one scale.",
                day=formats.long_day(in_zone(one.after)),
                earlier=one.earlier,
                later=one.later,
            )
        if not changes:
            return ""
        return _(
            "The analysis changed more than once (calibrations {versions}): levels on the two sides of a mark are not "
            "on one scale.",
            versions=formats.list_of(calibrations_of(changes)),
        )

    @property
    def span(self) -> tuple[float, float]:
        """First recording to `as_of`, epoch seconds; at least a day."""
        end = max([self.as_of.timestamp(), *self.times[-1:]])
        return (min([*self.times[:1], end - DAY_S]), end)

    def moments(self) -> Floats:
        """Times of all recordings, in order: the cursor positions."""
        return np.unique(self.times)

    def unusual_moments(self) -> Floats:
        """Times of the recordings that are unusual in any sign, in order."""
        found = {float(sign.readings.t[index]) for sign in self.signs for index in sign.unusual}
        return np.array(sorted(found), dtype=np.float64)

    def question_at(self, moment_s: float) -> str:
        """What to ask about the voice of the recording at a moment; empty for nothing."""
        job_id = self.job_at(moment_s)
        return "" if job_id is None else self.voice_questions.get(job_id, "")

    def job_at(self, moment_s: float) -> str | None:
        """The newest job at a moment."""
        index = int(np.searchsorted(self.times, moment_s, side="right")) - 1
        return self.jobs[index] if index >= 0 and self.times[index] == moment_s else None


def chart_of(
    read: TrajectoryRead,
    cuts: Mapping[str, Mapping[Level, float]],
    marks: Sequence[NoteMarker] = (),
    voice_questions: Mapping[str, str] | None = None,
) -> TrajectoryChart:
    """Make the charts of `read`; `cuts` by sign name, where known, and `voice_questions` by job.

    The signs of a model are in its order, as on the Result page; others in the order of the read.
    """
    points = sorted(read.data_points, key=lambda point: (point.recorded_at, point.job_id))
    by_name = {sign.name: sign for sign in read.signs}
    order = next((model.signs for model in models().models if set(model.signs) == set(by_name)), list(by_name))
    of_sign: dict[str, list[tuple[int, TrajectorySignal]]] = {name: [] for name in by_name}
    for index, point in enumerate(points):
        for signal in point.signals:
            if signal.name in of_sign:
                of_sign[signal.name].append((index, signal))
    times = np.array([point.recorded_at.timestamp() for point in points], dtype=np.float64)
    questions = voice_questions or {}
    return TrajectoryChart(
        group_id=read.group_id,
        as_of=read.as_of,
        window=(read.window.from_.timestamp(), read.window.to.timestamp()),
        window_days=read.window.days,
        signs=tuple(
            _sign_chart(by_name[name], points, times, of_sign[name], cuts.get(name, {}), questions) for name in order
        ),
        recordings=len(points),
        truncated=read.window.truncated,
        times=times,
        jobs=tuple(point.job_id for point in points),
        issues=tuple(tuple(point.audio_quality.issues) for point in points),
        marks=tuple(sorted(marks, key=lambda mark: mark.t)),
        voice_questions=questions,
    )


def _sign_chart(
    sign: SignTrajectory,
    points: Sequence[DataPoint],
    times: Floats,
    of_sign: Sequence[tuple[int, TrajectorySignal]],
    cuts: Mapping[Level, float],
    questions: Mapping[str, str],
) -> SignChart:
    scored = [(index, signal) for index, signal in of_sign if signal.score is not None]
    readings = _readings(points, times, scored)
    estimates = _estimate_series(sign)
    conclusive = [level for level in readings.levels if level is not Level.INCONCLUSIVE]
    unusual = np.flatnonzero(np.isin(readings.t, estimates.t[estimates.anomaly]))
    return SignChart(
        name=sign.name,
        label=sign.label,
        level=conclusive[-1] if conclusive else Level.INCONCLUSIVE,
        trend=_trend_text(sign),
        trend_detail=_trend_detail(sign.trend),
        readings=readings,
        estimates=estimates,
        cuts=cuts,
        episodes=tuple(sign.anomalies),
        unusual=frozenset(unusual.tolist()),
        other_voice=frozenset(index for index, job_id in enumerate(readings.job_ids) if job_id in questions),
        silent=times[[index for index, signal in of_sign if signal.score is None]],
        changes=analysis_changes(points, sign.name),
    )


def _readings(points: Sequence[DataPoint], times: Floats, scored: Sequence[tuple[int, TrajectorySignal]]) -> Readings:
    indexes = [index for index, _signal in scored]
    return Readings(
        t=times[indexes],
        score=np.array([signal.score for _index, signal in scored], dtype=np.float64),
        weight=np.array([points[index].relative_weight for index in indexes], dtype=np.float64),
        has_issues=np.array([bool(points[index].audio_quality.issues) for index in indexes], dtype=np.bool_),
        levels=tuple(signal.level for _index, signal in scored),
        job_ids=tuple(points[index].job_id for index in indexes),
    )


def _estimate_series(sign: SignTrajectory) -> EstimateSeries:
    series = sign.series
    return EstimateSeries(
        t=np.array([point.t.timestamp() for point in series], dtype=np.float64),
        estimate=np.array([point.latest for point in series], dtype=np.float64),
        interval_low=np.array([point.latest_interval[0] for point in series], dtype=np.float64),
        interval_high=np.array([point.latest_interval[1] for point in series], dtype=np.float64),
        baseline=np.array([point.baseline for point in series], dtype=np.float64),
        own_low=np.array([point.normal_range[0] for point in series], dtype=np.float64),
        own_high=np.array([point.normal_range[1] for point in series], dtype=np.float64),
        anomaly=np.array([point.anomaly for point in series], dtype=np.bool_),
    )


def direction_text() -> dict[str, str]:
    """The directions of a trend, each with its arrow."""
    return {"rising": _("↑ Rising"), "falling": _("↓ Falling"), "stable": _("= Steady")}


def _trend_text(sign: SignTrajectory) -> str:
    match sign.trend.direction:
        case "rising" | "falling" | "stable" as direction:
            return direction_text()[direction]
    if sign.n_recordings < 2:
        return _("First recording") if sign.n_recordings else _("No reading yet")
    return _("Too early for a trend")


def _trend_detail(trend: Trend) -> str:
    if trend.slope_per_30d is None or trend.interval is None:
        return ""
    low, high = trend.interval
    return _(
        "{change} in 30 days (90% interval {low} to {high}), from the last {days} days.",
        change=_signed(trend.slope_per_30d),
        low=_signed(low),
        high=_signed(high),
        days=trend.horizon_days,
    )


def _signed(change: float) -> str:
    return formats.number(change, "+.2f").replace("-", "\u2212")


def _unusual_text(episode: AnomalyEpisode) -> str:
    if episode.direction == "above":
        return ngettext(
            "Unusual for this person: above their own baseline at {count} recording in a row.",
            "Unusual for this person: above their own baseline at {count} recordings in a row.",
            episode.timepoints,
        )
    return ngettext(
        "Unusual for this person: below their own baseline at {count} recording in a row.",
        "Unusual for this person: below their own baseline at {count} recordings in a row.",
        episode.timepoints,
    )
