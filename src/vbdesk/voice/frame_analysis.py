"""What a recording says moment by moment: computed once, then summarised over any part of it."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vbdesk.voice.f0 import track_f0
from vbdesk.voice.intensity import measure_intensity
from vbdesk.voice.intonation import pitch_resets, pitch_tremor, plausible, semitones, voiced_stretches
from vbdesk.voice.recording import Samples
from vbdesk.voice.rhythm import sounding_frames, speech_threshold, syllable_nuclei
from vbdesk.voice.short_term import HOP_S, Floats, Indices, Track, runs


@dataclass(frozen=True, slots=True)
class FrameAnalysis:
    """Everything that features are summarised from, each tied to the moment where it was measured.

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
        phrase_spans: start of each phrase and start of the next in seconds: the units to resample speech by, since each
            keeps the pause that follows it.
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
    phrase_spans: tuple[tuple[float, float], ...]


def analyse_frames(samples: Samples) -> FrameAnalysis | None:
    """Measure mono `samples`, shape (n,), 16 kHz, frame by frame; None when too little of it is voiced speech."""
    samples = (samples - samples.mean(dtype=np.float64)).astype(np.float32)
    f0 = track_f0(samples)
    if f0 is None:
        return None
    times = f0.times
    intensity = measure_intensity(samples)
    level = intensity.at(times)
    threshold = speech_threshold(intensity.level_dbfs)
    sounding = sounding_frames(level, threshold)
    phrases = runs(sounding)
    voiced = (f0.frequency > 0) & sounding
    if not voiced.any():
        return None
    first, end = phrases[0, 0], phrases[-1, 1]
    gaps = np.stack([phrases[:-1, 1], phrases[1:, 0]], axis=1)
    pitch = semitones(np.where(voiced, f0.frequency, 0.0))
    kept = plausible(pitch)
    stretches = voiced_stretches(voiced)
    nuclei = syllable_nuclei(level, threshold, sounding, voiced)
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
        phrase_spans=_phrase_spans(times, phrases),
    )


def _lengths(times: Floats, stretches: Indices) -> Track:
    """Length in seconds of each stretch of frames, at its middle."""
    start, end = stretches[:, 0], stretches[:, 1]
    middles: Floats = 0.5 * (times[start] + times[end - 1])
    return Track(middles, HOP_S * (end - start).astype(np.float64))


def _phrase_spans(times: Floats, phrases: Indices) -> tuple[tuple[float, float], ...]:
    edges = [*times[phrases[:, 0]].tolist(), float(times[phrases[-1, 1] - 1]) + HOP_S]
    return tuple(pairwise(edges))
