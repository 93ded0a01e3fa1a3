"""Calibration of an index: the share of this study's recordings that have the label, by index."""

from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from vbdesk.lab.fit.rules import CalibrationRules
from vbdesk.lab.fit.study import Floats, Ints

NEARLY_UNPENALISED = 1e6
NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """One bin of the calibration curve: recordings of similar index.

    Attributes:
        n: number of recordings.
        predicted: mean predicted share; `observed` is the observed share, with its 95 % Wilson interval.
    """

    n: int
    predicted: float
    observed: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """Agreement of predicted and observed shares, for speakers outside the training folds.

    Attributes:
        method: `platt` or `isotonic`.
        brier: mean squared error; `brier_of_prevalence` is that of always predicting the prevalence.
        expected_error: mean distance of predicted and observed share over the bins (ECE).
        shares: (index, share) by the calibration on all recordings.
    """

    method: str
    brier: float
    brier_of_prevalence: float
    expected_error: float
    curve: tuple[CalibrationBin, ...]
    shares: tuple[tuple[float, float], ...]


def calibrate_probabilities(index: Floats, labels: Ints, folds: Ints, rules: CalibrationRules) -> CalibrationReport:
    """Calibrate `index`, shape (n,), fold by fold: no share is predicted from recordings of the same speaker."""
    method = "isotonic" if min(np.bincount(labels, minlength=2)) >= rules.isotonic_from else "platt"
    predicted = np.zeros(labels.size)
    for fold in np.unique(folds):
        test = folds == fold
        predicted[test] = _shares(method, index[~test], labels[~test], index[test])
    curve = _curve(predicted, labels, rules)
    prevalence = labels.mean()
    grid = np.arange(-2.0, 4.01, 1.0)
    return CalibrationReport(
        method=method,
        brier=float(np.mean((predicted - labels) ** 2)),
        brier_of_prevalence=float(prevalence * (1 - prevalence)),
        expected_error=float(sum(part.n * abs(part.predicted - part.observed) for part in curve) / labels.size),
        curve=curve,
        shares=tuple(zip(grid.tolist(), _shares(method, index, labels, grid).tolist(), strict=True)),
    )


def _shares(method: str, index: Floats, labels: Ints, at: Floats) -> Floats:
    if method == "isotonic":
        monotone = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(index, labels)
        return np.asarray(monotone.predict(at))
    platt = LogisticRegression(C=NEARLY_UNPENALISED).fit(index[:, None], labels)
    return np.asarray(platt.predict_proba(at[:, None])[:, 1])


def _curve(predicted: Floats, labels: Ints, rules: CalibrationRules) -> tuple[CalibrationBin, ...]:
    """Bins with equal numbers of recordings."""
    count = max(min(rules.bins, labels.size // rules.fewest_in_bin), 1)
    order = np.argsort(predicted, kind="stable")
    return tuple(_bin(predicted[part], labels[part]) for part in np.array_split(order, count))


def _bin(predicted: Floats, labels: Ints) -> CalibrationBin:
    n, observed = labels.size, float(labels.mean())
    spread = NORMAL_95**2 / n
    middle = (observed + spread / 2) / (1 + spread)
    half = NORMAL_95 / (1 + spread) * np.sqrt(observed * (1 - observed) / n + spread / (4 * n))
    low, high = max(float(middle - half), 0.0), min(float(middle + half), 1.0)
    return CalibrationBin(n, float(predicted.mean()), observed, low, high)
