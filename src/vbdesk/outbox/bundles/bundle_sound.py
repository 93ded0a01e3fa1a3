"""The sound of one recording in a bundle: the decrypted blocks of its file, one after another.

Each is `kind (1 byte) | length (4 bytes, little-endian) | content`. The receiving computer encrypts them again with a
key of its own, so that a deletion on either computer destroys only that copy.
"""

import contextlib
import hashlib
import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic_core import from_json

from vbdesk.capture.encrypted_take import BlockKind, BlockWriter, read_blocks
from vbdesk.capture.imported_sound import measure_file
from vbdesk.contract.limits import MAX_DURATION_S
from vbdesk.language import message
from vbdesk.outbox.bundles.bundle_errors import MalformedBundle
from vbdesk.outbox.bundles.bundle_manifest import LARGEST_SOUND_BYTES, bounded_json
from vbdesk.voice.errors import AudioError

SLOWEST_RATE, FASTEST_RATE = 8_000, 192_000  # Hz
LARGEST_BLOCK_BYTES = 16 * 1024 * 1024  # the recorder writes about one second per block
MOST_MARKS = 10_000
TAKE_SLACK_S = 1.0  # the last block may exceed the longest take
EXACT_S, CODEC_S = 0.001, 0.2  # decoders differ in counting a compressed file's padding

_MOST_JSON_VALUES = 5000  # a take can be paused often
_LARGEST_JSON_BLOCK = 64 * 1024
_HEAD = struct.Struct("<BI")
_KINDS = frozenset(kind.value for kind in BlockKind)


def pieces_of(path: Path, library_key: bytes, take_key: bytes | None) -> Iterator[bytes]:
    """Decrypt the sound of a file, block by block. Raises EncryptedFileError, OSError."""
    with contextlib.closing(read_blocks(path, library_key, take_key)) as blocks:
        for kind, plain in blocks:
            yield _HEAD.pack(kind, len(plain)) + plain


class IncomingSound:
    """Encrypts a sound that arrives in pieces into a new file."""

    def __init__(self, path: Path, take_key: bytes) -> None:
        self.path = path
        path.unlink(missing_ok=True)
        self._writer = BlockWriter(path, take_key, None)
        self._waiting = bytearray()

    def take(self, piece: bytes) -> None:
        """Add the next piece. Raises MalformedBundle, OSError."""
        self._waiting += piece
        while len(self._waiting) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._waiting)
            if kind not in _KINDS or length > LARGEST_BLOCK_BYTES:
                raise MalformedBundle
            end = _HEAD.size + length
            if len(self._waiting) < end:
                return
            self._writer.write(BlockKind(kind), bytes(self._waiting[_HEAD.size : end]))
            del self._waiting[:end]

    def end(self) -> None:
        """Check that the sound is complete, and sync it to the disk. Raises MalformedBundle, OSError."""
        if self._waiting:
            raise MalformedBundle
        self._writer.sync()
        self._writer.close()

    def drop(self) -> None:
        """Delete the file."""
        self._writer.close()
        self.path.unlink(missing_ok=True)


class SoundMismatch(Exception):
    """A sound does not match its description; `str(error)` is one sentence that says why."""


class SoundClaims(Protocol):
    """The description of a sound: from the manifest, or from the library."""

    @property
    def imported(self) -> bool:
        """Whether it holds an imported file instead of a take."""

    @property
    def duration_s(self) -> float:
        """Length of the part that counts."""

    @property
    def trim_s(self) -> tuple[float, float] | None:
        """Start and end of the part that counts."""

    @property
    def source_sha256(self) -> str:
        """Digest of the imported file."""


def check_sound(
    path: Path, library_key: bytes, take_key: bytes | None, claims: SoundClaims, sound_sha256: str | None
) -> None:
    """Check that an encrypted sound is valid and matches `claims`.

    Raises:
        SoundMismatch: it does not.
        EncryptedFileError, OSError: it cannot be read.
    """
    with contextlib.closing(read_blocks(path, library_key, take_key, beyond_end=True)) as blocks:
        found = _checked_file(blocks, claims.source_sha256) if claims.imported else _checked_take(blocks)
    if isinstance(found, float):
        seconds, tolerance_s = found, CODEC_S
    else:
        if found.kept != found.frames:
            found.sha256 = _digest_of_start(read_blocks(path, library_key, take_key), 2 * found.kept)
        if {found.closing.get("sha256"), sound_sha256} - {None, found.sha256}:
            raise SoundMismatch(message("Its sound is not the one that was recorded."))
        seconds, tolerance_s = found.kept / found.rate, EXACT_S
    start_s, end_s = claims.trim_s or (0.0, seconds)
    if end_s > seconds + tolerance_s:
        raise SoundMismatch(message("Its trim reaches beyond its sound."))
    if abs((end_s - start_s) - claims.duration_s) > tolerance_s:
        raise SoundMismatch(message("Its sound is not as long as its entry says."))


