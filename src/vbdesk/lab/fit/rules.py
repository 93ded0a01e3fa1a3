"""Rules for fitting signs, read from data."""

from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from vbdesk.contract.levels import Level
from vbdesk.data_files import StrictDataModel, read_data
from vbdesk.resource_files import resource

Count = Annotated[int, Field(gt=0)]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, lt=1)]
FittedGrade = Literal["B", "C", "D"]
"""Grade A requires a prospective validation at another site, which a fit cannot give."""


class StudyRules(StrictDataModel):
    """Requirements on the data.

    Attributes:
        fewest_speakers: with each label; a caller may lower it to `fewest_speakers_ever`.
    """

    fewest_speakers: Count
    fewest_speakers_ever: Count
    largest_missing_share: Share
    left_out: frozenset[str]


class RegressionRules(StrictDataModel):
    """Numbers of folds, and candidate penalties."""

    folds: Annotated[int, Field(ge=2)]
    inner_folds: Annotated[int, Field(ge=2)]
    inverse_penalties: Annotated[list[Positive], Field(min_length=1)]


class CalibrationRules(StrictDataModel):
    """How an index is converted to a share."""

    isotonic_from: Count
    bins: Count
    fewest_in_bin: Count


class CutPointRules(StrictDataModel):
    """How cut-points and the highest level are set."""

    largest_stretch: Annotated[float, Field(ge=1)]
    max_level_without_signal: Level
    max_level: dict[FittedGrade, Level]


class BootstrapRules(StrictDataModel):
    """Bootstrap of intervals; `cross_validation_widening` is a factor on the interval of a cross-validated value."""

    draws: Count
    interval: Share
    seed: int
    cross_validation_widening: Annotated[float, Field(ge=1)]


class FittingRules(StrictDataModel):
    """All rules for fitting."""

    study: StudyRules
    regression: RegressionRules
    calibration: CalibrationRules
    cut_points: CutPointRules
    bootstrap: BootstrapRules


@cache
def fitting_rules() -> FittingRules:
    """Read the shipped rules. Raises DataFileError."""
    return read_data(resource("signs", "fitting.toml"), FittingRules)
