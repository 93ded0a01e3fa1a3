"""Scales of vocal features for own ranges: the norms' scales with the variances of persons in several sessions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tomli_w

from vbdesk.lab.checked_file import write_checked
from vbdesk.lab.norms.spread import significant
from vbdesk.lab.variability.fit import FEWEST_RECORDINGS
from vbdesk.longitudinal.feature_ranges import FeatureReading
from vbdesk.longitudinal.feature_scales import (
    FeatureScale,
    FeatureScales,
    read_feature_scales,
    shipped_feature_scales,
)
from vbdesk.longitudinal.parameters import Parameters, shipped_parameters
from vbdesk.longitudinal.variance_factors import quality_factors
from vbdesk.longitudinal.variance_prior import NOBODY, VarianceEstimate, fit_variance_prior
from vbdesk.signs.norms import Norms

DIGITS = 3
_HEADER = (
    "# Scales and usual variances of vocal features within a person, as vbdesk norms variability writes them.\n"
    "# Variances are squared units of the scale: of the natural logarithm, or of the unit itself.\n"
)


def fit_within_variance(
    people: Mapping[str, Sequence[FeatureReading]], scale: FeatureScale, parameters: Parameters, state_share: float
) -> tuple[float, int] | None:
    """Median over people of the variance of one reference recording, and the number of people; None without any.

    The estimates are divided by the variance between readers: the fit searches on one grid for every feature.

    Args:
        people: readings by person, of different sessions.
        scale: how values are transformed, and the variance between readers.
        parameters: quality rule.
        state_share: share of the variance that the quality of a recording does not change.
    """
    estimates = []
    for readings in people.values():
        factors = quality_factors(readings, parameters.quality)
        pairs = [
            (value, factor)
            for reading, factor in zip(readings, factors.tolist(), strict=True)
            if (value := scale.transform(reading.value)) is not None and factor <= parameters.quality.usable_factor
        ]
        if len(pairs) < FEWEST_RECORDINGS:
            continue
        values, kept = np.array(pairs).T
        weights = 1.0 / (state_share + (1.0 - state_share) * kept)
        mean = float(np.average(values, weights=weights))
        df = len(values) - 1
        variance = float(weights @ (values - mean) ** 2) / df / scale.between_variance
        if variance > 0.0:
            estimates.append(VarianceEstimate(variance, df))
    if not estimates:
        return None
    return fit_variance_prior(estimates).median * scale.between_variance, len(estimates)


def fit_feature_scales(
    people: Mapping[str, Sequence[Mapping[str, FeatureReading]]], norms: Norms, record: Mapping[str, str | int | float]
) -> FeatureScales:
    """Scales with variances that were measured on `people`; rules and class are the shipped ones.

    Args:
        people: readings by feature of each recording, by person.
        norms: scale of each feature, and the variance between readers.
        record: what the recordings are.

    Raises:
        ValueError: nobody has two usable recordings.
    """
    shipped, parameters = shipped_feature_scales(), shipped_parameters()
    sign_class = parameters.classes[shipped.sign_class]
    state_share = sign_class.state_variance / sign_class.within_variance
    fitted = {}
    for name, norm in norms.features.items():
        scale = FeatureScale(
            scale=norm.scale,
            unit=norm.unit,
            floor=norm.floor,
            ceiling=norm.ceiling,
            mean=significant(norm.mixed.t_mean, DIGITS),
            between_variance=significant(norm.mixed.t_sd**2, DIGITS),
            within_variance=significant(norm.mixed.t_sd**2, DIGITS),
            estimates=1,
        )
        readings = {person: [one[name] for one in recordings if name in one] for person, recordings in people.items()}
        found = fit_within_variance(readings, scale, parameters, state_share)
        if found is not None:
            update = {"within_variance": significant(found[0], DIGITS), "estimates": found[1]}
            fitted[name] = scale.model_copy(update=update)
    if not fitted:
        raise ValueError(NOBODY)
    return shipped.model_copy(update={"fit": dict(record), "feature": fitted})


def write_feature_scales(scales: FeatureScales, path: Path) -> None:
    """Write a file of scales atomically, after checking that it can be read.

    Raises:
        DataFileError: the file is not valid, which is a bug.
        OSError: it cannot be written.
    """
    text = tomli_w.dumps(scales.model_dump(mode="json", exclude_none=True))
    write_checked(path, f"{_HEADER}\n{text}", read_feature_scales)
