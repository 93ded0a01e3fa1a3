"""How good a fitted sign is, and what else might have been heard instead of it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vbdesk.contract.levels import Level
from vbdesk.signs.fit.calibrating import CalibrationReport, calibrate
from vbdesk.signs.fit.regression import Fitted
from vbdesk.signs.fit.resampling import Estimate, auc, estimate, intraclass_correlation, slope
from vbdesk.signs.fit.rules import BootstrapRules, FittingRules
from vbdesk.signs.fit.study import Floats, Study

CHANCE = 0.5
DAYS_PER_STEP = 30.0
CLARITY_PER_STEP = 10.0
FEWEST_FOR_DRIFT = 10  # recordings with a known date or clarity
FEWEST_FOR_RETEST = 3  # speakers with repeats


@dataclass(frozen=True, slots=True)
class Scale:
    """The index: reference mean and SD of the model's output, and the cut-points upon it.

    Attributes:
        index: shape (n,), of each recording by a model that did not know its speaker.
    """

    mean: float
    sd: float
    cuts: Mapping[Level, float]
    index: Floats


@dataclass(frozen=True, slots=True)
class LevelRates:
    """Share of recordings at or above a level, by label."""

    without_label: float
    with_label: float


@dataclass(frozen=True, slots=True)
class Drift:
    """What moves the index besides the label, in reference SD; None where the table does not tell.

    Attributes:
        per_30_days: slope over the date of the recording; `per_10_clarity` over audio clarity, 0 to 100.
        by_sample_rate: (Hz, recordings, mean index, the label's own mean taken off).
    """

    per_30_days: Estimate | None
    per_10_clarity: Estimate | None
    by_sample_rate: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True, slots=True)
class Retest:
    """Agreement of repeats of one speaker with one label.

    Attributes:
        between_sessions: of the means of sessions; None when the table names no two of one speaker.
    """

    speakers: int
    recordings: int
    icc: Estimate
    between_sessions: Estimate | None


@dataclass(frozen=True, slots=True)
class Validity:
    """Everything that the card tells."""

    auc: Estimate
    rates: Mapping[Level, LevelRates]
    calibration: CalibrationReport
    retest: Retest | None
    drift: Drift
    give_aways: Mapping[str, Estimate]

    @property
    def has_signal(self) -> bool:
        """Whether the labels can be told apart at all."""
        return self.auc.low is not None and self.auc.low > CHANCE


def assess_validity(study: Study, fitted: Fitted, scale: Scale, rules: FittingRules) -> Validity:
    """Judge the index of recordings by models that did not know their speakers."""
    bootstrap = rules.bootstrap
    return Validity(
        auc=cross_validated_auc(scale.index, study, bootstrap),
        rates=_rates(study, scale),
        calibration=calibrate(scale.index, study.labels, fitted.folds, rules.calibration),
        retest=_retest(study, scale.index, bootstrap),
        drift=_drift(study, scale.index, bootstrap),
        give_aways=_give_aways(study, bootstrap),
    )


def cross_validated_auc(scores: Floats, study: Study, rules: BootstrapRules) -> Estimate:
    """AUC of `scores`, shape (n,), of models that did not know the speaker; its interval widened for folds that share.

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
    return Estimate(area.value, max(low, 0.0), min(high, 1.0))


def _auc(scores: Floats, study: Study, rules: BootstrapRules) -> Estimate | None:
    return estimate(lambda weights: auc(scores, study.labels, weights), study.speakers, rules)


def _rates(study: Study, scale: Scale) -> dict[Level, LevelRates]:
    def share(label: int, cut: float) -> float:
        own = study.labels == label
        return float(np.average(scale.index[own] >= cut, weights=study.weights[own]))

    return {level: LevelRates(share(0, cut), share(1, cut)) for level, cut in scale.cuts.items()}


def _retest(study: Study, index: Floats, rules: BootstrapRules) -> Retest | None:
    """Repeats are those with the same label: where the label changes, the index is meant to."""
    subjects = np.unique(2 * study.speakers + study.labels, return_inverse=True)[1]
    repeats = np.bincount(subjects)
    speakers = int(np.count_nonzero(repeats > 1))
    if speakers < FEWEST_FOR_RETEST:
        return None
    icc = estimate(lambda weights: intraclass_correlation(index, subjects, weights), study.speakers, rules)
    if icc is None:
        return None
    return Retest(speakers, int(repeats[repeats > 1].sum()), icc, _between_sessions(study, index, rules))


def _between_sessions(study: Study, index: Floats, rules: BootstrapRules) -> Estimate | None:
    if study.sessions is None:
        return None
    keys = np.stack([study.speakers, study.labels, study.sessions], axis=1)
    sessions, place = np.unique(keys, axis=0, return_inverse=True)
    place = place.reshape(-1)
    means = np.bincount(place, index) / np.bincount(place)
    subjects = np.unique(2 * sessions[:, 0] + sessions[:, 1], return_inverse=True)[1]
    if np.count_nonzero(np.bincount(subjects) > 1) < FEWEST_FOR_RETEST:
        return None
    return estimate(lambda weights: intraclass_correlation(means, subjects, weights), sessions[:, 0], rules)


def _drift(study: Study, index: Floats, rules: BootstrapRules) -> Drift:
    own_mean = np.array([index[study.labels == label].mean() for label in (0, 1)])
    residual = index - own_mean[study.labels]

    def along(x: Floats) -> Estimate | None:
        known = np.isfinite(x)
        if np.count_nonzero(known) < FEWEST_FOR_DRIFT:
            return None
        return estimate(lambda weights: slope(x[known], residual[known], weights[known]), study.speakers, rules)

    rates = [
        (int(rate), int(np.count_nonzero(own)), float(residual[own].mean()))
        for rate in np.unique(study.sample_rates)
        for own in [study.sample_rates == rate]
    ]
    return Drift(along(study.days / DAYS_PER_STEP), along(study.clarity / CLARITY_PER_STEP), tuple(rates))


def _give_aways(study: Study, rules: BootstrapRules) -> dict[str, Estimate]:
    """How well the recording itself, and not the voice, tells the labels apart: 0.5 is as it should be."""
    found = {
        "audio clarity": study.clarity,
        "sample rate": study.sample_rates,
        "seconds of speech": study.speech_s,
        "date of recording": study.days,
    }
    areas = {name: _auc(values, study, rules) for name, values in found.items() if np.isfinite(values).all()}
    return {name: area for name, area in areas.items() if area is not None}
