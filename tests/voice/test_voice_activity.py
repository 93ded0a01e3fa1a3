import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vbdesk.voice.activity import STREAMED_ABOVE_S, SpeechActivity, detect_speech
from vbdesk.voice.decode import from_samples
from vbdesk.voice.recording import ANALYSIS_RATE, Recording

# Speech of the dialogue by its word alignment, in seconds.
TURNS = [(0.98, 6.44), (6.60, 11.28), (11.48, 15.53), (15.92, 28.24), (28.57, 32.66), (33.24, 39.50)]


def test_segments_match_the_speech(kathleen: Recording) -> None:
    silence = 0.0005 * np.random.default_rng(1).standard_normal(10 * ANALYSIS_RATE).astype(np.float32)
    activity = detect_speech(from_samples(np.concatenate([silence, kathleen.samples, silence]), ANALYSIS_RATE))
    alone = detect_speech(kathleen)
    assert activity.segments[0][0] == pytest.approx(10 + alone.segments[0][0], abs=0.1)
    assert activity.segments[-1][1] <= 30.6
    assert activity.speech_s == pytest.approx(alone.speech_s, abs=0.3)
    assert activity.voice_percentage == pytest.approx(100 * activity.speech_s / 40.5, abs=0.1)


def test_frames_agree_with_the_transcript(dialogue: Recording) -> None:
    times_s = np.arange(0.005, dialogue.duration_s, 0.01)
    truth = SpeechActivity(TURNS, 0, 0).covers(times_s)
    found = detect_speech(dialogue).covers(times_s)
    assert np.mean(found[~truth]) < 0.3  # only at the edges of turns
    assert np.mean(found[truth]) > 0.85  # turns include short pauses


def test_segments_are_in_order_and_within_the_recording(dialogue: Recording) -> None:
    edges = np.ravel(detect_speech(dialogue).segments)
    assert np.all(np.diff(edges) > 0)
    assert edges[0] >= 0
    assert edges[-1] <= dialogue.duration_s


@pytest.mark.parametrize("gain", [0.01, 0.1, 3.0])
def test_gain_has_no_influence(male: Recording, gain: float) -> None:
    usual = detect_speech(male)
    changed = detect_speech(from_samples(male.samples * np.float32(gain), ANALYSIS_RATE))
    assert changed.voice_percentage == pytest.approx(usual.voice_percentage, abs=0.5)


def test_noise_and_tones_are_not_speech() -> None:
    times = np.arange(20 * ANALYSIS_RATE) / ANALYSIS_RATE
    noise = 0.1 * np.random.default_rng(0).standard_normal(len(times))
    for sound in (noise, 0.3 * np.sin(2 * np.pi * 440 * times)):
        assert detect_speech(from_samples(sound, ANALYSIS_RATE)).voice_percentage < 3


def test_silence_has_no_speech() -> None:
    activity = detect_speech(from_samples(np.zeros(5 * ANALYSIS_RATE), ANALYSIS_RATE))
    assert activity == SpeechActivity([], 0, 0.0)
    assert not activity.covers(np.array([1.0])).any()


def test_parallel_streams_give_the_same_speech_in_a_long_recording(kathleen: Recording) -> None:
    copies = int(STREAMED_ABOVE_S // kathleen.duration_s) + 1
    long = from_samples(np.tile(kathleen.samples, copies), ANALYSIS_RATE)
    assert long.duration_s > STREAMED_ABOVE_S
    assert detect_speech(long).voice_percentage == pytest.approx(detect_speech(kathleen).voice_percentage, abs=1)


def test_the_detector_sends_no_telemetry(tmp_path: Path) -> None:
    """By default onnxruntime stores a device id and a queue of reports in the home folder."""
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    listen = "from vbdesk.voice.activity import detector; detector(); import time; time.sleep(0.5)"
    subprocess.run([sys.executable, "-c", listen], env={**os.environ, **home}, check=True)
    assert [path for path in tmp_path.rglob("*") if "onnx" in path.name] == []
