"""Check the list of recordings exactly as an opening does, without changing its folder.

An opening repairs while it checks. So the check runs on a copy of the database in a temporary folder, with the code of
the opening itself: it finds what the next opening finds.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from vbdesk.clock import Clock
from vbdesk.language import N_, Message, message_of
from vbdesk.outbox.library.database import DAMAGE, LibraryUnreadable, is_of_another_key, unreadable
from vbdesk.outbox.library.encrypted_sqlite import connect, is_plain
from vbdesk.outbox.library.integrity_check import OLDER_COPY, check_library
from vbdesk.outbox.library.opening import LOCK_NAME, LibraryInUse, lock_library
from vbdesk.outbox.library.rollback_detection import FILE_NAME as MARK_NAME
from vbdesk.outbox.library.rollback_detection import KeyringReading
from vbdesk.outbox.library.sound_files import SoundFiles
from vbdesk.outbox.library.store import STRUCTURE_CHANGED, Store

__all__ = ["LIST_MISSING", "STRUCTURE_DIFFERS", "ListCheck", "ListCopy", "check_list", "copied_list"]

DATABASE_NAME = "library.sqlite"
LIST_MISSING = N_(
    "The list of recordings is missing, though recordings were made here: the file library.sqlite is gone. "
    "Put it back, or a copy of the whole folder, before you start the desk."
)
STRUCTURE_DIFFERS = N_(
    "The structure of the list of recordings was changed by something other than vbdesk. The next start of the desk "
    "puts it right, and keeps a copy of the changed list beside it."
)


@dataclass(frozen=True, slots=True)
class ListCopy:
    """A copy of the list of recordings.

    Attributes:
        folder: of the copy.
        key: the library's key; None if it is unknown.
        readable: whether the key is known and is that of the list, which may be damaged all the same.
        original: the library's folder, with the sounds.
        exists: whether there is a list of recordings.
        open_elsewhere: whether the desk or a command has it open now.
    """

    folder: Path
    key: bytes | None
    readable: bool
    original: Path
    exists: bool
    open_elsewhere: bool


@dataclass(frozen=True, slots=True)
class ListCheck:
    """What the next opening will find.

    Attributes:
        findings: what blocks sending until a person accepts the list, as sentences.
        unknown: why it is unknown whether the list is the newest one, as a sentence; None if it is known.
        unclaimed: names of files in the folder takes without a recording.
    """

    findings: tuple[str, ...] = ()
    unknown: str | None = None
    unclaimed: tuple[str, ...] = ()


@contextmanager
def copied_list(folder: Path, key: bytes | None) -> Iterator[ListCopy]:
    """Copy the list of recordings in `folder`, which may not exist; erase the copy at the end. Raises OSError."""
    with TemporaryDirectory(prefix="vbdesk-") as temporary:
        target = Path(temporary)
        try:
            yield _copy(folder, target, key)
        finally:
            for file in target.glob("*"):
                _overwrite(file)


def check_list(copy: ListCopy, key: bytes, clock: Clock, keyring: KeyringReading | None) -> ListCheck:
    """Check a copy. The check repairs it, so read everything else of it first.

    Args:
        copy: of the list.
        key: the library's key.
        clock: gives the time.
        keyring: the mark in the keyring; None if the keyring holds none.

    Raises:
        LibraryKeyWrong: another key made it.
        LibraryUnreadable: it cannot be opened.
        OSError: a folder cannot be read.
    """
    try:
        with closing(Store(copy.folder, key, clock)) as store:
            takes = copy.original / "takes"
            if takes.is_dir():
                store.takes_folder = takes
            found = SoundFiles(store, copy.original / "recording").folder_state()
            unfinished = {path.stem for path in found.unfinished}
            missing = [take_id for take_id in found.without_file if take_id not in unfinished]
            names = sorted(path.name for path in found.unclaimed)
            if copy.open_elsewhere:  # an arriving file has no row and no final name yet
                names = [name for name in names if name.endswith(".take")]
            check_library(store, missing, names, keyring)
            findings, unknown = store.findings, store.unknown
            changed = store.structure_was_changed
    except LibraryUnreadable as error:
        raise LibraryUnreadable(_of_original(message_of(error), copy)) from error
    except DAMAGE as error:
        raise unreadable(copy.original, error) from error
    if changed:  # only the copy was repaired
        findings = _with(findings, STRUCTURE_CHANGED, STRUCTURE_DIFFERS)
    if not copy.exists:
        findings = _with(findings, OLDER_COPY, LIST_MISSING)
        if not findings and names:
            findings = (LIST_MISSING,)
    return ListCheck(findings, unknown, tuple(names))


def _of_original(said: Message, copy: ListCopy) -> Message:
    """What was said of the copy, with the paths of the original."""
    paths = {name: str(value).replace(str(copy.folder), str(copy.original)) for name, value in said.fields.items()}
    return Message.make(said.template, fields=paths)


def _with(sentences: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if sentence == old else sentence for sentence in sentences)


def _copy(folder: Path, target: Path, key: bytes | None) -> ListCopy:
    if not folder.exists():
        return ListCopy(target, key, key is not None, folder, exists=False, open_elsewhere=False)
    lock = None
    open_elsewhere = False
    if (folder / LOCK_NAME).exists():  # without a lock file nobody has it open; do not create one
        try:
            lock = lock_library(folder)
        except LibraryInUse:
            open_elsewhere = True
        except OSError:  # write-protected: a desk cannot open it either
            pass
    try:
        with suppress(FileNotFoundError):  # the log first, since the list may change meanwhile
            shutil.copyfile(folder / MARK_NAME, target / MARK_NAME)
        exists = (folder / DATABASE_NAME).exists()
        if exists and not (open_elsewhere and key is not None and _copied_by_sqlite(folder, target, key)):
            _copy_files(folder, target, key)
    finally:
        if lock is not None:
            lock.release()
    readable = key is not None and not (exists and is_of_another_key(target / DATABASE_NAME, key))
    return ListCopy(target, key, readable, folder, exists, open_elsewhere)


def _copied_by_sqlite(folder: Path, target: Path, key: bytes) -> bool:
    """Copy one consistent state of a database in use; False if SQLite cannot read it."""
    source_key = None if is_plain(folder / DATABASE_NAME) else key
    try:
        with (
            closing(connect(folder / DATABASE_NAME, source_key, read_only=True)) as source,
            closing(connect(target / DATABASE_NAME, source_key)) as copy,
        ):
            source.backup(copy)
    except sqlite3.Error:
        (target / DATABASE_NAME).unlink(missing_ok=True)
        return False
    return True


def _copy_files(folder: Path, target: Path, key: bytes | None) -> None:
    """Copy the database and its logs byte by byte, and let SQLite apply the logs, as at an opening."""
    for suffix in ("", "-wal", "-journal"):
        with suppress(FileNotFoundError):
            shutil.copyfile(folder / f"{DATABASE_NAME}{suffix}", target / f"{DATABASE_NAME}{suffix}")
    file = target / DATABASE_NAME
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(connect(file, None if is_plain(file) else key)) as copy:
        copy.execute("SELECT 1 FROM sqlite_master").fetchall()


def _overwrite(file: Path) -> None:
    """Overwrite the copy, since it holds keys: they must not decrypt recordings that are deleted later."""
    with suppress(OSError), file.open("rb+") as content:
        content.write(bytes(file.stat().st_size))
        content.flush()
        os.fsync(content.fileno())
