"""A thousand broken files of the four formats: each is decoded or refused with a sentence, and nothing else happens."""

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vbdesk.voice.decode import decode
from vbdesk.voice.errors import AudioError

DATA = Path(__file__).parents[1] / "data"
FILES_PER_FORMAT = 250
HEAD = 600  # bytes in which headers stand, and where most of the damage is done
SPOKEN_S = 1.5  # short, so that a thousand take seconds

Generator = np.random.Generator


def flip_bits_of_the_head(content: bytearray, generator: Generator) -> None:
    for position in generator.integers(0, min(HEAD, len(content)), generator.integers(1, 12)):
        content[position] ^= 1 << int(generator.integers(0, 8))


def overwrite_a_field_of_the_head(content: bytearray, generator: Generator) -> None:
    position = int(generator.integers(4, min(HEAD, len(content)) - 8))
    extremes = [b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x01"]
    content[position : position + 4] = extremes[int(generator.integers(len(extremes)))]


def cut_off(content: bytearray, generator: Generator) -> None:
    del content[int(generator.integers(1, len(content))) :]


def fill_with_noise(content: bytearray, generator: Generator) -> None:
    start = int(generator.integers(0, len(content)))
    length = min(int(generator.integers(1, 2000)), len(content) - start)
    content[start : start + length] = generator.bytes(length)


def lose_a_piece(content: bytearray, generator: Generator) -> None:
    start = int(generator.integers(0, len(content)))
    del content[start : start + int(generator.integers(1, 4000))]


def put_something_before(content: bytearray, generator: Generator) -> None:
    heads = [
        b"ID3\x04\x00\x10\x7f\x7f\x7f\x7f",
        b"\x00" * 300,
        b"RIFF\x00\x00\x00\x00WAVE",
        b"fLaC",
        b"\xff\xfb\x90\x64",
    ]
    content[:0] = heads[int(generator.integers(len(heads)))]


def repeat_the_head(content: bytearray, generator: Generator) -> None:
    position = int(generator.integers(0, len(content)))
    content[position:position] = content[: int(generator.integers(4, HEAD))]


DAMAGES = (
    flip_bits_of_the_head,
    overwrite_a_field_of_the_head,
    cut_off,
    fill_with_noise,
    lose_a_piece,
    put_something_before,
    repeat_the_head,
)


def broken_files(sound: bytes, generator: Generator) -> Iterator[bytes]:
    for number in range(FILES_PER_FORMAT):
        content = bytearray(sound)
        for damage in generator.choice(len(DAMAGES), size=1 + number % 3):
            if len(content) > HEAD:
                DAMAGES[damage](content, generator)
        yield bytes(content)


def sound_in(name: str) -> bytes:
    """A whole file of the format `name`; those of two formats are the repository's, 20 s long and small."""
    if name in ("mp3", "m4a"):
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
    assert outcomes["UnsupportedFormat"] > FILES_PER_FORMAT / 10  # else the damage is too mild to say anything
