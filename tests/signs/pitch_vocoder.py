"""A vocoder that moves the pitch of a recording and keeps its formants and its timing.

Time-domain pitch-synchronous overlap-add (TD-PSOLA: Moulines and Charpentier 1990, "Pitch-synchronous waveform
processing techniques for text-to-speech synthesis using diphones"): two periods around each glottal pulse are moved
to pulses of the new distance. The spectral envelope of each period, and so the formants, stay.
"""

import numpy as np

from vbdesk.voice.f0 import track_f0
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import HOP_S, runs

UNVOICED_PERIOD_S = 0.01


def move_pitch(samples: Samples, factor: float) -> Samples:
    """`samples`, shape (n,), with F0 multiplied by `factor`."""
    track = track_f0(samples)
    assert track is not None
    marks, periods, voiced = _pulse_marks(samples, track.times, track.frequency)
    moved = np.zeros(samples.size + ANALYSIS_RATE, np.float64)
    weight = np.zeros_like(moved)
    position = float(marks[0])
    nearest = 0
    while position < marks[-1]:
        while nearest + 1 < marks.size and abs(marks[nearest + 1] - position) <= abs(marks[nearest] - position):
            nearest += 1
        period = periods[nearest]
        grain, window = _grain(samples, marks[nearest], period)
        begin = round(position) - grain.size // 2
        if begin >= 0:
            moved[begin : begin + grain.size] += grain
            weight[begin : begin + grain.size] += window
        position += period / factor if voiced[nearest] else period
    moved /= np.maximum(weight, 0.5)
    return moved[: samples.size].astype(np.float32)


def _grain(samples: Samples, mark: int, period: int) -> tuple[np.ndarray, np.ndarray]:
    """Two periods around `mark` under a Hann window, and the window."""
    window = np.hanning(2 * period + 1)
    begin = mark - period
    part = np.zeros(window.size)
    known = slice(max(begin, 0), min(begin + window.size, samples.size))
    part[known.start - begin : known.stop - begin] = samples[known]
    return part * window, window


def _pulse_marks(
    samples: Samples, times: np.ndarray, frequency: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples of the marks, period at each in samples, and whether it is voiced."""
    marks: list[int] = []
    periods: list[int] = []
    voiced: list[bool] = []
    end_s = 0.0
    for first, end in [*runs(frequency > 0).tolist(), (times.size, times.size)]:
        start_s = times[first] - HOP_S / 2 if first < times.size else samples.size / ANALYSIS_RATE
        step = int(UNVOICED_PERIOD_S * ANALYSIS_RATE)
        gap = np.arange(int(end_s * ANALYSIS_RATE), int(start_s * ANALYSIS_RATE), step)
        marks += gap.tolist()
        periods += [step] * gap.size
        voiced += [False] * gap.size
        if first == times.size:
            break
        end_s = times[end - 1] + HOP_S / 2
        own = slice(first, end)
        stretch = _marks_of_stretch(samples, times[own], frequency[own], start_s, end_s)
        marks += stretch
        hertz = np.interp(np.array(stretch) / ANALYSIS_RATE, times[own], frequency[own])
        periods += np.rint(ANALYSIS_RATE / hertz).astype(int).tolist()
        voiced += [True] * len(stretch)
    return np.array(marks), np.array(periods), np.array(voiced)


def _marks_of_stretch(
    samples: Samples, times: np.ndarray, frequency: np.ndarray, start_s: float, end_s: float
) -> list[int]:
    """One mark a period, where the waveform repeats best; the first at the largest peak of the first period."""
    period = round(ANALYSIS_RATE / frequency[0])
    begin = max(int(start_s * ANALYSIS_RATE), 0)
    mark = begin + int(np.abs(samples[begin : begin + period]).argmax())
    marks = []
    while mark < min(end_s * ANALYSIS_RATE, samples.size - 1):
        marks.append(mark)
        period = round(ANALYSIS_RATE / float(np.interp(mark / ANALYSIS_RATE, times, frequency)))
        mark += period + _best_shift(samples, mark, period)
    return marks


def _best_shift(samples: Samples, mark: int, period: int) -> int:
    """Correction of the next mark, up to an eighth of a period, by the correlation with the period before."""
    half, reach = period // 2, max(period // 8, 1)
    own = samples[mark - half : mark + half]
    others = samples[mark + period - half - reach : mark + period + half + reach]
    if mark < half or others.size < own.size + 2 * reach:
        return 0
    return int(np.correlate(others, own, "valid").argmax()) - reach
