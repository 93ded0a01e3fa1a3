"""The bytes to upload for a recording: FLAC of a take; an imported file unchanged if it is small enough."""

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field

from vbdesk.capture.encrypted_take import FileDamaged
from vbdesk.contract.audio_formats import AUDIO_FORMATS, AudioContentType
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.language import message
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.sync.flac_encoding import encode_flac
from vbdesk.voice.container import identify


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
            return Upload(AUDIO_FORMATS[identify(io.BytesIO(original))].content_type, original)
    return Upload("audio/flac", _readable(lambda: encode_flac(library.audio(item.take_id))))


def _readable(read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except OSError as error:
        raise FileDamaged(
            message("The sound of this recording cannot be read from the disk, so it was not sent.")
        ) from error
