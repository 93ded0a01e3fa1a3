import importlib.util
from pathlib import Path

import numpy as np
import pytest

from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.recorder import Recorder

RATE = 48_000


@pytest.fixture
def key():
    return bytes(range(32))


@pytest.fixture(scope="session")
def speech():
    """A minute of noise with varying level, int16; read-only."""
    t = np.arange(60 * RATE) / RATE
    noise = np.random.default_rng(3).normal(0, 3000, len(t))
    made = (noise * (0.6 + 0.4 * np.sin(2 * np.pi * t))).astype(np.int16)
    made.flags.writeable = False
    return made


@pytest.fixture
def microphone(speech):
    return FileMicrophone(speech)


@pytest.fixture
def finished():
    """Every take that ended."""
    return []


@pytest.fixture
def new_recorder(microphone, tmp_path, key, finished):
    made = []

    def make(**more):
        options = {"lister": microphone, "on_finished": finished.append, **more}
        made.append(Recorder(options.pop("microphone", microphone), tmp_path / "recording", lambda: key, **options))
        return made[-1]

    yield make
    for recorder in made:
        recorder.close()


@pytest.fixture
def recorder(new_recorder):
    return new_recorder()


@pytest.fixture(scope="session")
def processed():
    """The module `enhanced_speech.py` in this folder, which the capture benchmark uses too."""
    spec = importlib.util.spec_from_file_location("enhanced_speech", Path(__file__).with_name("enhanced_speech.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
