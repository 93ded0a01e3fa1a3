"""Reverberation is reported, a dry room with a slow speaker or noise is not."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.decode import from_samples
from vbdesk.voice.quality_rules import quality_rules
from vbdesk.voice.recording import ANALYSIS_RATE, Recording
from vbdesk.voice.reverberation import is_reverberant, measure_decay
from vbdesk.voice.short_term import cut_frames


def echoes(recording: Recording) -> bool:
    return is_reverberant(recording.samples, detect_speech(recording), quality_rules().issues.reverberation)


def in_a_room(recording: Recording, rt60_s: float, direct_db: float = 0.0, seed: int = 1) -> Recording:
    """`recording` with an exponentially decaying tail, the voice itself `direct_db` over it (Polack's room)."""
    count = int(1.2 * rt60_s * ANALYSIS_RATE)
    tail = np.random.default_rng(seed).standard_normal(count) * 10 ** (-3 * np.arange(count) / ANALYSIS_RATE / rt60_s)
    tail[: int(0.005 * ANALYSIS_RATE)] = 0
    response = tail / np.sqrt(np.square(tail).sum()) * 10 ** (-direct_db / 20)
    response[0] += 1
    return from_samples(fftconvolve(recording.samples, response)[: len(recording.samples)], ANALYSIS_RATE)


def with_noise(recording: Recording, snr_db: float) -> Recording:
    noise = np.random.default_rng(2).standard_normal(len(recording.samples))
    return from_samples(recording.samples + noise * recording.samples.std() * 10 ** (-snr_db / 20), ANALYSIS_RATE)


def read_at(recording: Recording, tempo: float) -> Recording:
    """Change the tempo: frames are written with another hop than they were read."""
    frame, hop = 640, 160
    starts = np.arange(0, len(recording.samples) - frame, int(hop * tempo))
    frames = cut_frames(recording.samples, starts, frame) * np.hanning(frame).astype(np.float32) / 2
    output: NDArray[np.float32] = np.zeros(len(starts) * hop + frame, np.float32)
    for number, piece in enumerate(frames):
        output[number * hop : number * hop + frame] += piece
    return from_samples(output, ANALYSIS_RATE)


@pytest.mark.parametrize(("rt60_s", "direct_db"), [(0.6, -3), (0.8, 0), (1.2, 0)])
def test_a_reverberant_room_is_reported(kathleen: Recording, male: Recording, rt60_s: float, direct_db: float) -> None:
    for recording in (kathleen, male):
        assert echoes(in_a_room(recording, rt60_s, direct_db))


@pytest.mark.parametrize("rt60_s", [0.1, 0.2, 0.3])
def test_an_ordinary_room_is_not_reported(kathleen: Recording, male: Recording, rt60_s: float) -> None:
    for recording in (kathleen, male):
        assert not echoes(in_a_room(recording, rt60_s))


@pytest.mark.parametrize("snr_db", [20, 10, 5])
def test_noise_in_the_pauses_is_not_reverberation(kathleen: Recording, male: Recording, snr_db: float) -> None:
    for recording in (kathleen, male):
        assert not echoes(with_noise(recording, snr_db))


def test_a_reverberant_room_is_reported_in_noise(male: Recording) -> None:
    assert echoes(with_noise(in_a_room(male, 1.0), 20))


def test_slow_speech_is_not_reverberation(kathleen: Recording, male: Recording) -> None:
    for recording in (kathleen, male):
        assert not echoes(read_at(recording, 0.6))


def test_falls_are_slower_in_a_more_reverberant_room(male: Recording) -> None:
    falls = []
    for rt60_s in (0.2, 0.4, 0.6, 0.9, 1.3):
        recording = in_a_room(male, rt60_s)
        falls.append(measure_decay(recording.samples, detect_speech(recording)).fall_db_per_s)
    assert falls == sorted(falls, reverse=True)
    assert falls[-1] < 60 / 1.3 * 3


@pytest.mark.parametrize("gain", [0.01, 10.0])
def test_gain_does_not_matter(male: Recording, gain: float) -> None:
    activity = detect_speech(male)
    decay, usual = measure_decay(male.samples * np.float32(gain), activity), measure_decay(male.samples, activity)
    assert decay.fall_db_per_s == pytest.approx(usual.fall_db_per_s, rel=0.01)


def test_without_speech_there_is_no_decay(male: Recording) -> None:
    assert measure_decay(male.samples, SpeechActivity([], 0, 0)) is None
    assert measure_decay(male.samples[:1000], detect_speech(male)) is None
    assert measure_decay(np.zeros(0, np.float32), SpeechActivity([], 0, 0)) is None
