"""Denoise speech with the DTLN (Westhausen and Meyer, Interspeech 2020).

Two masks are applied in sequence: on the magnitudes of a 32 ms frame, then on a learned representation of the masked
frame. Frames overlap by three quarters and are added.
"""

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.lstm import multiply, run_lstm, sigmoid
from vbdesk.voice.model_weights import load_weights

FRAME = 512
HOP = 128
NORM_FLOOR = 1e-7  # as in the training of the network

Array = NDArray[np.float32]


def denoise(windows: Array) -> Array:
    """Denoise each of `windows` independently, shape (count, samples), at the analysis rate and about -26 dBFS.

    Returns:
        The same shape, aligned with the input.
    """
    weights = load_weights("dtln")
    count, length = windows.shape
    padded = np.pad(windows, ((0, 0), (FRAME - HOP, FRAME)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, FRAME, axis=1)[:, ::HOP].transpose(1, 0, 2)
    spectra = np.fft.rfft(frames, axis=-1)
    magnitudes = np.abs(spectra).astype(np.float32)
    state = run_lstm(run_lstm(magnitudes, weights, "magnitude_lstm0"), weights, "magnitude_lstm1")
    mask = sigmoid(multiply(state, weights["magnitude_mask_weights"]) + weights["magnitude_mask_bias"])
    masked = np.fft.irfft(spectra * mask, axis=-1).astype(np.float32)

    learned = multiply(masked, weights["encoder"])
    centred = learned - learned.mean(axis=-1, keepdims=True)
    variance: Array = np.square(centred).mean(axis=-1, keepdims=True)
    normed: Array = (
        centred / np.sqrt(variance + np.float32(NORM_FLOOR)) * weights["norm_scale"] + weights["norm_offset"]
    )
    state = run_lstm(run_lstm(normed, weights, "learned_lstm0"), weights, "learned_lstm1")
    mask = sigmoid(multiply(state, weights["learned_mask_weights"]) + weights["learned_mask_bias"])
    cleaned = multiply(learned * mask, weights["decoder"]).transpose(1, 0, 2)
    return _overlap_add(cleaned)[:, FRAME - HOP : FRAME - HOP + length].reshape(count, length)


def _overlap_add(frames: Array) -> Array:
    """Overlap-add `frames`, shape (count, frames, FRAME), which start HOP samples apart."""
    count, steps, _ = frames.shape
    parts = FRAME // HOP
    total = np.zeros((count, steps + parts - 1, HOP), np.float32)
    for part in range(parts):
        total[:, part : part + steps] += frames[:, :, part * HOP : (part + 1) * HOP]
    return total.reshape(count, -1)
