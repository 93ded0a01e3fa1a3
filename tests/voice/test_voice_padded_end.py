"""A copy in M4A is as long as its original, and a wrong header removes no sound."""

from pathlib import Path

import numpy as np
import pytest

from vbdesk.voice.decode import decode
from vbdesk.voice.ffmpeg_reader import LONGEST_PADDING, _PaddedEnd

FRAME = 1024
RATE = 44_100


def test_a_copy_in_m4a_is_as_long_as_its_original(data_folder: Path) -> None:
    original, copy = (decode(data_folder / f"speech_kathleen_20s.{kind}") for kind in ("flac", "m4a"))
    assert copy.duration_s == original.duration_s
    assert copy.samples.size == original.samples.size


@pytest.mark.parametrize(
    ("declared", "kept"),
    [
        (10 * FRAME - 142, 10 * FRAME - 142),
        (10 * FRAME - LONGEST_PADDING, 10 * FRAME - LONGEST_PADDING),
        (10 * FRAME - LONGEST_PADDING - 1, 10 * FRAME),
        (3 * FRAME, 10 * FRAME),
        (11 * FRAME, 10 * FRAME),
        (0, 10 * FRAME),
    ],
    ids=["padding", "two frames of padding", "too much for padding", "a wrong header", "a cut file", "no length"],
)
def test_only_padding_is_removed(declared: int, kept: int) -> None:
    sound = np.arange(10 * FRAME, dtype=np.float32)[:, None]
    end = _PaddedEnd(declared / RATE)
    passed = [part for frame in np.split(sound, 10) for part in end.cut(RATE, frame)]
    assert np.array_equal(np.concatenate(passed), sound[:kept])
