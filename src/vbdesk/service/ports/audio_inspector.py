"""The look at a recording before it is accepted: format, duration, and whether there is any sound.

Meant for a process of its own, whose memory is small: nothing of the service is imported here while it runs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from vbdesk.contract.errors import ErrorCode

if TYPE_CHECKING:
    from vbdesk.service.encryption.recording_files import Recording


@dataclass(frozen=True, slots=True)
class AudioFacts:
    """What a job tells about its recording; duration by counted samples, content type by content."""

    content_type: str
    size_bytes: int
    duration_s: float
    sample_rate: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a recording is not taken."""

    code: ErrorCode
    message: str


class AudioInspector(Protocol):
    """Looks at recordings."""

    async def inspect(self, recording: "Recording", sender: str) -> AudioFacts:
        """Decode the recording as the analysis will; recordings of one sender wait for each other before anyone's.

        Raises:
            AudioRejected: it cannot be analysed.
            TooMuchRefused: the sender's recordings took long and were refused.
            ProcessingFailed: it could not be looked at.
        """
        ...


def load_decoders() -> None:
    """Import what decoding needs, once in every process that looks."""
    import vbdesk.voice.decode  # noqa: F401


def look_at(recording: Path | BinaryIO) -> AudioFacts | Refusal:
    """Decode the recording. Raises OSError when the file cannot be read."""
    from vbdesk.voice.decode import decode
    from vbdesk.voice.errors import AudioError

    try:
        decoded = decode(recording)
    except AudioError as error:
        return Refusal(error.code, str(error))
    return AudioFacts(
        content_type=decoded.content_type,
        size_bytes=decoded.size_bytes,
        duration_s=round(decoded.duration_s, 3),
        sample_rate=decoded.sample_rate,
    )
