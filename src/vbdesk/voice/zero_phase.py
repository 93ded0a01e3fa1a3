"""Zero-phase band-pass: a Butterworth filter run forwards and backwards over many short signals in parallel.

The result equals that of scipy.signal's `butter` and `sosfiltfilt`, whose import takes longer than the analysis of a
minute of sound.
"""

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.short_term import Floats, Indices

_PADDING = 15  # samples at either end, reflected at the end point: three times the filter length


def band_pass(signals: list[Floats], band: tuple[float, float], rate: float) -> list[Floats]:
    """Filter each of `signals`, at least 16 samples long, with a second-order Butterworth band-pass, both ways.

    Args:
        signals: each of shape (n,), with different n.
        band: edges in Hz, where the total gain is a half.
        rate: sampling rate in Hz.
    """
    if not signals:
        return []
    numerator, denominator = _butterworth(band, rate)
    padded = [_reflect_ends(signal) for signal in signals]
    length = np.array([signal.size for signal in padded])
    rows = np.zeros((len(padded), int(length.max())))
    for row, signal in zip(rows, padded, strict=True):
        row[: signal.size] = signal
    for _ in range(2):
        rows = _reversed(_run(rows, numerator, denominator), length)
    return [row[_PADDING : size - _PADDING] for row, size in zip(rows, length.tolist(), strict=True)]


def _butterworth(band: tuple[float, float], rate: float) -> tuple[Floats, Floats]:
    """Numerator and denominator in descending powers of z, by the bilinear transform of the analogue filter."""
    low, high = 2 * rate * np.tan(np.pi * np.asarray(band) / rate)
    prototype = np.exp(1j * np.pi * np.array([3, 5]) / 4) * (high - low) / 2
    spread = np.sqrt(prototype**2 - low * high)
    poles = np.concatenate([prototype + spread, prototype - spread])
    gain = (high - low) ** 2 * np.real((2 * rate) ** 2 / np.prod(2 * rate - poles))
    numerator: Floats = gain * np.poly([1.0, 1.0, -1.0, -1.0])
    denominator: Floats = np.real(np.poly((2 * rate + poles) / (2 * rate - poles)))
    return numerator, denominator


def _reflect_ends(signal: Floats) -> Floats:
    """Extend `signal` at both ends by its point reflection at the end points."""
    before = 2 * signal[0] - signal[_PADDING:0:-1]
    after = 2 * signal[-1] - signal[-2 : -_PADDING - 2 : -1]
    return np.concatenate([before, signal, after])


def _run(rows: Floats, numerator: Floats, denominator: Floats) -> Floats:
    """Filter each row, as if its first value had been constant before."""
    order = denominator.size - 1
    companion = np.eye(order, k=1)
    companion[:, 0] -= denominator[1:]
    settled = np.linalg.solve(np.eye(order) - companion, numerator[1:] - denominator[1:] * numerator[0])
    state: NDArray[np.float64] = settled[:, None] * rows[:, 0]
    output = np.empty_like(rows.T)
    for step, value in enumerate(rows.T):
        output[step] = numerator[0] * value + state[0]
        state[:-1] = state[1:]
        state[-1] = 0
        state += numerator[1:, None] * value - denominator[1:, None] * output[step]
    return output.T


def _reversed(rows: Floats, length: Indices) -> Floats:
    """Reverse the first `length` values of each row; the values after them are arbitrary."""
    order = np.maximum(length[:, None] - 1 - np.arange(rows.shape[1]), 0)
    return np.take_along_axis(rows, order, axis=1)
