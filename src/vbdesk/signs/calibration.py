"""Calibration of the signs: weights, cut-points and evidence, read from data."""

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from vbdesk.contract.catalog import MODEL_SIGNS, SIGN_CONDITIONS, ModelName, SignName
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.data_files import DataModel
from vbdesk.signs.norms import Norms

WEIGHT_SUM_TOLERANCE = 1e-3
SCORE_AT_MEAN = 0.2
SCORE_AT_CONSIDER = 0.5

Positive = Annotated[float, Field(gt=0)]
ShareOfOne = Annotated[float, Field(ge=0, le=1)]
Grade = Literal["A", "B", "C", "D"]


class FeatureEvidence(DataModel):
    """One feature of a sign: its direction, its weight and its sources.

    Attributes:
        strength: of the evidence; `none` for a row that only takes out arousal.
        evidence_weight: weight before arousal is taken out; None in a sign that keeps it.
        sex: the voice class with evidence; the weight counts in proportion to that class.
    """

    feature: str
    direction: Literal["higher", "lower"]
    strength: Literal["strong", "moderate", "weak", "conflicting", "none"]
    weight: float
    evidence_weight: float | None = None
    cites: Annotated[list[str], Field(min_length=1)]
    note: str = ""
    sex: Literal["female", "male"] | None = None

    @model_validator(mode="after")
    def _weight_follows_direction(self) -> Self:
        if self.weight == 0 or (self.weight > 0) != (self.direction == "higher"):
            raise ValueError(f"the weight of {self.feature} must have the sign of its direction, {self.direction}")
        return self

    def class_share(self, tract_share: float) -> float:
        """Share of the weight that counts for a voice of this tract, 0 male-typical to 1 female-typical."""
        if self.sex is None:
            return 1.0
        return tract_share if self.sex == "female" else 1 - tract_share


class SignCalibration(DataModel):
    """How one sign is scored, and its evidence.

    Attributes:
        known: what research says; `meaning`: what the index is meant to measure.
        reference_mean: mean of the weighted sum in healthy readers; `reference_sd` is its SD.
        cut_low: index in reference SD from which the level holds; the other cuts likewise.
        max_level: highest level that the evidence allows.
        cut_rationale: the reason for the cuts.
        measured_flag_rate_reference: share of healthy native readers who reached `consider` when the cuts were set;
            `measured_flag_rate_second_language` is that of second-language readers.
        icc_free_speech: intraclass correlation of the index between two recordings of one person; provisional.
        mdc95_free_speech: smallest change of the index between two recordings that exceeds error, at 95 %.
        arousal_removed: share of the metric `vad-arousal` that is subtracted from the evidence weights, so that the two
            are uncorrelated in healthy readers; None in a sign that keeps it.
    """

    label: str
    standalone: bool
    condition: str | None = None
    models: list[str]
    evidence_grade: Grade
    placeholder: bool
    max_level: Level
    applies_to: Literal["all", "female"]
    known: str
    meaning: Annotated[str, Field(alias="construct")]
    timescale: Literal["fast", "slow"]
    confounders: Annotated[list[str], Field(min_length=1)]
    reference_mean: float
    reference_sd: Positive
    logit_intercept: float
    logit_slope: Positive
    cut_low: Positive
    cut_consider: Positive
    cut_moderate: Positive
    cut_elevated: Positive
    cut_rationale: str = ""
    measured_flag_rate_reference: ShareOfOne | None = None
    measured_flag_rate_second_language: ShareOfOne | None = None
    icc_free_speech: ShareOfOne
    mdc95_free_speech: Positive | None = None
    arousal_removed: float | None = None
    evidence: Annotated[list[FeatureEvidence], Field(min_length=2)]

    @property
    def cuts(self) -> dict[Level, float]:
        """Index from which each level holds, in ascending order."""
        values = (self.cut_low, self.cut_consider, self.cut_moderate, self.cut_elevated)
        return dict(zip(LEVEL_ORDER[1:], values, strict=True))

    @property
    def weights(self) -> dict[str, float]:
        """Feature to signed weight."""
        return {row.feature: row.weight for row in self.evidence}

    @model_validator(mode="after")
    def _weights_sum_to_one(self) -> Self:
        features = [row.feature for row in self.evidence]
        if len(features) != len(set(features)):
            raise ValueError("a feature appears twice in the evidence")
        total = sum(abs(row.weight) for row in self.evidence)
        if abs(total - 1) > WEIGHT_SUM_TOLERANCE:
            raise ValueError(f"the absolute weights sum to {total:.4f}, not to 1")
        return self

    @model_validator(mode="after")
    def _cuts_ascend_and_meet_the_scores(self) -> Self:
        cuts = list(self.cuts.values())
        if cuts != sorted(set(cuts)):
            raise ValueError("the cuts must ascend from low to elevated")
        for index, wanted in ((0.0, SCORE_AT_MEAN), (self.cut_consider, SCORE_AT_CONSIDER)):
            logit = self.logit_intercept + self.logit_slope * index
            if abs(1 / (1 + math.exp(-logit)) - wanted) > WEIGHT_SUM_TOLERANCE:
                raise ValueError(f"the score at index {index:g} must be {wanted}")
        return self

    @model_validator(mode="after")
    def _placeholders_stay_low(self) -> Self:
        if self.max_level is Level.INCONCLUSIVE or (self.placeholder and self.max_level is not Level.LOW):
            raise ValueError(f"max_level {self.max_level} is not allowed here")
        return self


