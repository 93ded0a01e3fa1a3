"""The file of a transfer bundle: recordings encrypted with age, written and read as a stream.

The file, numbers big-endian:

    7 bytes   VBUNDLE
    1 byte    format; 0 until the file is finished, so that nobody reads it
    8 bytes   size of the whole file
    32 bytes  SHA-256 of everything from here on
    4 bytes   length of the locked secret; 0 in a bundle for a public key
    ...       the locked secret: an age file (scrypt) with the X25519 secret that decrypts the rest
    ...       an age file (X25519) of: length of the manifest (4 bytes), manifest (JSON), sounds in its order

Each bundle has a new X25519 key. A passphrase locks its secret; a bundle for another computer has that computer's key
as a second recipient, and the secret is discarded. In both cases the maker can read the file back.
"""

import hashlib
import os
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyrage

from vbdesk.language import N_, joined, message
from vbdesk.outbox.bundles.age_header import LARGEST_HEADER, check_key_header
from vbdesk.outbox.bundles.bundle_errors import (
    BundleDamaged,
    BundleKeyWrong,
    BundleTruncated,
    BundleUnfinished,
    BundleVersionUnknown,
    MalformedBundle,
)
from vbdesk.outbox.bundles.bundle_keys import KeyLock, Lock, Secret, lock_identity, recipient_of
from vbdesk.outbox.bundles.bundle_manifest import BundledTake, BundleManifest
from vbdesk.outbox.bundles.bundle_stream import (
    LENGTH,
    PIECE_BYTES,
    BundleReceiver,
    ByteProgress,
    ContentParser,
    HashingStream,
    PieceReader,
)
from vbdesk.privacy import owner_only_opener, set_export_mode

MAGIC = b"VBUNDLE"
UNFINISHED, FORMAT = 0, 1
LARGEST_LOCKED_SECRET = 2 * LARGEST_HEADER
_CHANGED = N_("This bundle was changed on its way. Copy it once more from its source.")
_HEAD = struct.Struct(">7sBQ32sI")

Sounds = Callable[[BundledTake], Iterator[bytes]]
"""Reads the sound of a recording in pieces."""


class DiscardingReceiver:
    """Discards the content: for verifying a bundle."""

    def __init__(self) -> None:
        self.manifest: BundleManifest | None = None

    def begin(self, manifest: BundleManifest) -> None:
        """Keep only the manifest."""
        self.manifest = manifest

    def sound(self, take: BundledTake, piece: bytes) -> None:
        """Discard the piece."""

    def end(self, take: BundledTake) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The first bytes of a file."""

    format: int
    size: int
    sha256: bytes
    locked_secret: bytes

    @property
    def needs_passphrase(self) -> bool:
        """Whether a passphrase opens the bundle; otherwise the key of the receiving computer."""
        return bool(self.locked_secret)


def write_unfinished(path: Path, manifest: BundleManifest, sounds: Sounds, lock: Lock, watch: ByteProgress) -> None:
    """Write a bundle that nobody reads before `finish`, sync it to the disk, and read it back from there.

    Raises:
        BundleError: the lock is invalid, a person cancelled, or the file does not read back as it was written.
        OSError: the disk is full or gone, or a sound cannot be read.
    """
    identity = pyrage.x25519.Identity.generate()
    recipients, locked_secret = [identity.to_public()], b""
    if isinstance(lock, KeyLock):
        recipients.append(recipient_of(lock))
    else:
        locked_secret = lock_identity(identity, lock)
    with open(path, "x+b", opener=owner_only_opener) as file:
        set_export_mode(path)
        file.write(_HEAD.pack(MAGIC, UNFINISHED, 0, bytes(32), len(locked_secret)))
        target = HashingStream(file)
        target.digest.update(LENGTH.pack(len(locked_secret)))
        target.write(locked_secret)
        source = PieceReader(_content(manifest, sounds, watch))
        try:
            pyrage.encrypt_io(source, target, recipients)
        except pyrage.EncryptError as error:
            raise (source.fault or target.fault or error) from None
        size = file.tell()
        file.seek(0)
        file.write(_HEAD.pack(MAGIC, UNFINISHED, size, target.digest.digest(), len(locked_secret)))
        file.flush()
        os.fsync(file.fileno())
        _forget_cached(file)
    looked = DiscardingReceiver()
    read_bundle(path, lambda _: identity, looked, watch, unfinished=True)
    if looked.manifest != manifest:
        raise BundleDamaged(message("The file does not read back as it was written. Use another disk or stick."))


def finish(path: Path) -> None:
    """Finish the file, so that it can be read; may be repeated. Raises OSError."""
    with path.open("r+b") as file:
        file.seek(len(MAGIC))
        file.write(bytes([FORMAT]))
        file.flush()
        os.fsync(file.fileno())


def read_head(path: Path, *, unfinished: bool = False) -> FileHeader:
    """Read the first bytes of a file: whether it is a whole bundle, and what opens it.

    Raises:
        BundleError: it is not a bundle, not finished, truncated, or of a newer format.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return _read_head(file, path.stat().st_size, unfinished=unfinished)


