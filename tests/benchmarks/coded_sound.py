"""Write lossy audio files, as a phone or a dictation program does."""

from pathlib import Path

import av
import numpy as np
import soxr

from vbdesk.voice.recording import ANALYSIS_RATE, Samples

RATE = 44_100  # Hz


def write_m4a(path: Path, samples: Samples, bit_rate: int) -> Path:
    """Write mono `samples` at the analysis rate as AAC."""
    return _write(path, samples, bit_rate, ("ipod", "aac", "fltp", 1024))


def write_mp3(path: Path, samples: Samples, bit_rate: int) -> Path:
    """Write mono `samples` at the analysis rate as MP3."""
    return _write(path, samples, bit_rate, ("mp3", "libmp3lame", "fltp", 1152))


def _write(path: Path, samples: Samples, bit_rate: int, how: tuple[str, str, str, int]) -> Path:
    container, codec, sample_format, frame_size = how
    fine = soxr.resample(samples, ANALYSIS_RATE, RATE, quality="VHQ")
    with av.open(str(path), "w", format=container) as opened:
        stream = opened.add_stream(codec, rate=RATE, layout="mono")
        stream.bit_rate = bit_rate
        for first in range(0, fine.size, frame_size):
            part = np.ascontiguousarray(fine[None, first : first + frame_size])
            frame = av.AudioFrame.from_ndarray(part, format=sample_format, layout="mono")
            frame.sample_rate, frame.pts = RATE, first
            opened.mux(stream.encode(frame))
        opened.mux(stream.encode(None))
    return path
