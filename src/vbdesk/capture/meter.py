"""What the meter and the live waveform show; fed by one thread, read by any other at any time."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.capture.encrypted_take import Frames
from vbdesk.contract.limits import MAX_DURATION_S
from vbdesk.voice.level import to_dbfs

FULL_SCALE = 32768.0
CLIPPED = 32_100  # as the check counts it: 0.98 of full scale
MIN_CLIPPED_RUN = 3
HOLD_S = 1.5
RMS_S = 0.3
FLOOR_S = 10.0
FLOOR_PERCENTILE = 10
SILENT_PEAK = 1  # a muted converter may still toggle its last bit; no microphone is this quiet
PAIRS_PER_SECOND = 100


@dataclass(frozen=True, slots=True)
class Levels:
    """A moment of the meter, in dBFS; -inf is digital silence.

    Attributes:
        peak_dbfs: of the last block.
        held_peak_dbfs: of the last 1.5 s.
        rms_dbfs: of the last 0.3 s.
        clipping: the converter was at its limit within the last 1.5 s.
        noise_floor_dbfs: what 10 % of the last 10 s stay under; None during the first second.
        silent_s: for how long there was nothing but digital silence, as of a muted or forbidden microphone.
    """

    peak_dbfs: float
    held_peak_dbfs: float
    rms_dbfs: float
    clipping: bool
    noise_floor_dbfs: float | None
    silent_s: float = 0.0


SILENCE = Levels(-np.inf, -np.inf, -np.inf, False, None)


class LevelMeter:
    """Levels of a stream of blocks."""

    def __init__(self, sample_rate: int) -> None:
        self._sample_rate = sample_rate
        self._blocks: deque[tuple[float, float, float, bool]] = deque()  # end, peak, mean square, clipped
        self._time_s = 0.0
        self._sounded_at_s = 0.0
        self._snapshot = SILENCE

    def feed(self, samples: Frames) -> None:
        """Take in a block, shape (n,)."""
        if len(samples) == 0:
            return
        values = samples.astype(np.float32)
        magnitude = np.abs(values)
        self._time_s += len(samples) / self._sample_rate
        if magnitude.max() > SILENT_PEAK:
            self._sounded_at_s = self._time_s
        at_limit = magnitude >= CLIPPED
        clipped = bool(at_limit.any()) and _has_run(at_limit, MIN_CLIPPED_RUN)
        self._blocks.append((self._time_s, float(magnitude.max()), float(np.mean(values * values)), clipped))
        while self._blocks[0][0] < self._time_s - FLOOR_S:
            self._blocks.popleft()
        self._snapshot = self._measured()

    def levels(self) -> Levels:
        """The latest levels."""
        return self._snapshot

    def _measured(self) -> Levels:
        held = [block for block in self._blocks if block[0] > self._time_s - HOLD_S]
        recent = [block[2] for block in self._blocks if block[0] > self._time_s - RMS_S]
        floor = None
        if self._time_s >= 1.0:
            floor = to_dbfs(
                float(np.sqrt(np.percentile([block[2] for block in self._blocks], FLOOR_PERCENTILE)) / FULL_SCALE)
            )
        return Levels(
            peak_dbfs=to_dbfs(self._blocks[-1][1] / FULL_SCALE),
            held_peak_dbfs=to_dbfs(max(block[1] for block in held) / FULL_SCALE),
            rms_dbfs=to_dbfs(float(np.sqrt(np.mean(recent))) / FULL_SCALE),
            clipping=any(block[3] for block in held),
            noise_floor_dbfs=floor,
            silent_s=self._time_s - self._sounded_at_s,
        )


class LiveEnvelope:
    """Lowest and highest sample of every 10 ms, for as long as a recording may be."""

    def __init__(self, sample_rate: int) -> None:
        self._step = sample_rate // PAIRS_PER_SECOND
        self._pairs = np.zeros((round(MAX_DURATION_S * PAIRS_PER_SECOND) + 1, 2), np.int16)
        self._count = 0
        self._rest = np.empty(0, np.int16)

    def feed(self, samples: Frames) -> None:
        """Take in a block, shape (n,)."""
        samples = np.concatenate([self._rest, samples])
        count = min(len(samples) // self._step, len(self._pairs) - self._count)
        steps = samples[: count * self._step].reshape(count, self._step)
        self._pairs[self._count : self._count + count, 0] = steps.min(axis=1)
        self._pairs[self._count : self._count + count, 1] = steps.max(axis=1)
        self._count += count  # last: a reader sees only finished pairs
        self._rest = samples[count * self._step :]

    def pairs(self) -> NDArray[np.int16]:
        """Pairs so far, shape (n, 2), low and high; a view, not to be written to."""
        return self._pairs[: self._count]


def overview(samples: Frames, count: int) -> NDArray[np.int16]:
    """Lowest and highest sample of each of `count` equal parts, shape (count, 2); fewer parts for short sound."""
    count = min(count, len(samples))
    if count == 0:
        return np.zeros((0, 2), np.int16)
    starts = np.arange(count) * len(samples) // count
    low, high = np.minimum.reduceat(samples, starts), np.maximum.reduceat(samples, starts)
    return np.stack([low, high], axis=1)


def _has_run(flags: NDArray[np.bool_], length: int) -> bool:
    return bool((np.convolve(flags, np.ones(length), "valid") == length).any()) if len(flags) >= length else False
