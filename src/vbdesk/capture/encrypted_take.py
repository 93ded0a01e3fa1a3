"""A take on disk, encrypted block by block, so that a crash costs only the last block.

The file: a header with or without the file's own key (`take_keys`), then blocks (`encrypted_blocks`).
The blocks' key is derived from the file's own key and its salt, so the block's index can be the nonce.
Index and kind are authenticated: a block that was moved, repeated or left out does not decrypt in its place. The first
block describes the take, the last one closes it; without the last one the take is incomplete. Both together are the
take's manifest. `salvage` reads the rest of a damaged file.
"""

import contextlib
import hashlib
import json
import os
import weakref
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from vbdesk.capture.encrypted_blocks import (
    HEAD,
    MAX_BLOCK_BYTES,
    TAG_BYTES,
    BlockKind,
    block_cipher,
    block_nonce,
    find_blocks,
)
from vbdesk.capture.take_keys import (
    EncryptedFileError,
    FileDamaged,
    FileKeyMissing,
    WrongKey,
    new_head,
    new_key,
    read_head,
)
from vbdesk.language import message
from vbdesk.privacy import owner_only_opener

__all__ = [
    "MAX_BLOCK_BYTES",
    "BlockKind",
    "BlockWriter",
    "EncryptedFileError",
    "EncryptedTakeWriter",
    "FileDamaged",
    "FileKeyMissing",
    "Frames",
    "TakeAudio",
    "TaskStart",
    "WrongKey",
    "decrypt_file",
    "encrypt_file",
    "read_blocks",
    "read_frames",
    "read_take",
    "sync_folder",
]

TORN_BYTES = 256 * 1024  # every block is synced, so a crash damages at most about a second of sound
COPY_BYTES = 128 * 1024

Frames = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class TaskStart:
    """When a task of the protocol began in a take."""

    task_id: str
    moment_s: float


@dataclass(frozen=True, slots=True)
class TakeAudio:
    """A take as read from disk.

    Attributes:
        samples: shape (n,), int16, mono.
        sample_rate: Hz.
        complete: whether the take was closed; False after a crash.
        about: what was known when the recording began (`group_id`, `recorded_at`, `device`, ...).
        marks_s: marked moments, in seconds.
        tasks: where each task of a sequence began, in order.
        closing: what was known at its end (`frames`, `sha256` of its little-endian int16 samples, `overflows`,
            `missing_s`, `end`, `pauses`); empty for an incomplete take.
    """

    samples: Frames
    sample_rate: int
    complete: bool
    about: Mapping[str, Any]
    marks_s: tuple[float, ...]
    tasks: tuple[TaskStart, ...] = ()
    closing: Mapping[str, Any] = field(default_factory=dict)

    @property
    def duration_s(self) -> float:
        """Length of the take."""
        return len(self.samples) / self.sample_rate

    def part(self, start_s: float, end_s: float) -> "TakeAudio":
        """The take between two moments, with its marks."""
        first, last = round(start_s * self.sample_rate), round(end_s * self.sample_rate)
        marks = tuple(mark - start_s for mark in self.marks_s if start_s <= mark <= end_s)
        begun = [task for task in self.tasks if task.moment_s <= end_s]
        under_way = [task for task in begun if task.moment_s <= start_s][-1:]
        part_tasks = under_way + [task for task in begun if task.moment_s > start_s]
        tasks = tuple(TaskStart(task.task_id, max(0.0, task.moment_s - start_s)) for task in part_tasks)
        samples = self.samples[max(first, 0) : last]
        return TakeAudio(samples, self.sample_rate, self.complete, self.about, marks, tasks, self.closing)

    def sha256(self) -> str:
        """Digest of the samples, as in the manifest for the whole take."""
        return hashlib.sha256(np.ascontiguousarray(self.samples, "<i2").data).hexdigest()


