"""Detection of sustained vowels, which last longer than vowels of running speech.

A speech detector is trained on running speech and loses a sustained vowel. Such a vowel is periodic, and its pitch
drifts slowly. The pitch of mains hum or a machine is constant, and its measured values scatter around one value.
"""

from dataclasses import dataclass

import numpy as np
import soxr
from numpy.typing import NDArray

from vbdesk.voice.fourier import irfft, rfft
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import runs

RATE = 4_000  # Hz; the harmonics below 2 kHz are enough
LOWER_EDGE_HZ = 150.0  # below it, wind and traffic resemble a deep voice
FRAME, HOP = 240, 80  # 60 ms every 20 ms
HOP_S = HOP / RATE
FFT = 512
LOWEST_HZ, HIGHEST_HZ = 65.0, 500.0
SHORTEST_LAG, LONGEST_LAG = int(RATE / HIGHEST_HZ), int(RATE / LOWEST_HZ)

PERIODIC = 0.7  # autocorrelation at the period; patients' vowels over the telephone reach 0.8
LOUD_RANGE_DB = 25.0  # below the loud frames
LONGEST_STEP = 0.06  # of the lag, between successive frames: one semitone
MIN_SUSTAINED_S = 0.8  # voiced stretches of running speech are shorter
MOST_STARTS = 6  # peaks at which a track can start
LEAST_DRIFT = 0.02  # semitones; the steadiest of 20 sustained vowels drifted 0.06, a tone 0.00
MOST_SCATTER = 0.95  # step between successive frames over drift; vowels 0.2 to 0.7, hum 1.2 to 1.7

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Frames:
    """Autocorrelation of every frame by lag, shape (frames, lags), and its level in dB."""

    correlation: NDArray[np.float32]
    level_db: Floats


def find_sustained_vowels(samples: Samples) -> list[tuple[float, float]]:
    """Find sustained vowels in mono `samples`, shape (n,): (start, end) in seconds, in order, without overlap."""
    frames = _analyse(samples)
    if len(frames.level_db) == 0:
        return []
    strongest = frames.correlation[:, SHORTEST_LAG : LONGEST_LAG + 1].max(axis=1)
    loud = frames.level_db > np.percentile(frames.level_db, 95) - LOUD_RANGE_DB
    middle_s = (FRAME - HOP) / 2 / RATE  # a frame represents the hop in its middle
    stretches = runs((strongest >= PERIODIC) & loud).tolist()
    return [
        (middle_s + first * HOP_S, middle_s + end * HOP_S)
        for first, end in stretches
        if _is_mostly_sustained(frames.correlation[first:end])
    ]


def _is_mostly_sustained(correlation: NDArray[np.float32]) -> bool:
    """Whether tracks of a sustained voice fill at least half of a periodic stretch; voice breaks separate tracks."""
    shortest = round(MIN_SUSTAINED_S / HOP_S)
    sustained = begin = 0
    while len(correlation) - begin >= shortest:
        track = _longest_track(correlation[begin:])
        if len(track) >= shortest and _drifts(track):
            sustained += len(track)
        begin += max(len(track), 1)
    return sustained >= max(1, len(correlation) / 2)


def _analyse(samples: Samples) -> _Frames:
    low = np.asarray(soxr.resample(samples, ANALYSIS_RATE, RATE, "MQ"), np.float32)
    if len(low) < FRAME:
        return _Frames(np.zeros((0, LONGEST_LAG + 2), np.float32), np.zeros(0))
    cut = np.lib.stride_tricks.sliding_window_view(low, FRAME)[::HOP]
    window = np.hanning(FRAME + 2)[1:-1].astype(np.float32)
    of_window = irfft(np.abs(rfft(window, FFT)) ** 2, FFT)[: LONGEST_LAG + 2].astype(np.float32)
    correlation = np.empty((len(cut), LONGEST_LAG + 2), np.float32)
    power = np.empty(len(cut))
    for first in range(0, len(cut), 1024):
        frames = cut[first : first + 1024]
        own = _autocorrelation(frames * window)
        power[first : first + 1024] = own[:, 0]
        correlation[first : first + 1024] = own / np.maximum(own[:, :1], np.finfo(np.float32).tiny) / of_window
    correlation *= of_window[0]
    return _Frames(correlation, 10 * np.log10(np.maximum(power, 1e-20)))


def _autocorrelation(frames: NDArray[np.float32]) -> NDArray[np.float32]:
    spectrum = rfft(frames, FFT, axis=1)
    spectrum[:, : int(LOWER_EDGE_HZ * FFT / RATE)] = 0
    return np.asarray(irfft(spectrum.real**2 + spectrum.imag**2, FFT, axis=1)[:, : LONGEST_LAG + 2])


def _longest_track(correlation: NDArray[np.float32]) -> Floats:
    """Pitch in semitones of the longest track that starts at a peak of the first frame, one value per frame."""
    first = correlation[0]
    lags = np.arange(SHORTEST_LAG, LONGEST_LAG + 1)
    is_peak = (first[lags] >= PERIODIC) & (first[lags] >= first[lags - 1]) & (first[lags] >= first[lags + 1])
    longest: list[float] = []
    for lag in lags[is_peak][:MOST_STARTS].tolist():
        track = _follow(correlation, lag)
        if len(track) > len(longest):
            longest = track
        if len(longest) == len(correlation):
            break
    return -12 * np.log2(np.asarray(longest, np.float64))


def _follow(correlation: NDArray[np.float32], lag: int) -> list[float]:
    """Interpolated lags while the signal stays periodic and its pitch does not jump."""
    track = []
    for row in correlation:
        step = max(1, round(lag * LONGEST_STEP))
        lowest = max(SHORTEST_LAG, lag - step)
        lag = lowest + int(row[lowest : min(LONGEST_LAG, lag + step) + 1].argmax())
        if row[lag] < PERIODIC:
            break
        left, middle, right = map(float, row[lag - 1 : lag + 2])
        curvature = left - 2 * middle + right
        offset = 0.5 * (left - right) / curvature if curvature < 0 else 0.0
        track.append(lag + min(max(offset, -0.5), 0.5))
    return track


def _drifts(pitch: Floats) -> bool:
    """Whether the pitch drifts slowly, as that of a voice does."""
    frames = np.arange(len(pitch))
    drift = float(np.std(pitch - np.polyval(np.polyfit(frames, pitch, 1), frames)))
    return drift > LEAST_DRIFT and float(np.std(np.diff(pitch))) < MOST_SCATTER * drift
