"""Test recordings: noise, which the service accepts."""

import io

import numpy as np
import soundfile

RATE = 8_000


def noise_wav(seconds: float, amplitude: float = 0.1, seed: int = 0) -> bytes:
    samples = amplitude * np.random.default_rng(seed).standard_normal(int(seconds * RATE))
    file = io.BytesIO()
    soundfile.write(file, samples.clip(-1, 1), RATE, format="WAV")
    return file.getvalue()
