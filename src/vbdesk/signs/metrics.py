"""Extended metrics: descriptive scales of how a voice sounds, from windows of a passage, with their uncertainty."""

from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from vbdesk.contract.catalog import ModelName
from vbdesk.contract.results import ExtendedMetric
from vbdesk.data_files import DataModel
from vbdesk.signs.calibration import ScoringRules
from vbdesk.signs.norms import ZScores, logistic
from vbdesk.signs.uncertainty import standard_error

if TYPE_CHECKING:  # the service reads metrics and must not load the extractor
    from vbdesk.signs.passage import Passage

DECIMALS = 4
SMALLEST_STD = 10**-DECIMALS  # every metric has some spread; a smaller one would round to 0


class MetricFeature(DataModel):
    """A feature and its signed weight."""

    id: str
    weight: float


class Metric(DataModel):
    """One scale between two verbal anchors."""

    label: str
    low_anchor: str
    high_anchor: str
    cites: Annotated[list[str], Field(min_length=1)]
    models: Annotated[list[str], Field(min_length=1)]
    reference_mean: float
    reference_sd: Annotated[float, Field(gt=0)]
    features: Annotated[list[MetricFeature], Field(alias="feature", min_length=1)]

    @model_validator(mode="after")
    def _is_a_scale(self) -> Self:
        if self.low_anchor == self.high_anchor:
            raise ValueError("the two anchors are the same")
        total = sum(abs(feature.weight) for feature in self.features)
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the absolute weights sum to {total:.4f}, not to 1")
        return self

    @property
    def weights(self) -> dict[str, float]:
        """Feature to signed weight."""
        return {feature.id: feature.weight for feature in self.features}

    def score(self, z: ZScores, slope: float) -> float:
        """The score, 0 to 1; 0.5 is the reference average."""
        raw = sum(feature.weight * z.get(feature.id, 0.0) for feature in self.features)
        return logistic(slope * (raw - self.reference_mean) / self.reference_sd)

    def weight_available(self, z: ZScores) -> float:
        """Share of the absolute weight that measured features hold."""
        return sum(abs(feature.weight) for feature in self.features if feature.id in z)


class MetricRules(DataModel):
    """How the scores of windows are averaged."""

    slope: Annotated[float, Field(gt=0)]
    min_windows: Annotated[int, Field(gt=1)]
    min_speech_seconds_per_window: Annotated[float, Field(gt=0)]
    min_weight_available: Annotated[float, Field(ge=0, le=1)]
    whole_recording_features: frozenset[str]


class MetricSet(DataModel):
    """All metrics, and the metrics of each model; the validation context holds `features` and `citations`."""

    rules: Annotated[MetricRules, Field(alias="meta")]
    carry: dict[ModelName, list[str]]
    metrics: Annotated[dict[str, Metric], Field(alias="metric")]

    @model_validator(mode="after")
    def _is_consistent(self, info: ValidationInfo) -> Self:
        context: dict[str, Any] = info.context or {}
        if set(self.carry) != set(ModelName):
            raise ValueError("carry must name every model of the catalog")
        for model, names in self.carry.items():
            unknown = [name for name in names if name not in self.metrics]
            if unknown:
                raise ValueError(f"{model} carries {unknown[0]}, which is not a metric")
        for name, metric in self.metrics.items():
            if metric.models != [model.value for model, names in self.carry.items() if name in names]:
                raise ValueError(f"{name}: models and carry disagree")
            used = [feature.id for feature in metric.features]
            for known, keys in (("features", used), ("citations", metric.cites)):
                unknown_keys = [key for key in keys if known in context and key not in context[known]]
                if unknown_keys:
                    raise ValueError(f"{name}: {unknown_keys[0]} is not among the {known}")
        return self


def extended_metrics(
    metric_set: MetricSet, scoring: ScoringRules, model: ModelName, passage: "Passage"
) -> list[ExtendedMetric]:
    """Measure the metrics of `model`, without those that lack measured features.

    A metric cannot be inconclusive. With less speech than a level needs, or too little to resample, there are none.
    """
    if len(passage.replicates) < 2 or passage.speech_s < scoring.min_speech_seconds:
        return []
    return [
        _measure(name, metric_set.metrics[name], metric_set.rules, scoring, passage)
        for name in metric_set.carry[model]
        if metric_set.metrics[name].weight_available(passage.z) >= metric_set.rules.min_weight_available
    ]


def _measure(
    name: str, metric: Metric, rules: MetricRules, scoring: ScoringRules, passage: "Passage"
) -> ExtendedMetric:
    spread = standard_error(lambda z: metric.score(z, rules.slope), passage.replicates)
    return ExtendedMetric(
        metric_id=name,
        label=metric.label,
        score_mean=round(_mean(metric, rules, passage), DECIMALS),
        score_std=max(round(scoring.error_factor(metric.weights) * spread, DECIMALS), SMALLEST_STD),
        low_anchor=metric.low_anchor,
        high_anchor=metric.high_anchor,
    )


def _mean(metric: Metric, rules: MetricRules, passage: "Passage") -> float:
    usable = [window for window in passage.windows if window.speech_s >= rules.min_speech_seconds_per_window]
    if len(usable) < rules.min_windows:
        return metric.score(passage.z, rules.slope)
    scores = [metric.score(_in_window(window.z, rules, passage.z), rules.slope) for window in usable]
    return float(np.average(scores, weights=[window.speech_s for window in usable]))


def _in_window(window: ZScores, rules: MetricRules, whole: ZScores) -> ZScores:
    own = {feature: z for feature, z in window.items() if feature not in rules.whole_recording_features}
    return {**whole, **own}
