"""Bootstrap intervals over speakers, because recordings of one speaker are not independent."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vbdesk.lab.fit.rules import BootstrapRules
from vbdesk.lab.fit.study import Floats, Ints

Statistic = Callable[[Floats], float]
"""Statistic of the recordings for given weights; NaN if undefined."""

FEWEST_DRAWS_SHARE = 0.8  # of draws that must give a number


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A value with its interval; the limits are None if unknown."""

    value: float
    low: float | None
    high: float | None

    def excludes(self, value: float) -> bool:
        """Whether `value` lies outside the interval."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


def bootstrap_interval(statistic: Statistic, speakers: Ints, rules: BootstrapRules) -> IntervalEstimate | None:
    """Compute `statistic` with its percentile interval over resampled speakers; None if it is undefined."""
    value = statistic(np.ones(speakers.size))
    if not np.isfinite(value):
        return None
    random = np.random.default_rng(rules.seed)
    count = int(speakers.max()) + 1
    drawn = []
    for _ in range(rules.draws):
        times = np.bincount(random.integers(count, size=count), minlength=count).astype(np.float64)
        drawn.append(statistic(times[speakers]))
    known = np.array(drawn)[np.isfinite(drawn)]
    if known.size < FEWEST_DRAWS_SHARE * rules.draws:
        return IntervalEstimate(value, None, None)
    tail = (1 - rules.interval) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return IntervalEstimate(value, float(low), float(high))


def auc(scores: Floats, labels: Ints, weights: Floats) -> float:
    """Area under the ROC curve; ties count half. NaN if one of the labels has no weight."""
    _, place = np.unique(scores, return_inverse=True)
    with_label = np.bincount(place, weights * labels)
    without = np.bincount(place, weights * (1 - labels))
    pairs = with_label.sum() * without.sum()
    if pairs == 0:
        return float("nan")
    below = np.cumsum(without) - without
    return float((with_label * (below + without / 2)).sum() / pairs)


def correlation(scores: Floats, labels: Ints, weights: Floats) -> float:
    """Weighted correlation of scores with the label (point-biserial); NaN if one of the two does not vary."""
    along = slope(labels.astype(np.float64), scores, weights)
    back = slope(scores, labels.astype(np.float64), weights)
    return float(np.sign(along) * np.sqrt(along * back)) if np.isfinite(along * back) else float("nan")


def slope(x: Floats, y: Floats, weights: Floats) -> float:
    """Slope of the weighted least-squares line; NaN if `x` does not vary."""
    total = weights.sum()
    if total == 0:
        return float("nan")
    x_mean, y_mean = (weights * x).sum() / total, (weights * y).sum() / total
    spread = (weights * (x - x_mean) ** 2).sum()
    return float((weights * (x - x_mean) * (y - y_mean)).sum() / spread) if spread > 1e-12 else float("nan")


def intraclass_correlation(values: Floats, subjects: Ints, weights: Floats) -> float:
    """ICC(1) of one-way analysis of variance with unequal numbers of repeats (Shrout and Fleiss 1979; Donner 1986).

    Args:
        values: one per recording.
        subjects: subject numbers from 0; subjects with one recording are left out.
        weights: weight of the subject, the same for all its recordings.
    """
    repeats = np.bincount(subjects)
    kept = repeats[subjects] > 1
    if not kept.any():
        return float("nan")
    subjects = np.unique(subjects[kept], return_inverse=True)[1]
    values, weights = values[kept], weights[kept]
    n = np.bincount(subjects).astype(np.float64)
    times = np.bincount(subjects, weights) / n
    means = np.bincount(subjects, values) / n
    within_squares = np.bincount(subjects, (values - means[subjects]) ** 2)
    count, recordings = times.sum(), (times * n).sum()
    if count < 2 or recordings <= count:
        return float("nan")
    grand = (times * n * means).sum() / recordings
    between = (times * n * (means - grand) ** 2).sum() / (count - 1)
    within = (times * within_squares).sum() / (recordings - count)
    usual = (recordings - (times * n**2).sum() / recordings) / (count - 1)
    variance = between + (usual - 1) * within
    return float((between - within) / variance) if variance > 0 else float("nan")
