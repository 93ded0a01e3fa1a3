"""Join short clips of one speaker to one recording that is long enough to be measured."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vbdesk.contract.limits import MAX_DURATION_S
from vbdesk.lab.corpus.measurement import (
    MeasurementOutcome,
    Unmeasurable,
    file_digest,
    measure_recording,
)
from vbdesk.language.system_reasons import system_reason
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.voice.activity import detect_speech
from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.errors import AudioError
from vbdesk.voice.recording import ANALYSIS_RATE, Samples

EDGE_S = 0.05
"""Kept before and after the speech of a clip. Two edges are shorter than a pause, so that a joint is never one."""
FADE_S = 0.01
ACROSS_JOINTS = frozenset(
    {"pause_rate", "pause_duration", "pause_duration_variability", "pause_ratio", "phrase_length", "pitch_reset"}
)
"""Features of pauses and phrases: in joined clips they describe how the clips were cut."""


@dataclass(frozen=True, slots=True)
class JoinedClips:
    """Clips of one speaker that are measured as one recording, in this order."""

    paths: tuple[Path, ...]


def is_clip(outcome: MeasurementOutcome) -> bool:
    """Whether a recording only lacks length: it is too short, or has too few seconds of speech."""
    if isinstance(outcome, Unmeasurable):
        return outcome.too_short
    rules = load_reference_data().calibration.scoring
    return outcome.speech_s < rules.min_speech_seconds and outcome.voice_percentage >= rules.min_voice_percentage


def measure_joined(clips: JoinedClips) -> MeasurementOutcome:
    """Measure the clips as one recording, without features of pauses and phrases.

    A clip without speech adds nothing; nor do clips after the longest duration of a recording.
    """
    parts: list[Samples] = []
    rate = 0
    try:
        for path in clips.paths:
            recording = decode(path, check_duration=False)
            rate = rate or recording.sample_rate
            segments = detect_speech(recording).segments
            if segments:
                parts.append(_cut(recording.samples, segments[0][0], segments[-1][1]))
            if sum(map(len, parts)) > MAX_DURATION_S * ANALYSIS_RATE:
                break
        if not parts:
            return Unmeasurable("There is no speech in these clips.")
        measured = measure_recording(replace(from_samples(np.concatenate(parts), ANALYSIS_RATE), sample_rate=rate))
    except AudioError as error:
        return Unmeasurable(f"{path.name}: {error}")
    except OSError as error:
        return Unmeasurable(f"{path.name} cannot be read: {system_reason(error)}.")
    kept = {name: value for name, value in measured.features.items() if name not in ACROSS_JOINTS}
    return replace(measured, features=kept)


def joined_digest(clips: JoinedClips) -> str:
    """Key in the journal: SHA-256 of the digests of the clips, in order. Raises OSError."""
    return hashlib.sha256("\n".join(["joined", *map(file_digest, clips.paths)]).encode()).hexdigest()


def _cut(samples: Samples, start_s: float, end_s: float) -> Samples:
    """The speech with a short edge, faded in and out so that a joint does not click."""
    begin = max(round((start_s - EDGE_S) * ANALYSIS_RATE), 0)
    part = samples[begin : round((end_s + EDGE_S) * ANALYSIS_RATE)].copy()
    fade = min(round(FADE_S * ANALYSIS_RATE), len(part) // 2)
    ramp = np.linspace(0, 1, fade, dtype=np.float32)
    part[:fade] *= ramp
    part[len(part) - fade :] *= ramp[::-1]
    return part