class ScoringRules(DataModel):
    """Scoring rules that all signs share.

    Attributes:
        min_weight_available: smallest share of a sign's weight on measured features.
        min_speech_seconds: below it every sign is inconclusive; `min_voice_percentage` likewise.
        min_audio_clarity: below it a noise-sensitive sign is inconclusive.
        noise_sensitive_share: share of weight on noise-sensitive features from which a sign is noise-sensitive.
        slow_drift: extra spread of an index of noise-sensitive features between parts of a recording, relative to its
            spread over phrases of one part.
        not_measured_in_narrow_band: features that a telephone band changes.
        female_typical_from: female share from which a sign for female-typical voices is scored.
    """

    min_weight_available: ShareOfOne
    min_speech_seconds: Positive
    min_voice_percentage: Positive
    min_audio_clarity: Positive
    noise_sensitive_features: frozenset[str]
    noise_sensitive_share: ShareOfOne
    slow_drift: Annotated[float, Field(ge=0)]
    not_measured_in_narrow_band: frozenset[str]
    female_typical_from: ShareOfOne

    def noise_sensitive(self, weights: Mapping[str, float]) -> bool:
        """Whether a sign with these weights is noise-sensitive."""
        return self.share_in_noise(weights) >= self.noise_sensitive_share

    def share_in_noise(self, weights: Mapping[str, float]) -> float:
        """Share of the absolute `weights` on noise-sensitive features."""
        held = sum(abs(weight) for feature, weight in weights.items() if feature in self.noise_sensitive_features)
        return held / sum(abs(weight) for weight in weights.values())

    def error_factor(self, weights: Mapping[str, float]) -> float:
        """Factor that corrects the coverage of intervals from resampling.

        Voice quality drifts over times longer than a phrase. Phrases of one recording are therefore more alike than
        phrases of two recordings.
        """
        return 1 + self.slow_drift * self.share_in_noise(weights)


class ExpectedRates(DataModel):
    """Expected share of healthy readers at or above each level, for z not widened for free speech."""

    low: ShareOfOne
    consider: ShareOfOne
    moderate: ShareOfOne
    elevated: ShareOfOne

    def at(self, level: Level) -> float:
        """The share at or above `level`."""
        return float(getattr(self, level.value))


class ExpectedRatesByGrade(DataModel):
    """Rates that the cuts were set for, by evidence grade."""

    expected_rate: dict[Grade, ExpectedRates]


class SimilarSigns(DataModel):
    """Two signs whose indices correlate in healthy readers, so that they cannot be distinguished."""

    a: SignName
    b: SignName
    r: Annotated[float, Field(ge=-1, le=1)]


class Separability(DataModel):
    """Signs that this version cannot distinguish.

    Attributes:
        twin_from: correlation, of either sign, beyond which two signs are twins.
    """

    twin_from: ShareOfOne
    pair: list[SimilarSigns]

    def similar(self, name: SignName) -> dict[SignName, float]:
        """Signs that correlate with `name`, strongest first, with the correlation."""
        return {pair.b if pair.a is name else pair.a: pair.r for pair in self.pair if name in (pair.a, pair.b)}

    def twins(self, name: SignName) -> dict[SignName, float]:
        """Signs that are nearly the same as `name`, or nearly its opposite, with the correlation."""
        return {other: r for other, r in self.similar(name).items() if abs(r) > self.twin_from}


