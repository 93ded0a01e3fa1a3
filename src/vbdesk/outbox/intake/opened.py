"""Sound of an imported file, decoded from memory at the file's own rate, for playing and for making it smaller."""

import io

import av
import numpy as np
import soundfile as sf
from numpy.typing import NDArray

from vbdesk.capture.sealed import Frames, TakeAudio
from vbdesk.voice.container import identify
from vbdesk.voice.errors import UnsupportedFormat

FULL_SCALE = np.float32(32768.0)


def decode_file(content: bytes) -> TakeAudio:
    """Decode a WAV, FLAC, MP3 or M4A file to mono (mean of the channels).

    Raises:
        UnsupportedFormat: it is none of them, or damaged.
    """
    if identify(io.BytesIO(content)) == "m4a":
        samples, sample_rate = _decode_m4a(content)
    else:
        try:
            samples, sample_rate = sf.read(io.BytesIO(content), dtype="float32", always_2d=True)
        except sf.LibsndfileError as error:
            raise UnsupportedFormat("The file is damaged or cut off.") from error
    if len(samples) == 0:
        raise UnsupportedFormat("There is no sound in the file.")
    return TakeAudio(_to_int16(samples.mean(axis=1)), sample_rate, True, {}, ())


def _decode_m4a(content: bytes) -> tuple[NDArray[np.float32], int]:
    """Samples, shape (n, channels), and their rate."""
    pieces: list[NDArray[np.float32]] = []
    sample_rate = 0
    try:
        with av.open(io.BytesIO(content), mode="r", format="mov", metadata_errors="ignore") as opened:
            to_float = av.AudioResampler(format="flt", layout="mono")
            for frame in opened.decode(audio=0):
                sample_rate = frame.sample_rate
                pieces.extend(_as_columns(mono) for mono in to_float.resample(frame))
    except (av.error.FFmpegError, IndexError) as error:
        raise UnsupportedFormat("The file is damaged, or holds no sound.") from error
    if not pieces:
        raise UnsupportedFormat("There is no sound in the file.")
    return np.concatenate(pieces), sample_rate


def _as_columns(mono: av.AudioFrame) -> NDArray[np.float32]:
    return mono.to_ndarray().astype(np.float32, copy=False).reshape(-1, 1)


def _to_int16(mono: NDArray[np.float32]) -> Frames:
    scaled: NDArray[np.float32] = np.clip(np.rint(mono * FULL_SCALE), -FULL_SCALE, FULL_SCALE - 1)
    return scaled.astype(np.int16)
