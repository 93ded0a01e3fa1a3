"""Intonation: semitones of voiced speech, pitch resets at phrase boundaries, and tremor in voiced stretches."""

from itertools import pairwise

import numpy as np

from vbdesk.voice.short_term import HOP_S, Floats, Indices, Mask, Track, empty_track, runs
from vbdesk.voice.zero_phase import band_pass

SEMITONE_REFERENCE = 100.0  # Hz
FURTHEST_FROM_MEDIAN = 14.0  # semitones; values beyond are octave errors
SHORTEST_VOICED_FRAMES = 3
_RESET_FRAMES, _FEWEST_RESET_FRAMES = 20, 8
_TREMOR_FRAMES = 40
_TREMOR_BAND = (4.0, 12.0)  # Hz


def semitones(frequency: Floats) -> Floats:
    """Convert frequency to semitones re 100 Hz; NaN for 0."""
    return 12 * np.log2(np.where(frequency > 0, frequency, np.nan) / SEMITONE_REFERENCE)


def plausible(pitch: Floats) -> Mask:
    """Which values of `pitch` in semitones are within 14 semitones of its median."""
    return np.abs(pitch - np.nanmedian(pitch)) < FURTHEST_FROM_MEDIAN


def voiced_stretches(voiced: Mask) -> Indices:
    """First frame and frame after the last of each voiced stretch of at least 0.03 s: shape (stretches, 2)."""
    stretches = runs(voiced)
    return stretches[stretches[:, 1] - stretches[:, 0] >= SHORTEST_VOICED_FRAMES]


def pitch_resets(pitch: Floats, times: Floats, phrases: Indices) -> Track:
    """Median pitch of the first 0.2 s of a phrase's voicing minus that of the last 0.2 s of the previous phrase.

    Args:
        pitch: semitones, shape (n,), NaN where unvoiced.
        times: shape (n,), seconds.
        phrases: first frame and frame after the last of each stretch of speech.

    Returns:
        One value in semitones at each phrase boundary with at least 0.08 s of voicing on both sides.
    """
    moments, steps = [], []
    for (start, end), (next_start, next_end) in pairwise(phrases):
        before, after = pitch[start:end], pitch[next_start:next_end]
        before = before[~np.isnan(before)][-_RESET_FRAMES:]
        after = after[~np.isnan(after)][:_RESET_FRAMES]
        if min(before.size, after.size) >= _FEWEST_RESET_FRAMES:
            moments.append((times[end - 1] + times[next_start]) / 2)
            steps.append(np.median(after) - np.median(before))
    return Track(np.array(moments), np.array(steps)) if moments else empty_track()


def pitch_tremor(pitch: Floats, times: Floats, stretches: Indices) -> Track:
    """Modulation of pitch at 4 to 12 Hz in voiced stretches of at least 0.4 s, cubic trend removed.

    Returns:
        At the middle of each such stretch: standard deviation in semitones, and length in frames as its weight.
    """
    chosen = stretches[stretches[:, 1] - stretches[:, 0] >= _TREMOR_FRAMES]
    if chosen.size == 0:
        return empty_track(2)
    contours = []
    for start, end in chosen:
        position = np.linspace(-1, 1, end - start)
        contour = pitch[start:end]
        contours.append(contour - np.polyval(np.polyfit(position, contour, 3), position))
    modulation = [np.std(contour) for contour in band_pass(contours, _TREMOR_BAND, 1 / HOP_S)]
    moments = np.array([times[start:end].mean() for start, end in chosen])
    return Track(moments, np.stack([modulation, chosen[:, 1] - chosen[:, 0]], axis=1).astype(np.float64))
