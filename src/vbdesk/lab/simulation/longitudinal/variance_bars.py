"""False alarms and power over the whole spread of personal variances: the bars of the second version.

Subjects here have a within-person variance (state and reading, started logit) that the method does not know. Their
truth is not the fitted model: heavy tails, imprecise qualities, a memory of half to twice the assumed one, jittered
days.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vbdesk.lab.simulation.longitudinal.performance import episodes_per_year
from vbdesk.lab.simulation.longitudinal.simulated_subjects import (
    DAYS,
    QUALITY_ERROR_LOG_SD,
    QUALITY_LOG_SD,
    READING_DF,
    SCHEDULES,
    Schedule,
    ornstein_uhlenbeck,
    recording_days,
)
from vbdesk.longitudinal.anomaly import detect_anomalies
from vbdesk.longitudinal.filter import FilterOutput, run_filter
from vbdesk.longitudinal.gains import GainStep, gain_steps
from vbdesk.longitudinal.parameters import Parameters, SignClass
from vbdesk.longitudinal.scale import Array, score_of, started_logit
from vbdesk.longitudinal.timepoints import Timepoints

VARIANCES = (0.03, 0.07, 0.2, 0.55)
MOST_EPISODES = 0.10
LEAST_POWER = 0.8
SUBJECTS = {"daily": 500, "weekly": 2500, "monthly": 4000}
STATE_SHARES = {"fast": 0.25 / 0.55, "slow": 0.06 / 0.31}
"""Share of the state in the variance of the simulated subjects; not measured, the assumption of the first version."""
TRAIT_MEAN, TRAIT_VARIANCE = -1.0, 0.3
CHANGED_VARIANCE = 0.07
CHANGED_FROM = 21


@dataclass(frozen=True, slots=True)
class HeldShift:
    """A shift that lasts for some weekly recordings, and the classes of signs that must flag it while it lasts."""

    shift: float
    recordings: int
    classes: tuple[str, ...]


CHANGES = (HeldShift(0.85, 4, ("fast",)), HeldShift(0.55, 12, ("fast", "slow")))


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """False episodes per sign and year of unchanged subjects, after day 60; `standard_error` of the simulation."""

    sign_class: str
    schedule: Schedule
    variance: float
    episodes: float
    standard_error: float

    @property
    def holds(self) -> bool:
        """Whether the bar holds."""
        return self.episodes <= MOST_EPISODES


@dataclass(frozen=True, slots=True)
class Power:
    """Share of changes that were flagged while they lasted, after 21 weekly recordings at variance 0.07."""

    sign_class: str
    change: HeldShift
    share: float

    @property
    def holds(self) -> bool:
        """Whether the bar holds; None asked for reads as held."""
        return self.sign_class not in self.change.classes or self.share >= LEAST_POWER


@dataclass(frozen=True, slots=True)
class Truth:
    """How subjects vary: `state_share` of the variance lasts for days; `harsh` as the module says, else Gaussian."""

    state_share: float
    harsh: bool = True


@dataclass(frozen=True, slots=True)
class SteadySubjects:
    """Unchanged subjects, shape (B, n) each; values on the started logit.

    Attributes:
        values: readings.
        factors: quality factors as the method sees them.
        norm: shape (B, 1).
        state: ordinary variation of the level around the norm.
    """

    days: Array
    values: Array
    factors: Array
    norm: Array
    state: Array

    def filtered(
        self, sign_class: SignClass, parameters: Parameters
    ) -> Iterator[tuple[Timepoints, list[GainStep], FilterOutput]]:
        """The method's estimates of each subject."""
        offset = parameters.scale.offset
        for days, values, factors in zip(self.days, self.values, self.factors, strict=True):
            n = len(days)
            seen = started_logit(score_of(values, offset), offset)[:, None]  # a score is within 0..1
            usable = factors <= parameters.quality.usable_factor
            timepoints = Timepoints(days, factors, seen, np.ones(n, np.intp), np.arange(n), usable)
            steps, _ = gain_steps(days.tolist(), factors.tolist(), sign_class, parameters.prior)
            yield timepoints, steps, run_filter(seen, steps, sign_class, parameters)


