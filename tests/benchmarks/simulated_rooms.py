"""Impulse responses of rooms with known reverberation time, by the image-source method."""

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfilt

RATE = 16_000
SOUND_M_PER_S = 343.0

Floats = NDArray[np.float64]


def room_response(rt60_s: float, distance_m: float, seed: int) -> Floats:
    """Response from a mouth to a microphone `distance_m` away in a room of a random living-room size.

    Allen and Berkley, "Image method for efficiently simulating small-room acoustics", JASA 65 (1979); walls absorb by
    Eyring's formula for `rt60_s`.
    """
    random = np.random.default_rng(seed)
    size = np.array([random.uniform(3, 7), random.uniform(2.5, 5), random.uniform(2.4, 3.2)])
    walls = 2 * (size[0] * size[1] + size[1] * size[2] + size[0] * size[2])
    reflection = np.sqrt(np.exp(-0.161 * size.prod() / (rt60_s * walls)))
    mouth = size * random.uniform(0.35, 0.65, 3)
    towards = random.standard_normal(3) * [1, 1, 0.2]
    microphone = np.clip(mouth + towards / np.linalg.norm(towards) * distance_m, 0.15, size - 0.15)

    length_s = 0.9 * min(rt60_s, 1.0)
    farthest = SOUND_M_PER_S * length_s
    orders = [np.arange(-k, k + 1) for k in np.ceil(farthest / (2 * size)).astype(int)]
    response = np.zeros(int(length_s * RATE) + 2)
    for mirrored in np.ndindex(2, 2, 2):
        squares = [
            ((1 - 2 * mirrored[axis]) * mouth[axis] + 2 * orders[axis] * size[axis] - microphone[axis]) ** 2
            for axis in range(3)
        ]
        bounces = [np.abs(orders[axis] - mirrored[axis]) + np.abs(orders[axis]) for axis in range(3)]
        distance = np.sqrt(squares[0][:, None, None] + squares[1][None, :, None] + squares[2][None, None, :])
        count = bounces[0][:, None, None] + bounces[1][None, :, None] + bounces[2][None, None, :]
        reached = distance < farthest
        arrival = np.round(distance[reached] / SOUND_M_PER_S * RATE).astype(int)
        np.add.at(response, arrival, reflection ** count[reached] / np.maximum(distance[reached], 0.1))
    high_pass = butter(2, 50, "highpass", fs=RATE, output="sos")  # images all of one sign pile up at 0 Hz
    return np.asarray(sosfilt(high_pass, response)) / np.abs(response).max()
