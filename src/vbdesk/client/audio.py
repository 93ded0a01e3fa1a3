"""Audio to be sent: a file, or bytes in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Self

from vbdesk.contract.audio_formats import ANY_FORMAT, AUDIO_SUFFIXES, AudioContentType
from vbdesk.language import message


@dataclass(frozen=True, slots=True)
class AudioSource:
    """Bytes that can be read again from the start for a retry.

    Attributes:
        filename: sent to the service as a label only.
        content_type: one of the four formats.
        size_bytes: length.
        open: opens the bytes at their start.
    """

    filename: str
    content_type: AudioContentType
    size_bytes: int
    open: Callable[[], BinaryIO] = field(repr=False)

    @classmethod
    def from_path(cls, path: Path) -> Self:
        """A file; its extension determines the format.

            Raises:
        ValueError: the extension is not that of one of the four formats.
                OSError: the file cannot be read.
        """
        content_type = AUDIO_SUFFIXES.get(path.suffix.lower())
        if content_type is None:
            raise ValueError(
                message("{file} is not a {formats} file. Choose another file.", file=path.name, formats=ANY_FORMAT)
            )
        name = path.name.encode("utf-8", "replace").decode()  # file names need not be UTF-8
        return cls(name, content_type, path.stat().st_size, lambda: path.open("rb"))

    @classmethod
    def from_bytes(cls, data: bytes, content_type: AudioContentType, filename: str = "recording") -> Self:
        """Bytes in memory."""
        return cls(filename, content_type, len(data), lambda: BytesIO(data))