def false_alarms(
    parameters: Parameters, seed: int, classes: Sequence[str], scale: float = 1.0, truth: Truth | None = None
) -> Iterator[FalseAlarms]:
    """False alarms in every class, schedule and variance, with `scale` times the usual number of subjects."""
    for name in classes:
        for schedule in SCHEDULES:
            for variance in VARIANCES:
                generator = np.random.default_rng([seed, *f"{name} {schedule} {variance}".encode()])
                count = max(round(SUBJECTS[schedule] * scale), 1)
                sign_class = parameters.classes[name]
                lived = truth or Truth(STATE_SHARES[name])
                drawn = draw_steady(generator, schedule, count, variance, sign_class.state_days, lived)
                anomaly = np.array([flags for flags, _ in _detections(drawn, sign_class, parameters)])
                episodes, years = episodes_per_year(drawn.days, anomaly)
                yield FalseAlarms(name, schedule, variance, episodes, float(np.sqrt(max(episodes, 1 / years) / years)))


def power(parameters: Parameters, seed: int, classes: Sequence[str], subjects: int = 2000) -> Iterator[Power]:
    """Power of each change in each class, with the same draws for every method."""
    for name in classes:
        sign_class = parameters.classes[name]
        for change in CHANGES:
            generator = np.random.default_rng([seed, *f"{name} {change.recordings}".encode()])
            truth = Truth(STATE_SHARES[name])
            drawn = draw_steady(generator, "weekly", subjects, CHANGED_VARIANCE, sign_class.state_days, truth)
            lasting = slice(CHANGED_FROM, CHANGED_FROM + change.recordings)
            drawn.values[:, lasting] += change.shift
            found = [
                bool((flags & above)[lasting].any()) for flags, above in _detections(drawn, sign_class, parameters)
            ]
            yield Power(name, change, float(np.mean(found)))


def draw_steady(
    generator: np.random.Generator, schedule: Schedule, count: int, variance: float, state_days: float, truth: Truth
) -> SteadySubjects:
    """Draw unchanged subjects whose readings have `variance` on the started logit."""
    days = recording_days(generator, schedule, count, DAYS)
    memory = np.full(count, state_days)
    factors = true_factors = np.ones(days.shape)
    errors = generator.normal(size=days.shape)
    if truth.harsh:
        memory = memory * 2.0 ** generator.uniform(-1, 1, count)
        factors = np.clip(np.exp(generator.normal(0, QUALITY_LOG_SD, days.shape)), 0.6, 16.0)
        log_errors = generator.normal(0, QUALITY_ERROR_LOG_SD, days.shape) - QUALITY_ERROR_LOG_SD**2 / 2
        true_factors = factors * np.exp(log_errors)
        errors = generator.standard_t(READING_DF, days.shape) / np.sqrt(READING_DF / (READING_DF - 2.0))
    state = np.sqrt(variance * truth.state_share) * ornstein_uhlenbeck(generator, days, memory)
    noise = np.sqrt(variance * (1.0 - truth.state_share) * true_factors) * errors
    trait = TRAIT_MEAN + np.sqrt(TRAIT_VARIANCE) * generator.normal(size=(count, 1))
    return SteadySubjects(days, trait + state + noise, factors, trait, state)


def _detections(
    subjects: SteadySubjects, sign_class: SignClass, parameters: Parameters
) -> Iterator[tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], np.ndarray[tuple[int], np.dtype[np.bool_]]]]:
    """For each subject: where there is an anomaly, and where the level is above the baseline."""
    for timepoints, steps, filtered in subjects.filtered(sign_class, parameters):
        detections = detect_anomalies(timepoints, steps, filtered, sign_class, parameters)
        yield detections.anomaly[:, 0], detections.deviation[:, 0] > 0.0
