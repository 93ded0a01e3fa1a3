"""Detect reverberation by the decay of frequency bands.

In a dry recording the level of a band falls as fast as it rises. A room does not change the rises, but limits the falls
to its own decay. So the fastest falls are compared with the fastest rises, which are also slow for a slow speaker or
with noise in the pauses. After Wen, Habets and Naylor, "Blind estimation of reverberation time based on the
distribution of signal decay rates", ICASSP 2008.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.activity import SpeechActivity
from vbdesk.voice.fourier import rfft
from vbdesk.voice.quality_rules import ReverberationRules
from vbdesk.voice.recording import ANALYSIS_RATE, Samples
from vbdesk.voice.short_term import cut_frames

FFT, HOP = 512, 128  # 32 ms every 8 ms
HOP_S = HOP / ANALYSIS_RATE
BAND_EDGES_HZ = np.geomspace(300, 4000, 13)
SLOPE_FRAMES = 12  # 96 ms
LOUD_RANGE_DB = 20.0  # below the loud frames of a band; only falls from and rises to this range belong to the voice
FASTEST = 95  # percentile
FEWEST_SLOPES = 20  # in a band
PART_S, MOST_PARTS = 10.0, 6  # one minute in total of a long recording, spread evenly
TAIL_S = 0.4  # after speech, where the room decays

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Decay:
    """Fastest fall and rise of the level in dB per second, median over bands."""

    fall_db_per_s: float
    rise_db_per_s: float


def is_reverberant(samples: Samples, activity: SpeechActivity, rules: ReverberationRules) -> bool:
    """Whether mono `samples`, shape (n,), are reverberant; False with too few rises and falls."""
    decay = measure_decay(samples, activity)
    if decay is None or decay.fall_db_per_s >= rules.fall_db_per_s_below:
        return False
    return decay.fall_db_per_s < rules.fall_to_rise_below * decay.rise_db_per_s


def measure_decay(samples: Samples, activity: SpeechActivity) -> Decay | None:
    """Measure the decay in mono `samples`, shape (n,); None with too few rises and falls."""
    falls, rises = [], []
    levels_db, counts = _band_levels(samples, activity)
    if not counts.any():
        return None
    for level_db in levels_db.T:
        loud = level_db > np.percentile(level_db, 95) - LOUD_RANGE_DB
        slope = _slopes(level_db)
        falling = -slope[(slope < 0) & counts & loud[: len(slope)]]
        rising = slope[(slope > 0) & counts & loud[-len(slope) :]]
        if min(len(falling), len(rising)) >= FEWEST_SLOPES:
            falls.append(np.percentile(falling, FASTEST))
            rises.append(np.percentile(rising, FASTEST))
    if len(falls) < len(levels_db.T) / 2:
        return None
    return Decay(float(np.median(falls)), float(np.median(rises)))


def _band_levels(samples: Samples, activity: SpeechActivity) -> tuple[Floats, NDArray[np.bool_]]:
    """Levels in dB, shape (frames, bands), and a mask of the slopes in running speech or its tail."""
    part = min(len(samples), int(PART_S * ANALYSIS_RATE))
    parts = max(1, min(MOST_PARTS, len(samples) // max(part, 1)))
    begins = np.linspace(0, len(samples) - part, parts).astype(np.int64)
    per_part = max(0, (part - FFT) // HOP + 1)
    starts = (begins[:, None] + np.arange(per_part) * HOP).ravel()
    if per_part < SLOPE_FRAMES:
        return np.zeros((0, len(BAND_EDGES_HZ) - 1)), np.zeros(0, bool)
    window = np.hanning(FFT).astype(np.float32)
    spectra = rfft(cut_frames(samples, starts, FFT) * window, axis=1)
    edges = np.searchsorted(np.fft.rfftfreq(FFT, 1 / ANALYSIS_RATE), BAND_EDGES_HZ)
    power = np.add.reduceat(spectra.real**2 + spectra.imag**2, edges, axis=1)[:, :-1] / np.diff(edges)
    times_s = (starts + FFT / 2) / ANALYSIS_RATE
    speech = activity.covers(times_s) | activity.covers(times_s - TAIL_S)
    usable = speech & ~activity.is_sustained_at(times_s)
    last_of_part = np.arange(len(starts)) % per_part > per_part - SLOPE_FRAMES
    counts = (usable & ~last_of_part)[: len(starts) - SLOPE_FRAMES + 1]
    return 10 * np.log10(np.maximum(power, 1e-12).astype(np.float64)), counts


def _slopes(level_db: Floats) -> Floats:
    """Slope in dB per second of the line through each `SLOPE_FRAMES` successive levels."""
    steps = np.arange(SLOPE_FRAMES) - (SLOPE_FRAMES - 1) / 2
    return np.asarray(np.correlate(level_db, steps / np.square(steps).sum(), "valid") / HOP_S)
