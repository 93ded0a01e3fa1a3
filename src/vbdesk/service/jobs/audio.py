"""The look at a recording before it is accepted: format, duration, and whether there is any sound."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vbdesk.contract.errors import ErrorCode
from vbdesk.service.errors import (
    AudioPoorQuality,
    AudioRejected,
    AudioTooLarge,
    AudioTooLong,
    AudioTooShort,
    UnsupportedFormat,
)

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


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a recording is not taken, as it comes out of another process."""

    code: ErrorCode
    message: str

    def as_error(self) -> AudioRejected:
        """The refusal as it is raised."""
        return _REFUSALS[self.code](self.message)


class AudioInspector(Protocol):
    """Looks at recordings."""

    async def inspect(self, path: Path) -> AudioFacts:
        """Decode the recording as the analysis will.

        Raises:
            AudioRejected: it cannot be analysed.
            ProcessingFailed: it could not be looked at.
        """
        ...


def look_at(path: Path) -> AudioFacts | Refusal:
    """Decode the recording. Meant for a process of its own: decoders are large, and bytes from strangers can end them.

    Raises:
        OSError: the file cannot be read.
    """
    from vbdesk.voice.decode import decode
    from vbdesk.voice.errors import AudioError

    try:
        recording = decode(path)
    except AudioError as error:
        return Refusal(error.code, str(error))
    return AudioFacts(
        content_type=recording.content_type,
        size_bytes=recording.size_bytes,
        duration_s=round(recording.duration_s, 3),
        sample_rate=recording.sample_rate,
    )
