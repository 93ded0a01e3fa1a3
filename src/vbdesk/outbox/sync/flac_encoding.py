"""Encode a take for upload: lossless FLAC, at the highest rate that fits the service's limit.

Works in blocks. Output beyond the limit is only counted, so memory holds at most the take and one encoded recording.
Each encoded recording is decoded and compared before it is used.
"""

import hashlib
import io
from collections.abc import Iterator

import numpy as np
import soundfile as sf
import soxr

from vbdesk.capture.encrypted_take import Frames, TakeAudio
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.language import message

RATES = (48_000, 44_100, 32_000, 24_000, 16_000)  # Hz; the analysis itself works at 16 kHz
GUESS_MARGIN = 1.05  # the highest frequencies compress best, so the size shrinks less than the rate
BLOCK_FRAMES = 1 << 18


class EncodingFailed(ValueError):
    """The encoded recording does not decode to its source."""


def encode_flac(audio: TakeAudio, max_bytes: int = MAX_AUDIO_BYTES) -> bytes:
    """Encode a take at its own rate up to 48 kHz if that fits, else at the next lower rate that fits.

    Raises:
        ValueError: it does not fit even at 16 kHz.
        EncodingFailed: it does not decode to the samples that were encoded.
    """
    rates = [rate for rate in RATES if rate < audio.sample_rate]
    if audio.sample_rate <= RATES[0]:
        rates.insert(0, audio.sample_rate)
    largest_fitting = float(rates[0])
    for rate in rates:
        if rate > largest_fitting and rate != rates[-1]:  # always try the lowest: the guess is conservative
            continue
        encoded = _encode(audio, rate, max_bytes)
        if encoded.fits:
            return encoded.getvalue()
        largest_fitting = GUESS_MARGIN * rate * max_bytes / encoded.size_bytes
    raise ValueError(message("The recording is too large to send, even made smaller. Trim it and try again."))


class _Encoded(io.BytesIO):
    """Keeps the encoder's output up to `max_bytes` and counts the rest."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self._max_bytes = max_bytes
        self.size_bytes = 0

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        end = self.tell() + len(data)
        self.size_bytes = max(self.size_bytes, end)
        if end <= self._max_bytes:
            return super().write(data)
        self.seek(end)
        return len(data)

    @property
    def fits(self) -> bool:
        """Whether all of the output was kept."""
        return self.size_bytes <= self._max_bytes


def _encode(audio: TakeAudio, rate: int, max_bytes: int) -> _Encoded:
    encoded, digest = _Encoded(max_bytes), hashlib.sha256()
    with sf.SoundFile(encoded, "w", rate, 1, "PCM_16", format="FLAC") as file:
        for block in _at_rate(audio, rate):
            file.write(block)
            digest.update(block.tobytes())
    if encoded.fits and digest.digest() != _digest_of(encoded):
        raise EncodingFailed(
            message("The recording could not be made ready without loss, so it was not sent. Try again.")
        )
    return encoded


def _digest_of(encoded: _Encoded) -> bytes:
    """Digest of the decoded samples."""
    encoded.seek(0)
    digest = hashlib.sha256()
    for block in sf.blocks(encoded, BLOCK_FRAMES, dtype="int16"):
        digest.update(block.tobytes())
    return digest.digest()


def _at_rate(audio: TakeAudio, rate: int) -> Iterator[Frames]:
    """The take's samples at `rate`, block by block."""
    starts = range(0, len(audio.samples), BLOCK_FRAMES)
    if rate == audio.sample_rate:
        for start in starts:
            yield audio.samples[start : start + BLOCK_FRAMES]
        return
    stream = soxr.ResampleStream(audio.sample_rate, rate, 1, dtype="float32")
    for start in starts:
        block = audio.samples[start : start + BLOCK_FRAMES]
        resampled = stream.resample_chunk(block.astype(np.float32), last=start == starts[-1])
        yield np.clip(np.rint(resampled), -32768, 32767).astype(np.int16)
