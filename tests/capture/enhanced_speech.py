"""Speech with simulated enhancement by an operating system: automatic gain, and a noise gate."""

import numpy as np


def with_room(speech, rate, noise_dbfs, seed=1):
    """Float speech in -1..1 with a pause of a second after every three, in a room with pinkish noise."""
    rng = np.random.default_rng(seed)
    pieces = []
    for start in range(0, len(speech), 3 * rate):
        pieces += [speech[start : start + 3 * rate], np.zeros(rate)]
    sound = np.concatenate(pieces)
    white = rng.normal(0, 1, len(sound))
    pink = np.convolve(white, 0.9 ** np.arange(40), "same")
    return sound + pink / pink.std() * 10 ** (noise_dbfs / 20)


def envelope(sound, rate, attack_s, release_s):
    """Level with rise and fall times, every 2 ms, as amplitude for each sample."""
    step = rate // 500
    blocks = np.abs(sound[: len(sound) // step * step]).reshape(-1, step).max(axis=1)
    up, down = np.exp(-0.002 / attack_s), np.exp(-0.002 / release_s)
    level, out = 0.0, np.empty(len(blocks))
    for index, block in enumerate(blocks):
        keep = up if block > level else down
        level = keep * level + (1 - keep) * block
        out[index] = level
    return np.repeat(out, step)


def automatic_gain(sound, rate, release_s=1.0, target=0.2, max_gain_db=30):
    """Bring everything to one level, including pauses, within the gain's limit."""
    level = envelope(sound, rate, 0.02, release_s)
    gain = np.minimum(target / np.maximum(level, 1e-6), 10 ** (max_gain_db / 20))
    return sound[: len(gain)] * gain


def noise_gate(sound, rate, depth_db=30, hold_s=0.15, threshold_db=-22):
    """Attenuate what is much softer than the voice, with a delay."""
    level = envelope(sound, rate, 0.002, 0.02)
    is_open = level > np.percentile(level, 95) * 10 ** (threshold_db / 20)
    held = np.convolve(is_open, np.ones(round(hold_s * rate)))[: len(is_open)] > 0
    gain = np.where(held, 1.0, 10 ** (-depth_db / 20))
    smooth = np.ones(rate // 100) / (rate // 100)
    return sound[: len(gain)] * np.convolve(gain, smooth, "same")


def to_int16(sound):
    """Convert to the microphone's format."""
    return (np.clip(sound, -1, 1) * 32767).astype(np.int16)
