"""M4A files of any number of channels."""

from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

RATE = 16_000


def write_m4a(path: Path, codec: str, layout: str, samples: NDArray[np.float32]) -> None:
    """Write `samples`, shape (frames, channels), packed, because PyAV cannot make a planar frame of eight channels."""
    with av.open(str(path), "w", format="ipod") as output:
        stream = output.add_stream(codec, rate=RATE)
        stream.layout = layout
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples.reshape(1, -1)), format="flt", layout=layout)
        frame.sample_rate = RATE
        resampler = av.AudioResampler(
            format=stream.format, layout=layout, rate=RATE, frame_size=stream.codec_context.frame_size or 1024
        )
        for piece in [*resampler.resample(frame), *resampler.resample(None)]:
            output.mux(stream.encode(piece))
        output.mux(stream.encode(None))
