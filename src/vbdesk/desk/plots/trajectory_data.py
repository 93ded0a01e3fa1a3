"""A trajectory read turned into the arrays that the charts draw. No Qt: made on a worker."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from vbdesk.contract.catalog import models
from vbdesk.contract.levels import Level
from vbdesk.contract.longitudinal import AnomalyEpisode, DataPoint, SignTrajectory, TrajectoryRead, Trend

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
class Course:
    """The smoothed estimate of one sign with its interval and the subject's own range, one value a timepoint."""

    t: Floats
    estimate: Floats
    interval_low: Floats
    interval_high: Floats
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
    """

    name: str
    label: str
    level: Level
    trend: str
    trend_detail: str
    readings: Readings
    course: Course
    cuts: Mapping[Level, float]
    episodes: tuple[AnomalyEpisode, ...]

    def explanation(self, index: int) -> str:
        """Why reading `index` stands out, as a sentence; empty when it does not."""
        moment = self.readings.t[index]
        for episode in self.episodes:
            if episode.start.timestamp() - DAY_S < moment <= episode.end.timestamp() and self.is_unusual(index):
                side = "above" if episode.direction == "above" else "below"
                if episode.kind == "acute" or episode.timepoints == 1:
                    return f"Unusual for this person: well {side} the own baseline, at one recording only."
                return f"Unusual for this person: {side} the own baseline at {episode.timepoints} recordings in a row."
        return ""

    def is_unusual(self, index: int) -> bool:
        """Whether reading `index` is the newest of a timepoint that is marked as an anomaly."""
        return bool(np.any(self.course.anomaly & (self.course.t == self.readings.t[index])))


@dataclass(frozen=True, slots=True)
class TrajectoryChart:
    """One subject's small multiples, sharing the time axis."""

    group_id: str
    as_of: datetime
    signs: tuple[SignChart, ...]
    recordings: int

    @property
    def span(self) -> tuple[float, float]:
        """First recording to `as_of`, epoch seconds."""
        starts = [sign.readings.t[0] for sign in self.signs if len(sign.readings.t)]
        end = self.as_of.timestamp()
        return (min(starts, default=end - DAY_S), end)

    def moments(self) -> Floats:
        """Times of all recordings, in order: where the cursor can stand."""
        times = [sign.readings.t for sign in self.signs]
        return np.unique(np.concatenate(times)) if times else np.empty(0)


def chart_of(read: TrajectoryRead, cuts: Mapping[str, Mapping[Level, float]]) -> TrajectoryChart:
    """Arrays for every sign of `read`; `cuts` per sign name, where known.

    Signs that make up one model come in that model's order, as on the result page; others as they were read.
    """
    by_name = {sign.name: sign for sign in read.signs}
    order = next((model.signs for model in models().models if set(model.signs) == set(by_name)), list(by_name))
    signs = tuple(_sign_chart(by_name[name], read.data_points, cuts.get(name, {})) for name in order)
    return TrajectoryChart(read.group_id, read.as_of, signs, len(read.data_points))


def _sign_chart(sign: SignTrajectory, points: Sequence[DataPoint], cuts: Mapping[Level, float]) -> SignChart:
    readings, levels = _readings(sign.name, points)
    conclusive = [level for level in levels if level is not Level.INCONCLUSIVE]
    return SignChart(
        name=sign.name,
        label=sign.label,
        level=conclusive[-1] if conclusive else Level.INCONCLUSIVE,
        trend=_trend_words(sign),
        trend_detail=_trend_detail(sign.trend),
        readings=readings,
        course=_course(sign),
        cuts=cuts,
        episodes=tuple(sign.anomalies),
    )


def _readings(name: str, points: Sequence[DataPoint]) -> tuple[Readings, list[Level]]:
    rows = [
        (point, signal)
        for point in points
        for signal in point.signals
        if signal.name == name and signal.score is not None
    ]
    levels = [signal.level for _, signal in rows]
    readings = Readings(
        t=np.array([point.recorded_at.timestamp() for point, _ in rows], dtype=np.float64),
        score=np.array([signal.score for _, signal in rows], dtype=np.float64),
        weight=np.array([point.relative_weight for point, _ in rows], dtype=np.float64),
        has_issues=np.array([bool(point.audio_quality.issues) for point, _ in rows], dtype=np.bool_),
        levels=tuple(levels),
        job_ids=tuple(point.job_id for point, _ in rows),
    )
    return readings, levels


def _course(sign: SignTrajectory) -> Course:
    series = sign.series
    return Course(
        t=np.array([point.t.timestamp() for point in series], dtype=np.float64),
        estimate=np.array([point.latest for point in series], dtype=np.float64),
        interval_low=np.array([point.latest_interval[0] for point in series], dtype=np.float64),
        interval_high=np.array([point.latest_interval[1] for point in series], dtype=np.float64),
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