@dataclass(slots=True)
class _Found:
    """Content of a take's blocks; `kept` of its `frames` count."""

    rate: int
    frames: int
    kept: int
    sha256: str
    closing: Mapping[str, Any]


def _checked_take(blocks: Iterator[tuple[BlockKind, bytes]]) -> _Found:
    first, about = next(blocks, (BlockKind.END, b"{}"))
    if first is not BlockKind.ABOUT:
        raise SoundMismatch(message("Its sound does not begin as a recording does."))
    described = _json_of(about)
    rate, said = described.get("sample_rate"), described.get("about")
    if type(rate) is not int or not SLOWEST_RATE <= rate <= FASTEST_RATE:
        raise SoundMismatch(
            message(
                "Its sampling rate is not between {lowest:,} and {highest:,} Hz.",
                lowest=SLOWEST_RATE,
                highest=FASTEST_RATE,
            )
        )
    if not isinstance(said, dict):
        raise SoundMismatch(message("Its sound does not begin as a recording does."))
    digest, frames, marks = hashlib.sha256(), 0, 0
    for kind, plain in blocks:
        if kind is BlockKind.FRAMES and len(plain) % 2 == 0:
            digest.update(plain)
            frames += len(plain) // 2
        elif kind is BlockKind.MARK and marks < MOST_MARKS:
            marks += 1
            _check_mark(_json_of(plain))
        elif kind is BlockKind.END:
            closing = _json_of(plain)
            _check_closing(closing, frames)
            if next(blocks, None) is not None:
                raise SoundMismatch(message("Something follows the end of its sound."))
            return _checked_length(_Found(rate, frames, closing["frames"], digest.hexdigest(), closing))
        else:
            raise SoundMismatch(message("Its sound has a part that no recording has."))
    return _checked_length(_Found(rate, frames, frames, digest.hexdigest(), {}))


def _checked_length(found: _Found) -> _Found:
    if not found.kept or found.frames > (MAX_DURATION_S + TAKE_SLACK_S) * found.rate:
        raise SoundMismatch(message("Its sound is empty, or longer than a recording can be."))
    return found


def _check_mark(mark: dict[str, Any]) -> None:
    moment_s, task_id = mark.get("moment_s"), mark.get("task_id", "")
    if not _is_length(moment_s) or not isinstance(task_id, str) or len(task_id) > 200:
        raise SoundMismatch(message("Its sound has a mark that cannot be."))


def _check_closing(closing: dict[str, Any], frames: int) -> None:
    frame_count, lost = closing.get("frames"), (closing.get("missing_s", 0.0), closing.get("overflows", 0))
    if type(frame_count) is not int or not 0 <= frame_count <= frames:
        raise SoundMismatch(message("Its sound ends earlier than its own count says."))
    if not all(_is_length(value) for value in lost):
        raise SoundMismatch(message("What its sound says of lost parts cannot be."))
    if not isinstance(closing.get("sha256", ""), str):
        raise SoundMismatch(message("The digest of its sound cannot be."))


def _checked_file(blocks: Iterator[tuple[BlockKind, bytes]], source_sha256: str) -> float:
    """Check an imported file; returns its length in seconds."""
    content, digest, complete = io.BytesIO(), hashlib.sha256(), False
    for kind, plain in blocks:
        if complete or kind not in (BlockKind.FILE, BlockKind.END):
            raise SoundMismatch(message("Its file has a part that no imported file has."))
        complete = kind is BlockKind.END
        if not complete:
            content.write(plain)
            digest.update(plain)
    if not complete or content.tell() > LARGEST_SOUND_BYTES:
        raise SoundMismatch(message("Its file is not complete, or larger than a bundle takes."))
    if source_sha256 not in ("", digest.hexdigest()):
        raise SoundMismatch(message("Its file is not the one that was imported."))
    try:
        length = measure_file(content)
    except AudioError as error:
        raise SoundMismatch(message("Its file cannot be opened: {error}", error=error)) from error
    if not SLOWEST_RATE <= length.sample_rate <= FASTEST_RATE:
        raise SoundMismatch(
            message(
                "Its sampling rate is not between {lowest:,} and {highest:,} Hz.",
                lowest=SLOWEST_RATE,
                highest=FASTEST_RATE,
            )
        )
    return length.duration_s


def _digest_of_start(blocks: Iterator[tuple[BlockKind, bytes]], left: int) -> str:
    digest = hashlib.sha256()
    for kind, plain in blocks:
        if kind is BlockKind.FRAMES:
            digest.update(plain[:left])
            left -= min(left, len(plain))
    return digest.hexdigest()


def _json_of(plain: bytes) -> dict[str, Any]:
    try:
        document = from_json(plain, allow_inf_nan=False) if len(plain) <= _LARGEST_JSON_BLOCK else None
        if isinstance(document, dict):
            return bounded_json(document, most_values=_MOST_JSON_VALUES)
    except ValueError:
        pass
    raise SoundMismatch(message("Its sound has a description that cannot be read."))


def _is_length(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
