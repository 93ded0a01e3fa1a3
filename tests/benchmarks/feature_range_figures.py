"""False alarms and power of own ranges of vocal features: `python tests/benchmarks/feature_range_figures.py`.

People are simulated on each feature's own scale: a state that fades within days has a share of the variance as
measured, and readings have heavy tails (t with 6 degrees of freedom). The method is not told their variance.
"""

from datetime import UTC, datetime, timedelta
from math import exp, log, sqrt

import numpy as np

from vbdesk.longitudinal.feature_ranges import FeatureReading, own_ranges
from vbdesk.longitudinal.feature_scales import shipped_feature_scales

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
STATE_SHARE, STATE_DAYS, TAILS = 0.54, 4.0, 6
BURN_IN_DAYS = 60.0
SETTLED = 21  # weekly recordings before a change


def person(generator, feature, weeks, *, variance=1.0, gap_days=7.0, level=None, change=lambda week: 0.0):
    """Readings of one person; `variance` is a multiple of the usual one, `change` on the feature's own scale."""
    scale = shipped_feature_scales().feature[feature]
    norm = generator.normal(scale.mean, sqrt(scale.between_variance) / 2) if level is None else scale.transform(level)
    within = variance * scale.within_variance
    memory, state, readings = exp(-gap_days / STATE_DAYS), generator.normal(), []
    for k in range(weeks):
        state = memory * state + sqrt(1 - memory**2) * generator.normal()
        noise = generator.standard_t(TAILS) * sqrt((TAILS - 2) / TAILS)
        value = norm + sqrt(within) * (sqrt(STATE_SHARE) * state + sqrt(1 - STATE_SHARE) * noise) + change(k)
        moment = START + timedelta(days=gap_days * k)
        readings.append(FeatureReading(f"{k:04d}", moment, scale.restore(value), scale.unit, "2.0.0", 50.0, 60.0, 80.0))
    return readings


def false_alarms(feature, variance, *, people, gap_days=7.0, seed=1):
    """Episodes a year of unchanged people, and the share of their recordings outside the range, after day 60."""
    generator, episodes, years, outside, count = np.random.default_rng(seed), 0, 0.0, 0, 0
    for _ in range(people):
        readings = person(generator, feature, int(365 / gap_days), variance=variance, gap_days=gap_days)
        before = False
        for job_id, found in own_ranges(feature, readings).items():
            if int(job_id) * gap_days < BURN_IN_DAYS:
                continue
            episodes += found.changed and not before
            before = found.changed
            outside += found.position != "within"
            count += 1
        years += (365 - BURN_IN_DAYS) / 365
    return episodes / years, outside / count


def power(feature, change, *, held, variance=1.0, level=None, people=100, seed=2):
    """Share of changes that are found while they last, after 21 weekly recordings."""
    generator, found = np.random.default_rng(seed), 0
    for _ in range(people):
        readings = person(
            generator,
            feature,
            SETTLED + held,
            variance=variance,
            level=level,
            change=lambda week: change if week >= SETTLED else 0.0,
        )
        ranges = own_ranges(feature, readings)
        found += any(ranges[reading.job_id].changed for reading in readings[SETTLED:])
    return found / people


def main():
    """Print the tables of the method page."""
    print("| feature | schedule | usual variance times | false episodes a year | recordings outside the range |")
    for feature in ("pitch_mean", "speech_rate", "pause_ratio"):
        for name, gap in (("weekly", 7.0), ("monthly", 30.0)):
            for variance in (0.4, 1.0, 3.0):
                episodes, outside = false_alarms(feature, variance, people=200, gap_days=gap)
                print(f"| {feature} | {name} | {variance} | {episodes:.3f} | {outside:.3f} |")
    print("| change | usual variance times | held for 4 recordings | held for 12 |")
    rate = 3.9
    for feature, words, change, level in (
        ("pitch_mean", "pitch +15 %", log(1.15), 120.0),
        ("speech_rate", "tempo -25 %", -0.25 * rate, rate),
        ("pause_ratio", "pauses twice as long", log(2.0), 12.0),
    ):
        for variance in (0.4, 1.0):
            four, twelve = (power(feature, change, held=held, variance=variance, level=level) for held in (4, 12))
            print(f"| {words} | {variance} | {four:.2f} | {twelve:.2f} |")


if __name__ == "__main__":
    main()
