"""Facts about a library without opening it: number of recordings by state, and faults.

Reads a copy of the list (`list_check`), so it works while the desk has the library open, and if the library cannot be
opened. The facts are numbers and words of ours only.
"""

import errno
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from pathlib import Path

from vbdesk.capture.crash_recovery import DamagedTake, inspect_leftovers
from vbdesk.capture.encrypted_take import EncryptedFileError, bytes_behind_end, decrypt_file
from vbdesk.contract.limits import RATE_WINDOW_S, Bucket
from vbdesk.language import message
from vbdesk.outbox.diagnostics.list_check import ListCopy
from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.library.damaged_takes import FOLDER as DAMAGED_FOLDER
from vbdesk.outbox.library.database import DAMAGE, is_disk_error
from vbdesk.outbox.library.encrypted_sqlite import Connection, DatabaseRow, open_to_read
from vbdesk.outbox.library.integrity_check import has_findings
from vbdesk.outbox.library.rollback_detection import MarkFile
from vbdesk.outbox.library.rows import ITEMS, event_is_authentic, row_is_authentic
from vbdesk.outbox.library.sound_files import read_sound
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.table_checksums import open_sums, sums_of


@dataclass(frozen=True, slots=True)
class LibraryFacts:
    """Facts about a library.

    Attributes:
        exists: whether there is a list of recordings.
        open_elsewhere: whether the desk or a command has it open now.
        key_known: whether the list can be decrypted; without its key everything below is unknown.
        readable: whether the database is intact by its own check.
        schema_version: of the database; 0 if unknown.
        counts: recordings by state.
        asked: recordings whose analysis was requested without a known answer.
        sounds_missing: recordings whose sound should be on the disk but is not.
        unfinished: takes left by a crash, which the desk will offer.
        requests: of the last minute, by bucket.
        sound_bytes: size of all sounds.
    """

    exists: bool = False
    open_elsewhere: bool = False
    key_known: bool = True
    readable: bool = True
    schema_version: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    asked: int = 0
    sounds_missing: int = 0
    unfinished: int = 0
    requests: Mapping[str, int] = field(default_factory=dict)
    sound_bytes: int = 0


def inspect_library(copy: ListCopy, now: datetime) -> LibraryFacts:
    """Collect facts about a library, which may not exist. Raises OSError."""
    if not copy.exists:
        return LibraryFacts()
    sounds = {file.stem: file.stat().st_size for file in (copy.original / "takes").glob("*.take")}
    unfinished = 0 if copy.open_elsewhere else len(list((copy.original / "recording").glob("*.take")))
    facts = LibraryFacts(True, copy.open_elsewhere, unfinished=unfinished, sound_bytes=sum(sounds.values()))
    if not copy.readable:
        return replace(facts, key_known=False)
    try:
        with closing(_connect(copy)) as database:
            return _read(database, facts, frozenset(sounds), now)
    except DAMAGE as error:
        if isinstance(error, sqlite3.Error) and is_disk_error(error):
            raise OSError(errno.EIO, message("the disk is full, write-protected or gone")) from error
        return replace(facts, readable=False)


@dataclass(frozen=True, slots=True)
class ListProof:
    """Whether the desk wrote the whole list of recordings.

    Attributes:
        changed: number of recordings whose entry somebody else changed.
        complete: whether no entry was removed or replaced by an older one, and no finding awaits acceptance.
        older: whether the list as a whole is older than one that this computer has had.
    """

    changed: int
    complete: bool
    older: bool

    @property
    def ok(self) -> bool:
        """Whether the list is intact."""
        return self.complete and not self.changed and not self.older


def prove_list(copy: ListCopy, key: bytes, keyring_version: int | None = None) -> ListProof | None:
    """Authenticate every entry of a library and compare it with its marks; None if it cannot be read."""
    cipher = ColumnCipher(key)
    highest = max(MarkFile(copy.folder, cipher).read() or 0, keyring_version or 0)
    try:
        with closing(_connect(copy)) as database:
            database.execute("BEGIN")
            accepted = not has_findings(database)
            library = database.execute("SELECT version, sums FROM library").fetchone()
            rows = [dict(row) for row in database.rows(ITEMS)]
            sums = sums_of(database.rows, cipher)
            complete = open_sums(cipher, library["sums"], library["version"]) == sums
            changed = sum(not (row_is_authentic(row, cipher) and event_is_authentic(row, cipher)) for row in rows)
            return ListProof(changed, complete and accepted, highest > library["version"])
    except DAMAGE:
        return None


