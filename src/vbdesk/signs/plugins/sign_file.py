"""The calibration file of a plug-in sign: its description, model, reference and cut-points."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, FiniteFloat, ValidationInfo, model_validator

from vbdesk.contract.catalog import ModelName, SignName, label_of
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.data_files import StrictDataModel
from vbdesk.signs.calibration import SCORE_AT_CONSIDER, SCORE_AT_MEAN, WEIGHT_SUM_TOLERANCE

FORMAT = 1
SMALLEST_CUT = 0.01  # of the index, in reference SD


def require_free_name(name: str) -> str:
    """Reject a name of the catalog. Raises ValueError."""
    if name in {*SignName, *ModelName}:
        raise ValueError(f"the name {name} belongs to vbdesk. Choose another")
    return name


Positive = Annotated[FiniteFloat, Field(gt=0)]
Rate = Annotated[FiniteFloat, Field(gt=0, lt=0.5)]
Text = Annotated[str, Field(min_length=1)]
Names = Annotated[list[str], Field(min_length=1)]
SignId = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=60), AfterValidator(require_free_name)
]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class LinearModel(StrictDataModel):
    """A weighted sum of z values, written in the file itself."""

    kind: Literal["linear"]
    weights: Annotated[dict[str, FiniteFloat], Field(min_length=1)]

    @model_validator(mode="after")
    def _weights_sum_to_one(self) -> Self:
        if 0 in self.weights.values():
            raise ValueError("a weight of 0 has no effect: leave the feature out")
        total = sum(abs(weight) for weight in self.weights.values())
        if abs(total - 1) > WEIGHT_SUM_TOLERANCE:
            raise ValueError(f"the absolute weights sum to {total:.4f}, not to 1")
        return self


class FeatureModel(StrictDataModel):
    """A model that takes z values of `features`, in this order."""

    features: Names

    @model_validator(mode="after")
    def _names_each_feature_once(self) -> Self:
        if len(self.features) != len(set(self.features)):
            raise ValueError("a feature is named twice")
        return self


class OnnxModel(FeatureModel):
    """A network or estimator in an ONNX file in the same folder.

    Attributes:
        output: name of the output to take; the last one by default.
        gives: a `score` is taken unchanged; a `probability` is converted to its logit.
    """

    kind: Literal["onnx"]
    file: FileName
    sha256: Digest
    output: str | None = None
    gives: Literal["score", "probability"]


class PickledModel(FeatureModel):
    """A scikit-learn estimator in a joblib or pickle file in the same folder.

    Attributes:
        scikit_learn: version that fitted it; the same version must be installed.
    """

    kind: Literal["pickle"]
    file: FileName
    sha256: Digest
    scikit_learn: Text


class CallableModel(FeatureModel):
    """A Python function of an installed package, registered as an entry point with the sign's name."""

    kind: Literal["callable"]


Model = Annotated[LinearModel | OnnxModel | PickledModel | CallableModel, Field(discriminator="kind")]


class ReferenceOutput(StrictDataModel):
    """Output of the model for people without the sign.

    Attributes:
        icc: agreement of two recordings of one person; gives the uncertainty of a reading without resamples.
    """

    mean: FiniteFloat
    sd: Positive
    icc: Annotated[FiniteFloat, Field(ge=0, lt=1)] = 0.5


class CutPoints(StrictDataModel):
    """Index, in reference SD, from which each level holds."""

    low: Annotated[FiniteFloat, Field(ge=SMALLEST_CUT)]
    consider: FiniteFloat
    moderate: FiniteFloat
    elevated: FiniteFloat

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        if not self.low < self.consider < self.moderate < self.elevated:
            raise ValueError("the cut-points must ascend from low to elevated")
        return self


class FlagRates(StrictDataModel):
    """Expected share of people without the sign at or above each level."""

    low: Rate
    consider: Rate
    moderate: Rate
    elevated: Rate

    @model_validator(mode="after")
    def _descend(self) -> Self:
        if not self.low > self.consider > self.moderate > self.elevated:
            raise ValueError("the rates must descend from low to elevated")
        return self


class SignFile(StrictDataModel):
    """A plug-in sign; implements `scoring.ScoreScale`.

    The validation context holds `features` and `file_name`.

    Attributes:
        models: always empty: the interface fixes the signs of each model and their price.
        meaning: what the index is meant to measure; `known`: what research says.
        max_level: highest level that the evidence allows.
        fit: how the numbers were obtained; for readers only.
    """

    format: Literal[1]
    name: SignId
    version: Annotated[str, Field(pattern=r"^[\w.+-]+$", max_length=60)]
    models: list[str] = Field(default_factory=list)
    evidence_grade: Literal["A", "B", "C", "D"]
    max_level: Level
    meaning: Text
    known: Text
    timescale: Literal["fast", "slow"]
    confounders: Names
    model: Model
    reference: ReferenceOutput
    cut_points: CutPoints
    expected_rate: FlagRates
    fit: dict[str, Any] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        """Display name."""
        return label_of(self.name)

    @property
    def features(self) -> tuple[str, ...]:
        """Features that the model takes, in its order."""
        return tuple(self.weights)

    @property
    def cuts(self) -> dict[Level, float]:
        """Index from which each level holds, in ascending order."""
        return {level: float(getattr(self.cut_points, level.value)) for level in LEVEL_ORDER[1:]}

    @property
    def weights(self) -> Mapping[str, float]:
        """Weight of each feature; equal shares for a model without weights."""
        if isinstance(self.model, LinearModel):
            return self.model.weights
        return dict.fromkeys(self.model.features, 1 / len(self.model.features))

    @model_validator(mode="after")
    def _agrees_with_its_file(self, info: ValidationInfo) -> Self:
        if self.models:
            raise ValueError("models must be empty: a plug-in sign cannot join a model and is requested alone")
        if self.max_level in (Level.NONE, Level.INCONCLUSIVE):
            raise ValueError(f"max_level must be one of {', '.join(LEVEL_ORDER[1:])}")
        context: dict[str, Any] = info.context or {}
        stem = context.get("file_name", self.name)
        if stem != self.name:
            raise ValueError(f"the name is {self.name}, but the file is named {stem}.toml")
        unknown = [feature for feature in self.features if feature not in context.get("features", self.features)]
        if unknown:
            raise ValueError(f"{unknown[0]} is not a feature of vbdesk")
        return self

    @property
    def logit_intercept(self) -> float:
        """Logit of the score at index 0, the same for every sign."""
        return _logit(SCORE_AT_MEAN)

    @property
    def logit_slope(self) -> float:
        """Change of that logit per unit of the index; the score at the cut for `consider` is fixed."""
        return (_logit(SCORE_AT_CONSIDER) - _logit(SCORE_AT_MEAN)) / self.cut_points.consider


def _logit(share: float) -> float:
    return math.log(share / (1 - share))
