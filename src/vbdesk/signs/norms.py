"""Where a measured feature lies in the reference: z values and their names.

The reference differs between female-typical and male-typical voices. Which of the two a voice resembles is estimated
from pitch and resonance, weighs the two references, and goes no further: it is never shown, logged or stored.
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
SMALLEST_LOGGED = 1e-9  # keeps the logarithm of a measured zero finite; its z is clipped anyway

Standardised = Mapping[str, float]
"""Feature to z in -3..3; features that could not be measured are left out."""

_INTERPRETATION_FROM = (
    (1.96, ValueInterpretation.HIGH),
    (1.2816, ValueInterpretation.SLIGHTLY_ELEVATED),
)


class Spread(DataModel):
    """Mean and SD of a feature, after its transform, in one class of voices."""

    t_mean: float
    t_sd: Annotated[float, Field(gt=0)]


class FeatureNorm(DataModel):
    """Definition and reference of one feature.

    Attributes:
        method: what is measured, over which frames, and how frames become one number.
        method_cites: keys of the works that define it; empty where the definition is vbdesk's own.
        norm_cites: keys of the works that the reference values are from.
        sd_inflation_free_speech: how much wider free speech spreads than reading aloud.
        higher_means: what a high value says, in plain words; `lower_means` likewise.
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
        """The value on the scale on which the reference is normal."""
        if self.scale == "linear":
            return value
        held = max(value, self.floor or SMALLEST_LOGGED)
        return math.log(min(held, self.ceiling) if self.ceiling else held)

    def z(self, value: float, female_share: float | None) -> float:
        """Standardise `value` for speech of an unknown task; `female_share` None takes the mixed reference."""
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
        between_takes_sd: how far the logit of one speaker moves from take to take (SD). A voice between the classes
            would change its reference with every take if the logit were believed to the letter, so the share is its
            mean over that spread.
        resonance_sd: the part of it that comes from the third formant. A pitch that moves the class also moves its own
            place in the reference, the other way; a resonance does not.
    """

    b0: float
    b1: float
    b2: float
    between_takes_sd: Annotated[float, Field(ge=0)] = 0.0
    resonance_sd: Annotated[float, Field(ge=0)] = 0.0

    def logit(self, pitch: float, resonance: float) -> float:
        """Log odds of the female-typical class at a mean pitch and a third formant in Hz."""
        # the anchors belong to the fitted model
        return self.b0 + self.b1 * 12 * math.log2(pitch / 150) + self.b2 * 10 * math.log(resonance / 2600)

    def share(self, logit: float) -> float:
        """Mean of the logistic over takes: MacKay (1992), The evidence framework applied to classification networks."""
        return logistic(logit / math.sqrt(1 + math.pi * self.between_takes_sd**2 / 8))


class NormsMeta(DataModel):
    """Which norms these are."""

    version: Annotated[str, Field(pattern=r"^[\w.+-]+$", max_length=60)]


class SignReference(DataModel):
    """What a sign's weighted sum is in the people whom the norms were measured on."""

    mean: float
    sd: Annotated[float, Field(gt=0)]


class Norms(DataModel):
    """The reference of every feature.

    Attributes:
        sign_reference: of signs, where it was measured with these norms; the calibration's own holds for the others.
    """

    meta: NormsMeta
    features: Annotated[dict[str, FeatureNorm], Field(alias="feature", min_length=1)]
    voice_class: VoiceClass
    sign_reference: dict[SignName, SignReference] = Field(default_factory=dict)

    def class_logit(self, measured: FeatureSet) -> float | None:
        """Log odds of the class as measured here; None when pitch or resonance was not measured. Internal only."""
        pitch = _value(measured, "pitch_mean")
        resonance = _value(measured, "formant_3_mean")
        if pitch is None or resonance is None or min(pitch, resonance) <= 0:
            return None
        return self.voice_class.logit(pitch, resonance)

    def female_share(self, measured: FeatureSet) -> float | None:
        """How female-typical the voice is, 0 to 1; None when that cannot be told. Internal only."""
        logit = self.class_logit(measured)
        return None if logit is None else self.voice_class.share(logit)

    def share_in_another_take(self, measured: FeatureSet, deviation: float) -> float | None:
        """The class that a take of the same pitch might have given, its resonance `deviation` SD off. Internal only."""
        logit = self.class_logit(measured)
        return None if logit is None else self.voice_class.share(logit + self.voice_class.resonance_sd * deviation)

    def standardise(self, measured: FeatureSet, female_share: float | None) -> Standardised:
        """The z of every measured feature; those that differ between the classes need to know the class."""
        z: dict[str, float] = {}
        for name, norm in self.features.items():
            value = _value(measured, name)
            if value is not None and not (female_share is None and _differs_between_classes(name)):
                z[name] = norm.z(value, female_share)
        return z


def logistic(logit: float) -> float:
    """The share that belongs to log odds, without overflow."""
    if logit < 0:
        return math.exp(logit) / (1 + math.exp(logit))
    return 1 / (1 + math.exp(-logit))


def interpret(z: float) -> ValueInterpretation:
    """The name of a z: a position in the reference, neither good nor bad."""
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
