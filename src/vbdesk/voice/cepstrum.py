"""Smoothed cepstral peak prominence (CPPS) in dB: the height of the voice's peak in the cepstrum.

Definition of Maryn & Weenink (2015), "Objective dysphonia measures in the program Praat": power cepstrogram of 100 ms
Gaussian windows, averaged over 10 ms and 1 ms of quefrency; peak at 60 to 330 Hz above a robust straight line.
"""

import numpy as np

from vbdesk.voice.band import emphasised_band
from vbdesk.voice.fourier import irfft, rfft
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import Floats, Indices, Track, cut_frames, empty_track, frame_times, map_blocks

BAND_RATE = 10_000  # Hz, twice the highest frequency used
LOWEST_F0, HIGHEST_F0 = 60.0, 330.0  # Hz
_WINDOW_S = 6 / LOWEST_F0
_STEP_S = 0.002
_AVERAGED_FRAMES = 5  # 10 ms
_AVERAGED_QUEFRENCIES = 10  # 1 ms
_FFT_SIZE = 1024

# Neighbouring values share most of their window: one value per 20 ms has the same mean as one per 2 ms. For a long
# recording, this many values, spread evenly, are enough.
_FRAMES_A_VALUE = 10
_MOST_VALUES = 9000
_BLOCK = 200


def cepstral_prominence(samples: Samples, speech: Indices) -> Track:
    """Prominence in dB every 20 ms (sparser in long recordings) of the speech of mono `samples`, shape (n,).

    Args:
        samples: mean removed.
        speech: first sample and sample after the last of each stretch of speech, shape (stretches, 2). The stretches
            are joined before the analysis.
    """
    frames = frame_times(int(np.diff(speech, axis=1).sum()), _WINDOW_S, _STEP_S)
    middles = np.arange(_AVERAGED_FRAMES // 2, frames.size - _AVERAGED_FRAMES // 2, _FRAMES_A_VALUE)
    if middles.size == 0:
        return empty_track()
    if middles.size > _MOST_VALUES:
        middles = middles[np.linspace(0, middles.size - 1, _MOST_VALUES).astype(np.int64)]
    length = int(_WINDOW_S * BAND_RATE)
    band = emphasised_band(np.concatenate([samples[first:end] for first, end in speech]), BAND_RATE)
    begin = np.floor((frames - _WINDOW_S / 2) * BAND_RATE).astype(np.int64)
    window = _gaussian(length)
    neighbours = np.arange(_AVERAGED_FRAMES) - _AVERAGED_FRAMES // 2

    def analyse(part: slice) -> Floats:
        chosen = (middles[part, None] + neighbours).ravel()
        cut = cut_frames(band, begin[chosen], length)
        power = _power_cepstra((cut - cut.mean(axis=1, keepdims=True)) * window)
        return _prominence(power.reshape(-1, _AVERAGED_FRAMES, power.shape[1]).mean(axis=1, dtype=np.float64))

    prominence = np.concatenate(map_blocks(analyse, middles.size, _BLOCK))
    return Track(_original_times(frames[middles], speech), prominence)


def _power_cepstra(frames: Samples) -> Samples:
    spectrum = rfft(frames, _FFT_SIZE, axis=1)
    power = np.maximum(spectrum.real**2 + spectrum.imag**2, np.finfo(np.float32).tiny)
    cepstrum: Samples = irfft(np.log(power), _FFT_SIZE, axis=1)[:, : _FFT_SIZE // 2 + 1]
    return np.square(cepstrum)


def _prominence(power: Floats) -> Floats:
    """Height in dB of the peak of each averaged power cepstrum, shape (rows, quefrencies), above its trend line."""
    level = 10 * np.log10(_moving_average(power, _AVERAGED_QUEFRENCIES) + 1e-30)
    quefrency = np.arange(level.shape[1]) / BAND_RATE
    slope, intercept = _robust_line(quefrency, level)

    first, last = int(np.ceil(BAND_RATE / HIGHEST_F0)), int(BAND_RATE / LOWEST_F0)
    peak = level[:, first : last + 1].argmax(axis=1) + first
    row = np.arange(peak.size)
    left, centre, right = (level[row, peak + step] for step in (-1, 0, 1))
    rise, curvature = (right - left) / 2, 2 * centre - left - right
    shift = np.divide(rise, curvature, out=np.zeros_like(rise), where=curvature > np.abs(rise))
    prominence: Floats = centre + rise * shift / 2 - (slope * (peak + shift) / BAND_RATE + intercept)
    return prominence


def _moving_average(rows: Floats, width: int) -> Floats:
    """Mean over `width` neighbours along each row, fewer at the ends; an even width has one more on the left."""
    total = np.concatenate([np.zeros((rows.shape[0], 1)), np.cumsum(rows, axis=1)], axis=1)
    index = np.arange(rows.shape[1])
    first, end = np.maximum(index - width // 2, 0), np.minimum(index + (width + 1) // 2, rows.shape[1])
    average: Floats = (total[:, end] - total[:, first]) / (end - first)
    return average


def _robust_line(x: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Slope and intercept of a line through each row by Theil's incomplete method."""
    half = (x.size + 1) // 2
    slope = np.median((rows[:, half:] - rows[:, : x.size - half]) / (x[half:] - x[: x.size - half]), axis=1)
    intercept = np.median(rows - slope[:, None] * x, axis=1)
    return slope, intercept


def _gaussian(length: int) -> Samples:
    phase = (np.arange(length) - (length - 1) / 2) / length
    window: Samples = ((np.exp(-48 * phase**2) - np.exp(-12)) / (1 - np.exp(-12))).astype(np.float32)
    return window


def _original_times(joined: Floats, speech: Indices) -> Floats:
    """Convert times in the joined speech to times in the recording."""
    length = speech[:, 1] - speech[:, 0]
    start = np.concatenate([[0], np.cumsum(length)[:-1]])
    stretch = np.searchsorted(start / ANALYSIS_RATE, joined, side="right") - 1
    times: Floats = joined + (speech[:, 0] - start)[stretch] / ANALYSIS_RATE
    return times
