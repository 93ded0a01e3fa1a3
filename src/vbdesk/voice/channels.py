"""Mix several channels to mono.

The rules, in order:
1. A silent channel is left out, and so is one with only steady hum or hiss while another channel has speech.
2. A channel in opposite phase to the first loud channel is inverted; otherwise the two would cancel.
3. The other channels are averaged, and scaled to the level of the loudest.

A stereo copy of a mono recording gives that recording, sample for sample.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.language import message
from vbdesk.voice.errors import UnsupportedAudio

MAX_CHANNELS = 8
SILENT_CHANNEL = 1e-6  # power relative to the loudest channel: -60 dB
LOUD_CHANNEL = 0.5  # power relative to the loudest channel, from which a channel counts as loud
STEADY_SHARE = 1 / 3  # of the largest level range of a channel, in dB; noise is below, speech above
FRAME_S = 0.1
LEVEL_PERCENTILES = (10, 99)
MOST_RANGE_DB = 60.0  # limits the range of a channel with digital silence
SAME_LEVEL = 0.01  # relative amplitude; within it the average is not scaled

Block = NDArray[np.float32]  # shape (frames, channels)
Floats = NDArray[np.float64]


def check_channels(channels: int) -> None:
    """Refuse a file with more channels than can be mixed.

    Raises:
        UnsupportedAudio: there are too many.
    """
    if channels > MAX_CHANNELS:
        raise UnsupportedAudio(message("There are {channels} channels.", channels=channels))


@dataclass(frozen=True, slots=True)
class ChannelMix:
    """Weights that mix channels to mono.

    Attributes:
        weights: of each channel, shape (channels,).
        gain: factor that turns the plain average into the same signal; None if there is none.
    """

    weights: Floats
    gain: float | None


class ChannelSurvey:
    """Statistics of the channels of a recording, collected block by block."""

    def __init__(self, sample_rate: int, channels: int) -> None:
        """Start without data."""
        self._frame = max(1, round(FRAME_S * sample_rate))
        self._count = 0
        self._sum = np.zeros(channels)
        self._products = np.zeros((channels, channels))
        self._powers: list[Floats] = []

    def add(self, block: Block) -> None:
        """Add `block`, shape (frames, channels); samples after its last whole level frame have no level."""
        rows = np.ascontiguousarray(block.T)
        self._count += len(block)
        self._sum += rows.sum(axis=1)
        self._products += rows @ rows.T
        whole = len(block) // self._frame
        frames = rows[:, : whole * self._frame].reshape(len(rows), whole, self._frame)
        power = np.einsum("cfs,cfs->fc", frames, frames) / self._frame - np.square(frames.mean(axis=2).T)
        self._powers.append(np.maximum(power, 0).astype(np.float64))

    def mix(self) -> ChannelMix:
        """Compute the mix from the blocks added so far."""
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
        raw_power = self._products.diagonal()  # includes a constant offset, which would stay in the average
        average_serves = np.ptp(weights[raw_power > SILENT_CHANNEL * raw_power.max()]) == 0
        return ChannelMix(weights, float(weights[leader]) * channels if average_serves else None)

    def _level_ranges_db(self) -> Floats:
        """Level range of each channel in dB, shape (channels,)."""
        powers = np.concatenate(self._powers)
        if len(powers) == 0:
            return np.zeros(powers.shape[1])
        low, high = np.percentile(powers, LEVEL_PERCENTILES, axis=0)
        floor = np.maximum(high * 10 ** (-MOST_RANGE_DB / 10), np.finfo(float).tiny)
        return np.asarray(10 * np.log10(np.maximum(high, floor) / np.maximum(low, floor)))


def mix_down(channels: Block, sample_rate: int) -> NDArray[np.float32]:
    """Mix `channels`, shape (n, channels), to mono in memory."""
    survey = ChannelSurvey(sample_rate, channels.shape[1])
    survey.add(channels)
    return channels @ survey.mix().weights.astype(np.float32)
