"""A trajectory read turned into the arrays that the charts draw. No Qt: made on a worker."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

GAP_DAYS = 21.0
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Readings:
    """Every recording's own reading of one sign, in time order.

    Attributes:
        t: epoch seconds.
        score: 0..1.
        weight: relative precision; 1 is 30 s of speech in quiet.
        has_issues: recordings with quality issues.
        levels: each reading's own level.
        job_ids: which job it came from.
    """

    t: Floats
    score: Floats
    weight: Floats
    has_issues: Flags
    levels: tuple[Level, ...]
    job_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EstimateSeries:
    """The smoothed estimate of one sign with its interval, the own baseline and normal range; one value a timepoint.

    Attributes:
        t: epoch seconds.
        estimate, interval_low, interval_high: score, and the ends of its interval.
        baseline: where this subject usually is.
        own_low, own_high: between these one good recording of this subject would lie.
        anomaly: timepoints out of it.
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
        """Runs of timepoints without a gap of more than `GAP_DAYS` between neighbours."""
        if not len(self.t):
            return []
        breaks = np.flatnonzero(np.diff(self.t) > GAP_DAYS * DAY_S) + 1
        edges = [0, *breaks.tolist(), len(self.t)]
        return [slice(start, stop) for start, stop in itertools.pairwise(edges)]

    def gaps(self) -> list[tuple[int, int]]:
        """Pairs of neighbouring timepoints with such a gap between them."""
        runs = self.stretches()
        return [(before.stop - 1, after.start) for before, after in itertools.pairwise(runs)]


@dataclass(frozen=True, slots=True)
class SignChart:
    """All that one row of the subject's page shows.

    Attributes:
        level: level of the newest conclusive reading.
        trend: the trend in words.
        trend_detail: its slope with the uncertainty, as a sentence; empty when it is too early for one.
        cuts: lowest score of each level above none, up to the sign's highest; empty when the calibration is not ours.
        episodes: what stands out, in time order.
        unusual: indices of the readings that stand out.
        silent: times of the recordings in which this sign could not be heard.
    """

    name: str
    label: str
    level: Level
    trend: str
    trend_detail: str
    readings: Readings
    course: EstimateSeries
    cuts: Mapping[Level, float]
    episodes: tuple[AnomalyEpisode, ...]
    unusual: frozenset[int]
    silent: Floats

    def explanation(self, index: int) -> str:
        """Why reading `index` stands out, as a sentence; empty when it does not."""
        if not self.is_unusual(index):
            return ""
        moment = self.readings.t[index]
        for episode in self.episodes:
            if episode.start.timestamp() - DAY_S < moment <= episode.end.timestamp():
                if episode.kind == "acute" or episode.timepoints == 1:
                    return f"Unusual for this person: well {episode.direction} the own baseline, at one recording only."
                times = f"at {episode.timepoints} recordings in a row"
                return f"Unusual for this person: {episode.direction} the own baseline {times}."
        return ""

    def is_unusual(self, index: int) -> bool:
        """Whether reading `index` is the newest of a timepoint that is marked as an anomaly."""
        return index in self.unusual

    @property
    def present(self) -> AnomalyEpisode | None:
        """What is unusual with the newest recording; None where nothing is."""
        return next((episode for episode in self.episodes if episode.open), None)

    def reading_at(self, moment_s: float) -> int | None:
        """Index of the reading of that moment; the newest, where a moment has several."""
        place = int(np.searchsorted(self.readings.t, moment_s, side="right")) - 1
        return place if place >= 0 and self.readings.t[place] == moment_s else None


@dataclass(frozen=True, slots=True)
class NoteMarker:
    """Something that was written down about a moment.

    Attributes:
        t: epoch seconds.
        words: what.
    """

    t: float
    words: str


