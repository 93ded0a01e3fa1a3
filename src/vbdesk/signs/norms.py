"""Norms: z values of measured features, and their interpretation.

The norms differ between female-typical and male-typical voices. The voice class is estimated from pitch and resonance
and weights the two norms. It is internal: never shown, logged or stored.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from vbdesk.contract.catalog import SignName
from vbdesk.contract.results import ValueInterpretation
from vbdesk.data_files import DataModel
from vbdesk.voice.measurement import FeatureSet

Z_LIMIT = 3.0
SMALLEST_LOGGED = 1e-9  # keeps the logarithm of a measured 0 finite; its z is clipped anyway

ZScores = Mapping[str, float]
"""Feature to z in -3..3; features that could not be measured are missing."""

_INTERPRETATION_FROM = (
    (1.96, ValueInterpretation.HIGH),
    (1.2816, ValueInterpretation.SLIGHTLY_ELEVATED),
)


class Spread(DataModel):
    """Mean and SD of a transformed feature in one voice class."""

    t_mean: float
    t_sd: Annotated[float, Field(gt=0)]


class FeatureNorm(DataModel):
    """Definition and norms of one feature.

    Attributes:
        method: what is measured, over which frames, and how frames are combined.
        method_cites: keys of the publications that define it; empty for our own definitions.
        norm_cites: keys of the publications with the norm values.
        sd_inflation_free_speech: SD of free speech over SD of reading aloud.
        higher_means: meaning of a high value, in plain words; `lower_means` likewise.
    """

    label: str
    unit: str
    group: str = ""
    method: str = ""
    method_cites: tuple[str, ...] = ()
    norm_cites: tuple[str, ...] = ()
    scale: Literal["log", "linear"]
    floor: Annotated[float, Field(gt=0)] | None = None
    ceiling: float | None = None
    higher_means: str
    lower_means: str
    sd_inflation_free_speech: Annotated[float, Field(ge=1)]
    male: Spread
    female: Spread
    mixed: Spread

    def transform(self, value: float) -> float:
        """Transform `value` to the scale on which the norms are normally distributed."""
        if self.scale == "linear":
            return value
        held = max(value, self.floor or SMALLEST_LOGGED)
        return math.log(min(held, self.ceiling) if self.ceiling else held)

    def z(self, value: float, female_share: float | None) -> float:
        """Standardise `value` for speech of an unknown task; `female_share` None takes the mixed norms."""
        transformed = self.transform(value)
        if female_share is None:
            return self._z_within(self.mixed, transformed)
        z_male, z_female = self._z_within(self.male, transformed), self._z_within(self.female, transformed)
        return (1 - female_share) * z_male + female_share * z_female

    def _z_within(self, spread: Spread, transformed: float) -> float:
        z = (transformed - spread.t_mean) / (spread.t_sd * self.sd_inflation_free_speech)
        return min(max(z, -Z_LIMIT), Z_LIMIT)


class VoiceClass(DataModel):
    """Logistic model of the voice class on mean pitch and third formant.

    Attributes:
        between_takes_sd: SD of the logit between takes of one speaker. The share is averaged over this spread;
            otherwise a voice between the classes would change its norms with every take.
        resonance_sd: the part of that SD from the third formant. A pitch that moves the class also moves its own z the
            other way; a resonance does not.
    """

    b0: float
    b1: float
    b2: float
    between_takes_sd: Annotated[float, Field(ge=0)] = 0.0
    resonance_sd: Annotated[float, Field(ge=0)] = 0.0

    def logit(self, pitch: float, resonance: float) -> float:
        """Log odds of the female-typical class at a mean pitch and a third formant in Hz."""
        # 150 Hz and 2600 Hz belong to the fitted model
        return self.b0 + self.b1 * 12 * math.log2(pitch / 150) + self.b2 * 10 * math.log(resonance / 2600)

    def share(self, logit: float) -> float:
        """Mean of the logistic over takes: MacKay (1992), The evidence framework applied to classification networks."""
        return logistic(logit / math.sqrt(1 + math.pi * self.between_takes_sd**2 / 8))


class NormsMeta(DataModel):
    """Version of the norms."""

    version: Annotated[str, Field(pattern=r"^[\w.+-]+$", max_length=60)]


class IndexReference(DataModel):
    """Mean and SD of a sign's weighted sum in the norm group."""

    mean: float
    sd: Annotated[float, Field(gt=0)]


class Norms(DataModel):
    """The norms of every feature.

    Attributes:
        sign_reference: by sign, if measured with these norms; the calibration's reference holds for the others.
    """

    meta: NormsMeta
    features: Annotated[dict[str, FeatureNorm], Field(alias="feature", min_length=1)]
    voice_class: VoiceClass
    sign_reference: dict[SignName, IndexReference] = Field(default_factory=dict)

    def class_logit(self, measured: FeatureSet) -> float | None:
        """Log odds of the measured voice class; None without pitch or resonance. Internal only."""
        pitch = _value(measured, "pitch_mean")
        resonance = _value(measured, "formant_3_mean")
        if pitch is None or resonance is None or min(pitch, resonance) <= 0:
            return None
        return self.voice_class.logit(pitch, resonance)

    def female_share(self, measured: FeatureSet) -> float | None:
        """How female-typical the voice is, 0 to 1; None if unknown. Internal only."""
        logit = self.class_logit(measured)
        return None if logit is None else self.voice_class.share(logit)

    def resampled_female_share(self, measured: FeatureSet, deviation: float) -> float | None:
        """Female share of a simulated take with a resonance `deviation` SD away. Internal only."""
        logit = self.class_logit(measured)
        return None if logit is None else self.voice_class.share(logit + self.voice_class.resonance_sd * deviation)

    def standardise(self, measured: FeatureSet, female_share: float | None) -> ZScores:
        """Compute z of every measured feature; features that differ between the classes need `female_share`."""
        z: dict[str, float] = {}
        for name, norm in self.features.items():
            value = _value(measured, name)
            if value is not None and not (female_share is None and _differs_between_classes(name)):
                z[name] = norm.z(value, female_share)
        return z


def logistic(logit: float) -> float:
    """The logistic function of `logit`, without overflow."""
    if logit < 0:
        return math.exp(logit) / (1 + math.exp(logit))
    return 1 / (1 + math.exp(-logit))


def interpret(z: float) -> ValueInterpretation:
    """Name the position of `z` in the norms; the name does not judge."""
    for edge, above in _INTERPRETATION_FROM:
        if z >= edge:
            return above
    if z <= -1.96:
        return ValueInterpretation.LOW
    return ValueInterpretation.REDUCED if z <= -1.2816 else ValueInterpretation.WITHIN_RANGE


def _value(measured: FeatureSet, name: str) -> float | None:
    measurement = measured.get(name)
    return measurement.value if measurement is not None else None


def _differs_between_classes(name: str) -> bool:
    return name in ("pitch_mean", "pitch_tract_residual") or name.startswith("formant_")
