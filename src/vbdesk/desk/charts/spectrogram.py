"""Spectrogram of a take in the theme's colours."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QImage

from vbdesk.desk.ui.theme import Theme

_SHADES = 256
_STOPS = ((0.0, "surface"), (0.45, "wavedim"), (0.75, "wave"), (1.0, "text"))


def spectrogram_image(theme: Theme, shades: NDArray[np.uint8]) -> QImage:
    """Image of `shades` from `capture.spectrogram`: shape (columns, bands), lowest frequency first."""
    columns, bands = shades.shape
    colours = _palette(theme)[shades.T[::-1]]
    image = QImage(np.ascontiguousarray(colours).tobytes(), columns, bands, 3 * columns, QImage.Format.Format_RGB888)
    return image.copy()  # the bytes belong to Python


def _palette(theme: Theme) -> NDArray[np.uint8]:
    """Shape (256, 3): from the background to the strongest colour."""
    positions = [position for position, _ in _STOPS]
    inks = [theme.colour(token) for _, token in _STOPS]
    steps = np.linspace(0.0, 1.0, _SHADES)
    rgb = np.array([(ink.red(), ink.green(), ink.blue()) for ink in inks], np.float64)
    channels = [np.interp(steps, positions, rgb[:, channel]) for channel in range(3)]
    return np.rint(np.column_stack(channels)).astype(np.uint8)
