"""Voices made by a glottal source and a vocal tract, whose F0, jitter, shimmer and noise are known by construction.

The source is the flow derivative of Liljencrants and Fant (1985), one pulse a period at 96 kHz, so that pulses fall
where they should; the tract is a cascade of formant resonators. Periods are counted from closure to closure of the
glottis, the moment that excites the tract.
"""

from dataclasses import dataclass

import numpy as np
import soxr
from scipy.optimize import brentq
from scipy.signal import lfilter

from vbdesk.voice.recording import ANALYSIS_RATE, Samples

FINE_RATE = 96_000  # Hz
VOWELS = {  # formants and their bandwidths in Hz
    "a": [(730, 80), (1090, 90), (2440, 120), (3400, 150), (4400, 200)],
    "i": [(270, 60), (2290, 100), (3010, 120), (3600, 150), (4500, 200)],
}
OPEN_QUOTIENT, PEAK_QUOTIENT, RETURN_QUOTIENT = 0.6, 0.42, 0.02
FADE_S = 0.01


@dataclass(frozen=True)
class Vowel:
    samples: Samples
    jitter_percent: float
    shimmer_db: float


@dataclass(frozen=True)
class Speech:
    """Voiced stretches of changing F0 between breath noise and pauses.

    Attributes:
        stretches: (start, end, F0 at its start, F0 at its end), seconds and Hz; F0 runs evenly in semitones.
    """

    samples: Samples
    stretches: list[tuple[float, float, float, float]]

    def f0_at(self, times_s: np.ndarray) -> np.ndarray:
        """True F0 in Hz, 0 if unvoiced."""
        truth = np.zeros(len(times_s))
        for start, end, first, last in self.stretches:
            inside = (times_s >= start) & (times_s < end)
            truth[inside] = first * (last / first) ** ((times_s[inside] - start) / (end - start))
        return truth


def make_vowel(
    f0: float,
    vowel: str,
    *,
    jitter: float = 0.0,
    shimmer: float = 0.0,
    hnr_db: float | None = None,
    seed: int = 0,
) -> Vowel:
    """Three seconds of a vowel with pulses of known times and amplitudes, and noise of the same spectral envelope."""
    random = np.random.default_rng(seed)
    source = np.zeros(int(3.1 * FINE_RATE))
    start, closures, amplitudes = 0.05, [], []
    while start < 3.0:
        period = (1 + jitter * random.standard_normal()) / f0
        amplitude = max(0.05, 1 + shimmer * random.standard_normal())
        _add_pulse(source, start, period, amplitude)
        closures.append(start + OPEN_QUOTIENT * period)
        amplitudes.append(amplitude)
        start += period
    voice = _tract(source, vowel)
    if hnr_db is not None:
        noise = _tract(random.standard_normal(source.size), vowel)
        middle = slice(int(0.3 * ANALYSIS_RATE), int(2.7 * ANALYSIS_RATE))
        voice = voice + noise * np.sqrt(np.mean(voice[middle] ** 2) / np.mean(noise[middle] ** 2)) / 10 ** (hnr_db / 20)
    periods, levels = np.diff(closures), 20 * np.log10(amplitudes)
    return Vowel(
        samples=(0.5 * voice / np.abs(voice).max()).astype(np.float32),
        jitter_percent=100 * float(np.mean(np.abs(np.diff(periods))) / np.mean(periods)),
        shimmer_db=float(np.mean(np.abs(np.diff(levels)))),
    )


def make_speech(*, lowest: float = 110.0, highest: float = 220.0, seconds: float = 20.0, seed: int = 0) -> Speech:
    """Gliding vowels of 0.1 to 0.6 s, each followed by breath noise or a pause."""
    random = np.random.default_rng(seed)
    count = int(seconds * ANALYSIS_RATE)
    sound, stretches = np.zeros(count), []
    middle, time = float(np.sqrt(lowest * highest)), 0.3
    while time < seconds - 1.0:
        length = random.uniform(0.1, 0.6)
        first = float(np.clip(middle * 2 ** random.normal(0, 0.3), lowest, highest))
        last = float(np.clip(first * 2 ** random.normal(0, 0.2 * length), lowest, highest))
        _add(sound, time, _glide(first, last, length, random.choice(list(VOWELS)), random))
        stretches.append((time, time + length, first, last))
        time += length
        breath = random.uniform(0.05, 0.15)
        if random.random() < 0.6:
            _add(sound, time + 0.01, 0.02 * random.standard_normal(int(breath * ANALYSIS_RATE)))
        time += breath + (random.uniform(0.3, 0.8) if random.random() < 0.25 else 0.03)
    sound += 1e-4 * random.standard_normal(count)
    return Speech((0.5 * sound / np.abs(sound).max()).astype(np.float32), stretches)


