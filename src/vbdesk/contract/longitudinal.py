"""Longitudinal resources of a group: a subject's trajectory, and the aggregate of a cohort.

Scores and other computed numbers are rounded to four decimals; a deviation is the difference of the rounded values.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from vbdesk.contract.base import WireModel, is_none
from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.results import AudioQuality, Share
from vbdesk.contract.timestamps import Timestamp

Interval = tuple[Share, Share]
AnomalyKind = Literal["none", "sustained", "acute"]
TimeScale = Literal["fast", "slow"]
TrendDirection = Literal["rising", "falling", "stable", "insufficient_data"]


class LongitudinalFields(WireModel):
    """One sign of a longitudinal job, compared with the subject's history; all null on the first submission."""

    latest_score: Share | None = None
    baseline_score: Share | None = None
    deviation_from_baseline: float | None = None
    anomaly: bool | None = None
    z_score: float | None = None
    population_z: float | None = None


class TrajectoryWindow(WireModel):
    """The recordings that a trajectory uses.

    Attributes:
        from_: recordings at or before this time are too old.
        to: recordings after this time are too far in the future.
        truncated: there were more than `max_jobs`; the oldest are left out.
        future_excluded: number of finished jobs recorded after `to`.
    """

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    days: int
    from_: Timestamp = Field(alias="from")
    to: Timestamp
    max_jobs: int
    jobs_used: int
    truncated: bool
    future_excluded: int


class PopulationReference(WireModel):
    """The population of `population_z`; `n_groups` is rounded down to a multiple of ten."""

    source: Literal["account_cohort", "shipped"]
    n_groups: int | None
    snapshot_at: Timestamp | None


class Trend(WireModel):
    """Slope of the readings over the horizon, in score per 30 days, with its 90 % interval."""

    direction: TrendDirection
    slope_per_30d: float | None
    interval: tuple[float, float] | None
    horizon_days: int


class AnomalyEpisode(WireModel):
    """Successive anomalous timepoints on one side of the baseline; `open` if it includes the newest."""

    start: Timestamp
    end: Timestamp
    direction: Literal["above", "below"]
    kind: Literal["sustained", "acute"]
    peak_z: float
    timepoints: int
    open: bool


class SeriesPoint(WireModel):
    """One timepoint (UTC day) of one sign.

    Attributes:
        t: time of the day's last recording.
        n: number of recordings that day.
        reading: weighted mean of the day's scores.
    """

    t: Timestamp
    n: int
    reading: Share
    latest: Share
    latest_interval: Interval
    baseline: Share
    normal_range: Interval
    z: float
    z_sustained: float
    anomaly: bool
    kind: AnomalyKind


class SignTrajectory(WireModel):
    """One sign over the window; estimates are null with fewer than two recordings.

    Attributes:
        normal_range: 90 % range for one good recording of this subject.
        subject_sd_ratio: the subject's variability over the sign's usual variability.
    """

    name: str
    label: str
    time_scale: TimeScale
    n_recordings: int
    n_timepoints: int
    last_recorded_at: Timestamp | None
    age_days: float | None
    latest_score: Share | None
    latest_interval: Interval | None
    baseline_score: Share | None
    baseline_interval: Interval | None
    normal_range: Interval | None
    deviation_from_baseline: float | None
    z_score: float | None
    z_sustained: float | None
    anomaly: bool | None
    population_z: float | None
    population_reference: PopulationReference | None
    subject_sd_ratio: float | None
    trend: Trend
    anomalies: list[AnomalyEpisode]
    series: list[SeriesPoint]


class TrajectorySignal(WireModel):
    """The reading of one sign in one recording; `score` is null if nothing was measurable.

    Attributes:
        sign_version: calibration that made the reading; absent if the service does not tell it.
    """

    name: str
    score: Share | None
    level: Level
    flagged: bool
    sign_version: str | None = Field(default=None, exclude_if=is_none)


class DataPoint(WireModel):
    """One recording in the window; `relative_weight` 1 is 30 s of speech without noise."""

    job_id: str
    recorded_at: Timestamp
    timepoint: str
    relative_weight: float
    audio_quality: AudioQuality
    signals: list[TrajectorySignal]


