"""Examines the list of recordings exactly as an opening does, and changes nothing in its folder.

The opening repairs what it can while it examines. So the examination runs on a copy of the database in a temporary
folder, with the code of the opening itself: what is found here is what the next opening finds.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from vbdesk.capture.clock import Clock
from vbdesk.outbox.library.integrity_check import OLDER_COPY, examine
from vbdesk.outbox.library.opening import LOCK_NAME, LibraryInUse, hold
from vbdesk.outbox.library.rollback_detection import FILE_NAME as MARK_NAME
from vbdesk.outbox.library.rollback_detection import KeyringReading
from vbdesk.outbox.library.schema import DAMAGE, LibraryUnreadable, unreadable
from vbdesk.outbox.library.sound_files import Sounds
from vbdesk.outbox.library.store import STRUCTURE_CHANGED, Store

__all__ = ["LIST_MISSING", "STRUCTURE_DIFFERS", "ListCheck", "ListCopy", "check_list", "copied_list"]

DATABASE_NAME = "library.sqlite"
LIST_MISSING = (
    "The list of recordings is missing, though recordings were made here: the file library.sqlite is gone. "
    "Put it back, or a copy of the whole folder, before you start the desk."
)
STRUCTURE_DIFFERS = (
    "The structure of the list of recordings was changed by something other than vbdesk. The next start of the desk "
    "puts it right, and keeps a copy of the changed list beside it."
)


@dataclass(frozen=True, slots=True)
class ListCopy:
    """A copy of the list of recordings.

    Attributes:
        folder: where the copy is.
        original: the folder of the library, where the sounds are.
        exists: there is a list of recordings.
        open_elsewhere: the desk or a command has it open now.
    """

    folder: Path
    original: Path
    exists: bool
    open_elsewhere: bool


@dataclass(frozen=True, slots=True)
class ListCheck:
    """What the next opening finds.

    Attributes:
        findings: why nothing is sent before a person accepts the list, as sentences.
        unknown: why it is not known whether the list is the newest one, as a sentence; None if it is known.
        unclaimed: names of files in the folder takes that no recording owns.
    """

    findings: tuple[str, ...] = ()
    unknown: str | None = None
    unclaimed: tuple[str, ...] = ()


@contextmanager
def copied_list(folder: Path) -> Iterator[ListCopy]:
    """Copy the list of recordings in `folder`, which may not exist; the copy is erased at the end. Raises OSError."""
    with TemporaryDirectory(prefix="vbdesk-") as temporary:
        target = Path(temporary)
        try:
            yield _copy(folder, target)
        finally:
            for file in target.glob("*"):
                _overwrite(file)


def check_list(copy: ListCopy, key: bytes, clock: Clock, keyring: KeyringReading | None) -> ListCheck:
    """Examine a copy; it is repaired meanwhile, so read everything else of it first.

    Args:
        copy: of the list.
        key: the library's.
        clock: tells the time.
        keyring: what the keyring says of the mark; None where none is kept in it.

    Raises:
        LibraryLocked: another key made it.
        LibraryUnreadable: it cannot be opened.
        OSError: a folder cannot be read.
    """
    try:
        with closing(Store(copy.folder, key, clock)) as store:
            takes = copy.original / "takes"
            if takes.is_dir():
                store.takes_folder = takes
            found = Sounds(store, copy.original / "recording").look()
            unfinished = {path.stem for path in found.unfinished}
            missing = [take_id for take_id in found.without_file if take_id not in unfinished]
            names = sorted(path.name for path in found.unclaimed)
            if copy.open_elsewhere:  # a file that is coming in has no row yet, and not its last name
                names = [name for name in names if name.endswith(".take")]
            examine(store, missing, names, keyring)
            findings, unknown = store.findings, store.unknown
            changed = store.structure_was_changed
    except LibraryUnreadable as error:
        raise LibraryUnreadable(str(error).replace(str(copy.folder), str(copy.original))) from error
    except DAMAGE as error:
        raise unreadable(copy.original, error) from error
    if changed:  # in the copy alone
        findings = _with(findings, STRUCTURE_CHANGED, STRUCTURE_DIFFERS)
    if not copy.exists:
        findings = _with(findings, OLDER_COPY, LIST_MISSING)
        if not findings and names:
            findings = (LIST_MISSING,)
    return ListCheck(findings, unknown, tuple(names))


def _with(sentences: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if sentence == old else sentence for sentence in sentences)


def _copy(folder: Path, target: Path) -> ListCopy:
    if not folder.exists():
        return ListCopy(target, folder, exists=False, open_elsewhere=False)
    lock = None
    open_elsewhere = False
    if (folder / LOCK_NAME).exists():  # without it nobody has the list open, and none is made here
        try:
            lock = hold(folder)
        except LibraryInUse:
            open_elsewhere = True
        except OSError:  # write-protected: a desk cannot open it either
            pass
    try:
        with suppress(FileNotFoundError):  # first: the list may go on meanwhile
            shutil.copyfile(folder / MARK_NAME, target / MARK_NAME)
        exists = (folder / DATABASE_NAME).exists()
        if exists and not (open_elsewhere and _copied_by_sqlite(folder, target)):
            _copy_files(folder, target)
    finally:
        if lock is not None:
            lock.release()
    return ListCopy(target, folder, exists, open_elsewhere)


def _copied_by_sqlite(folder: Path, target: Path) -> bool:
    """Copy one state of a database that another program writes to; False if SQLite cannot read it."""
    uri = f"{(folder / DATABASE_NAME).absolute().as_uri()}?mode=ro"
    try:
        with (
            closing(sqlite3.connect(uri, uri=True)) as source,
            closing(sqlite3.connect(target / DATABASE_NAME)) as copy,
        ):
            source.backup(copy)
    except sqlite3.Error:
        (target / DATABASE_NAME).unlink(missing_ok=True)
        return False
    return True


def _copy_files(folder: Path, target: Path) -> None:
    """Copy the database and its logs byte by byte, and let SQLite apply the logs, as it does at an opening."""
    for suffix in ("", "-wal", "-journal"):
        with suppress(FileNotFoundError):
            shutil.copyfile(folder / f"{DATABASE_NAME}{suffix}", target / f"{DATABASE_NAME}{suffix}")
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(sqlite3.connect(target / DATABASE_NAME)) as database:
        database.execute("SELECT 1 FROM sqlite_master").fetchall()


def _overwrite(file: Path) -> None:
    """Leave no keys of recordings behind: a recording that is deleted later must not open with a key from here."""
    with suppress(OSError), file.open("rb+") as content:
        content.write(bytes(file.stat().st_size))
        content.flush()
        os.fsync(content.fileno())
