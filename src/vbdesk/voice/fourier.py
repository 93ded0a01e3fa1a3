"""Fourier transforms of real signals: SciPy's, loaded by the first call.

The import takes 0.2 s, which a window that only shows what was measured need not wait for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def rfft(samples: NDArray[np.floating], size: int | None = None, *, axis: int = -1) -> NDArray[Any]:
    """Transform real `samples` along `axis`, cut or padded with zeros to `size`; keeps the precision of the input."""
    from scipy import fft

    return np.asarray(fft.rfft(samples, size, axis=axis))


def irfft(spectrum: NDArray[Any], size: int | None = None, *, axis: int = -1) -> NDArray[Any]:
    """Inverse of `rfft`: `size` real samples along `axis`."""
    from scipy import fft

    return np.asarray(fft.irfft(spectrum, size, axis=axis))


def next_fast_len(least: int) -> int:
    """Smallest size of at least `least` that is fast to transform."""
    from scipy import fft

    return int(fft.next_fast_len(least, real=True))
