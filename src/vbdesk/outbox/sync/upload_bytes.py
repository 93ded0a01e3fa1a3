"""The bytes to upload for a recording: FLAC of a take; an imported file unchanged if it is small enough."""

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field

from vbdesk.capture.encrypted_take import FileDamaged
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.contract.uploads import AudioContentType
from vbdesk.language import message
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.sync.flac_encoding import encode_flac
from vbdesk.voice.container import identify
from vbdesk.voice.recording import Container

_CONTENT_TYPES: dict[Container, AudioContentType] = {
    "wav": "audio/wav",
    "flac": "audio/flac",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
}


@dataclass(frozen=True, slots=True)
class Upload:
    """The content to upload, and its digest."""

    content_type: AudioContentType
    content: bytes = field(repr=False)

    @property
    def sha256(self) -> str:
        """Digest of the content."""
        return hashlib.sha256(self.content).hexdigest()


def upload_of(library: Library, item: RecordingItem) -> Upload:
    """The upload of a recording; the same bytes each time. Encoding a long take takes seconds.

    Raises:
        EncryptedFileError: the sound cannot be read from the disk.
        ValueError: it is too large even at the lowest rate.
    """
    if item.imported and item.trim_s is None:
        original = _readable(lambda: library.original(item.take_id))
        if len(original) <= MAX_AUDIO_BYTES:
            return Upload(_CONTENT_TYPES[identify(io.BytesIO(original))], original)
    return Upload("audio/flac", _readable(lambda: encode_flac(library.audio(item.take_id))))


def _readable(read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except OSError as error:
        raise FileDamaged(
            message("The sound of this recording cannot be read from the disk, so it was not sent.")
        ) from error
