"""The spectrogram of a take, as a small picture for the screen, however long the take is."""

import numpy as np
from numpy.typing import NDArray

from vbdesk.capture.encrypted_take import Frames

WINDOW_S = 0.02
HIGHEST_HZ = 8000.0  # above, the analysis hears nothing
RANGE_DB = 70.0
FRAMES_PER_COLUMN = 4  # at most: of a long take each column shows the loudest of some moments, so that no word is lost


def spectrogram(samples: Frames, sample_rate: int, columns: int, bands: int = 128) -> NDArray[np.uint8]:
    """Draw `samples`, shape (n,), int16, see `spectrogram_db`.

    Returns:
        Shape (columns, bands), lowest frequency first; 255 is the loudest of the take, 0 is 70 dB below and less.
    """
    level_db = spectrogram_db(samples, sample_rate, columns, bands)
    return shades_of(level_db, float(level_db.max()) if level_db.size else 0.0)


def shades_of(level_db: NDArray[np.float64], loudest_db: float) -> NDArray[np.uint8]:
    """Levels as shades: 255 is `loudest_db`, 0 is 70 dB below and less; one value of it makes takes comparable."""
    shade = 1 + (level_db - loudest_db) / RANGE_DB
    return np.asarray(np.clip(np.rint(255 * shade), 0, 255), np.uint8)


def spectrogram_db(samples: Frames, sample_rate: int, columns: int, bands: int = 128) -> NDArray[np.float64]:
    """Measure `samples`, shape (n,), int16.

    Args:
        samples: the take.
        sample_rate: Hz.
        columns: how many moments; fewer for a take shorter than that many windows.
        bands: how many frequencies, linear from 0 to 8 kHz, or to half of a lower rate.

    Returns:
        Shape (columns, bands), lowest frequency first, in dB; a tone has the same level at every sample rate.
    """
    length = round(WINDOW_S * sample_rate)
    columns = min(columns, len(samples) // length)
    if columns == 0:
        return np.zeros((0, bands))
    per_column = max(1, min(FRAMES_PER_COLUMN, len(samples) // (columns * length)))
    starts = np.linspace(0, len(samples) - length, columns * per_column).astype(np.int64)
    window = np.hanning(length).astype(np.float32)
    power = np.empty((columns, bands))
    for first in range(0, columns, 256):
        chosen = starts[first * per_column : (first + 256) * per_column]
        frames = samples[chosen[:, None] + np.arange(length)].astype(np.float32) * window
        spectra = np.square(np.abs(np.fft.rfft(frames, axis=1)))
        banded = _in_bands(spectra, sample_rate, bands)
        power[first : first + 256] = banded.reshape(-1, per_column, bands).max(axis=1)
    return np.asarray(10 * np.log10(np.maximum(power, 1e-3)) - 20 * np.log10(length))


def _in_bands(spectra: NDArray[np.float32], sample_rate: int, bands: int) -> NDArray[np.float32]:
    """The loudest bin of each band; a band narrower than a bin shows the bin that it lies in."""
    bin_hz = sample_rate / 2 / (spectra.shape[1] - 1)
    edges_hz = np.linspace(0, min(HIGHEST_HZ, sample_rate / 2), bands + 1)
    first = np.minimum(np.rint(edges_hz[:-1] / bin_hz).astype(np.int64), spectra.shape[1] - 1)
    return np.asarray(np.maximum.reduceat(spectra[:, : round(edges_hz[-1] / bin_hz) + 1], first, axis=1))
