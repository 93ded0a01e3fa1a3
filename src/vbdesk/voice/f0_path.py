"""The most likely F0 contour through the candidates of all frames (Viterbi), for all voiced stretches in parallel."""

from dataclasses import dataclass

import numpy as np

from vbdesk.voice.recording import Samples
from vbdesk.voice.short_term import Floats, Indices, cut_long, runs

VOICING_THRESHOLD = 0.45
SILENCE_THRESHOLD = 0.03  # of the loudest peak of the recording
OCTAVE_COST = 0.01  # bonus per octave of height, against downward octave errors
OCTAVE_JUMP_COST = 0.35  # at a hop of 10 ms
VOICING_CHANGE_COST = 0.14  # at a hop of 10 ms

_LONGEST_STRETCH = 1000  # frames; music or hum can be "voiced" for minutes, and steps are sequential


@dataclass(frozen=True, slots=True)
class Candidates:
    """F0 candidates of n frames; single precision is far finer than the step between two samples.

    Attributes:
        frequency: shape (n, k), Hz; 0 without a candidate.
        strength: shape (n, k), height of the autocorrelation peak, 0 to 1.
        peak: shape (n,), local peak of the waveform relative to that of the recording, 0 to 1.
    """

    frequency: Samples
    strength: Samples
    peak: Samples


def most_likely_path(candidates: Candidates, ceiling: float) -> Floats:
    """Find F0 of every frame in Hz, 0 if unvoiced: the path of lowest cost of Boersma (1993).

    If silence beats every candidate of a frame by more than two changes of voicing, the frame is unvoiced on every best
    path. Such frames split the recording into stretches, which are solved independently and in parallel.
    """
    voiced = candidates.frequency > 0
    frames, states = voiced.shape[0], voiced.shape[1] + 1
    log_frequency, gain = np.zeros((frames, states), np.float32), np.full((frames, states), -np.inf, np.float32)
    np.log2(candidates.frequency, out=log_frequency[:, 1:], where=voiced)
    bonus = np.float32(OCTAVE_COST) * (log_frequency[:, 1:] - np.float32(np.log2(ceiling)))
    np.add(candidates.strength, bonus, out=gain[:, 1:], where=voiced)
    silence = 2 - candidates.peak * (1 + VOICING_THRESHOLD) / SILENCE_THRESHOLD
    gain[:, 0] = VOICING_THRESHOLD + np.maximum(silence, 0)

    open_frames = gain[:, 1:].max(axis=1) + 2 * VOICING_CHANGE_COST >= gain[:, 0]
    stretches = cut_long(runs(open_frames), _LONGEST_STRETCH)
    state = _solve(stretches, gain, log_frequency)
    chosen = np.take_along_axis(candidates.frequency, np.maximum(state - 1, 0)[:, None], axis=1)[:, 0]
    path: Floats = np.where(state > 0, chosen, 0).astype(np.float64)
    return path


def _solve(stretches: Indices, gain: Samples, log_frequency: Samples) -> Indices:
    """State of every frame (0 = unvoiced), shape (n,). `gain` and `log_frequency` have shape (n, states)."""
    chosen = np.zeros(gain.shape[0], dtype=np.int64)
    if stretches.size == 0:
        return chosen
    length = stretches[:, 1] - stretches[:, 0]
    stretches = stretches[np.argsort(-length, kind="stable")]
    start, length = stretches[:, 0], stretches[:, 1] - stretches[:, 0]
    states = gain.shape[1]
    change = np.full(states, VOICING_CHANGE_COST, np.float32)
    change[0] = 0.0
    # how many stretches (sorted, longest first) still run at each step
    running = np.searchsorted(-length, -np.arange(length[0]), side="left")

    origin = np.zeros((gain.shape[0], states), dtype=np.int8)
    best = gain[start] - change * (start > 0)[:, None]
    last = np.empty_like(best)
    for step in range(1, length[0]):
        count = running[step]
        last[count : best.shape[0]] = best[count:]
        frame = start[:count] + step
        cost = np.float32(OCTAVE_JUMP_COST) * np.abs(
            log_frequency[frame - 1][:, None, :] - log_frequency[frame][:, :, None]
        )
        cost[:, 0, :] = change
        cost[:, :, 0] = change
        score = best[:count, None, :] - cost
        source = score.argmax(axis=2)
        origin[frame] = source
        best = np.take_along_axis(score, source[:, :, None], axis=2)[:, :, 0] + gain[frame]
    last[: best.shape[0]] = best

    last -= change * (start + length < gain.shape[0])[:, None]
    state = last.argmax(axis=1)
    for step in range(length[0] - 1, -1, -1):
        count = running[step]
        frame = start[:count] + step
        chosen[frame] = state[:count]
        state[:count] = origin[frame, state[:count]]
    return chosen