class BlockWriter:
    """Encrypts blocks into a new file; `library_key` stores the file's own key in it, None does not."""

    def __init__(self, path: Path, take_key: bytes, library_key: bytes | None) -> None:
        head, salt = new_head(take_key, library_key)
        self._cipher = block_cipher(take_key, salt)
        self._index = 0
        self._file: BinaryIO = open(path, "xb", opener=owner_only_opener)  # noqa: SIM115
        self._file.write(head)

    def write(self, kind: BlockKind, plain: bytes) -> None:
        """Encrypt one block. Raises OSError, as the other methods do."""
        sealed = self._cipher.encrypt(block_nonce(self._index), plain, bytes([kind]))
        self._file.write(HEAD.pack(kind, len(plain)) + sealed)
        self._index += 1

    def sync(self) -> None:
        """Sync all blocks to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class EncryptedTakeWriter:
    """Writes a take while it is recorded; every `append` is on the disk when it returns.

    `key` is the library's. The take gets a key of its own, stored in the file until the library takes it over.
    Every method raises OSError if the disk is full or gone; what was appended before stays readable.
    """

    _writing: ClassVar["weakref.WeakValueDictionary[Path, EncryptedTakeWriter]"] = weakref.WeakValueDictionary()

    def __init__(self, path: Path, key: bytes, sample_rate: int, about: Mapping[str, Any] | None = None) -> None:
        self._path, self._key = path, key
        self._writing[path.absolute()] = self  # before the file can be found
        self._blocks = BlockWriter(path, new_key(), key)
        self._digest = hashlib.sha256()
        self.frames = 0
        description = {"sample_rate": sample_rate, "about": dict(about or {})}
        self._blocks.write(BlockKind.ABOUT, _to_json(description))
        self._blocks.sync()
        sync_folder(path.parent)

    def append(self, frames: Frames) -> None:
        """Encrypt `frames`, shape (n,), int16, and sync them to the disk."""
        plain = frames.astype("<i2", copy=False).tobytes()
        self._blocks.write(BlockKind.FRAMES, plain)
        self._blocks.sync()
        self._digest.update(plain)
        self.frames += len(frames)

    def mark(self, moment_s: float, task_id: str | None = None) -> None:
        """Mark a moment of the take; with `task_id`, as the beginning of that task."""
        task = {} if task_id is None else {"task_id": task_id}
        self._blocks.write(BlockKind.MARK, _to_json({"moment_s": moment_s, **task}))

    def close(self, keep_frames: int | None = None, closing: Mapping[str, Any] | None = None) -> None:
        """Close the take as complete, with its manifest.

        Args:
            keep_frames: number of frames that count; None for all.
            closing: figures for the manifest; `frames` and `sha256` are added.
        """
        stored_frames = self.frames if keep_frames is None else min(keep_frames, self.frames)
        known = {**(closing or {}), "frames": stored_frames, "sha256": self._digest_of(stored_frames)}
        if stored_frames != self.frames:
            known["written"] = self.frames
        try:
            self._blocks.write(BlockKind.END, _to_json(known))
            self._blocks.sync()
        finally:
            self._blocks.close()
            self._writing.pop(self._path.absolute(), None)

    def abandon(self) -> None:
        """Close the file after an error; the take stays incomplete, and readable."""
        with contextlib.suppress(OSError):  # a full disk refuses the buffered rest again
            self._blocks.close()
        self._writing.pop(self._path.absolute(), None)

    @classmethod
    def is_writing(cls, path: Path) -> bool:
        """Whether this process is writing a take to `path`."""
        return path.absolute() in cls._writing

    def _digest_of(self, stored_frames: int) -> str:
        if stored_frames == self.frames:
            return self._digest.hexdigest()
        self._blocks.sync()
        digest, left = hashlib.sha256(), stored_frames
        for frames in read_frames(self._path, self._key):
            digest.update(frames[:left].astype("<i2", copy=False).tobytes())
            left -= min(left, len(frames))
        return digest.hexdigest()


def read_take(path: Path, key: bytes, take_key: bytes | None = None) -> TakeAudio:
    """Read a whole take; a damaged last block is dropped, and the take is then incomplete.

    Args:
        path: the file.
        key: the library's key.
        take_key: the take's own key, if the library has it; None for the one in the file.

    Raises:
        WrongKey: the file is encrypted with another key.
        FileKeyMissing: the take's own key is needed.
        FileDamaged: the file was changed, is no take, or does not match its manifest.
        OSError: the file cannot be opened.
    """
    description: dict[str, Any] = {}
    pieces: list[Frames] = []
    marks: list[dict[str, Any]] = []
    closing: dict[str, Any] = {}
    for kind, plain in read_blocks(path, key, take_key):
        if kind is BlockKind.ABOUT:
            description = json.loads(plain)
        elif kind is BlockKind.FRAMES:
            pieces.append(np.frombuffer(plain, "<i2").astype(np.int16, copy=False))
        elif kind is BlockKind.MARK:
            marks.append(json.loads(plain))
        elif kind is BlockKind.END:
            closing = json.loads(plain)
    if "sample_rate" not in description:
        raise FileDamaged(message("This is not a recording of the desk."))
    samples = np.concatenate(pieces)[: closing.get("frames")] if pieces else np.empty(0, np.int16)
    rate = description["sample_rate"]
    inside = [mark for mark in marks if mark["moment_s"] <= len(samples) / rate]
    by_hand = tuple(mark["moment_s"] for mark in inside if "task_id" not in mark)
    tasks = tuple(TaskStart(mark["task_id"], mark["moment_s"]) for mark in inside if "task_id" in mark)
    take = TakeAudio(samples, rate, "frames" in closing, description["about"], by_hand, tasks, closing)
    if closing.get("sha256") not in (None, take.sha256()):
        raise FileDamaged(message("The sound of this recording is not what was recorded, so it is not used."))
    return take


def read_frames(path: Path, key: bytes) -> Iterator[Frames]:
    """Yield a take's frames block by block, without holding all of it in memory; errors as for `read_take`."""
    for kind, plain in read_blocks(path, key):
        if kind is BlockKind.FRAMES:
            yield np.frombuffer(plain, "<i2").astype(np.int16, copy=False)