class MethodParameters(WireModel):
    """The numbers that a trajectory was computed with.

    Attributes:
        version: their version, such as `tss-2.0`.
        source: shipped, or fitted to the account's groups.
        n_groups: groups that they were fitted to, rounded down to a multiple of ten; null for shipped ones.
        fitted_at: when they were fitted; null for shipped ones.
    """

    version: str
    source: Literal["shipped", "account_groups"] = "shipped"
    n_groups: int | None = None
    fitted_at: Timestamp | None = None


class TrajectoryRead(WireModel):
    """A subject's trajectory. `done_job_count` counts the whole group; other counts are of the window.

    `parameters` is an addition of this service; it is left out where a read does not tell it.
    """

    status: Literal["done"] = "done"
    group_id: str
    as_of: Timestamp
    computed_at: Timestamp
    method: str
    parameters: MethodParameters | None = Field(default=None, exclude_if=is_none)
    interval_level: float
    window: TrajectoryWindow
    done_job_count: int
    pending_job_count: int
    signs: list[SignTrajectory]
    data_points: list[DataPoint]


class TrajectoryRunning(WireModel):
    """The answer while the trajectory is being computed; retry after `retry_after_seconds`."""

    status: Literal["running"] = "running"
    group_id: str
    retry_after_seconds: int
    done_job_count: int
    signs: list[SignTrajectory] = Field(default_factory=list)
    data_points: list[DataPoint] = Field(default_factory=list)


Trajectory = Annotated[TrajectoryRead | TrajectoryRunning, Field(discriminator="status")]


class AggregateWindow(WireModel):
    """The recordings that an aggregate uses."""

    days: int
    jobs_used: int
    truncated: bool


class JobCounts(WireModel):
    """Jobs of the whole group by status."""

    total: int
    queued: int
    running: int
    done: int
    failed: int
    timed_out: int


class Deciles(WireModel):
    """Linear quantiles; p10 and p90 are null under ten values, p50 under two."""

    p10: float | None
    p50: float | None
    p90: float | None


class RecordingsSummary(WireModel):
    """The recordings of the window; `usable_share` is the share good enough for an anomaly."""

    n: int
    total_minutes: float
    duration_seconds: Deciles
    voice_percentage: Deciles
    audio_clarity: Deciles
    issue_counts: dict[str, int]
    usable_share: float | None


class Adherence(WireModel):
    """Regularity of the recordings; days and ISO weeks in UTC, from the first to the last recording.

    Gaps are between successive active days, measured at each day's last recording.
    """

    first_recorded_at: Timestamp | None
    last_recorded_at: Timestamp | None
    active_days: int
    weeks: int
    active_weeks: int
    active_week_share: float | None
    recordings_per_week: float | None
    median_gap_days: float | None
    longest_gap_days: float | None
    current_gap_days: float | None


class ScoreSummary(WireModel):
    """Distribution of the conclusive scores; null with too few."""

    mean: float | None
    sd: float | None
    min: float | None
    p10: float | None
    p25: float | None
    p50: float | None
    p75: float | None
    p90: float | None
    max: float | None


class WeekSummary(WireModel):
    """One ISO week (`2026-W09`); `median` is of conclusive scores."""

    week: str
    n: int
    median: float | None
    flagged_count: int


class SignAggregate(WireModel):
    """One sign over the window's recordings; the interval is a 95 % Wilson interval."""

    name: str
    label: str
    n: int
    level_counts: dict[Level, int]
    flagged_count: int
    flagged_share: float | None
    flagged_share_interval: Interval | None
    score: ScoreSummary
    weekly: list[WeekSummary]


class AggregateRead(WireModel):
    """Statistics of a group's jobs as a cohort, without a longitudinal model."""

    status: Literal["done"] = "done"
    group_id: str
    as_of: Timestamp
    window: AggregateWindow
    job_counts: JobCounts
    recordings: RecordingsSummary
    adherence: Adherence
    recommended_actions: dict[RecommendedAction, int]
    signs: list[SignAggregate]
