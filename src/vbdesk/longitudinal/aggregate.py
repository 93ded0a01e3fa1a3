"""The aggregate read: a group's jobs as a cohort, without a model of one subject."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import isfinite, sqrt

import numpy as np

from vbdesk.contract.catalog import label_of
from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.limits import HISTORY_DAYS
from vbdesk.contract.longitudinal import (
    Adherence,
    AggregateRead,
    AggregateWindow,
    Deciles,
    JobCounts,
    RecordingsSummary,
    ScoreSummary,
    SignAggregate,
    WeekSummary,
)
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.parameters import QualityRule, shipped_parameters
from vbdesk.longitudinal.rounding import DAY, rounded, rounded_age_days, rounded_pair
from vbdesk.longitudinal.student_t import normal_quantile
from vbdesk.longitudinal.variance_factors import quality_factors
from vbdesk.longitudinal.window import window_as_of

WEEK = timedelta(weeks=1)
MIN_FOR_SPREAD = 2  # sd and inner quantiles
MIN_FOR_TAILS = 10  # p10 and p90
SHARE_LEVEL = 0.95


def aggregate(
    group_id: str,
    history: Sequence[HistoryEntry],
    as_of: datetime,
    labels: Mapping[str, str],
    status_counts: Mapping[str, int] | None = None,
) -> AggregateRead:
    """Summarise a group as a cohort: recordings, regularity, signs.

    Args:
        group_id: the group.
        history: its jobs in any order and any status.
        as_of: moment of the read, aware.
        labels: display name by sign; `label_of` its name by default.
        status_counts: jobs of the whole group by status; counted in `history` by default.
    """
    parameters = shipped_parameters()
    window = window_as_of(history, as_of, parameters.window.future_hours)
    entries = window.entries
    names = sorted({sign for entry in entries for sign in entry.signs})
    actions = Counter(entry.recommended_action for entry in entries)
    return AggregateRead(
        group_id=group_id,
        as_of=as_of,
        window=AggregateWindow(days=HISTORY_DAYS, jobs_used=len(entries), truncated=window.truncated),
        job_counts=_job_counts(Counter(status_counts or (entry.status for entry in history))),
        recordings=_recordings(entries, parameters.quality),
        adherence=_adherence([entry.recorded_at.astimezone(UTC) for entry in entries], as_of),
        recommended_actions={action: actions[action.value] for action in RecommendedAction},
        signs=[_sign(name, labels.get(name, label_of(name)), entries) for name in names],
    )


def wilson_interval(successes: int, n: int) -> tuple[float, float] | None:
    """Wilson's 95 % interval of a share; None without trials."""
    if n == 0:
        return None
    z = normal_quantile(SHARE_LEVEL)
    share = successes / n
    centre = share + z * z / (2 * n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max((centre - half) / scale, 0.0), min((centre + half) / scale, 1.0)


def _job_counts(counts: Counter[str]) -> JobCounts:
    return JobCounts(
        total=counts.total(),
        queued=counts["queued"],
        running=counts["running"],
        done=counts["done"],
        failed=counts["failed"],
        timed_out=counts["timed-out"],
    )


def _recordings(entries: Sequence[HistoryEntry], rule: QualityRule) -> RecordingsSummary:
    durations = _known(entry.duration_s for entry in entries)
    usable = quality_factors(entries, rule) <= rule.usable_factor
    issues = Counter(issue for entry in entries for issue in entry.issues)
    return RecordingsSummary(
        n=len(entries),
        total_minutes=rounded(sum(durations) / 60.0),
        duration_seconds=_deciles(durations),
        voice_percentage=_deciles(_known(entry.voice_percentage for entry in entries)),
        audio_clarity=_deciles(_known(entry.audio_clarity for entry in entries)),
        issue_counts=dict(sorted(issues.items())),
        usable_share=rounded(usable.mean()) if entries else None,
    )


def _adherence(times: Sequence[datetime], as_of: datetime) -> Adherence:
    """Regularity of recordings at `times` (UTC, ascending)."""
    if not times:
        return Adherence(
            first_recorded_at=None,
            last_recorded_at=None,
            active_days=0,
            weeks=0,
            active_weeks=0,
            active_week_share=None,
            recordings_per_week=None,
            median_gap_days=None,
            longest_gap_days=None,
            current_gap_days=None,
        )
    last_of_day = list({time.date(): time for time in times}.values())
    gaps = [(later - earlier) / DAY for earlier, later in pairwise(last_of_day)]
    weeks = (_week_start(times[-1]) - _week_start(times[0])) // WEEK + 1
    active_weeks = len({_week_start(time) for time in times})
    return Adherence(
        first_recorded_at=times[0],
        last_recorded_at=times[-1],
        active_days=len(last_of_day),
        weeks=weeks,
        active_weeks=active_weeks,
        active_week_share=rounded(active_weeks / weeks),
        recordings_per_week=rounded(len(times) / weeks),
        median_gap_days=rounded(float(np.median(gaps))) if gaps else None,
        longest_gap_days=rounded(max(gaps)) if gaps else None,
        current_gap_days=rounded_age_days(as_of, times[-1]),
    )


def _sign(name: str, label: str, entries: Sequence[HistoryEntry]) -> SignAggregate:
    readings = [(entry.recorded_at, entry.signs[name]) for entry in entries if name in entry.signs]
    levels = Counter(reading.level for _, reading in readings)
    flagged = sum(reading.flagged for _, reading in readings)
    interval = wilson_interval(flagged, len(readings))
    return SignAggregate(
        name=name,
        label=label,
        n=len(readings),
        level_counts={level: levels[level.value] for level in Level},
        flagged_count=flagged,
        flagged_share=rounded(flagged / len(readings)) if readings else None,
        flagged_share_interval=None if interval is None else rounded_pair(interval),
        score=_score_summary(_conclusive(reading for _, reading in readings)),
        weekly=_weekly(readings),
    )


def _weekly(readings: Sequence[tuple[datetime, SignReading]]) -> list[WeekSummary]:
    by_week: dict[str, list[SignReading]] = {}
    for time, reading in readings:
        year, week, _ = time.astimezone(UTC).isocalendar()
        by_week.setdefault(f"{year:04d}-W{week:02d}", []).append(reading)
    return [
        WeekSummary(
            week=week,
            n=len(members),
            median=rounded(float(np.median(scores))) if (scores := _conclusive(members)) else None,
            flagged_count=sum(reading.flagged for reading in members),
        )
        for week, members in by_week.items()
    ]


def _conclusive(readings: Iterable[SignReading]) -> list[float]:
    """Scores of conclusive readings, within 0..1."""
    return [min(max(score, 0.0), 1.0) for score in _known(r.score for r in readings if r.level != Level.INCONCLUSIVE)]


def _score_summary(scores: Sequence[float]) -> ScoreSummary:
    return ScoreSummary(
        mean=rounded(float(np.mean(scores))) if scores else None,
        sd=rounded(float(np.std(scores, ddof=1))) if len(scores) >= MIN_FOR_SPREAD else None,
        min=rounded(min(scores)) if scores else None,
        p10=_quantile(scores, 0.10, MIN_FOR_TAILS),
        p25=_quantile(scores, 0.25, MIN_FOR_SPREAD),
        p50=_quantile(scores, 0.50, MIN_FOR_SPREAD),
        p75=_quantile(scores, 0.75, MIN_FOR_SPREAD),
        p90=_quantile(scores, 0.90, MIN_FOR_TAILS),
        max=rounded(max(scores)) if scores else None,
    )


def _deciles(values: Sequence[float]) -> Deciles:
    return Deciles(
        p10=_quantile(values, 0.10, MIN_FOR_TAILS),
        p50=_quantile(values, 0.50, MIN_FOR_SPREAD),
        p90=_quantile(values, 0.90, MIN_FOR_TAILS),
    )


def _quantile(values: Sequence[float], share: float, least: int) -> float | None:
    """Linear quantile (type 7); None with fewer than `least` values."""
    return rounded(float(np.quantile(values, share))) if len(values) >= least else None


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None and isfinite(value)]


def _week_start(time: datetime) -> datetime:
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=midnight.weekday())
