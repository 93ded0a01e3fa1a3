"""Draw simulated subjects: recording days, true levels and readings."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from vbdesk.longitudinal.parameters import QualityRule, SignClass
from vbdesk.longitudinal.scale import Array

Schedule = Literal["daily", "weekly", "monthly"]
SCHEDULES: tuple[Schedule, ...] = ("daily", "weekly", "monthly")

DAYS = 270.0
CHANGE_DAY = 150.0
LOGIT_OVER_STARTED = 1.2  # spread on the logit scale divided by spread on the started-logit scale
READING_DF = 6.0  # of the t distribution of reading errors
QUALITY_LOG_SD = 0.35  # between recordings
QUALITY_ERROR_LOG_SD = 0.3  # of the true variance factor around the assumed one
POOR_FACTOR = 5.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """What happens from day 150, in the subjects' own SDs of one reading.

    Attributes:
        step: lasting change.
        drift: change that grows linearly until the end.
        outlier: error of the first reading from day 150.
        excursion: true change on that day only.
        own_variability: log-SD of the subjects' own standard deviations.
        heavy_tails: whether reading errors are t-distributed.
        white_state: whether the state is independent between recordings.
        poor_share: share of recordings of five times the variance.
        wander: natural slow wander, as a share of the shift's SD.
        season: amplitude of a sinusoid of `season_days`.
        season_days: its period.
        norm_offset: distance of the population's norm from the assumed one, in SDs between subjects.
        norm: the population's norm on the logit scale, if not the class's.
        memory_factor: true memory of the state divided by the assumed one.
        state_factor: the same for the variance of the state.
        noise_factor: the same for the variance of the readings.
    """

    step: float = 0.0
    drift: float = 0.0
    outlier: float = 0.0
    excursion: float = 0.0
    own_variability: float = 0.3
    heavy_tails: bool = True
    white_state: bool = False
    poor_share: float = 0.0
    wander: float = 0.0
    season: float = 0.0
    season_days: float = 365.0
    norm_offset: float = 0.0
    norm: float | None = None
    memory_factor: float = 1.0
    state_factor: float = 1.0
    noise_factor: float = 1.0


@dataclass(frozen=True, slots=True)
class SimulatedSubjects:
    """B subjects with n recordings each; scores 0..1 on their own logit scale.

    Attributes:
        days: shape (B, n), ascending.
        readings: shape (B, n), scores of the recordings.
        factors: shape (B, n), assumed variance factors.
        level: shape (B, n), true score at each recording.
        norm: shape (B,), true personal norm.
        own_sd: shape (B,), SD of one reading of each subject, logit.
        norm_logit: shape (B,), `norm` as a logit.
        changed: shape (B,), position of the first recording from day 150.
    """

    days: Array
    readings: Array
    factors: Array
    level: Array
    norm: Array
    own_sd: Array
    norm_logit: Array
    changed: np.ndarray[tuple[int], np.dtype[np.intp]]


def score_of_logit(value: Array) -> Array:
    """Score of a logit, the scale of the simulated truth."""
    return np.asarray(1.0 / (1.0 + np.exp(-value)))


def simulate_subjects(
    generator: np.random.Generator,
    sign_class: SignClass,
    quality: QualityRule,
    schedule: Schedule,
    count: int,
    scenario: Scenario,
    last_day: float = DAYS,
) -> SimulatedSubjects:
    """Draw `count` subjects who record on `schedule` until `last_day`."""
    days = recording_days(generator, schedule, count, last_day)
    n = days.shape[1]
    own = np.exp(generator.normal(0, scenario.own_variability, count) - scenario.own_variability**2)[:, None]
    state_sd = LOGIT_OVER_STARTED * np.sqrt(sign_class.state_variance * scenario.state_factor) * own
    reading_sd = LOGIT_OVER_STARTED * np.sqrt(sign_class.reading_variance * scenario.noise_factor) * own
    between_sd = LOGIT_OVER_STARTED * np.sqrt(sign_class.trait_variance)
    centre = sign_class.trait_mean if scenario.norm is None else scenario.norm
    norm = centre + between_sd * (generator.normal(size=count) + scenario.norm_offset)

    memory = scenario.memory_factor * sign_class.state_days * 2.0 ** generator.uniform(-1, 1, count)
    within = generator.normal(size=(count, n)) if scenario.white_state else ornstein_uhlenbeck(generator, days, memory)
    within = state_sd * within
    if scenario.wander:
        shift_sd = LOGIT_OVER_STARTED * np.sqrt(sign_class.shift_variance) * own
        slow = ornstein_uhlenbeck(generator, days, np.full(count, sign_class.shift_days))
        within = within + scenario.wander * shift_sd * slow

    factors = np.exp(generator.normal(0, QUALITY_LOG_SD, (count, n)))
    poor = generator.random((count, n)) < scenario.poor_share
    factors = np.clip(np.where(poor, POOR_FACTOR * factors, factors), *quality.factor_range)
    true_factors = factors * np.exp(generator.normal(0, QUALITY_ERROR_LOG_SD, (count, n)))
    errors = generator.normal(size=(count, n))
    if scenario.heavy_tails:
        errors = generator.standard_t(READING_DF, (count, n)) / np.sqrt(READING_DF / (READING_DF - 2.0))

    own_sd = np.hypot(state_sd, reading_sd)
    after = days >= CHANGE_DAY
    grown = np.clip((days - CHANGE_DAY) / (last_day - CHANGE_DAY), 0.0, None)
    change = scenario.step * after + scenario.drift * grown
    if scenario.season:
        change = change + scenario.season * np.sin(
            2 * np.pi * (days / scenario.season_days + generator.random((count, 1)))
        )
    changed = np.argmax(after, axis=1)
    rows = np.arange(count)
    change[rows, changed] += scenario.excursion
    level = norm[:, None] + within + own_sd * change
    seen = level + reading_sd * np.sqrt(true_factors) * errors
    seen[rows, changed] += scenario.outlier * own_sd[:, 0]
    return SimulatedSubjects(
        days, score_of_logit(seen), factors, score_of_logit(level), score_of_logit(norm), own_sd[:, 0], norm, changed
    )


def recording_days(generator: np.random.Generator, schedule: Schedule, count: int, last_day: float) -> Array:
    """Recording days, shape (count, n): 4 of 5 days, jittered weekly or monthly."""
    if schedule == "daily":
        n = int(last_day * 0.8)
        kept = np.sort(np.argsort(generator.random((count, int(last_day))), axis=1)[:, :n], axis=1)
        return np.asarray(kept + generator.uniform(0.3, 0.8, (count, n)))
    gap, jitter = (7.0, 1.5) if schedule == "weekly" else (30.0, 5.0)
    n = int(last_day // gap)
    return np.asarray(gap * (np.arange(n) + 0.5) + generator.uniform(-jitter, jitter, (count, n)))


def ornstein_uhlenbeck(generator: np.random.Generator, days: Array, memory_days: Array) -> Array:
    """Ornstein-Uhlenbeck processes of variance 1, one per row of `days`."""
    values = generator.normal(size=days.shape)
    for k in range(1, days.shape[1]):
        kept = np.exp(-(days[:, k] - days[:, k - 1]) / memory_days)
        values[:, k] = kept * values[:, k - 1] + np.sqrt(1.0 - kept * kept) * values[:, k]
    return values
