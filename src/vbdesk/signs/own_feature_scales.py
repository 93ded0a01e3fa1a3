"""Scales of vocal features for own ranges: the norms' scales with the variances of persons in several sessions."""

from collections.abc import Mapping, Sequence

from vbdesk.longitudinal.feature_ranges import FeatureReading
from vbdesk.longitudinal.feature_scales import FeatureScale, FeatureScales, shipped_feature_scales
from vbdesk.longitudinal.feature_variability_fit import fit_within_variance
from vbdesk.longitudinal.parameters import shipped_parameters
from vbdesk.signs.norms import Norms

_DIGITS = 3


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
            mean=_rounded(norm.mixed.t_mean),
            between_variance=_rounded(norm.mixed.t_sd**2),
            within_variance=_rounded(norm.mixed.t_sd**2),
            estimates=1,
        )
        readings = {person: [one[name] for one in recordings if name in one] for person, recordings in people.items()}
        found = fit_within_variance(readings, scale, parameters, state_share)
        if found is not None:
            update = {"within_variance": _rounded(found[0]), "estimates": found[1]}
            fitted[name] = scale.model_copy(update=update)
    if not fitted:
        raise ValueError("Nobody has two usable recordings; add recordings of other sessions.")
    return shipped.model_copy(update={"fit": dict(record), "feature": fitted})


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
