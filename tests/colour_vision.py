"""Colours as people with and without a colour vision deficiency see them."""

import numpy as np

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE
# Transactions on Visualization and Computer Graphics 15(6), 2009, table 1, severity 1.0; for linear RGB.
DEFICIENCIES = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# linear sRGB to CIE XYZ under D65 (IEC 61966-2-1), and the white of it
_TO_XYZ = np.array(((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)))
_WHITE = _TO_XYZ.sum(axis=1)

# CIE76: 2.3 can just be seen with both colours side by side. A cell of a heat map is compared with cells that are
# further away and with a legend, and has to be found at a glance: six times that. A small shape stands beside its word
# and is told by its form as well: three times, and a little.
FAR_APART, APART = 15.0, 8.0


def lab(colour: str, deficiency: str | None = None) -> np.ndarray:
    """CIELAB of an sRGB colour, as seen with a deficiency or without."""
    rgb = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    if deficiency is not None:
        linear = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear, 0.0, 1.0)
    share = _TO_XYZ @ linear / _WHITE
    f = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array((116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])))


def distance(one: str, other: str, deficiency: str | None = None) -> float:
    """CIE76 colour difference: about 2.3 can just be seen side by side."""
    return float(np.linalg.norm(lab(one, deficiency) - lab(other, deficiency)))
