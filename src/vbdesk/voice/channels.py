"""One voice out of several channels: which of them carry it, and how they are put together.

The rule, in order: a channel that holds nothing, or only a steady hum or hiss while another one speaks, is left out;
one that runs against the first of the loud ones is turned over, or the two would cancel; the rest is averaged and
brought to the level of the loudest. A stereo copy of a mono recording is that recording, sample for sample.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SILENT_CHANNEL = 1e-6  # power against the loudest channel: -60 dB
LOUD_CHANNEL = 0.5  # power against the loudest channel: as good as the loudest
STEADY_SHARE = 1 / 3  # of how far the level of the liveliest channel moves, in dB; noise moves less, speech more
FRAME_S = 0.1
LEVEL_PERCENTILES = (10, 99)
MOST_RANGE_DB = 60.0  # a pause of digital silence says no more than a quiet one
SAME_LEVEL = 0.01  # amplitude; closer than that, the average is left as it is

Block = NDArray[np.float32]  # shape (frames, channels)
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ChannelMix:
    """How channels become one.

    Attributes:
        weights: of each channel, shape (channels,); they make mono samples by multiplication.
        gain: what the plain average has to be multiplied with to give the same; None if it cannot.
    """

    weights: Floats
    gain: float | None


class ChannelSurvey:
    """Watches the channels of a recording pass, block by block."""

    def __init__(self, sample_rate: int, channels: int) -> None:
        """Start with nothing heard."""
        self._frame = max(1, round(FRAME_S * sample_rate))
        self._count = 0
        self._sum = np.zeros(channels)
        self._products = np.zeros((channels, channels))
        self._powers: list[Floats] = []

    def add(self, block: Block) -> None:
        """Take in `block`, shape (frames, channels); what is left of it behind the last whole frame has no level."""
        rows = np.ascontiguousarray(block.T)
        self._count += len(block)
        self._sum += rows.sum(axis=1)
        self._products += rows @ rows.T
        whole = len(block) // self._frame
        frames = rows[:, : whole * self._frame].reshape(len(rows), whole, self._frame)
        power = np.einsum("cfs,cfs->fc", frames, frames) / self._frame - np.square(frames.mean(axis=2).T)
        self._powers.append(np.maximum(power, 0).astype(np.float64))

    def mix(self) -> ChannelMix:
        """Decide by what was heard so far."""
        channels = len(self._sum)
        mean = self._sum / max(self._count, 1)
        covariance = self._products / max(self._count, 1) - np.outer(mean, mean)
        power = covariance.diagonal()
        if channels == 1 or power.max() <= 0:
            return ChannelMix(np.full(channels, 1 / channels), 1.0)
        sounding = power > SILENT_CHANNEL * power.max()
        ranges = self._level_ranges_db()
        used = sounding & (ranges >= STEADY_SHARE * ranges[sounding].max())
        power = np.where(used, power, 0)
        leader = int(np.flatnonzero(power >= LOUD_CHANNEL * power.max())[0])
        signs = np.where(covariance[leader] < 0, -1.0, 1.0)
        weights = np.where(used, signs, 0.0) / used.sum()
        level = float(np.sqrt(power.max() / (weights @ covariance @ weights)))
        if abs(level - 1) > SAME_LEVEL:
            weights *= level
        raw_power = self._products.diagonal()  # with a constant offset, which would stay in the average
        average_serves = np.ptp(weights[raw_power > SILENT_CHANNEL * raw_power.max()]) == 0
        return ChannelMix(weights, float(weights[leader]) * channels if average_serves else None)

    def _level_ranges_db(self) -> Floats:
        """How far the level of each channel moves, shape (channels,)."""
        powers = np.concatenate(self._powers)
        if len(powers) == 0:
            return np.zeros(powers.shape[1])
        low, high = np.percentile(powers, LEVEL_PERCENTILES, axis=0)
        floor = np.maximum(high * 10 ** (-MOST_RANGE_DB / 10), np.finfo(float).tiny)
        return np.asarray(10 * np.log10(np.maximum(high, floor) / np.maximum(low, floor)))


def mix_down(channels: Block, sample_rate: int) -> NDArray[np.float32]:
    """Mono samples of `channels`, shape (n, channels), all in memory."""
    survey = ChannelSurvey(sample_rate, channels.shape[1])
    survey.add(channels)
    return channels @ survey.mix().weights.astype(np.float32)
