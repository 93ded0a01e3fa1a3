"""Inspection of a recording before acceptance: format, duration, and silence.

It runs in a separate process with little memory, which imports nothing else of the service.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from vbdesk.contract.errors import ErrorCode

if TYPE_CHECKING:
    from vbdesk.service.encryption.recording_files import StoredRecording


@dataclass(frozen=True, slots=True)
class AudioFacts:
    """Facts about a recording: type from its content, duration from decoded samples."""

    content_type: str
    size_bytes: int
    duration_s: float
    sample_rate: int


@dataclass(frozen=True, slots=True)
class AudioRefusal:
    """Why a recording is refused."""

    code: ErrorCode
    message: str


class AudioInspector(Protocol):
    """Inspects recordings."""

    async def inspect(self, recording: "StoredRecording", sender: str) -> AudioFacts:
        """Decode the recording like the analysis does; senders share the inspection time fairly.

        Raises:
            AudioRejected: it cannot be analysed.
            TooMuchRefused: the sender's refused recordings took much time.
            ProcessingFailed: it could not be inspected.
        """
        ...


def load_decoders() -> None:
    """Import the decoders, once per inspecting process."""
    import vbdesk.voice.decode
    import vbdesk.voice.ffmpeg_reader  # noqa: F401


def inspect_recording(recording: Path | BinaryIO) -> AudioFacts | AudioRefusal:
    """Decode the recording. Raises OSError when the file cannot be read."""
    from vbdesk.voice.decode import decode
    from vbdesk.voice.errors import AudioError

    try:
        decoded = decode(recording)
    except AudioError as error:
        return AudioRefusal(error.code, str(error))
    return AudioFacts(
        content_type=decoded.content_type,
        size_bytes=decoded.size_bytes,
        duration_s=round(decoded.duration_s, 3),
        sample_rate=decoded.sample_rate,
    )
