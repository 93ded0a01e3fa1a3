"""Parameters of the method, one file for each of its versions: `resources/longitudinal/tss-2.toml`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import AwareDatetime, Field, model_validator

from vbdesk.contract.longitudinal import TimeScale
from vbdesk.data_files import StrictDataModel, read_data
from vbdesk.resource_files import resource

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, lt=1)]
Range = tuple[Positive, Positive]

Method = Literal["tss-1", "tss-2"]
METHODS: tuple[Method, ...] = get_args(Method)
DEFAULT_METHOD: Method = "tss-2"


class WindowRule(StrictDataModel):
    """How far in the future a recording may be."""

    future_hours: Annotated[float, Field(ge=0)]


class ScaleRule(StrictDataModel):
    """Offset of the started logit."""

    offset: Positive


class QualityRule(StrictDataModel):
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


class TimepointRule(StrictDataModel):
    """Variance that recordings of one day have in common."""

    shared_variance: Annotated[float, Field(ge=0)]


class PriorRule(StrictDataModel):
    """Widening of the population prior, and the natural wander that is no change."""

    trait_widening: Positive
    natural_wander: Annotated[float, Field(ge=0, le=1)]


class PersonalScaleRule(StrictDataModel):
    """How a subject's own variance is estimated.

    Attributes:
        prior_readings: weight of the prior of the subject's own variance.
        innovation_clip: largest effect of one reading, in predictive standard deviations.
        variance_clip: the same for its effect on the variance; the same value if None.
        clip_correction: makes the clipped variance unbiased.
        clip_by_certainty: widen both clips, as Student's t does, while the subject's variance is uncertain.
        first_timepoint: timepoint from which readings show the variance; the first one shows only the norm.
        lag: latest timepoints that do not count in the variance of z, so that a change does not hide itself; at most
            `lag_share` of all timepoints.
        lag_share: see `lag`.
        range: lowest and highest variance over the class's variance.
        variance_range: lowest and highest variance of one reading, started logit; replaces `range`.
    """

    prior_readings: Positive
    innovation_clip: Positive
    variance_clip: Positive | None = None
    clip_correction: Positive
    clip_by_certainty: bool = False
    first_timepoint: Annotated[int, Field(ge=1)] = 1
    lag: Annotated[int, Field(ge=0)] = 0
    lag_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    range: Range | None = None
    variance_range: Range | None = None


class AnomalyRule(StrictDataModel):
    """Conditions of every anomaly, in addition to the limits of its class."""

    min_timepoints: Annotated[int, Field(ge=1)]
    min_deviation: Positive
    confirm_hours: Positive
    gaps_averaged: Annotated[int, Field(ge=1)]
    gap_range_days: Range


class TrendRule(StrictDataModel):
    """When a slope is reported as rising or falling."""

    min_timepoints: Annotated[int, Field(ge=3)]
    min_slope_per_30d: Positive
    level: Share


class IntervalRule(StrictDataModel):
    """Level of every interval on the wire."""

    level: Share


class CohortRule(StrictDataModel):
    """Which groups form a cohort, and from what size it is published."""

    min_groups: Annotated[int, Field(ge=11)]  # in a smaller cohort single subjects could be inferred
    prior_groups: Positive
    min_scale: Positive
    member_min_timepoints: Annotated[int, Field(ge=1)]
    member_within_days: Positive


class SignClass(StrictDataModel):
    """Variances (started logit), lengths (days) and limits of a class of signs.

    A limit is (h0, h1): |z| must reach `h0 - h1 * ln(mean gap in days)`, and for a lasting change
    `sustained_limit_for_few / n` more at the n-th timepoint.

    Attributes:
        interval_variance: usual variance of a reading's own score interval; a wider one lowers its weight. The
            variance of the reading itself if None.
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
    interval_variance: Positive | None = None
    sustained_limit: tuple[Positive, Positive]
    sustained_limit_for_few: Annotated[float, Field(ge=0)] = 0.0
    acute_limit: tuple[Positive, Positive] | None = None
    needs_confirmation: bool
    trend_days: Positive
    trend_min_days: Positive

    @property
    def within_variance(self) -> float:
        """Variance of one reference recording of an unchanged subject: state and reading."""
        return self.state_variance + self.reading_variance

    def with_within_variance(self, variance: float) -> Self:
        """Copy for subjects of another usual variance; state, shift and reading keep their shares."""
        factor = variance / self.within_variance
        scaled = ("state_variance", "shift_variance", "reading_variance")
        return self.model_copy(update={name: getattr(self, name) * factor for name in scaled})


class SignAssignment(StrictDataModel):
    """Class of each sign, and the usual variance of its score interval if it is not the class's."""

    default_class: str
    class_of: dict[str, str]
    interval_variance: dict[str, Positive] = Field(default_factory=dict)


class AccountFit(StrictDataModel):
    """That the usual variances were fitted to an account's groups.

    Attributes:
        n_groups: rounded down to a multiple of ten.
    """

    n_groups: int
    fitted_at: AwareDatetime


class Parameters(StrictDataModel):
    """All parameters of the method.

    Attributes:
        method: the method's version, such as `tss-2`.
        version: version of these numbers.
        fit: what the priors were fitted on, for readers; None if they are assumed.
        account_fit: set where an account's own groups replace them.
    """

    method: Method
    version: str
    fit: dict[str, str | int | float] | None = None
    account_fit: AccountFit | None = None
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
        if (self.personal_scale.range is None) == (self.personal_scale.variance_range is None):
            raise ValueError("personal_scale needs either range or variance_range")
        ranges = {
            "quality.voiced_range_s": self.quality.voiced_range_s,
            "quality.factor_range": self.quality.factor_range,
            "personal_scale.range": self.personal_scale.range,
            "personal_scale.variance_range": self.personal_scale.variance_range,
            "anomaly.gap_range_days": self.anomaly.gap_range_days,
        }
        for name, limits in ranges.items():
            if limits is not None and limits[0] > limits[1]:
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

    def ratio_range(self, sign_class: SignClass) -> Range:
        """Lowest and highest variance of a subject over that of the class."""
        rule = self.personal_scale
        if rule.variance_range is not None:
            lowest, highest = rule.variance_range
            return lowest / sign_class.within_variance, highest / sign_class.within_variance
        return rule.range or (1.0, 1.0)  # one of the two is given

    def interval_variance(self, sign: str) -> float:
        """Variance of a score interval that leaves the weight of a reading of `sign` as it is."""
        sign_class = self.class_of(sign)
        own = self.signs.interval_variance.get(sign, sign_class.interval_variance)
        return sign_class.reading_variance if own is None else own

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
def shipped_parameters(method: Method = DEFAULT_METHOD) -> Parameters:
    """The parameters of `method` that ship with the product.

    Raises:
        DataFileError: the file is incomplete or inconsistent.
    """
    return read_parameters(resource("longitudinal", f"{method}.toml"))


def read_parameters(path: Path) -> Parameters:
    """Read parameters from a file in the shipped format.

    Raises:
        DataFileError: the file cannot be read, is incomplete or inconsistent.
    """
    return read_data(path, Parameters)
