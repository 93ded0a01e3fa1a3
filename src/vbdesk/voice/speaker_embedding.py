"""Speaker embeddings: the GE2E encoder (Wan et al., ICASSP 2018) in numpy."""

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.lstm import run_lstm
from vbdesk.voice.model_weights import load_weights
from vbdesk.voice.recording import ANALYSIS_RATE, Samples

FFT = 400  # 25 ms
HOP = 160  # 10 ms
FRAMES_PER_SECOND = ANALYSIS_RATE // HOP
MEL_BANDS = 40
WINDOW_FRAMES = 160  # 1.6 s, as in the training of the network
LSTM_LAYERS = 3
BATCH = 128  # windows in parallel; limits the memory

Array = NDArray[np.float32]


def embed_windows(mel: Array, starts: NDArray[np.int64]) -> Array:
    """Embed the windows of `WINDOW_FRAMES` frames of `mel` that begin at `starts`.

    Returns:
        Non-negative unit vectors, shape (windows, 256); the cosine of two is their dot product.
    """
    weights = load_weights("ge2e")
    batches = [np.empty((0, weights["projection_bias"].size), np.float32)]
    for first in range(0, len(starts), BATCH):
        frames = starts[first : first + BATCH] + np.arange(WINDOW_FRAMES)[:, None]
        state = mel[frames]
        for layer in range(LSTM_LAYERS):
            state = run_lstm(state, weights, f"lstm{layer}")
        raw = np.maximum(state[-1] @ weights["projection_weights"] + weights["projection_bias"], 0)
        batches.append(raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-9))
    return np.concatenate(batches)


def mel_energies(samples: Samples) -> Array:
    """Energies in 40 mel bands of 25 ms Hann frames every 10 ms (not logarithmic), shape (frames, 40)."""
    padded = np.pad(samples.astype(np.float32, copy=False), FFT // 2)
    window = np.hanning(FFT + 1)[:-1].astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(padded, FFT)[::HOP]
    filters = mel_filters()
    energies = np.empty((len(frames), MEL_BANDS), np.float32)
    for first in range(0, len(frames), 8192):
        spectra = np.fft.rfft(frames[first : first + 8192] * window, axis=1)
        energies[first : first + 8192] = np.square(np.abs(spectra)).astype(np.float32) @ filters
    return energies


def mel_filters() -> Array:
    """Triangular filters of unit area, equally spaced on Slaney's mel scale (1998), shape (FFT bins, bands)."""
    edges = _mel_to_hz(np.linspace(0, _hz_to_mel(ANALYSIS_RATE / 2), MEL_BANDS + 2))
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    frequencies = np.fft.rfftfreq(FFT, 1 / ANALYSIS_RATE)[:, None]
    rising = (frequencies - lower) / (centre - lower)
    falling = (upper - frequencies) / (upper - centre)
    return np.asarray(np.maximum(0, np.minimum(rising, falling)) * 2 / (upper - lower), np.float32)


LINEAR_TO_HZ = 1000.0  # the scale is linear below and logarithmic above
HZ_PER_MEL = 200 / 3
LOG_STEP = np.log(6.4) / 27


def _hz_to_mel(frequency_hz: float) -> float:
    if frequency_hz < LINEAR_TO_HZ:
        return frequency_hz / HZ_PER_MEL
    return float(LINEAR_TO_HZ / HZ_PER_MEL + np.log(frequency_hz / LINEAR_TO_HZ) / LOG_STEP)


def _mel_to_hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    knee = LINEAR_TO_HZ / HZ_PER_MEL
    return np.where(mel < knee, mel * HZ_PER_MEL, LINEAR_TO_HZ * np.exp(LOG_STEP * (mel - knee)))
