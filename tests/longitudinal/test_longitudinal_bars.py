"""Small seeded simulations of the method's promises.

The truth is not the fitted model: logit-normal levels, heavy-tailed readings, variability and memory that differ from
subject to subject, qualities known only roughly, missing days.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from vbdesk.longitudinal.anomaly import Verdicts, judge
from vbdesk.longitudinal.bands import Bands, bands
from vbdesk.longitudinal.filter import Estimates, estimate
from vbdesk.longitudinal.gains import gain_steps
from vbdesk.longitudinal.parameters import PersonalScaleRule, SignClass, shipped_parameters
from vbdesk.longitudinal.scale import Array, score_of, started_logit
from vbdesk.longitudinal.timepoints import Timepoints

PARAMETERS = shipped_parameters()
OFFSET = PARAMETERS.scale.offset
LOGIT_OVER_STARTED = 1.2  # the truth's scale against the method's
CHANGE_DAY, END_DAY, SETTLED_DAY = 150.0, 270.0, 60.0
CLASSES = pytest.mark.parametrize("class_name", ["fast", "slow"])
SCHEDULES = pytest.mark.parametrize("schedule", ["daily", "weekly", "monthly"])


@dataclass(frozen=True)
class Cohort:
    """Subjects on one schedule; arrays (n timepoints, subjects), scores."""

    days: Array
    readings: Array
    level: Array
    norm: Array
    estimates: Estimates
    verdicts: Verdicts
    bands: Bands


def recording_days(generator: np.random.Generator, schedule: str) -> Array:
    if schedule == "daily":
        days = np.sort(generator.permutation(int(END_DAY))[: int(END_DAY * 0.8)])
        return days + generator.uniform(0.3, 0.8, len(days))
    step, jitter = (7.0, 1.5) if schedule == "weekly" else (30.0, 5.0)
    count = int(END_DAY // step)
    return step * (np.arange(count) + 0.5) + generator.uniform(-jitter, jitter, count)


def simulate(class_name: str, schedule: str, seed: int, *, subjects: int = 200, step=0.0, outlier=0.0) -> Cohort:
    """Subjects who, at day 150, change by `step` or give one reading off by `outlier` (own SDs)."""
    generator = np.random.default_rng(seed)
    sign_class = PARAMETERS.classes[class_name]
    days = recording_days(generator, schedule)
    n = len(days)
    own = np.exp(generator.normal(0, 0.3, subjects) - 0.09)
    state_sd = LOGIT_OVER_STARTED * np.sqrt(sign_class.state_variance) * own
    reading_sd = LOGIT_OVER_STARTED * np.sqrt(sign_class.reading_variance) * own
    spread = np.sqrt(sign_class.trait_variance) * LOGIT_OVER_STARTED
    norm = sign_class.trait_mean + spread * generator.normal(size=subjects)
    state = generator.normal(size=(n, subjects))
    memory = sign_class.state_days * 2.0 ** generator.uniform(-1, 1, subjects)
    for k in range(1, n):
        kept = np.exp(-(days[k] - days[k - 1]) / memory)
        state[k] = kept * state[k - 1] + np.sqrt(1 - kept**2) * state[k]
    believed = np.clip(np.exp(generator.normal(0, 0.35, n)), *PARAMETERS.quality.factor_range)
    actual = np.sqrt(believed[:, None] * np.exp(generator.normal(0, 0.3, (n, subjects))))
    noise = reading_sd * actual * generator.standard_t(6, (n, subjects)) / np.sqrt(1.5)
    own_sd = np.hypot(state_sd, reading_sd)
    level = norm + state_sd * state + step * own_sd * (days >= CHANGE_DAY)[:, None]
    seen = level + noise
    seen[np.searchsorted(days, CHANGE_DAY)] += outlier * own_sd
    return follow_cohort(sign_class, days, believed, *(1 / (1 + np.exp(-x)) for x in (seen, level, norm)))


def follow_cohort(
    sign_class: SignClass, days: Array, factors: Array, readings: Array, level: Array, norm: Array
) -> Cohort:
    n = len(days)
    values = started_logit(readings, OFFSET)
    timepoints = Timepoints(days, factors, values, np.ones(n, int), np.arange(n), factors <= 8.0)
    steps, _ = gain_steps(days.tolist(), factors.tolist(), sign_class, PARAMETERS.prior)
    estimates = estimate(values, steps, sign_class.trait_mean, PARAMETERS.personal_scale)
    return Cohort(
        days,
        readings,
        level,
        norm,
        estimates,
        judge(timepoints, steps, estimates, sign_class, PARAMETERS),
        bands(estimates, steps, sign_class, PARAMETERS),
    )


def cohorts(class_name: str, schedule: str, count: int = 6, **change: float) -> list[Cohort]:
    return [simulate(class_name, schedule, seed, **change) for seed in range(count)]


def onsets(flags: np.ndarray) -> int:
    """Number of runs of True along time."""
    return int((flags[1:] & ~flags[:-1]).sum() + flags[0].sum())


@CLASSES
@SCHEDULES
def test_stable_subjects_are_seldom_alarmed(class_name, schedule):
    episodes, years = 0, 0.0
    for cohort in cohorts(class_name, schedule, count=10):
        settled = cohort.days >= SETTLED_DAY
        episodes += onsets(cohort.verdicts.anomaly[settled])
        years += cohort.norm.size * (END_DAY - SETTLED_DAY) / 365.0
    assert episodes / years <= {"fast": 0.12, "slow": 0.07}[class_name]


@CLASSES
@SCHEDULES
def test_short_histories_are_seldom_alarmed(class_name, schedule):
    flags = np.concatenate([cohort.verdicts.anomaly[2:6] for cohort in cohorts(class_name, schedule)], axis=1)
    assert (flags.mean(axis=1) <= 0.01).all()


@CLASSES
@pytest.mark.parametrize(
    ("schedule", "step", "power"),
    [
        ("daily", 2.0, 0.95),
        ("weekly", 2.0, 0.85),
        ("monthly", 2.0, 0.35),
        ("daily", 1.0, 0.42),
        ("weekly", 1.0, 0.27),
    ],
)
def test_a_lasting_change_is_found_within_120_days(class_name, schedule, step, power):
    found, delays = [], []
    for cohort in cohorts(class_name, schedule, step=step):
        after = cohort.days >= CHANGE_DAY
        above = cohort.verdicts.anomaly[after] & (cohort.verdicts.deviation[after] > 0)
        found.extend(above.any(axis=0))
        delays.extend(cohort.days[after][above.argmax(axis=0)][above.any(axis=0)] - CHANGE_DAY)
    assert np.mean(found) >= power
    if step == 2.0 and schedule != "monthly":
        assert np.median(delays) <= {"daily": 25, "weekly": 45}[schedule]


@CLASSES
@SCHEDULES
def test_z_of_stable_subjects_has_about_unit_spread(class_name, schedule):
    z = np.concatenate([cohort.verdicts.z[-1] for cohort in cohorts(class_name, schedule)])
    assert 0.80 <= z.std() <= 1.05
    assert np.mean(np.abs(z) > 2) <= 0.05


@CLASSES
@SCHEDULES
def test_intervals_cover_the_truth(class_name, schedule):
    within_latest, within_baseline = [], []
    for cohort in cohorts(class_name, schedule):
        low, high = cohort.bands.latest
        within_latest.append(((low <= cohort.level) & (cohort.level <= high))[3:])
        low, high = cohort.bands.baseline
        within_baseline.append(((low <= cohort.norm) & (cohort.norm <= high))[1:])
    assert 0.88 <= np.mean(within_latest) <= 0.96
    assert np.mean(within_baseline) >= 0.90


@CLASSES
def test_the_estimates_beat_raw_readings_and_plain_means(class_name):
    raw, latest, plain, baseline = [], [], [], []
    for cohort in cohorts(class_name, "weekly"):
        raw.append(cohort.readings - cohort.level)
        latest.append(score_of(cohort.estimates.level, OFFSET) - cohort.level)
        counts = np.arange(1, len(cohort.days) + 1)[:, None]
        plain.append((np.cumsum(cohort.readings, axis=0) / counts - cohort.norm)[1:5])
        baseline.append((score_of(cohort.estimates.trait, OFFSET) - cohort.norm)[1:5])

    def rms(errors: list[Array]) -> float:
        return float(np.sqrt(np.mean(np.square(errors))))

    assert rms(latest) <= {"fast": 0.78, "slow": 0.65}[class_name] * rms(raw)
    assert rms(baseline) <= 0.95 * rms(plain)


@pytest.mark.parametrize("schedule", ["daily", "weekly"])
def test_one_outlier_does_not_alarm_a_slow_sign(schedule):
    that_day, later = [], []
    for cohort in cohorts("slow", schedule, outlier=5.0):
        hit = np.searchsorted(cohort.days, CHANGE_DAY)
        soon = (cohort.days > cohort.days[hit]) & (cohort.days <= cohort.days[hit] + 35)
        that_day.extend(cohort.verdicts.anomaly[hit])
        later.extend(cohort.verdicts.anomaly[soon].any(axis=0))
    assert np.mean(that_day) <= 0.03
    assert np.mean(later) <= 0.06


def test_the_recursion_is_dense_gaussian_conditioning():
    """With no fading, no clipping and the personal scale held at 1, the filter is exact."""
    generator = np.random.default_rng(3)
    n = 40
    days = np.sort(generator.uniform(0, 270, n))
    factors = generator.uniform(0.6, 5, n)
    values = generator.normal(-1, 0.8, n)
    sign_class = PARAMETERS.classes["fast"].model_copy(update={"trait_half_life_days": 1e12})
    open_scale = PersonalScaleRule(prior_readings=12, innovation_clip=1e9, clip_correction=1.0229, range=(1.0, 1.0))

    apart = np.abs(days[:, None] - days)
    state = sign_class.state_variance * np.exp(-apart / sign_class.state_days)
    shift = sign_class.shift_variance * np.exp(-apart / sign_class.shift_days)
    prior = sign_class.trait_variance * PARAMETERS.prior.trait_widening
    covariance = prior + state + shift + np.diag(sign_class.reading_variance * factors)
    weights = np.linalg.solve(covariance, values - sign_class.trait_mean)
    trait_variance = prior - prior**2 * np.linalg.solve(covariance, np.ones(n)).sum()

    steps, _ = gain_steps(days.tolist(), factors.tolist(), sign_class, PARAMETERS.prior)
    estimates = estimate(values[:, None], steps, sign_class.trait_mean, open_scale)
    assert estimates.trait[-1, 0] == pytest.approx(sign_class.trait_mean + prior * weights.sum(), abs=1e-9)
    assert estimates.state[-1, 0] == pytest.approx(state[-1] @ weights, abs=1e-9)
    assert estimates.shift[-1, 0] == pytest.approx(shift[-1] @ weights, abs=1e-9)
    assert steps[-1].trait_variance == pytest.approx(trait_variance, abs=1e-9)


@CLASSES
def test_null_variances_are_what_unchanged_subjects_scatter_by(class_name):
    """Exact, by linearity: the estimate is a linear map of the readings, whose null covariance is known."""
    generator = np.random.default_rng(4)
    n = 40
    days = np.sort(generator.uniform(0, 270, n))
    factors = generator.uniform(0.6, 5, n)
    sign_class = PARAMETERS.classes[class_name]
    open_scale = PersonalScaleRule(prior_readings=12, innovation_clip=1e9, clip_correction=1.0229, range=(1.0, 1.0))
    steps, _ = gain_steps(days.tolist(), factors.tolist(), sign_class, PARAMETERS.prior)
    unit = estimate(np.eye(n), steps, 0.0, open_scale)  # column k: weight of reading k

    apart = np.abs(days[:, None] - days)
    wander = PARAMETERS.prior.natural_wander * sign_class.shift_variance
    null = (
        sign_class.trait_variance * PARAMETERS.prior.trait_widening
        + sign_class.state_variance * np.exp(-apart / sign_class.state_days)
        + wander * np.exp(-apart / sign_class.shift_days)
        + np.diag(sign_class.reading_variance * factors)
    )
    for k in (0, 1, 5, n - 1):
        deviation, shift = (unit.state + unit.shift)[k], unit.shift[k]
        assert steps[k].null_deviation_variance == pytest.approx(deviation @ null @ deviation, rel=1e-9)
        assert steps[k].null_shift_variance == pytest.approx(shift @ null @ shift, rel=1e-9)