class ModelRates(DataModel):
    """Share of healthy speakers with a finding by a model, over all its signs."""

    any_low_or_more: ShareOfOne
    any_flagged: ShareOfOne
    review_or_more: ShareOfOne
    escalate: ShareOfOne


class ModelCalibration(DataModel):
    """Measured rates of a model as a whole."""

    signs: list[str]
    healthy_native: Annotated[ModelRates, Field(alias="healthy_native_sex_unknown")]
    healthy_second_language: ModelRates


class CalibrationMeta(DataModel):
    """Version of the calibration."""

    version: str


class Calibration(DataModel):
    """All signs, checked against the catalog; the validation context holds `features` and `citations`."""

    meta: CalibrationMeta
    grades: Annotated[dict[Grade, str], Field(alias="grade")]
    scoring: ScoringRules
    separability: Separability
    levels: ExpectedRatesByGrade
    models: Annotated[dict[ModelName, ModelCalibration], Field(alias="model")]
    signs: Annotated[dict[SignName, SignCalibration], Field(alias="sign")]

    @model_validator(mode="after")
    def _agrees_with_the_catalog(self) -> Self:
        missing = sorted(set(SignName) - set(self.signs))
        if missing:
            raise ValueError(f"there is no sign {missing[0]}")
        for name, sign in self.signs.items():
            carried_by = [model.value for model, signs in MODEL_SIGNS.items() if name in signs]
            given = (sign.label, sign.standalone, sign.condition, sign.models)
            expected = (name.label, name.standalone, SIGN_CONDITIONS.get(name), carried_by)
            if given != expected:
                raise ValueError(f"{name}: label, standalone, condition and models must be {expected}, not {given}")
            if sign.evidence_grade not in self.levels.expected_rate:
                raise ValueError(f"{name}: no expected rates for grade {sign.evidence_grade}")
        for model, bundle in MODEL_SIGNS.items():
            if model not in self.models or self.models[model].signs != [sign.value for sign in bundle]:
                raise ValueError(f"the signs of {model} must be those of the catalog, in its order")
        return self

    @model_validator(mode="after")
    def _twins_with_less_evidence_stay_low(self) -> Self:
        for name, sign in self.signs.items():
            for other, r in self.separability.twins(name).items():
                if self._evidence_rank(name) > self._evidence_rank(other) and sign.max_level is not Level.LOW:
                    raise ValueError(
                        f"{name} is a twin of {other} (r {r}) with less evidence: its max_level must be low"
                    )
        return self

    def _evidence_rank(self, name: SignName) -> tuple[str, bool, int]:
        """Order of the evidence, best first: grade, then placeholders, then the order of the catalog."""
        sign = self.signs[name]
        return sign.evidence_grade, sign.placeholder, list(SignName).index(name)

    @model_validator(mode="after")
    def _has_known_references(self, info: ValidationInfo) -> Self:
        context: dict[str, Any] = info.context or {}
        for known, referred in (("features", "feature"), ("citations", "cites")):
            if known not in context:
                continue
            for name, sign in self.signs.items():
                for row in sign.evidence:
                    keys = [row.feature] if referred == "feature" else row.cites
                    unknown = [key for key in keys if key not in context[known]]
                    if unknown:
                        raise ValueError(f"{name}: {unknown[0]} is not among the {known}")
        return self

    def expected_rates(self, name: SignName, norms: Norms) -> dict[Level, float]:
        """Expected share of healthy readers at or above each level, before the cap by `max_level`.

        The cuts were set on read speech without widening. Scoring widens z for free speech, so the index of read
        speech spreads less. The ratio follows from the weights, under the assumption of independent features. For free
        speech the rates of the file hold if the widening is right.
        """
        sign = self.signs[name]
        squares = [(row.weight**2, norms.features[row.feature].sd_inflation_free_speech) for row in sign.evidence]
        spread = math.sqrt(sum(w2 / inflation**2 for w2, inflation in squares) / sum(w2 for w2, _ in squares))
        normal, rates = NormalDist(), self.levels.expected_rate[sign.evidence_grade]
        return {level: 1 - normal.cdf(normal.inv_cdf(1 - rates.at(level)) / spread) for level in LEVEL_ORDER[1:]}
