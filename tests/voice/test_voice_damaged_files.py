"""A thousand damaged files of the four formats: each is decoded, or rejected with a sentence."""

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from damaged_files import damaged

from vbdesk.voice.decode import decode
from vbdesk.voice.errors import AudioError

DATA = Path(__file__).parents[1] / "data"
FILES_PER_FORMAT = 250
SPOKEN_S = 1.5  # short, so that a thousand take seconds


def broken_files(sound: bytes, generator: np.random.Generator) -> Iterator[bytes]:
    for number in range(FILES_PER_FORMAT):
        yield damaged(sound, 1 + number % 3, generator)


def sound_in(name: str) -> bytes:
    """A whole file of the format `name`; that which libsndfile does not write is the repository's, 20 s long."""
    if name == "m4a":
        return (DATA / f"speech_kathleen_20s.{name}").read_bytes()
    samples, rate = sf.read(DATA / "speech_kathleen_20s.flac")
    buffer = io.BytesIO()
    sf.write(buffer, samples[: int(SPOKEN_S * rate)], rate, format=name)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["wav", "flac", "mp3", "m4a"])
def test_broken_files_are_decoded_or_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    path = tmp_path / "take"
    outcomes: Counter[str] = Counter()
    for content in broken_files(sound_in(name), np.random.default_rng(len(name) + ord(name[0]))):
        path.write_bytes(content)
        try:
            recording = decode(path, check_duration=False)
        except AudioError as error:
            assert str(error).endswith(error.advice)
            outcomes[type(error).__name__] += 1
        else:
            assert recording.samples.dtype == np.float32
            assert np.isfinite(recording.samples).all()
            assert len(recording.samples) > 0
            outcomes["decoded"] += 1
    assert sum(outcomes.values()) == FILES_PER_FORMAT
    assert outcomes["UnsupportedAudio"] > FILES_PER_FORMAT / 10  # otherwise the damage is too mild