def check_whole(path: Path, watch: ByteProgress) -> None:
    """Check that a bundle is complete and unchanged, without what opens it. Reads the whole file.

    Raises:
        BundleError: it is not a bundle, not finished, truncated, changed, or of a newer format.
        OSError: the file cannot be read; exceptions of `watch` come through.
    """
    with path.open("rb") as file:
        head = _read_head(file, path.stat().st_size, unfinished=False)
        digest = hashlib.sha256(LENGTH.pack(len(head.locked_secret)) + head.locked_secret)
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            watch.advance(len(piece))
    if digest.digest() != head.sha256:
        raise BundleDamaged(_CHANGED)


def read_bundle(
    path: Path,
    secret: Secret,
    taker: BundleReceiver,
    watch: ByteProgress,
    *,
    unfinished: bool = False,
) -> None:
    """Read a whole bundle; its content is verified only when this returns.

    Args:
        path: the file.
        secret: gives what opens it.
        taker: receives the content.
        watch: reports progress and cancels.
        unfinished: also read a file that is not finished.

    Raises:
        BundleError: it cannot be opened, or is not whole; exceptions of `taker` come through.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        head = _read_head(file, path.stat().st_size, unfinished=unfinished)
        source, sink = HashingStream(file), ContentParser(taker, watch)
        source.digest.update(LENGTH.pack(len(head.locked_secret)) + head.locked_secret)
        fault: Exception | None = None
        try:
            check_key_header(_peek(file))
            pyrage.decrypt_io(source, sink, [secret(head.locked_secret)])
            sink.close_content()
        except (pyrage.DecryptError, BundleKeyWrong, MalformedBundle, OSError) as error:
            fault = source.fault if isinstance(source.fault, Exception) else error
        if isinstance(fault, OSError) and fault.errno is not None:
            raise fault  # a disk error; those of the library have no errno
        if source.digest_of_all() != head.sha256:
            raise BundleDamaged(_CHANGED)
        if isinstance(fault, BundleKeyWrong):
            raise fault
        if isinstance(fault, pyrage.DecryptError):
            raise BundleKeyWrong(
                message(
                    "This bundle is for the key of another computer or profile. "
                    "Have it made for the key that `vbdesk bundle key` prints here."
                )
            )
        if fault is not None:
            sentence = message("This bundle is not made as vbdesk makes them, so it is not used.")
            raise BundleDamaged(
                joined(sentence, fault) if isinstance(fault, MalformedBundle) and str(fault) else sentence
            )


def _content(manifest: BundleManifest, sounds: Sounds, watch: ByteProgress) -> Iterator[bytes]:
    document = manifest.model_dump_json().encode()
    yield LENGTH.pack(len(document)) + document
    for take in manifest.takes:
        for piece in sounds(take):
            watch.advance(len(piece))
            yield piece


def _read_head(file: BinaryIO, size: int, *, unfinished: bool) -> FileHeader:
    start = file.read(_HEAD.size)
    if not start.startswith(MAGIC[: max(len(start), 1)]):
        raise BundleDamaged(message("This file is not a bundle of vbdesk."))
    if len(start) < _HEAD.size:
        raise BundleTruncated(message("Most of this bundle is missing. Copy it once more from its source."))
    _, form, whole, sha256, length = _HEAD.unpack(start)
    if form > FORMAT:
        raise BundleVersionUnknown(
            message("This bundle was made by a newer version of vbdesk. Install that version here.")
        )
    if form == UNFINISHED and not unfinished:
        raise BundleUnfinished(
            message(
                "This bundle was never finished. Its recordings are still on the computer that began it; "
                "delete the file, and make a new bundle there."
            )
        )
    if size < whole:
        raise BundleTruncated(
            message(
                "The end of this bundle is missing: {size:,} of {whole:,} bytes are here. Copy it once more from "
                "its source.",
                size=size,
                whole=whole,
            )
        )
    if size > whole or length > LARGEST_LOCKED_SECRET or _HEAD.size + length > whole:
        raise BundleDamaged(_CHANGED)
    return FileHeader(form, whole, sha256, file.read(length))


def _peek(file: BinaryIO) -> bytes:
    offset = file.tell()
    start = file.read(LARGEST_HEADER)
    file.seek(offset)
    return start


def _forget_cached(file: BinaryIO) -> None:
    """Drop the file from the system's cache if possible, so that the read-back comes from the disk."""
    if sys.platform == "linux":
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
