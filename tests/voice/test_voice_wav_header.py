"""Wrong sizes in WAV headers, and unusual positions of the data chunk."""

import io
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vbdesk.voice.decode import decode
from vbdesk.voice.errors import UnsupportedAudio
from vbdesk.voice.recording import ANALYSIS_RATE, Recording
from vbdesk.voice.wav_header import DataChunk, find_data_chunk


def wav(recording: Recording, container: str = "WAV") -> bytearray:
    buffer = io.BytesIO()
    sf.write(buffer, recording.samples, ANALYSIS_RATE, format=container, subtype="PCM_16")
    return bytearray(buffer.getvalue())


def with_sizes(content: bytearray, riff: int, data: int) -> bytearray:
    content[4:8] = struct.pack("<I", riff)
    content[40:44] = struct.pack("<I", data)
    return content


def write(folder: Path, content: bytes) -> Path:
    path = folder / "take"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("riff", "data"),
    [
        (0, 0),
        (36, 0),
        (0xFFFFFFFF, 0),
        (0xFFFFFFFF, 0xFFFFFFFF),
        (0x7FFFF024, 0x7FFFF000),
        (0x80000024, 0x80000000),
    ],
)
def test_a_file_with_unknown_length_is_read_to_the_end(
    tmp_path: Path, kathleen: Recording, riff: int, data: int
) -> None:
    recording = decode(write(tmp_path, with_sizes(wav(kathleen), riff, data)))
    assert recording.duration_s == kathleen.duration_s
    assert np.abs(recording.samples - kathleen.samples).max() < 1e-4


@pytest.mark.parametrize("riff", [0, 100, 0xFFFFFFFF])
def test_the_riff_size_is_not_needed(tmp_path: Path, kathleen: Recording, riff: int) -> None:
    content = wav(kathleen)
    content[4:8] = struct.pack("<I", riff)
    assert decode(write(tmp_path, content)).duration_s == kathleen.duration_s


@pytest.mark.parametrize(("missing_bytes", "is_refused"), [(1001, False), (31_999, False), (40_000, True)])
def test_a_truncated_wav_is_rejected_if_more_than_a_second_is_missing(
    tmp_path: Path, kathleen: Recording, missing_bytes: int, is_refused: bool
) -> None:
    path = write(tmp_path, wav(kathleen)[:-missing_bytes])
    if is_refused:
        with pytest.raises(UnsupportedAudio, match="cut off"):
            decode(path)
    else:
        assert decode(path).duration_s == pytest.approx(kathleen.duration_s - missing_bytes / 32_000, abs=0.001)


@pytest.mark.parametrize("magic", [b"RF64", b"BW64"])
def test_long_forms_of_wav_are_read(tmp_path: Path, kathleen: Recording, magic: bytes) -> None:
    content = wav(kathleen, "RF64")
    content[:4] = magic
    recording = decode(write(tmp_path, content))
    assert (recording.container, recording.duration_s) == ("wav", kathleen.duration_s)


@pytest.mark.parametrize("container", ["RF64", "WAV"])
def test_other_chunks_before_and_after_the_data_are_skipped(
    tmp_path: Path, kathleen: Recording, container: str
) -> None:
    content = wav(kathleen, container)
    data = content.index(b"data")
    odd = b"".join(
        name + struct.pack("<I", size) + bytes(size + size % 2)
        for name, size in [(b"JUNK", 27), (b"bext", 603), (b"iXML", 0), (b"fact", 4), (b"LIST", 4)]
    )
    recording = decode(write(tmp_path, content[:data] + odd + content[data:] + odd + b"\0"))
    assert recording.duration_s == kathleen.duration_s
    assert np.abs(recording.samples - kathleen.samples).max() < 1e-4


def test_the_declared_size_is_compared_with_the_present_one(kathleen: Recording) -> None:
    size = 2 * len(kathleen.samples)
    content = wav(kathleen)
    assert find_data_chunk(io.BytesIO(content)) == DataChunk(size, size, 32_000)
    assert find_data_chunk(io.BytesIO(content[:-32_000])).missing_s == 1.0
    assert find_data_chunk(io.BytesIO(with_sizes(content, 0, 0))).is_unfinished
    assert find_data_chunk(io.BytesIO(content[:36])) is None


def test_a_file_of_only_other_chunks_is_abandoned_early() -> None:
    assert find_data_chunk(io.BytesIO(b"RIFF\xff\xff\xff\xffWAVE" + b"JUNK\0\0\0\0" * 100_000)) is None
