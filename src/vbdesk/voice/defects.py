"""Defects of the recording chain: narrow bandwidth and dropouts."""

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.activity import SpeechActivity
from vbdesk.voice.level import active_rms
from vbdesk.voice.recording import ANALYSIS_RATE, Samples

FFT = 512
BAND_BINS = 8  # 250 Hz
MAX_FRAMES = 4000  # enough for a long-term spectrum

GAP_LEVEL = 1e-4  # of the active level: -80 dB, digital silence even after resampling
EDGE_LEVEL = 0.1  # of the active level: sound directly before and after a gap
MIN_GAP_S, MAX_GAP_S = 0.008, 1.0
EDGE_S = 0.01


def bandwidth_hz(samples: Samples, activity: SpeechActivity, floor_db: float) -> float | None:
    """Upper edge of the highest 250 Hz band of running speech above `floor_db` relative to the strongest band.

    None without running speech, because a sustained vowel has no energy there. Noise counts as well as voice: the
    question is what the recording chain transmits.
    """
    starts = np.arange(0, len(samples) - FFT, FFT)
    times_s = (starts + FFT / 2) / ANALYSIS_RATE
    starts = starts[activity.covers(times_s) & ~activity.is_sustained_at(times_s)]
    if starts.size == 0:
        return None
    starts = starts[:: -(-len(starts) // MAX_FRAMES)]
    frames = samples[starts[:, None] + np.arange(FFT)] * np.hanning(FFT).astype(np.float32)
    power = np.square(np.abs(np.fft.rfft(frames, axis=1))).mean(axis=0)[1:]
    bands = power[: len(power) // BAND_BINS * BAND_BINS].reshape(-1, BAND_BINS).mean(axis=1)
    above = np.flatnonzero(bands >= bands.max() * 10 ** (floor_db / 10))
    return float((above[-1] + 1) * BAND_BINS * ANALYSIS_RATE / FFT)


def count_dropouts(samples: Samples) -> int:
    """Count gaps of digital silence with sound directly before and after: lost blocks, not pauses."""
    level = active_rms(samples)
    if level == 0:
        return 0
    silent = np.concatenate([[False], np.abs(samples) < GAP_LEVEL * level, [False]])
    edges = np.flatnonzero(silent[1:] != silent[:-1])
    starts, ends = edges[::2], edges[1::2]
    long_enough = (ends - starts >= MIN_GAP_S * ANALYSIS_RATE) & (ends - starts <= MAX_GAP_S * ANALYSIS_RATE)
    return sum(
        _sounds(samples, end, end + edge, level) and _sounds(samples, start - edge, start, level)
        for start, end in zip(starts[long_enough].tolist(), ends[long_enough].tolist(), strict=True)
        for edge in [int(EDGE_S * ANALYSIS_RATE)]
    )


def _sounds(samples: NDArray[np.float32], start: int, end: int, level: float) -> bool:
    if start < 0 or end > len(samples):
        return False
    return float(np.sqrt(np.mean(np.square(samples[start:end])))) >= EDGE_LEVEL * level
