"""The acoustic features of a recording, one number each, with the definitions of the norms.

There are two steps, so that features of parts and of resampled recordings are cheap. `analyse_frames` measures every
frame once; `summarise_features` turns the frames of a part into features. `extract_features` does both for a whole
recording.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat

from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource
from vbdesk.voice.frame_analysis import FrameAnalysis, analyse_frames
from vbdesk.voice.intonation import semitones
from vbdesk.voice.measurement import FeatureSet, Measurement
from vbdesk.voice.recording import Samples
from vbdesk.voice.rhythm import syllables_of
from vbdesk.voice.short_term import HOP_S, Floats, Spans
from vbdesk.voice.spectrum import COLUMNS as SPECTRUM_COLUMNS

__all__ = ["FEATURES", "FrameAnalysis", "analyse_frames", "extract_features", "summarise_features"]

FEATURES = (
    *("pitch_mean", "pitch_variability", "pitch_range", "pitch_reset", "voice_tremor"),
    *("voice_jitter", "voice_shimmer", "voice_shimmer_percent"),
    *("harmonics_to_noise", "cepstral_peak_prominence", "cepstral_peak_variability", "aspiration_noise"),
    *("h1_h2_difference", "alpha_ratio", "hammarberg_index", "spectral_slope_low", "spectral_slope_mid"),
    *("formant_1_mean", "formant_2_mean", "formant_3_mean", "formant_1_bandwidth", "formant_2_variability"),
    *("vowel_space", "pitch_tract_residual"),
    *("loudness_mean", "loudness_variability", "loudness_range"),
    *("speech_rate", "articulation_rate", "pause_rate", "pause_duration", "pause_duration_variability", "pause_ratio"),
    *("phrase_length", "voiced_segment_length", "voiced_fraction"),
)

_FEWEST_FRAMES = 30  # of 10 ms; means over fewer frames depend on the words more than on the voice
_FEWEST_PERIODS = 30
_FEWEST_CEPSTRA = 15  # of 20 ms
_FEWEST_RESETS = 2
_FEWEST_VARYING_PAUSES = 3
_NEED_PAUSES = frozenset({"pause_duration", "pause_duration_variability", "pitch_reset"})
_NEED_CLEAR_SOUND = frozenset({"harmonics_to_noise", "cepstral_peak_prominence", "aspiration_noise"})

Values = dict[str, float | np.floating]


def extract_features(samples: Samples, *, reliable_voice_quality: bool = True) -> FeatureSet:
    """Measure all features of a whole recording: `analyse_frames`, then `summarise_features`."""
    return summarise_features(analyse_frames(samples), reliable_voice_quality=reliable_voice_quality)


def summarise_features(
    frames: FrameAnalysis | None, spans: Spans | None = None, *, reliable_voice_quality: bool = True
) -> FeatureSet:
    """Summarise a recording, or parts of it, into features.

    Args:
        frames: from `analyse_frames`; None makes every feature missing.
        spans: parts as (start, end) in seconds; None is the whole recording. A repeated part counts repeatedly. A pause
            or phrase belongs to the part that contains its middle. `frames.phrase_spans` are the units to resample.
        reliable_voice_quality: False if noise is too strong for harmonics-to-noise measures, which are then missing.

    Returns:
        All of `FEATURES`; a feature that is not measurable is missing as `too_little_speech`, `too_few_pauses` or
        `noise`.
    """
    values: Values = {}
    if frames is not None:
        for group in _GROUPS:
            values |= group(frames, spans)
    return {name: _measurement(name, values, reliable_voice_quality) for name in FEATURES}


def _measurement(name: str, values: Values, reliable_voice_quality: bool) -> Measurement:
    if name in _NEED_CLEAR_SOUND and not reliable_voice_quality:
        return Measurement(None, "noise")
    value = float(values.get(name, math.nan))
    if math.isfinite(value):
        return Measurement(value)
    lacks_pauses = name in _NEED_PAUSES and "pause_rate" in values
    return Measurement(None, "too_few_pauses" if lacks_pauses else "too_little_speech")


def _pitch(frames: FrameAnalysis, spans: Spans | None) -> Values:
    values: Values = {}
    f0 = frames.f0.within(spans)
    if f0.size >= _FEWEST_FRAMES:
        pitch = semitones(f0)
        values["pitch_mean"] = np.mean(f0)
        values["pitch_variability"] = np.std(pitch, ddof=1)
        values["pitch_range"] = _width(pitch)
    resets = frames.pitch_resets.within(spans)
    if resets.size >= _FEWEST_RESETS:
        values["pitch_reset"] = np.mean(resets)
    modulation = frames.tremor.within(spans)
    if modulation.size:
        values["voice_tremor"] = np.average(modulation[:, 0], weights=modulation[:, 1])
    return values


def _perturbation(frames: FrameAnalysis, spans: Spans | None) -> Values:
    parts = frames.perturbation
    steps = parts.period_steps.within(spans)
    amplitude_steps = parts.amplitude_steps.within(spans)
    if min(steps.size, amplitude_steps.shape[0]) < _FEWEST_PERIODS:
        return {}
    return {
        "voice_jitter": 100 * np.mean(steps) / np.mean(parts.periods.within(spans)),
        "voice_shimmer": np.mean(amplitude_steps[:, 1]),
        "voice_shimmer_percent": 100 * np.mean(amplitude_steps[:, 0]) / np.mean(parts.amplitudes.within(spans)),
    }


def _clearness(frames: FrameAnalysis, spans: Spans | None) -> Values:
    values: Values = {}
    harmonicity = frames.harmonicity.within(spans)
    if harmonicity.size >= _FEWEST_FRAMES:
        values["harmonics_to_noise"] = np.mean(harmonicity)
    breath = frames.breath_harmonicity.within(spans)
    if breath.size >= _FEWEST_FRAMES:
        values["aspiration_noise"] = -np.mean(breath)
    prominence = frames.cepstral_prominence.within(spans)
    if prominence.size >= _FEWEST_CEPSTRA:
        values["cepstral_peak_prominence"] = np.mean(prominence)
    return values


def _spectrum(frames: FrameAnalysis, spans: Spans | None) -> Values:
    rows = frames.spectrum.within(spans)
    if rows.shape[0] < _FEWEST_FRAMES:
        return {}
    columns = dict(zip(SPECTRUM_COLUMNS, rows.T, strict=True))
    values: Values = {"cepstral_peak_variability": np.std(columns.pop("cepstral_peak"))}
    return values | {name: np.mean(column) for name, column in columns.items()}


def _formants(frames: FrameAnalysis, spans: Spans | None) -> Values:
    rows = frames.formants.within(spans)
    f0 = frames.f0.within(spans)
    if min(rows.shape[0], f0.size) < _FEWEST_FRAMES:
        return {}
    first, second, _, bandwidth = rows.T
    means = rows[:, :3].mean(axis=0)
    spread = np.cov(_bark(first), _bark(second))
    pitch = float(semitones(np.mean(f0, keepdims=True))[0])
    return {
        "formant_1_mean": means[0],
        "formant_2_mean": means[1],
        "formant_3_mean": means[2],
        "formant_1_bandwidth": np.median(bandwidth),
        "formant_2_variability": 100 * np.std(second) / means[1],
        "vowel_space": math.pi * math.sqrt(max(np.linalg.det(spread), 0.0)),
        "pitch_tract_residual": pitch - PitchTractModel.load().expected_pitch(means),
    }


def _bark(frequency: Floats) -> Floats:
    """Critical-band rate of a frequency in Hz (Traunmüller 1990)."""
    return 26.81 * frequency / (1960.0 + frequency) - 0.53


def _loudness(frames: FrameAnalysis, spans: Spans | None) -> Values:
    level = frames.level_dbfs.within(spans)
    if level.size < _FEWEST_FRAMES:
        return {}
    return {
        "loudness_mean": np.mean(level),
        "loudness_variability": np.std(level),
        "loudness_range": _width(level),
    }


def _rhythm(frames: FrameAnalysis, spans: Spans | None) -> Values:
    speaking = frames.speaking.within(spans)
    phrases = frames.phrases.within(spans)
    speech_s, total_s = HOP_S * speaking.sum(), HOP_S * speaking.size
    if speech_s < HOP_S * _FEWEST_FRAMES or phrases.size == 0:
        return {}
    pauses = frames.pauses.within(spans)
    syllables = syllables_of(frames.nuclei.within(spans).size)
    values: Values = {
        "speech_rate": syllables / total_s,
        "articulation_rate": syllables / speech_s,
        "pause_rate": 60 * pauses.size / total_s,
        "pause_ratio": 100 * (total_s - speech_s) / total_s,
        "phrase_length": np.mean(phrases),
    }
    if pauses.size:
        values["pause_duration"] = np.mean(pauses)
    if pauses.size >= _FEWEST_VARYING_PAUSES:
        values["pause_duration_variability"] = np.std(pauses, ddof=1)
    return values


def _voicing(frames: FrameAnalysis, spans: Spans | None) -> Values:
    voicing = frames.voicing.within(spans)
    stretches = frames.voiced_stretches.within(spans)
    if voicing.size < _FEWEST_FRAMES or stretches.size == 0:
        return {}
    return {"voiced_fraction": 100 * np.mean(voicing), "voiced_segment_length": np.mean(stretches)}


def _width(values: Floats) -> float:
    low, high = np.percentile(values, [5, 95])
    return float(high - low)


_GROUPS: tuple[Callable[[FrameAnalysis, Spans | None], Values], ...] = (
    _pitch,
    _perturbation,
    _clearness,
    _spectrum,
    _formants,
    _loudness,
    _rhythm,
    _voicing,
)


class PitchTractModel(BaseModel):
    """Intercept and weights of ln(mean formant in Hz), for F0 in semitones re 100 Hz."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    intercept: FiniteFloat
    ln_formant_1: FiniteFloat
    ln_formant_2: FiniteFloat
    ln_formant_3: FiniteFloat

    @classmethod
    @cache
    def load(cls) -> Self:
        """Read the model of the shipped norms.

        Raises:
            pydantic.ValidationError: the norms file has no valid model.
        """
        return cls.model_validate(read_toml(resource("norms", "norms.toml")).get("pitch_tract_model"))

    def expected_pitch(self, formants: Floats) -> float:
        """Expected F0 in semitones re 100 Hz for mean F1, F2 and F3 in Hz, shape (3,)."""
        weights = (self.ln_formant_1, self.ln_formant_2, self.ln_formant_3)
        return self.intercept + float(np.dot(weights, np.log(formants)))
