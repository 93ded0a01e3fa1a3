"""Errors of decoding and analysis.

AudioError
├── UnsupportedAudio    not WAV, FLAC, MP3 or M4A by content, or damaged
├── AudioFileTooLarge   more bytes than the limit
├── RecordingTooShort   shorter than the limit
├── RecordingTooLong    longer than the limit
└── NothingToAnalyse    silence, or a constant

ModelUnavailable        shipped model weights are missing or changed; not an error of the recording
"""

from typing import ClassVar

from vbdesk.contract.audio_formats import ANY_FORMAT
from vbdesk.contract.errors import ErrorCode
from vbdesk.language import joined, message


class AudioError(Exception):
    """A recording that cannot be analysed.

    `str(error)` is a text for users: what was found, then what to do.

    Attributes:
        code: the wire error code.
        advice: one sentence that says what to do.
    """

    code: ClassVar[ErrorCode]
    advice: ClassVar[str]

    def __init__(self, found: str) -> None:
        super().__init__(joined(found, self.advice))


class UnsupportedAudio(AudioError):
    """The content is not a readable WAV, FLAC, MP3 or M4A file."""

    code = ErrorCode.UNSUPPORTED_FORMAT
    advice = message("Save the recording as {formats} (AAC or ALAC) and send it again.", formats=ANY_FORMAT)


class AudioFileTooLarge(AudioError):
    """The file has more bytes than are accepted."""

    code = ErrorCode.AUDIO_TOO_LARGE
    advice = message("Send at most 32 MB: a mono FLAC, MP3 or M4A file holds 20 minutes well.")


class RecordingTooShort(AudioError):
    """The recording is shorter than an analysis needs."""

    code = ErrorCode.AUDIO_TOO_SHORT
    advice = message("Record at least 15 seconds.")


class RecordingTooLong(AudioError):
    """The recording is longer than an analysis takes."""

    code = ErrorCode.AUDIO_TOO_LONG
    advice = message("Send at most 20 minutes.")


class NothingToAnalyse(AudioError):
    """There is no sound in the recording."""

    code = ErrorCode.AUDIO_POOR_QUALITY
    advice = message("Check that the right microphone is chosen and not muted, and record again.")


class ModelUnavailable(Exception):
    """Shipped model weights are missing or changed."""
