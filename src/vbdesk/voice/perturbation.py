"""Jitter and shimmer: differences in length and amplitude of neighbouring glottal periods."""

from dataclasses import dataclass

import numpy as np

from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import Floats, Mask, Track, cut_frames, map_blocks, sample_before

SHORTEST_PERIOD_S, LONGEST_PERIOD_S = 0.0001, 0.02
LARGEST_PERIOD_RATIO = 1.3
LARGEST_AMPLITUDE_RATIO = 1.6
_PULSE_REACH = 0.2  # of the period on either side, so that the amplitude is that of the main excitation
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Perturbation:
    """Periods and amplitudes; jitter (local) is the mean of `period_steps` / the mean of `periods`.

    Attributes:
        periods: lengths in seconds of the periods similar to a neighbour.
        period_steps: absolute difference of two neighbouring periods in seconds.
        amplitudes: Hann-weighted RMS around each pulse between two such periods.
        amplitude_steps: absolute difference of two neighbouring amplitudes, and the same in dB.
    """

    periods: Track
    period_steps: Track
    amplitudes: Track
    amplitude_steps: Track


def measure_perturbation(samples: Samples, pulses: Floats) -> Perturbation:
    """Compare neighbouring periods of mono `samples` between the times `pulses` in seconds, shape (n,).

    These are Praat's definitions of jitter (local), shimmer (local) and shimmer (local, dB). Periods outside 0.1 to
    20 ms or more than 1.3 times their neighbour are not compared, nor amplitudes more than 1.6 times their neighbour.
    """
    period = np.diff(pulses)
    valid = (period >= SHORTEST_PERIOD_S) & (period <= LONGEST_PERIOD_S)
    before, after = period[:-1], period[1:]
    similar = _ratio(before, after) <= LARGEST_PERIOD_RATIO
    compared = valid[:-1] & valid[1:] & similar
    centre = pulses[1:-1]
    counted = valid & _resembles_a_neighbour(similar)

    at, amplitude = centre[compared], _amplitudes(samples, centre[compared], before[compared], after[compared])
    first, second = amplitude[:-1], amplitude[1:]
    gap = np.diff(at)
    steady = (gap >= SHORTEST_PERIOD_S) & (gap <= LONGEST_PERIOD_S) & (first > 0) & (second > 0)
    first, second, moment = first[steady], second[steady], at[1:][steady]
    kept = _ratio(first, second) <= LARGEST_AMPLITUDE_RATIO
    first, second, moment = first[kept], second[kept], moment[kept]
    return Perturbation(
        periods=Track(pulses[1:][counted], period[counted]),
        period_steps=Track(centre[compared], np.abs(before - after)[compared]),
        amplitudes=Track(at, amplitude),
        amplitude_steps=Track(
            moment, np.stack([np.abs(first - second), 20 * np.abs(np.log10(first / second))], axis=1)
        ),
    )


def _ratio(one: Floats, other: Floats) -> Floats:
    """The larger over the smaller, element by element."""
    return np.maximum(one, other) / np.minimum(one, other)


def _resembles_a_neighbour(similar: Mask) -> Mask:
    resembles: Mask = np.concatenate([[False], similar]) | np.concatenate([similar, [False]])
    return resembles


def _amplitudes(samples: Samples, pulses: Floats, before: Floats, after: Floats) -> Floats:
    """RMS around each pulse in a Hann window of a fifth of the period on either side."""
    reach = int(_PULSE_REACH * LONGEST_PERIOD_S * ANALYSIS_RATE) + 1
    begin = sample_before(pulses) - reach
    offset = np.arange(2 * reach + 2) + 0.5

    def measure(part: slice) -> Floats:
        distance = (begin[part, None] + offset) / ANALYSIS_RATE - pulses[part, None]
        width = _PULSE_REACH * np.where(distance < 0, before[part, None], after[part, None])
        weight = np.where(np.abs(distance) <= width, 0.5 + 0.5 * np.cos(np.pi * distance / width), 0.0) ** 2
        power = np.sum(weight * np.square(cut_frames(samples, begin[part], offset.size)), axis=1)
        amplitude: Floats = np.sqrt(power / np.maximum(weight.sum(axis=1), np.finfo(np.float64).tiny))
        return amplitude

    return np.concatenate([np.zeros(0), *map_blocks(measure, pulses.size, _BLOCK)])
