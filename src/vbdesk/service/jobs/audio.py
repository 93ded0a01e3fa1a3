"""The look at a recording before it is accepted: format, duration, and whether there is any sound."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vbdesk.contract.errors import ErrorCode
from vbdesk.service.errors import (
    AudioPoorQuality,
    AudioRejected,
    AudioTooLarge,
    AudioTooLong,
    AudioTooShort,
    UnsupportedFormat,
)
from vbdesk.voice.decode import decode
from vbdesk.voice.errors import AudioError

AT_ONCE = 2
"""Recordings decoded at the same time; 20 minutes take 77 MB of memory each."""

_REFUSALS: dict[ErrorCode, type[AudioRejected]] = {
    refusal.code: refusal
    for refusal in (AudioTooLarge, UnsupportedFormat, AudioTooShort, AudioTooLong, AudioPoorQuality)
}


@dataclass(frozen=True, slots=True)
class AudioFacts:
    """What a job tells about its recording; duration by counted samples, content type by content."""

    content_type: str
    size_bytes: int
    duration_s: float
    sample_rate: int


def inspect(path: Path) -> AudioFacts:
    """Decode the recording as the analysis will. Raises AudioRejected."""
    try:
        recording = decode(path)
    except AudioError as error:
        raise _REFUSALS[error.code](str(error)) from None
    return AudioFacts(
        content_type=recording.content_type,
        size_bytes=recording.size_bytes,
        duration_s=round(recording.duration_s, 3),
        sample_rate=recording.sample_rate,
    )


async def inspect_aside(path: Path) -> AudioFacts:
    """`inspect` in one of few threads of its own, so that requests go on being answered. Raises AudioRejected."""
    return await asyncio.get_running_loop().run_in_executor(_inspectors(), inspect, path)


@cache
def _inspectors() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(AT_ONCE, thread_name_prefix="vbdesk-inspect")