@dataclass(frozen=True, slots=True)
class TrajectoryChart:
    """One subject's small multiples, sharing the time axis.

    Attributes:
        as_of: the moment of the read.
        window: what counts, epoch seconds from and to; recordings outside are not in the read.
        window_days: how long that is.
        recordings: how many are shown.
        truncated: there were more; the oldest are left out.
        times, jobs: of every recording in time order, also of those in which nothing could be heard.
        issues: of every recording, the codes of what was wrong with the sound.
        marks: notes, in time order.
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

    @property
    def span(self) -> tuple[float, float]:
        """First recording to `as_of`, epoch seconds; at least a day."""
        end = max([self.as_of.timestamp(), *self.times[-1:]])
        return (min([*self.times[:1], end - DAY_S]), end)

    def moments(self) -> Floats:
        """Times of all recordings, in order: where the cursor can stand."""
        return np.unique(self.times)

    def unusual_moments(self) -> Floats:
        """Times of the recordings that stand out in any sign, in order."""
        found = {float(sign.readings.t[index]) for sign in self.signs for index in sign.unusual}
        return np.array(sorted(found), dtype=np.float64)

    def job_at(self, moment_s: float) -> str | None:
        """The newest job of a moment."""
        place = int(np.searchsorted(self.times, moment_s, side="right")) - 1
        return self.jobs[place] if place >= 0 and self.times[place] == moment_s else None


def chart_of(
    read: TrajectoryRead, cuts: Mapping[str, Mapping[Level, float]], marks: Sequence[NoteMarker] = ()
) -> TrajectoryChart:
    """Arrays for every sign of `read`; `cuts` per sign name, where known.

    Signs that make up one model come in that model's order, as on the result page; others as they were read.
    """
    points = sorted(read.data_points, key=lambda point: (point.recorded_at, point.job_id))
    by_name = {sign.name: sign for sign in read.signs}
    order = next((model.signs for model in models().models if set(model.signs) == set(by_name)), list(by_name))
    spoken: dict[str, list[tuple[int, TrajectorySignal]]] = {name: [] for name in by_name}
    for place, point in enumerate(points):
        for signal in point.signals:
            if signal.name in spoken:
                spoken[signal.name].append((place, signal))
    times = np.array([point.recorded_at.timestamp() for point in points], dtype=np.float64)
    return TrajectoryChart(
        group_id=read.group_id,
        as_of=read.as_of,
        window=(read.window.from_.timestamp(), read.window.to.timestamp()),
        window_days=read.window.days,
        signs=tuple(_sign_chart(by_name[name], points, times, spoken[name], cuts.get(name, {})) for name in order),
        recordings=len(points),
        truncated=read.window.truncated,
        times=times,
        jobs=tuple(point.job_id for point in points),
        issues=tuple(tuple(point.audio_quality.issues) for point in points),
        marks=tuple(sorted(marks, key=lambda mark: mark.t)),
    )


def _sign_chart(
    sign: SignTrajectory,
    points: Sequence[DataPoint],
    times: Floats,
    spoken: Sequence[tuple[int, TrajectorySignal]],
    cuts: Mapping[Level, float],
) -> SignChart:
    heard = [(place, signal) for place, signal in spoken if signal.score is not None]
    readings = _readings(points, times, heard)
    course = _estimate_series(sign)
    conclusive = [level for level in readings.levels if level is not Level.INCONCLUSIVE]
    unusual = np.flatnonzero(np.isin(readings.t, course.t[course.anomaly]))
    return SignChart(
        name=sign.name,
        label=sign.label,
        level=conclusive[-1] if conclusive else Level.INCONCLUSIVE,
        trend=_trend_words(sign),
        trend_detail=_trend_detail(sign.trend),
        readings=readings,
        course=course,
        cuts=cuts,
        episodes=tuple(sign.anomalies),
        unusual=frozenset(unusual.tolist()),
        silent=times[[place for place, signal in spoken if signal.score is None]],
    )


def _readings(points: Sequence[DataPoint], times: Floats, heard: Sequence[tuple[int, TrajectorySignal]]) -> Readings:
    places = [place for place, _ in heard]
    return Readings(
        t=times[places],
        score=np.array([signal.score for _, signal in heard], dtype=np.float64),
        weight=np.array([points[place].relative_weight for place in places], dtype=np.float64),
        has_issues=np.array([bool(points[place].audio_quality.issues) for place in places], dtype=np.bool_),
        levels=tuple(signal.level for _, signal in heard),
        job_ids=tuple(points[place].job_id for place in places),
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


def _trend_words(sign: SignTrajectory) -> str:
    match sign.trend.direction:
        case "rising":
            return "↑ Rising"
        case "falling":
            return "↓ Falling"
        case "stable":
            return "= Steady"
    if sign.n_recordings < 2:
        return "First recording" if sign.n_recordings else "No reading yet"
    return "Too early for a trend"


def _trend_detail(trend: Trend) -> str:
    if trend.slope_per_30d is None or trend.interval is None:
        return ""
    low, high = trend.interval
    return (
        f"{_signed(trend.slope_per_30d)} in 30 days (90 % interval {_signed(low)} to {_signed(high)}), "
        f"from the last {trend.horizon_days} days."
    )


def _signed(change: float) -> str:
    return f"{change:+.2f}".replace("-", "\u2212")
