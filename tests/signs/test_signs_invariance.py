"""Levels do not depend on how a recording was made, packed or trimmed."""

from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vbdesk.signs.engine import Target, listen, read
from vbdesk.voice.decode import decode
from vbdesk.voice.recording import Recording

MODELS = [Target("model", name) for name in ("pulse", "haven", "apex")]
RATE = 16_000


@pytest.fixture(scope="module")
def data(request: pytest.FixtureRequest) -> Path:
    return request.config.rootpath / "tests" / "data"


def levels(recording: Recording) -> list[tuple[str, str]]:
    heard = listen(recording)
    return [(signal.name, signal.level) for model in MODELS for signal in read(heard, model).signals]


@pytest.fixture(scope="module")
def usual(data: Path) -> list[tuple[str, str]]:
    return levels(decode(data / "speech_kathleen_20s.flac"))


@pytest.mark.parametrize("coded", ["speech_kathleen_20s.mp3", "speech_kathleen_20s.m4a"])
def test_levels_stay_in_another_container(usual, data, coded):
    assert levels(decode(data / coded)) == usual


@pytest.mark.parametrize("change", ["softer", "stereo", "later"])
def test_levels_stay_with_gain_a_stereo_copy_and_leading_silence(usual, data, tmp_path, change):
    samples, _ = sf.read(data / "speech_kathleen_20s.flac", dtype="float32")
    changed = {
        "softer": 0.25 * samples,
        "stereo": np.stack([samples, samples], axis=1),
        "later": np.concatenate([np.zeros(2 * RATE, np.float32), samples]),
    }[change]
    sf.write(tmp_path / "changed.wav", changed, RATE, subtype="FLOAT")
    assert levels(decode(tmp_path / "changed.wav")) == usual
