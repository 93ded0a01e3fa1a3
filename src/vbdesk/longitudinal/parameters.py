"""Parameters of the method: `resources/longitudinal/parameters.toml`."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vbdesk.contract.longitudinal import TimeScale
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, lt=1)]
Range = tuple[Positive, Positive]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WindowRule(_Section):
    """How far in the future a recording may be."""

    future_hours: Annotated[float, Field(ge=0)]


class ScaleRule(_Section):
    """Offset of the started logit."""

    offset: Positive


class QualityRule(_Section):
    """How length and noise of a recording become a variance factor."""

    base: Positive
    voiced_seconds: Positive
    voiced_range_s: Range
    clear_from: Positive
    noise_at_zero: Positive
    factor_range: Range
    unknown_duration_s: Positive
    unknown_voice_percentage: Positive
    unknown_noise_factor: Positive
    usable_factor: Positive
    score_interval_level: Share


class TimepointRule(_Section):
    """Variance that recordings of one day have in common."""

    shared_variance: Annotated[float, Field(ge=0)]


class PriorRule(_Section):
    """Widening of the population prior, and the natural wander that is no change."""

    trait_widening: Positive
    natural_wander: Annotated[float, Field(ge=0, le=1)]


class PersonalScaleRule(_Section):
    """How a subject's own variance is estimated."""

    prior_readings: Positive
    innovation_clip: Positive
    clip_correction: Positive
    range: Range


class AnomalyRule(_Section):
    """Conditions of every anomaly, in addition to the limits of its class."""

    min_timepoints: Annotated[int, Field(ge=1)]
    min_deviation: Positive
    confirm_hours: Positive
    gaps_averaged: Annotated[int, Field(ge=1)]
    gap_range_days: Range


class TrendRule(_Section):
    """When a slope is reported as rising or falling."""

    min_timepoints: Annotated[int, Field(ge=3)]
    min_slope_per_30d: Positive
    level: Share


class IntervalRule(_Section):
    """Level of every interval on the wire."""

    level: Share


class CohortRule(_Section):
    """Which groups form a cohort, and from what size it is published."""

    min_groups: Annotated[int, Field(ge=11)]  # in a smaller cohort single subjects could be inferred
    prior_groups: Positive
    min_scale: Positive
    member_min_timepoints: Annotated[int, Field(ge=1)]
    member_within_days: Positive


class SignClass(_Section):
    """Variances (started logit), lengths (days) and limits of a class of signs.

    A limit is (h0, h1): |z| must reach `h0 - h1 * ln(mean gap in days)`.
    """

    time_scale: TimeScale
    trait_mean: float
    trait_variance: Positive
    trait_half_life_days: Positive
    state_variance: Positive
    state_days: Positive
    shift_variance: Positive
    shift_days: Positive
    reading_variance: Positive
    sustained_limit: tuple[Positive, Positive]
    acute_limit: tuple[Positive, Positive] | None = None
    needs_confirmation: bool
    trend_days: Positive
    trend_min_days: Positive


class SignAssignment(_Section):
    """Class of each sign."""

    default_class: str
    class_of: dict[str, str]


class Parameters(_Section):
    """All parameters of the method."""

    method: str
    window: WindowRule
    scale: ScaleRule
    quality: QualityRule
    timepoint: TimepointRule
    prior: PriorRule
    personal_scale: PersonalScaleRule
    anomaly: AnomalyRule
    trend: TrendRule
    interval: IntervalRule
    cohort: CohortRule
    classes: dict[str, SignClass]
    signs: SignAssignment

    @model_validator(mode="after")
    def _check(self) -> Self:
        named = {self.signs.default_class, *self.signs.class_of.values()}
        if unknown := sorted(named - self.classes.keys()):
            raise ValueError(f"no such class: {', '.join(unknown)}; define [classes.NAME] or correct [signs]")
        ranges = {
            "quality.voiced_range_s": self.quality.voiced_range_s,
            "quality.factor_range": self.quality.factor_range,
            "personal_scale.range": self.personal_scale.range,
            "anomaly.gap_range_days": self.anomaly.gap_range_days,
        }
        for name, (low, high) in ranges.items():
            if low > high:
                raise ValueError(f"{name} must be [lowest, highest]")
        if self.timepoint.shared_variance >= self.quality.factor_range[0]:
            raise ValueError("timepoint.shared_variance must be below the lowest quality factor")
        return self

    def class_name(self, sign: str) -> str:
        """Name of the class of `sign`; the default class where it has no entry."""
        return self.signs.class_of.get(sign, self.signs.default_class)

    def class_of(self, sign: str) -> SignClass:
        """The class of `sign`."""
        return self.classes[self.class_name(sign)]

    def with_signs(self, time_scales: Mapping[str, TimeScale]) -> Self:
        """Copy with more signs by time scale; existing entries are kept.

        Raises:
            ValueError: no class has such a time scale.
        """
        class_of = dict(self.signs.class_of)
        for sign, time_scale in time_scales.items():
            class_of.setdefault(sign, self._class_for(time_scale))
        return self.model_copy(update={"signs": self.signs.model_copy(update={"class_of": class_of})})

    def _class_for(self, time_scale: TimeScale) -> str:
        for name, sign_class in self.classes.items():
            if sign_class.time_scale == time_scale:
                return name
        raise ValueError(f"no class has the time scale {time_scale}")


@cache
def shipped_parameters() -> Parameters:
    """The parameters that ship with the product.

    Raises:
        pydantic.ValidationError: the file is incomplete or inconsistent.
    """
    return Parameters.model_validate(read_toml(resource("longitudinal", "parameters.toml")))
