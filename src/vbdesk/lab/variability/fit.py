"""How much a healthy person's readings vary: the priors of the method, fitted on people with several sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vbdesk.longitudinal.filtered_series import score_array
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.longitudinal.scale import Array, started_logit
from vbdesk.longitudinal.student_t import normal_quantile
from vbdesk.longitudinal.variance_factors import quality_factors
from vbdesk.longitudinal.variance_prior import NOBODY, VarianceEstimate, VariancePrior, fit_variance_prior

FEWEST_RECORDINGS = 2
STATE_SHARES = (0.05, 0.95)


@dataclass(frozen=True, slots=True)
class ClassVariability:
    """Fitted numbers of one class of signs.

    Attributes:
        prior: the variance of one reference recording within a person.
        pooled_variance: mean of the personal variances, weighted by their recordings.
        trait_mean: mean over people and signs of their mean readings.
        trait_variance: variance of those means.
        interval_variance: usual variance of a score's own interval in a reference recording.
    """

    prior: VariancePrior
    pooled_variance: float
    trait_mean: float
    trait_variance: float
    interval_variance: float


@dataclass(frozen=True, slots=True)
class Variability:
    """What was fitted.

    Attributes:
        classes: by class of signs.
        state_share: share of the variance within a person that a session has in common, over the signs of all classes:
            a few people are not enough to separate the classes. None without halves of recordings.
        interval_variance: usual variance of a score's own interval in a reference recording, by sign.
    """

    classes: Mapping[str, ClassVariability]
    state_share: float | None
    interval_variance: Mapping[str, float]


def fit_variability(
    people: Mapping[str, Sequence[HistoryEntry]],
    halves: Sequence[tuple[HistoryEntry, HistoryEntry]],
    parameters: Parameters,
) -> Variability:
    """Fit the variability of healthy people.

    Args:
        people: recordings by person, of different sessions.
        halves: first and second half of single recordings: what differs between them is reading, not state.
        parameters: scale, quality rule and classes of signs.

    Raises:
        ValueError: nobody has two usable recordings.
    """
    signs = sorted({sign for entries in people.values() for entry in entries for sign in entry.signs})
    interval_variance = {
        sign: float(np.median(found)) for sign in signs if len(found := _interval_variances(people, sign, parameters))
    }
    classes = {}
    for name in parameters.classes:
        members = [sign for sign in signs if parameters.class_name(sign) == name]
        if members:
            own = [interval_variance[sign] for sign in members if sign in interval_variance]
            classes[name] = _fit_class(people, members, float(np.median(own)) if own else None, parameters)
    if not classes:
        raise ValueError(NOBODY)
    return Variability(classes, _state_share(people, halves, signs, parameters), interval_variance)


def _fit_class(
    people: Mapping[str, Sequence[HistoryEntry]],
    signs: Sequence[str],
    interval_variance: float | None,
    parameters: Parameters,
) -> ClassVariability:
    sign_class = parameters.class_of(signs[0])
    estimates, means = _personal_variances(people, signs, parameters)
    prior = fit_variance_prior(estimates)
    return ClassVariability(
        prior=prior,
        pooled_variance=_pooled(estimates),
        trait_mean=float(np.mean(means)),
        trait_variance=float(np.var(means, ddof=1)) if len(means) > 1 else sign_class.trait_variance,
        interval_variance=sign_class.reading_variance if interval_variance is None else interval_variance,
    )


def _personal_variances(
    people: Mapping[str, Sequence[HistoryEntry]], signs: Sequence[str], parameters: Parameters
) -> tuple[list[VarianceEstimate], list[float]]:
    """Variance and mean of each person's readings of each sign, of one reference recording."""
    estimates, means = [], []
    for entries in people.values():
        for sign in signs:
            values, factors = _values(entries, sign, parameters)
            if len(values) >= FEWEST_RECORDINGS:
                sign_class = parameters.class_of(sign)
                share = sign_class.state_variance / sign_class.within_variance
                weights = 1.0 / (share + (1.0 - share) * factors)
                mean = float(np.average(values, weights=weights))
                df = len(values) - 1
                estimates.append(VarianceEstimate(float(weights @ (values - mean) ** 2) / df, df))
                means.append(mean)
    return estimates, means


def _pooled(estimates: Sequence[VarianceEstimate]) -> float:
    return sum(one.variance * one.df for one in estimates) / sum(one.df for one in estimates)


def _state_share(
    people: Mapping[str, Sequence[HistoryEntry]],
    halves: Sequence[tuple[HistoryEntry, HistoryEntry]],
    signs: Sequence[str],
    parameters: Parameters,
) -> float | None:
    """Share of the variance that does not show between the halves of one recording."""
    squares = []
    for pair in halves:
        for sign in signs:
            values, factors = _values(pair, sign, parameters)
            if len(values) == len(pair):
                squares.append(float((values[0] - values[1]) ** 2 / factors.sum()))
    if not squares:
        return None
    pooled = _pooled(_personal_variances(people, signs, parameters)[0])
    return float(np.clip(1.0 - np.mean(squares) / pooled, *STATE_SHARES))


def _values(entries: Sequence[HistoryEntry], sign: str, parameters: Parameters) -> tuple[Array, Array]:
    """Readings on the started logit with their quality factors; unusable recordings are left out."""
    factors = quality_factors(entries, parameters.quality)
    scores = score_array([entry.signs.get(sign) for entry in entries])
    kept = np.isfinite(scores) & (factors <= parameters.quality.usable_factor)
    return started_logit(scores[kept], parameters.scale.offset), factors[kept]


def _interval_variances(people: Mapping[str, Sequence[HistoryEntry]], sign: str, parameters: Parameters) -> list[float]:
    """Variances of the intervals of `sign` over those of a recording of that quality."""
    half_width = 2.0 * normal_quantile(parameters.quality.score_interval_level)
    found = []
    for entries in people.values():
        factors = quality_factors(entries, parameters.quality) if entries else np.empty(0)
        for entry, factor in zip(entries, factors.tolist(), strict=True):
            reading: SignReading | None = entry.signs.get(sign)
            if reading is not None and reading.interval is not None and factor <= parameters.quality.usable_factor:
                low, high = started_logit(np.array(reading.interval), parameters.scale.offset).tolist()
                found.append(((high - low) / half_width) ** 2 / factor)
    return found
