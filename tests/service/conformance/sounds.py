"""Generated recordings of any length, container and codec."""

import io
from fractions import Fraction

import av
import numpy as np
import soundfile
from numpy.typing import NDArray

Samples = NDArray[np.float32]


def noise(seconds: float, rate: int = 16_000, level_dbfs: float = -20.0, channels: int = 1) -> Samples:
    """White noise with an RMS level of `level_dbfs`; shape (n,) or (n, channels)."""
    return noise_of(round(seconds * rate), level_dbfs, channels)


def noise_of(count: int, level_dbfs: float = -20.0, channels: int = 1) -> Samples:
    shape = (count,) if channels == 1 else (count, channels)
    samples = np.random.default_rng(count).standard_normal(shape, dtype=np.float32) * 10 ** (level_dbfs / 20)
    return samples.clip(-1, 1)


def encoded(samples: Samples, rate: int = 16_000, container: str = "WAV", subtype: str | None = None) -> bytes:
    """Encode with libsndfile: WAV, FLAC, MP3, OGG, AIFF, CAF."""
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=container, subtype=subtype)
    return file.getvalue()


HISS = encoded(noise(15))
"""Accepted, fast to analyse, and without a voice: for tests of jobs rather than results."""


def muxed(samples: Samples, rate: int, container: str, codec: str) -> bytes:
    """Encode with FFmpeg: `mp4` with `aac` or `alac`, `webm` or `ogg` with `libopus`, `adts` with `aac`."""
    file = io.BytesIO()
    with av.open(file, "w", format=container) as output:
        stream = output.add_stream(codec, rate=rate)
        stream.layout = "mono"
        encode_into(output, stream, samples)
    return file.getvalue()


def encode_into(output: av.container.OutputContainer, stream: av.AudioStream, samples: Samples) -> None:
    """Encode all of `samples` with the encoder of `stream`."""
    step = stream.codec_context.frame_size or 4096
    for start in range(0, len(samples), step):
        output.mux(stream.encode(_frame(samples[start : start + step], stream.rate, stream.format.name, start)))
    output.mux(stream.encode(None))


def video_in_mp4(seconds: float) -> bytes:
    """Create an MP4 with a video and an audio stream."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as output:
        picture = output.add_stream("mpeg4", rate=5)
        picture.width = picture.height = 32
        picture.pix_fmt = "yuv420p"
        sound = output.add_stream("aac", rate=16_000)
        sound.layout = "mono"
        for number in range(round(seconds * 5)):
            image = av.VideoFrame.from_ndarray(np.full((32, 32, 3), number % 255, np.uint8), format="rgb24")
            image.pts, image.time_base = number, Fraction(1, 5)
            output.mux(picture.encode(image))
        output.mux(picture.encode(None))
        encode_into(output, sound, noise(seconds))
    return file.getvalue()


def _frame(samples: Samples, rate: int, kind: str, start: int) -> av.AudioFrame:
    whole = samples.reshape(1, -1)
    if kind.startswith("s16"):
        whole = (whole * 32767).astype(np.int16)
    elif kind.startswith("s32"):
        whole = (whole * 2147483647).astype(np.int32)
    frame = av.AudioFrame.from_ndarray(whole, format=kind, layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = rate, start, Fraction(1, rate)
    return frame
