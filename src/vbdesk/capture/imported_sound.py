"""Decode an imported file from memory at its own rate, for playing and for encoding.

Reads block by block: a wrong length, channel count or rate in a header reserves no memory.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import soundfile as sf
from numpy.typing import NDArray

from vbdesk.capture.encrypted_take import Frames, TakeAudio
from vbdesk.language import message
from vbdesk.voice.channels import check_channels
from vbdesk.voice.container import identify
from vbdesk.voice.decode import LARGEST_VALUE, MAX_SAMPLE_RATE
from vbdesk.voice.errors import RecordingTooLong, UnsupportedAudio

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame

FULL_SCALE = np.float32(32768.0)
BLOCK_FRAMES = 1 << 16
MOST_FRAMES = 1 << 28  # 93 minutes at 48 kHz; 512 MiB in memory

_Block = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SoundLength:
    """Length of the sound in a file."""

    frames: int
    sample_rate: int

    @property
    def duration_s(self) -> float:
        """In seconds."""
        return self.frames / self.sample_rate


def decode_file(content: bytes) -> TakeAudio:
    """Decode a WAV, FLAC, MP3 or M4A file to mono (mean of the channels).

    Raises:
        UnsupportedAudio: it is none of them, or damaged.
        RecordingTooLong: it is too long to be held in memory.
    """
    mono, sample_rate = bytearray(), 0  # grows in place, unlike an array
    for block_rate, block in _counted_blocks(io.BytesIO(content)):
        sample_rate = block_rate
        mono += _to_int16(block.mean(axis=1)).tobytes()
    return TakeAudio(np.frombuffer(mono, np.int16), sample_rate, True, {}, ())


def measure_file(file: BinaryIO) -> SoundLength:
    """Measure the length of a file; errors as for `decode_file`."""
    frames = sample_rate = 0
    for block_rate, block in _counted_blocks(file):
        sample_rate, frames = block_rate, frames + len(block)
    return SoundLength(frames, sample_rate)


def _counted_blocks(file: BinaryIO) -> Iterator[tuple[int, _Block]]:
    """Yield the sampling rate and a block, shape (n, channels); at least one."""
    file.seek(0)
    is_m4a = identify(file) == "m4a"
    file.seek(0)
    frames = samples = first_rate = 0
    for sample_rate, block in _read_m4a(file) if is_m4a else _read_with_soundfile(file):
        if not len(block):
            continue
        first_rate = first_rate or sample_rate
        if sample_rate != first_rate or not 0 < sample_rate <= MAX_SAMPLE_RATE:
            raise UnsupportedAudio(message("The sampling rate in the file cannot be used."))
        if not np.abs(block).max() <= LARGEST_VALUE:  # also refuses NaN
            raise UnsupportedAudio(message("The file holds values that are not sound."))
        frames, samples = frames + len(block), samples + block.size
        if frames > MOST_FRAMES or samples > 2 * MOST_FRAMES:
            raise RecordingTooLong(message("The recording is too long to be opened."))
        yield sample_rate, block
    if not frames:
        raise UnsupportedAudio(message("There is no sound in the file."))


def _read_with_soundfile(file: BinaryIO) -> Iterator[tuple[int, _Block]]:
    try:
        with sf.SoundFile(file) as sound:
            check_channels(sound.channels)
            while len(block := sound.read(BLOCK_FRAMES, dtype="float32", always_2d=True)):
                yield sound.samplerate, block
    except sf.LibsndfileError as error:
        raise UnsupportedAudio(message("The file is damaged or cut off.")) from error


def _read_m4a(file: BinaryIO) -> Iterator[tuple[int, _Block]]:
    import av  # takes 0.05 s to load

    try:
        with av.open(file, mode="r", format="mov", metadata_errors="ignore") as opened:
            to_float = av.AudioResampler(format="flt", layout="mono")
            for frame in opened.decode(audio=0):
                for mono in to_float.resample(frame):
                    yield frame.sample_rate, _as_columns(mono)
    except (av.error.FFmpegError, IndexError, ValueError) as error:
        raise UnsupportedAudio(message("The file is damaged, or holds no sound.")) from error


def _as_columns(mono: "AudioFrame") -> _Block:
    return mono.to_ndarray().astype(np.float32, copy=False).reshape(-1, 1)


def _to_int16(mono: _Block) -> Frames:
    scaled: _Block = np.clip(np.rint(mono * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1)
    return scaled.astype(np.int16)
