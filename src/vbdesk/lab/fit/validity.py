"""Validity of a fitted sign: discrimination, calibration, retest, drift and leakage."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from vbdesk.contract.levels import Level
from vbdesk.lab.fit.bootstrap import IntervalEstimate, auc, bootstrap_interval, intraclass_correlation, slope
from vbdesk.lab.fit.regression import FittedWeights
from vbdesk.lab.fit.rules import BootstrapRules, CalibrationRules, FittingRules
from vbdesk.lab.fit.study import Floats, Ints, Study

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


CHANCE = 0.5
DAYS_PER_STEP = 30.0
CLARITY_PER_STEP = 10.0
FEWEST_FOR_DRIFT = 10  # recordings with a known date or clarity
FEWEST_FOR_RETEST = 3  # speakers with repeats


@dataclass(frozen=True, slots=True)
class IndexScale:
    """Reference mean and SD of the model's output, and the cut-points of the index.

    Attributes:
        index: shape (n,), cross-validated index of each recording.
    """

    mean: float
    sd: float
    cuts: Mapping[Level, float]
    index: Floats


@dataclass(frozen=True, slots=True)
class MeasuredRates:
    """Share of recordings at or above a level, by label."""

    without_label: float
    with_label: float


@dataclass(frozen=True, slots=True)
class Drift:
    """Dependence of the index on other variables than the label, in reference SD; None if unknown.

    Attributes:
        per_30_days: slope over the recording date; `per_10_clarity` over audio clarity, 0 to 100.
        by_sample_rate: (Hz, recordings, mean index after subtracting the mean of the label).
    """

    per_30_days: IntervalEstimate | None
    per_10_clarity: IntervalEstimate | None
    by_sample_rate: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True, slots=True)
class Retest:
    """Agreement of repeats of one speaker with one label.

    Attributes:
        between_sessions: ICC of the session means; None if no speaker has two sessions.
    """

    speakers: int
    recordings: int
    icc: IntervalEstimate
    between_sessions: IntervalEstimate | None


@dataclass(frozen=True, slots=True)
class Validity:
    """All validity figures of the card.

    Attributes:
        leakage: AUC of each property of the recording; 0.5 means no leakage.
    """

    auc: IntervalEstimate
    rates: Mapping[Level, MeasuredRates]
    calibration: CalibrationReport
    retest: Retest | None
    drift: Drift
    leakage: Mapping[str, IntervalEstimate]

    @property
    def has_signal(self) -> bool:
        """Whether the labels are separated better than by chance."""
        return self.auc.low is not None and self.auc.low > CHANCE


def assess_validity(study: Study, fitted: FittedWeights, scale: IndexScale, rules: FittingRules) -> Validity:
    """Measure the validity of the cross-validated index."""
    bootstrap = rules.bootstrap
    return Validity(
        auc=cross_validated_auc(scale.index, study, bootstrap),
        rates=_rates(study, scale),
        calibration=calibrate_probabilities(scale.index, study.labels, fitted.folds, rules.calibration),
        retest=_retest(study, scale.index, bootstrap),
        drift=_drift(study, scale.index, bootstrap),
        leakage=_leakage(study, bootstrap),
    )


def cross_validated_auc(scores: Floats, study: Study, rules: BootstrapRules) -> IntervalEstimate:
    """AUC of cross-validated `scores`, shape (n,); the interval is widened because folds share training data.

    Raises:
        ValueError: the study lacks one of the labels.
    """
    area = _auc(scores, study, rules)
    if area is None:
        raise ValueError("a study has both labels")
    if area.low is None or area.high is None:
        return area
    factor = rules.cross_validation_widening
    low, high = (area.value + factor * (end - area.value) for end in (area.low, area.high))
    return IntervalEstimate(area.value, max(low, 0.0), min(high, 1.0))


def _auc(scores: Floats, study: Study, rules: BootstrapRules) -> IntervalEstimate | None:
    return bootstrap_interval(lambda weights: auc(scores, study.labels, weights), study.speakers, rules)


def _rates(study: Study, scale: IndexScale) -> dict[Level, MeasuredRates]:
    def share(label: int, cut: float) -> float:
        own = study.labels == label
        return float(np.average(scale.index[own] >= cut, weights=study.weights[own]))

    return {level: MeasuredRates(share(0, cut), share(1, cut)) for level, cut in scale.cuts.items()}


def _retest(study: Study, index: Floats, rules: BootstrapRules) -> Retest | None:
    """Compare repeats of a speaker with the same label; a change of label should change the index."""
    subjects = np.unique(2 * study.speakers + study.labels, return_inverse=True)[1]
    repeats = np.bincount(subjects)
    speakers = int(np.count_nonzero(repeats > 1))
    if speakers < FEWEST_FOR_RETEST:
        return None
    icc = bootstrap_interval(lambda weights: intraclass_correlation(index, subjects, weights), study.speakers, rules)
    if icc is None:
        return None
    return Retest(speakers, int(repeats[repeats > 1].sum()), icc, _between_sessions(study, index, rules))


def _between_sessions(study: Study, index: Floats, rules: BootstrapRules) -> IntervalEstimate | None:
    if study.sessions is None:
        return None
    keys = np.stack([study.speakers, study.labels, study.sessions], axis=1)
    sessions, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.reshape(-1)
    means = np.bincount(place, index) / np.bincount(place)
    subjects = np.unique(2 * sessions[:, 0] + sessions[:, 1], return_inverse=True)[1]
    if np.count_nonzero(np.bincount(subjects) > 1) < FEWEST_FOR_RETEST:
        return None
    return bootstrap_interval(lambda weights: intraclass_correlation(means, subjects, weights), sessions[:, 0], rules)


def _drift(study: Study, index: Floats, rules: BootstrapRules) -> Drift:
    own_mean = np.array([index[study.labels == label].mean() for label in (0, 1)])
    residual = index - own_mean[study.labels]

    def along(x: Floats) -> IntervalEstimate | None:
        known = np.isfinite(x)
        if np.count_nonzero(known) < FEWEST_FOR_DRIFT:
            return None
        return bootstrap_interval(
            lambda weights: slope(x[known], residual[known], weights[known]), study.speakers, rules
        )

    rates = [
        (int(rate), int(np.count_nonzero(own)), float(residual[own].mean()))
        for rate in np.unique(study.sample_rates)
        for own in [study.sample_rates == rate]
    ]
    return Drift(along(study.days / DAYS_PER_STEP), along(study.clarity / CLARITY_PER_STEP), tuple(rates))


def _leakage(study: Study, rules: BootstrapRules) -> dict[str, IntervalEstimate]:
    """How well properties of the recording, other than the voice, separate the labels; 0.5 means not at all."""
    found = {
        "audio clarity": study.clarity,
        "sample rate": study.sample_rates,
        "seconds of speech": study.speech_s,
        "date of recording": study.days,
    }
    if study.clips is not None:
        found["number of joined clips"] = study.clips.astype(np.float64)
    areas = {name: _auc(values, study, rules) for name, values in found.items() if np.isfinite(values).all()}
    return {name: area for name, area in areas.items() if area is not None}
