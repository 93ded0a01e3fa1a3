"""How much a healthy person's vocal features vary: the priors of own ranges, fitted on people with several sessions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tomli_w

from vbdesk.longitudinal.feature_ranges import FeatureReading
from vbdesk.longitudinal.feature_scales import FeatureScale, FeatureScales, read_feature_scales
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.longitudinal.variability_fit import FEWEST_RECORDINGS, VarianceEstimate, fit_variance_prior
from vbdesk.longitudinal.variance_factors import quality_factors

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


def write_feature_scales(scales: FeatureScales, path: Path) -> None:
    """Write a file of scales atomically, after checking that it can be read.

    Raises:
        DataFileError: the file is not valid, which is a bug.
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(
            f"{_HEADER}\n{tomli_w.dumps(scales.model_dump(mode='json', exclude_none=True))}", encoding="utf-8"
        )
        read_feature_scales(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
