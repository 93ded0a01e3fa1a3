"""The bytes that go to the service for a recording: FLAC of a take, an imported file as it is where that fits."""

import io
from collections.abc import Callable
from dataclasses import dataclass

from vbdesk.capture.sealed import Damaged
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.contract.uploads import AudioContentType
from vbdesk.outbox.encode import encode_flac
from vbdesk.outbox.items import RecordingItem
from vbdesk.outbox.library import Library
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
    """What is to be sent; `read` does the work of encoding, seconds for a long take."""

    content_type: AudioContentType
    read: Callable[[], bytes]


def upload_of(library: Library, item: RecordingItem) -> Upload:
    """The upload of a recording.

    Raises, here or from `read`:
        SealedError: the sound cannot be read from the disk.
        ValueError: it is too large even at the lowest rate.
    """
    if item.imported and item.trim_s is None:
        original = _readable(lambda: library.original(item.take_id))
        if len(original) <= MAX_AUDIO_BYTES:
            return Upload(_CONTENT_TYPES[identify(io.BytesIO(original))], lambda: original)
    return Upload("audio/flac", lambda: _readable(lambda: encode_flac(library.audio(item.take_id))))


def _readable(read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except OSError as error:
        raise Damaged("The sound of this recording cannot be read from the disk, so it was not sent.") from error
