"""Frame-by-frame measurements of a recording, computed once and summarised over any part of it."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vbdesk.voice.band import breath_band
from vbdesk.voice.cepstrum import cepstral_prominence
from vbdesk.voice.f0 import track_f0
from vbdesk.voice.formants import measure_formants
from vbdesk.voice.harmonicity import BAND_SILENCE_THRESHOLD, measure_harmonicity
from vbdesk.voice.intensity import measure_intensity
from vbdesk.voice.intonation import pitch_resets, pitch_tremor, plausible, semitones, voiced_stretches
from vbdesk.voice.perturbation import Perturbation, measure_perturbation
from vbdesk.voice.pulses import find_pulses
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.rhythm import sounding_frames, speech_thresholds, syllable_nuclei
from vbdesk.voice.short_term import HOP_S, Floats, Indices, Mask, Track, runs
from vbdesk.voice.spectrum import spectral_balance

_VOWEL_RANGE_DB = 15.0  # below the loud frames
_VOWEL_HARMONICITY_DB = 1.4  # at a lag of one period; selects the same frames as the norms' 3 dB at the best lag
_FEWEST_VOWEL_FRAMES = 30


@dataclass(frozen=True, slots=True)
class FrameAnalysis:
    """All measurements that features are summarised from, each with its time.

    Attributes:
        speaking: every 10 ms from the first to the last speech: 1 in speech, 0 in a pause.
        phrases: at the middle of each stretch of speech between pauses: its length in seconds.
        pauses: at the middle of each silence of at least 0.25 s between phrases: its length in seconds.
        nuclei: 1 at each detected syllable nucleus.
        level_dbfs: every 10 ms of speech.
        voicing: every 10 ms of speech: 1 if voiced, else 0.
        f0: every voiced 10 ms of speech, in Hz; octave errors left out.
        voiced_stretches: at the middle of each voiced stretch of at least 0.03 s: its length in seconds.
        pitch_resets: at each phrase boundary: step of pitch in semitones.
        tremor: at the middle of each voiced stretch of at least 0.4 s: modulation in semitones, length as weight.
        perturbation: periods and amplitudes of glottal pulses.
        harmonicity: every voiced 10 ms of speech, in dB.
        breath_harmonicity: every vowel-like 10 ms, in dB, of the band from 1.5 to 4.5 kHz.
        cepstral_prominence: every 20 ms of speech (sparser in long recordings), in dB.
        spectrum: every vowel-like 10 ms, columns as in `spectrum.COLUMNS`.
        formants: every vowel-like 10 ms with plausible formants: F1, F2, F3 and the bandwidth of F1 in Hz.
        phrase_spans: start of each phrase and start of the next in seconds. These are the units for resampling, because
            each includes the pause after it.
    """

    speaking: Track
    phrases: Track
    pauses: Track
    nuclei: Track
    level_dbfs: Track
    voicing: Track
    f0: Track
    voiced_stretches: Track
    pitch_resets: Track
    tremor: Track
    perturbation: Perturbation
    harmonicity: Track
    breath_harmonicity: Track
    cepstral_prominence: Track
    spectrum: Track
    formants: Track
    phrase_spans: tuple[tuple[float, float], ...]


def analyse_frames(samples: Samples) -> FrameAnalysis | None:
    """Measure mono `samples`, shape (n,), 16 kHz, frame by frame; None with too little voiced speech."""
    if samples.size == 0:
        return None
    samples = samples - np.float32(samples.mean(dtype=np.float64))
    f0 = track_f0(samples)
    if f0 is None:
        return None
    times = f0.times
    intensity = measure_intensity(samples)
    level = intensity.at(times)
    thresholds = speech_thresholds(level, f0.frequency > 0)
    sounding = sounding_frames(level, thresholds)
    phrases = runs(sounding)
    voiced = (f0.frequency > 0) & sounding
    if not voiced.any():
        return None
    first, end = phrases[0, 0], phrases[-1, 1]
    gaps = np.stack([phrases[:-1, 1], phrases[1:, 0]], axis=1)
    pitch = semitones(np.where(voiced, f0.frequency, 0.0))
    kept = plausible(pitch)
    stretches = voiced_stretches(voiced)
    harmonicity = np.full(times.size, np.nan)
    harmonicity[voiced] = measure_harmonicity(samples, times[voiced], f0.floor, f0=f0.frequency[voiced])
    loud = level > np.percentile(intensity.level_dbfs, 95) - _VOWEL_RANGE_DB
    vowels = _vowel_like(voiced, loud, harmonicity)
    breath = measure_harmonicity(
        breath_band(samples), times[vowels], f0.floor, silence_threshold=BAND_SILENCE_THRESHOLD
    )
    nuclei = syllable_nuclei(level, thresholds.onset, sounding, voiced)
    return FrameAnalysis(
        speaking=Track(times[first:end], sounding[first:end].astype(float)),
        phrases=_lengths(times, phrases),
        pauses=_lengths(times, gaps),
        nuclei=Track(times[nuclei], np.ones(nuclei.size)),
        level_dbfs=Track(times[sounding], level[sounding]),
        voicing=Track(times[sounding], voiced[sounding].astype(float)),
        f0=Track(times[kept], f0.frequency[kept]),
        voiced_stretches=_lengths(times, stretches),
        pitch_resets=pitch_resets(pitch, times, phrases),
        tremor=pitch_tremor(pitch, times, stretches),
        perturbation=measure_perturbation(samples, find_pulses(samples, f0)),
        harmonicity=_measured(times[voiced], harmonicity[voiced]),
        breath_harmonicity=_measured(times[vowels], breath),
        cepstral_prominence=cepstral_prominence(samples, _cepstral_stretches(phrases)),
        spectrum=spectral_balance(samples, times[vowels], f0.frequency[vowels]),
        formants=measure_formants(samples, times[vowels]),
        phrase_spans=_phrase_spans(times, phrases),
    )


def _vowel_like(voiced: Mask, loud: Mask, harmonicity: Floats) -> Mask:
    """Voiced frames that are loud and clearly periodic; all voiced frames if those are too few."""
    vowels = voiced & loud & (np.nan_to_num(harmonicity, nan=-np.inf) > _VOWEL_HARMONICITY_DB)
    return vowels if np.count_nonzero(vowels) >= _FEWEST_VOWEL_FRAMES else voiced


def _measured(times: Floats, values: Floats) -> Track:
    """A track of the finite values."""
    known = np.isfinite(values)
    return Track(times[known], values[known])


def _cepstral_stretches(phrases: Indices) -> Indices:
    """Samples of the phrases, cut as for the norms: frame `i` starts at `i` times 10 ms."""
    return (phrases * round(HOP_S * ANALYSIS_RATE)).astype(np.int64)


def _lengths(times: Floats, stretches: Indices) -> Track:
    """Length in seconds of each stretch of frames, at its middle."""
    start, end = stretches[:, 0], stretches[:, 1]
    middles: Floats = 0.5 * (times[start] + times[end - 1])
    return Track(middles, HOP_S * (end - start).astype(np.float64))


def _phrase_spans(times: Floats, phrases: Indices) -> tuple[tuple[float, float], ...]:
    edges = [*times[phrases[:, 0]].tolist(), float(times[phrases[-1, 1] - 1]) + HOP_S]
    return tuple(pairwise(edges))
