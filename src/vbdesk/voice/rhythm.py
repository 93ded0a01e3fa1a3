"""Speech, pauses and syllables, measured from the intensity contour.

The norms were measured with this definition of speech: louder than a threshold below the loud frames. All features
therefore use it, and not the trained speech detector.
"""

import numpy as np

from vbdesk.voice.short_term import HOP_S, Floats, Indices, Mask, runs

SHORTEST_PAUSE_S = 0.25
SHORTEST_SPEECH_S = 0.10
SYLLABLE_DIP_DB = 2.0


def speech_threshold(level: Floats) -> float:
    """Level in dB above which a frame is speech: 25 dB, or 65 % of the range if less, below the loud frames."""
    loud, quiet = np.percentile(level, [95, 2])
    return float(loud - min(25.0, 0.65 * (loud - quiet)))


def sounding_frames(level: Floats, threshold: float) -> Mask:
    """Frames of speech: `level` above the threshold, with gaps under 0.25 s filled and runs under 0.1 s removed."""
    sounding = _bridge_gaps(level > threshold)
    for first, end in runs(sounding):
        if (end - first) * HOP_S < SHORTEST_SPEECH_S:
            sounding[first:end] = False
    return _bridge_gaps(sounding)


def _bridge_gaps(sounding: Mask) -> Mask:
    bridged = sounding.copy()
    for first, end in runs(~sounding):
        if (end - first) * HOP_S < SHORTEST_PAUSE_S and first > 0 and end < sounding.size:
            bridged[first:end] = True
    return bridged


def syllable_nuclei(level: Floats, threshold: float, sounding: Mask, voiced: Mask) -> Indices:
    """Frames of syllable nuclei: peaks of the smoothed level between dips of at least 2 dB, voiced within two frames.

    After de Jong & Wempe (2009), "Praat script to detect syllable nuclei and measure speech rate automatically". Of
    peaks without such a dip between them, the loudest is kept.
    """
    smooth = np.convolve(level, np.ones(3) / 3, mode="same")
    inner = smooth[1:-1]
    is_peak = (inner > smooth[:-2]) & (inner >= smooth[2:]) & (inner > threshold) & sounding[1:-1]
    peaks: list[int] = []
    for frame in (np.flatnonzero(is_peak) + 1).tolist():
        if not peaks:
            peaks.append(frame)
            continue
        dip = smooth[peaks[-1] : frame + 1].min() + SYLLABLE_DIP_DB
        if smooth[frame] >= dip and smooth[peaks[-1]] >= dip:
            peaks.append(frame)
        elif smooth[frame] > smooth[peaks[-1]]:
            peaks[-1] = frame
    near_voice = np.convolve(voiced, np.ones(5), mode="same") > 0
    found = np.array(peaks, dtype=np.int64)
    return found[near_voice[found]]
