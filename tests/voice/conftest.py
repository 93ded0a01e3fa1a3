"""Recordings shared by the voice tests."""

import sys
from pathlib import Path

import pytest

from vbdesk.voice.decode import decode
from vbdesk.voice.recording import Recording

TESTS = Path(__file__).parents[1]
sys.path.append(str(Path(__file__).parent))  # synthetic_voice, by name


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return TESTS / "data"


@pytest.fixture(scope="session")
def shared_audio() -> Path:
    """The larger collection next to the checkout."""
    folder = TESTS.parents[1] / "shared" / "audio"
    if not folder.is_dir():
        pytest.skip("../shared/audio is not here")
    return folder


@pytest.fixture(scope="session")
def kathleen(data_folder: Path) -> Recording:
    return decode(data_folder / "speech_kathleen_20s.flac")


@pytest.fixture(scope="session")
def male(data_folder: Path) -> Recording:
    return decode(data_folder / "speech_male_20s.flac")


@pytest.fixture(scope="session")
def dialogue(data_folder: Path) -> Recording:
    return decode(data_folder / "dialogue_two_speakers_40s.flac")