@dataclass(frozen=True, slots=True)
class SoundFacts:
    """Result of reading every sound.

    Attributes:
        damaged: subjects and times of recordings whose sound is missing or unreadable in part.
        lengthened: subjects and times of recordings whose sound is intact, but whose file has extra bytes.
        leftovers: damaged takes left by a crash; not checked while the desk is open.
        kept: number of files of damaged takes that a person keeps aside.
    """

    damaged: tuple[str, ...] = ()
    lengthened: tuple[str, ...] = ()
    leftovers: tuple[DamagedTake, ...] = ()
    kept: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """The result as numbers."""
        return {"damaged": len(self.damaged), "damaged_leftovers": len(self.leftovers), "kept_damaged": self.kept}


def inspect_sounds(copy: ListCopy, key: bytes) -> SoundFacts | None:
    """Read every sound of a library; None if the list of recordings cannot be read."""
    query = "SELECT take_id, group_id, recorded_at, take_key, sound_sha256, imported FROM recordings"
    try:
        with closing(_connect(copy)) as database:
            rows = database.rows(f"{query} WHERE audio_gone_at IS NULL ORDER BY recorded_at")
    except DAMAGE:
        return None
    cipher = ColumnCipher(key)
    states = [_sound_state(copy.original / "takes" / f"{row['take_id']}.take", key, cipher, row) for row in rows]
    names = [f"{row['group_id']}, {str(row['recorded_at'])[:16]}" for row in rows]

    def named(wanted: _Sound) -> tuple[str, ...]:
        return tuple(name for name, state in zip(names, states, strict=True) if state is wanted)

    folder = copy.original
    leftovers = () if copy.open_elsewhere else inspect_leftovers(folder / "recording", key).damaged
    damaged = len(list((folder / DAMAGED_FOLDER).glob("*")))
    return SoundFacts(named(_Sound.DAMAGED), named(_Sound.LENGTHENED), leftovers, damaged)


class _Sound(Enum):
    """State of a sound."""

    WHOLE = auto()
    LENGTHENED = auto()
    DAMAGED = auto()


def _sound_state(path: Path, key: bytes, cipher: ColumnCipher, row: DatabaseRow) -> _Sound:
    """State of an existing sound; missing ones are counted elsewhere."""
    try:
        take_key = None if row["take_key"] is None else cipher.decrypt(row["take_key"], f"{row['take_id']}/key")
        if row["imported"]:
            decrypt_file(path, key, take_key)
        else:
            read_sound(path, key, take_key, row["sound_sha256"])
        return _Sound.LENGTHENED if bytes_behind_end(path, key, take_key) else _Sound.WHOLE
    except FileNotFoundError:
        return _Sound.WHOLE
    except (EncryptedFileError, InvalidTag, OSError, TypeError, ValueError):
        return _Sound.DAMAGED


def known_words(copy: ListCopy) -> list[str]:
    """Plain-text subjects and ids in the library and its trash, to be kept out of the bundle."""
    try:
        with closing(_connect(copy)) as database:
            rows = database.rows("SELECT group_id, take_id, job_id FROM main.recordings")
    except DAMAGE:
        return []
    return [str(value) for row in rows for value in row if value]


def _connect(copy: ListCopy) -> Connection:
    if copy.key is None or not (copy.exists and copy.readable):
        raise LookupError("there is no list, or its key is not known")
    return open_to_read(copy.folder / "library.sqlite", copy.key)


def _read(database: Connection, facts: LibraryFacts, sounds: frozenset[str], now: datetime) -> LibraryFacts:
    (result,) = database.execute("PRAGMA quick_check(1)").fetchone()
    (schema_version,) = database.execute("SELECT schema_version FROM library").fetchone()
    states = {row[0]: row[1] for row in database.rows("SELECT state, COUNT(*) FROM recordings GROUP BY state")}
    (asked,) = database.execute("SELECT COUNT(*) FROM pending WHERE asked_at IS NOT NULL").fetchone()
    with_sound = database.rows("SELECT take_id FROM recordings WHERE audio_gone_at IS NULL")
    since = (now - timedelta(seconds=RATE_WINDOW_S)).isoformat(timespec="microseconds")
    query = "SELECT bucket, COUNT(*) FROM requests WHERE at >= ? GROUP BY bucket"
    requests = {row["bucket"]: row[1] for row in database.rows(query, (since,))}
    return replace(
        facts,
        readable=result == "ok",
        schema_version=int(schema_version),
        counts={str(state): states.get(state, 0) for state in OutboxState},
        asked=asked,
        sounds_missing=sum(take_id not in sounds for (take_id,) in with_sound),
        requests={str(bucket): requests.get(bucket, 0) for bucket in Bucket},
    )
