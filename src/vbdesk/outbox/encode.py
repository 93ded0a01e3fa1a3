"""What is uploaded: FLAC, without loss, at the highest rate that fits the service's limit."""

import io

import numpy as np
import soundfile as sf
import soxr

from vbdesk.capture.sealed import Frames, TakeAudio
from vbdesk.contract.limits import MAX_AUDIO_BYTES

RATES = (48_000, 44_100, 32_000, 24_000, 16_000)  # Hz; the analysis itself works at 16 kHz
GUESS_MARGIN = 1.05  # lower rates lose the emptiest part of the spectrum, so they shrink less than in proportion


def encode_flac(audio: TakeAudio, max_bytes: int = MAX_AUDIO_BYTES) -> bytes:
    """Encode a take: at its own rate up to 48 kHz if that fits, else at the next lower ones.

    Raises:
        ValueError: it does not fit even at 16 kHz.
    """
    rates = [rate for rate in RATES if rate < audio.sample_rate]
    if audio.sample_rate <= RATES[0]:
        rates.insert(0, audio.sample_rate)
    largest_fitting = float(rates[0])
    for rate in rates:
        if rate > largest_fitting:
            continue
        encoded = _encode(_at_rate(audio, rate), rate)
        if len(encoded) <= max_bytes:
            return encoded
        largest_fitting = GUESS_MARGIN * rate * max_bytes / len(encoded)
    if rates[-1] > largest_fitting:  # the guess was too careful for the lowest rate
        encoded = _encode(_at_rate(audio, rates[-1]), rates[-1])
        if len(encoded) <= max_bytes:
            return encoded
    raise ValueError("The recording is too large to send, even made smaller. Trim it and try again.")


def _at_rate(audio: TakeAudio, rate: int) -> Frames:
    if rate == audio.sample_rate:
        return audio.samples
    resampled = soxr.resample(audio.samples.astype(np.float32), audio.sample_rate, rate)
    rounded: Frames = np.clip(np.rint(resampled), -32768, 32767).astype(np.int16)
    return rounded


def _encode(samples: Frames, rate: int) -> bytes:
    file = io.BytesIO()
    sf.write(file, samples, rate, format="FLAC", subtype="PCM_16")
    return file.getvalue()