def pulse_train(f0: float, seconds: float) -> np.ndarray:
    """Pulses with a spectrum that falls by 6 dB per octave, at `FINE_RATE`."""
    pulses = np.zeros(int(seconds * FINE_RATE))
    pulses[np.rint(np.arange(0.02, seconds, 1 / f0) * FINE_RATE).astype(int)] = 1
    return lfilter([1], [1, -0.98], pulses)


def _glide(first: float, last: float, seconds: float, vowel: str, random: np.random.Generator) -> np.ndarray:
    """A vowel at the analysis rate, F0 from `first` to `last`, with the jitter and shimmer of a normal voice."""
    source = np.zeros(int((seconds + 0.1) * FINE_RATE))
    start = 0.0
    while start < seconds:
        period = (1 + 0.003 * random.standard_normal()) / (first * (last / first) ** (start / seconds))
        _add_pulse(source, start, period, 1 + 0.02 * random.standard_normal())
        start += period
    voice = _tract(source, vowel)[: int(seconds * ANALYSIS_RATE)]
    fade = int(FADE_S * ANALYSIS_RATE)
    voice[-fade:] *= np.linspace(1, 0, fade)
    return voice / np.sqrt(np.mean(voice**2)) * 0.1


def _add(sound: np.ndarray, start_s: float, part: np.ndarray) -> None:
    begin = int(start_s * ANALYSIS_RATE)
    sound[begin : begin + len(part)] += part


def _add_pulse(source: np.ndarray, start: float, period: float, amplitude: float) -> None:
    index = np.arange(int(np.ceil(start * FINE_RATE)), int(np.ceil((start + period) * FINE_RATE)))
    index = index[index < source.size]
    source[index] += amplitude * _lf((index / FINE_RATE - start) / period, GROWTH, DECAY)


def _tract(source: np.ndarray, vowel: str) -> np.ndarray:
    for frequency, bandwidth in VOWELS[vowel]:
        radius = np.exp(-np.pi * bandwidth / FINE_RATE)
        middle = 2 * radius * np.cos(2 * np.pi * frequency / FINE_RATE)
        source = lfilter([1 - middle + radius**2], [1, -middle, radius**2], source)
    return soxr.resample(source, FINE_RATE, ANALYSIS_RATE, quality="VHQ")


def _lf_shape() -> tuple[float, float]:
    """Growth and decay of the flow derivative over a period of 1: without net flow, and back to zero at its end."""
    rest = 1 - OPEN_QUOTIENT
    decay = brentq(lambda e: e * RETURN_QUOTIENT - 1 + np.exp(-e * rest), 5, 100)

    def net_flow(growth: float) -> float:
        opening, closing = np.linspace(0, OPEN_QUOTIENT, 2000), np.linspace(OPEN_QUOTIENT, 1, 2000)
        return float(
            np.trapezoid(_lf(opening, growth, decay), opening) + np.trapezoid(_lf(closing, growth, decay), closing)
        )

    return brentq(net_flow, -50, 100), decay


def _lf(phase: np.ndarray, growth: float, decay: float) -> np.ndarray:
    frequency = np.pi / PEAK_QUOTIENT
    scale = -1 / (np.exp(growth * OPEN_QUOTIENT) * np.sin(frequency * OPEN_QUOTIENT))
    opening = scale * np.exp(growth * phase) * np.sin(frequency * phase)
    closing = -(np.exp(-decay * (phase - OPEN_QUOTIENT)) - np.exp(-decay * (1 - OPEN_QUOTIENT))) / (
        decay * RETURN_QUOTIENT
    )
    return np.where(phase < OPEN_QUOTIENT, opening, closing)


GROWTH, DECAY = _lf_shape()