def encrypt_file(content: bytes, path: Path, take_key: bytes) -> None:
    """Write the content of a file into a new encrypted one at `path`, which does not contain the key.

    Leaves nothing there if it fails. Raises OSError.
    """
    writer = BlockWriter(path, take_key, None)
    try:
        try:
            for begin in range(0, len(content), COPY_BYTES):
                writer.write(BlockKind.FILE, content[begin : begin + COPY_BYTES])
            writer.write(BlockKind.END, _to_json({}))
            writer.sync()
        finally:
            with contextlib.suppress(OSError):  # a full disk refuses the buffered rest again
                writer.close()
    except OSError:
        path.unlink()
        raise


def decrypt_file(path: Path, key: bytes, take_key: bytes | None = None) -> bytes:
    """Decrypt a file of `encrypt_file`; errors as for `read_take`, FileDamaged also if it is truncated."""
    content = bytearray()
    complete = False
    for kind, plain in read_blocks(path, key, take_key):
        if kind is BlockKind.FILE:
            content += plain
        complete = kind is BlockKind.END
    if not complete:
        raise FileDamaged(message("The copy of this file is not complete. Import the file again."))
    return bytes(content)


def bytes_behind_end(path: Path, key: bytes, take_key: bytes | None = None) -> int:
    """Count the bytes after the closing block; 0 if it has none. Errors as for `read_take`.

    They are no part of the recording: something other than the desk wrote them.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        read_head(file, key, take_key)
        while len(head := file.read(HEAD.size)) == HEAD.size:
            kind, length = HEAD.unpack(head)
            end = file.seek(length + TAG_BYTES, os.SEEK_CUR)
            if kind == BlockKind.END:
                return max(size - end, 0)
    return 0


def sync_folder(folder: Path) -> None:
    """Sync the names in `folder`, so that a power cut does not lose a file that was synced itself."""
    if os.name == "posix":  # on Windows the journal keeps names
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_blocks(
    path: Path, key: bytes, take_key: bytes | None = None, *, beyond_end: bool = False
) -> Generator[tuple[BlockKind, bytes], None, None]:
    """Decrypt every block in turn, up to a damaged last one. Arguments and errors as for `read_take`.

    The file is open until the last block was read or the generator is closed.
    What follows the closing block is no part of a take; `beyond_end` reads it too, to detect it.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        blocks_key, salt = read_head(file, key, take_key)
        cipher = block_cipher(blocks_key, salt)
        index = 0
        while len(head := file.read(HEAD.size)) == HEAD.size:
            begin = file.tell() - HEAD.size
            kind, length = HEAD.unpack(head)
            sealed = file.read(min(length, MAX_BLOCK_BYTES) + TAG_BYTES)
            try:
                plain = cipher.decrypt(block_nonce(index), sealed, bytes([kind]))
            except (InvalidTag, ValueError) as error:
                if index == 0 and len(sealed) == length + TAG_BYTES:
                    raise _not_this(take_key) from error
                if size - begin <= TORN_BYTES and not _opens_after(path, cipher, begin, index):
                    return
                raise FileDamaged(
                    message("This recording was changed after it was made, so it is not used.")
                ) from error
            yield BlockKind(kind), plain
            if kind == BlockKind.END and not beyond_end:
                return
            index += 1


def _opens_after(path: Path, cipher: AESGCM, begin: int, index: int) -> bool:
    """Whether a later block decrypts: a crash damages only the last one, so this is other damage."""
    return bool(find_blocks(path.read_bytes()[begin:], cipher, 0, index))


def _not_this(take_key: bytes | None) -> EncryptedFileError:
    """The error if the very first block does not decrypt."""
    if take_key is None:
        return WrongKey(message("This recording was sealed with another key. It is kept as it is."))
    return FileDamaged(message("The file of this recording holds something else, or was changed, so it is not used."))


def _to_json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
