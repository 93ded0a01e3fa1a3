"""Norms: z values of measured features, and their interpretation.

The norms are continuous in the voice itself. Features of voice quality, spectrum and resonance are compared with those
of voices of the same pitch. Pitch is compared with that of vocal tracts of the same resonances, which mixes two groups
of speakers by how likely the tract belongs to each. Pitch itself never moves what it is compared with, so that a
raised pitch always reads higher. Where the voice lies is internal: never shown, logged or stored.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from vbdesk.contract.catalog import SignName
from vbdesk.contract.results import ValueInterpretation
from vbdesk.contract.spoken_language import BAD_LANGUAGE, language_tag
from vbdesk.data_files import DataModel
from vbdesk.voice.measurement import FeatureSet

Z_LIMIT = 3.0
PITCH_ORIGIN_HZ = 150.0
SMALLEST_LOGGED = 1e-9  # keeps the logarithm of a measured 0 finite; its z is clipped anyway

ZScores = Mapping[str, float]
"""Feature to z in -3..3; features that could not be measured are missing."""

_INTERPRETATION_FROM = (
    (1.96, ValueInterpretation.HIGH),
    (1.2816, ValueInterpretation.SLIGHTLY_ELEVATED),
)


@dataclass(frozen=True, slots=True)
class VoicePosition:
    """Where a voice lies among the reference voices; internal.

    Attributes:
        pitch: mean pitch in semitones re 150 Hz; None if unknown.
        tract_share: probability, 0 to 1, that a tract of these resonances is a woman's; 0.5 if they are unknown.
        female_share: how female-typical pitch and tract are together, 0 to 1; None if unknown.
    """

    pitch: float | None
    tract_share: float
    female_share: float | None


UNKNOWN_VOICE = VoicePosition(None, 0.5, None)


def _known_language(text: str) -> str:
    tag = language_tag(text)
    if tag is None:
        raise ValueError(BAD_LANGUAGE)
    return tag


class Spread(DataModel):
    """Mean and SD of a transformed feature in one group of speakers."""

    t_mean: float
    t_sd: Annotated[float, Field(gt=0)]


class PitchLine(Spread):
    """Mean of a transformed feature for voices of 150 Hz, its slope per semitone of pitch, and the SD around it."""

    t_slope: float = 0.0


class FeatureNorm(DataModel):
    """Definition and norms of one feature.

    Attributes:
        method: what is measured, over which frames, and how frames are combined.
        method_cites: keys of the publications that define it; empty for our own definitions.
        norm_cites: keys of the publications with the norm values.
        sd_inflation_free_speech: SD of free speech over SD of reading aloud.
        mixed: all readers, each sex as half.
        reference: what a voice is compared with; None compares it with `male` and `female`, mixed by its tract.
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
    reference: PitchLine | None = None

    def transform(self, value: float) -> float:
        """Transform `value` to the scale on which the norms are normally distributed."""
        if self.scale == "linear":
            return value
        held = max(value, self.floor or SMALLEST_LOGGED)
        return math.log(min(held, self.ceiling) if self.ceiling else held)

    @property
    def needs_pitch(self) -> bool:
        """Whether the reference depends on the pitch of the voice."""
        return self.reference is not None and self.reference.t_slope != 0

    def z(self, value: float, voice: VoicePosition) -> float:
        """Standardise `value` for speech of an unknown task.

        With a `reference`, z is the distance from its line. Without, it is the normal score of the value among men and
        women mixed by `voice.tract_share`, which grows with the value at any share.
        """
        transformed = self.transform(value)
        if self.reference is None:
            # imported late: settings and commands that only read the data start without SciPy
            from scipy.special import ndtr, ndtri

            below = (1 - voice.tract_share) * ndtr(self._score(self.male, transformed))
            below += voice.tract_share * ndtr(self._score(self.female, transformed))
            z = float(ndtri(below))
        else:
            expected_shift = self.reference.t_slope * (voice.pitch or 0.0)
            z = self._score(self.reference, transformed - expected_shift)
        return min(max(z, -Z_LIMIT), Z_LIMIT)

    def _score(self, spread: Spread, transformed: float) -> float:
        return (transformed - spread.t_mean) / (spread.t_sd * self.sd_inflation_free_speech)


class VoiceClass(DataModel):
    """Logistic model of the speaker's sex on the pitch that is usual for the tract, and on pitch itself.

    Both in semitones re 150 Hz. `tract_*` is the model of the tract alone. The log odds of a tract differ between
    takes of one speaker; shares are averaged over that spread: MacKay (1992), The evidence framework applied to
    classification networks.

    Attributes:
        between_takes_sd: SD of the log odds of the tract between takes of one speaker.
    """

    intercept: float
    pitch: float
    tract: float
    tract_alone_intercept: float
    tract_alone: float
    between_takes_sd: Annotated[float, Field(ge=0)]

    def tract_share(self, tract: float, deviation: float) -> float:
        """Share by the tract alone, in a take `deviation` SD away."""
        return self._mean_share(self.tract_alone_intercept + self.tract_alone * tract, deviation)

    def female_share(self, pitch: float, tract: float, deviation: float) -> float:
        """Share by pitch and tract, in a take `deviation` SD away."""
        return self._mean_share(self.intercept + self.pitch * pitch + self.tract * tract, deviation)

    def _mean_share(self, logit: float, deviation: float) -> float:
        moved = logit + self.between_takes_sd * deviation
        return logistic(moved / math.sqrt(1 + math.pi * self.between_takes_sd**2 / 8))


class NormsMeta(DataModel):
    """Version of the norms.

    Attributes:
        language: BCP 47 tag of the language that the reference speakers read, as their first language.
    """

    version: Annotated[str, Field(pattern=r"^[\w.+-]+$", max_length=60)]
    language: Annotated[str, AfterValidator(_known_language)] = "en"


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

    def locate(self, measured: FeatureSet, deviation: float = 0.0) -> VoicePosition:
        """Find where a voice lies; `deviation` simulates a take whose resonances lie that many SD away. Internal only.

        The pitch that is usual for the tract is the measured pitch minus `pitch_tract_residual`.
        """
        pitch_hz, residual = _value(measured, "pitch_mean"), _value(measured, "pitch_tract_residual")
        if pitch_hz is None or pitch_hz <= 0:
            return UNKNOWN_VOICE
        pitch = 12 * math.log2(pitch_hz / PITCH_ORIGIN_HZ)
        if residual is None:
            return VoicePosition(pitch, UNKNOWN_VOICE.tract_share, None)
        tract = pitch - residual
        return VoicePosition(
            pitch,
            self.voice_class.tract_share(tract, deviation),
            self.voice_class.female_share(pitch, tract, deviation),
        )

    def standardise(self, measured: FeatureSet, voice: VoicePosition) -> ZScores:
        """Compute z of every measured feature; one whose reference depends on an unknown pitch is left out."""
        z: dict[str, float] = {}
        for name, norm in self.features.items():
            value = _value(measured, name)
            if value is not None and not (norm.needs_pitch and voice.pitch is None):
                z[name] = norm.z(value, voice)
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
