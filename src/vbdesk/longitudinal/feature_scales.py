"""Scales and usual variances of vocal features: `resources/longitudinal/features.toml`."""

import math
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vbdesk.data_files import StrictDataModel, read_data
from vbdesk.longitudinal.parameters import Positive
from vbdesk.resource_files import resource

_FARTHEST_SD = 50.0
"""SDs between readers; no voice is so far from their mean, but a faulty service can send any number."""


class FeatureScale(StrictDataModel):
    """One feature on the scale of the norms, where it is about normally distributed.

    Attributes:
        scale: `log` computes with the natural logarithm, `linear` with the value.
        unit: of the value; readings in another unit do not count.
        floor: smallest value that is measured; smaller ones are held to it. Only of `log`.
        ceiling: largest value.
        mean: of readers, transformed.
        between_variance: between readers.
        within_variance: median over people of the variance of one recording within a person.
        estimates: people behind `within_variance`.
    """

    scale: Literal["log", "linear"]
    unit: str
    floor: Positive | None = None
    ceiling: Positive | None = None
    mean: float
    between_variance: Positive
    within_variance: Positive
    estimates: Annotated[int, Field(ge=1)]

    def transform(self, value: float | None) -> float | None:
        """The value on its scale; None if it is missing, impossible, or if its logarithm does not exist."""
        if value is None or not math.isfinite(value):
            return None
        transformed = value if self.scale == "linear" else self._logarithm(value)
        if transformed is None or abs(transformed - self.mean) > _FARTHEST_SD * math.sqrt(self.between_variance):
            return None
        return transformed

    def _logarithm(self, value: float) -> float | None:
        held = value if self.floor is None else max(value, self.floor)
        held = held if self.ceiling is None else min(held, self.ceiling)
        return math.log(held) if held > 0.0 else None

    def restore(self, transformed: float) -> float:
        """Inverse of `transform`."""
        return transformed if self.scale == "linear" else math.exp(transformed)


class FeatureScales(StrictDataModel):
    """All features that can be compared with a person's own range.

    Attributes:
        fit: what the variances were measured on.
        min_earlier_days: days with earlier recordings before a range is shown.
        level: of the range.
        sign_class: class of the method whose memory and limits hold for features.
    """

    fit: dict[str, str | int | float]
    min_earlier_days: Annotated[int, Field(ge=3)]
    level: Annotated[float, Field(gt=0, lt=1)]
    sign_class: str
    feature: dict[str, FeatureScale]


@cache
def shipped_feature_scales() -> FeatureScales:
    """The scales that ship with the product.

    Raises:
        DataFileError: the file is incomplete or inconsistent.
    """
    return read_feature_scales(resource("longitudinal", "features.toml"))


def read_feature_scales(path: Path) -> FeatureScales:
    """Read scales from a file in the shipped format.

    Raises:
        DataFileError: the file cannot be read, is incomplete or inconsistent.
    """
    return read_data(path, FeatureScales)
