"""A library looked at from outside: how many recordings are in which state, and what is not as it should be.

It reads a copy of the list (`list_check`), so it works while the desk has the library open, and on a library that
cannot be opened. What it gives holds numbers and words of ours alone.
"""

import errno
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from pathlib import Path

from vbdesk.capture.crash_recovery import DamagedTake, look_at_leftovers
from vbdesk.capture.encrypted_take import SealedError, bytes_behind_end, read_file
from vbdesk.contract.limits import RATE_WINDOW_S, Bucket
from vbdesk.outbox.diagnostics.list_check import ListCopy
from vbdesk.outbox.library.column_encryption import ColumnSeal, InvalidTag
from vbdesk.outbox.library.damaged_takes import FOLDER as DAMAGED_FOLDER
from vbdesk.outbox.library.integrity_check import has_findings
from vbdesk.outbox.library.rollback_detection import MarkFile
from vbdesk.outbox.library.rows import ITEMS, event_is_proved, is_proved, lenient
from vbdesk.outbox.library.schema import DAMAGE, is_of_the_disk
from vbdesk.outbox.library.sound_files import read_sound
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.table_checksums import open_sums, sums_of


@dataclass(frozen=True, slots=True)
class LibraryFacts:
    """What was found.

    Attributes:
        exists: there is a list of recordings.
        open_elsewhere: the desk or a command has it open now.
        readable: the database is sound, as far as it says itself.
        schema_version: of the database; 0 if it does not say.
        counts: recordings by state.
        asked: recordings for which the service was asked, and whose answer is not known.
        sounds_missing: recordings whose sound should be on the disk, and is not.
        unfinished: takes that a crash left, to be taken in by the desk.
        requests: of the last minute, by bucket.
        sound_bytes: size of all sounds.
    """

    exists: bool = False
    open_elsewhere: bool = False
    readable: bool = True
    schema_version: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    asked: int = 0
    sounds_missing: int = 0
    unfinished: int = 0
    requests: Mapping[str, int] = field(default_factory=dict)
    sound_bytes: int = 0


def look_at_library(copy: ListCopy, now: datetime) -> LibraryFacts:
    """Look at a library, which may not exist. Raises OSError."""
    if not copy.exists:
        return LibraryFacts()
    sounds = {file.stem: file.stat().st_size for file in (copy.original / "takes").glob("*.take")}
    unfinished = 0 if copy.open_elsewhere else len(list((copy.original / "recording").glob("*.take")))
    facts = LibraryFacts(True, copy.open_elsewhere, unfinished=unfinished, sound_bytes=sum(sounds.values()))
    try:
        with closing(_connect(copy)) as database:
            return _read(database, facts, frozenset(sounds), now)
    except DAMAGE as error:
        if isinstance(error, sqlite3.Error) and is_of_the_disk(error):
            raise OSError(errno.EIO, "the disk is full, write-protected or gone") from error
        return replace(facts, readable=False)


@dataclass(frozen=True, slots=True)
class ListProof:
    """Whether the list of recordings is as the desk wrote it.

    Attributes:
        changed: recordings whose entry was changed by something else.
        complete: no entry was removed or put back in an older form, and no person has still to accept that one was.
        older: the list as a whole is an older one than this computer has had.
    """

    changed: int
    complete: bool
    older: bool

    @property
    def ok(self) -> bool:
        """Whether all of it is."""
        return self.complete and not self.changed and not self.older


def prove_list(copy: ListCopy, key: bytes, keyring_version: int | None = None) -> ListProof | None:
    """Prove every entry of a library, of which the keyring has a mark; None where that cannot be read."""
    seal = ColumnSeal(key)
    highest = max(MarkFile(copy.folder, seal).read() or 0, keyring_version or 0)
    try:
        with closing(_connect(copy)) as database:
            database.row_factory = sqlite3.Row
            database.execute("BEGIN")
            accepted = not has_findings(database)
            library = database.execute("SELECT version, sums FROM library").fetchone()
            rows = database.execute(ITEMS).fetchall()
            sums = sums_of(lambda query: database.execute(query).fetchall(), seal)
            complete = open_sums(seal, library["sums"], library["version"]) == sums
            changed = sum(not (is_proved(row, seal) and event_is_proved(row, seal)) for row in rows)
            return ListProof(changed, complete and accepted, highest > library["version"])
    except DAMAGE:
        return None


@dataclass(frozen=True, slots=True)
class SoundFacts:
    """What reading every sound has shown.

    Attributes:
        damaged: subjects and times of recordings of which sound is missing or cannot be read.
        lengthened: subjects and times of recordings whose sound is whole, and whose file holds more bytes behind it.
        leftovers: takes that a crash left and that are damaged; none are looked at while the desk is open.
        kept: files of damaged takes that a person keeps aside.
    """

    damaged: tuple[str, ...] = ()
    lengthened: tuple[str, ...] = ()
    leftovers: tuple[DamagedTake, ...] = ()
    kept: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """As numbers alone."""
        return {"damaged": len(self.damaged), "damaged_leftovers": len(self.leftovers), "kept_damaged": self.kept}


def look_at_sounds(copy: ListCopy, key: bytes) -> SoundFacts | None:
    """Read every sound of a library; None where the list of recordings cannot be read."""
    query = "SELECT take_id, group_id, recorded_at, take_key, sound_sha256, imported FROM recordings"
    try:
        with closing(_connect(copy)) as database:
            database.row_factory = sqlite3.Row
            rows = database.execute(f"{query} WHERE audio_gone_at IS NULL ORDER BY recorded_at").fetchall()
    except DAMAGE:
        return None
    seal = ColumnSeal(key)
    states = [_sound_state(copy.original / "takes" / f"{row['take_id']}.take", key, seal, row) for row in rows]
    names = [f"{row['group_id']}, {str(row['recorded_at'])[:16]}" for row in rows]

    def named(wanted: _Sound) -> tuple[str, ...]:
        return tuple(name for name, state in zip(names, states, strict=True) if state is wanted)

    folder = copy.original
    leftovers = () if copy.open_elsewhere else look_at_leftovers(folder / "recording", key).damaged
    kept = len(list((folder / DAMAGED_FOLDER).glob("*")))
    return SoundFacts(named(_Sound.DAMAGED), named(_Sound.LENGTHENED), leftovers, kept)


class _Sound(Enum):
    """How the sound of a recording is."""

    WHOLE = auto()
    LENGTHENED = auto()
    DAMAGED = auto()


def _sound_state(path: Path, key: bytes, seal: ColumnSeal, row: sqlite3.Row) -> _Sound:
    """How a sound that is there is; one that is missing is counted elsewhere."""
    try:
        take_key = None if row["take_key"] is None else seal.open(row["take_key"], f"{row['take_id']}/key")
        if row["imported"]:
            read_file(path, key, take_key)
        else:
            read_sound(path, key, take_key, row["sound_sha256"])
        return _Sound.LENGTHENED if bytes_behind_end(path, key, take_key) else _Sound.WHOLE
    except FileNotFoundError:
        return _Sound.WHOLE
    except (SealedError, InvalidTag, OSError, TypeError, ValueError):
        return _Sound.DAMAGED


def known_words(copy: ListCopy) -> list[str]:
    """What the library says of people in the clear: subjects and the ids of their recordings, to keep them out."""
    try:
        with closing(_connect(copy)) as database:
            rows = database.execute("SELECT group_id, take_id, job_id FROM recordings").fetchall()
    except DAMAGE:
        return []
    return [str(value) for row in rows for value in row if value]


def _connect(copy: ListCopy) -> sqlite3.Connection:
    uri = (copy.folder / "library.sqlite").absolute().as_uri()
    database = sqlite3.connect(f"{uri}?mode=ro", uri=True, isolation_level=None)
    database.text_factory = lenient  # spoilt characters are found by the proofs
    return database


def _read(database: sqlite3.Connection, facts: LibraryFacts, sounds: frozenset[str], now: datetime) -> LibraryFacts:
    (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
    (schema_version,) = database.execute("SELECT schema_version FROM library").fetchone()
    states = dict(database.execute("SELECT state, COUNT(*) FROM recordings GROUP BY state").fetchall())
    (asked,) = database.execute("SELECT COUNT(*) FROM pending WHERE asked_at IS NOT NULL").fetchone()
    kept = database.execute("SELECT take_id FROM recordings WHERE audio_gone_at IS NULL").fetchall()
    since = (now - timedelta(seconds=RATE_WINDOW_S)).isoformat(timespec="microseconds")
    query = "SELECT bucket, COUNT(*) FROM requests WHERE at >= ? GROUP BY bucket"
    requests = dict(database.execute(query, (since,)).fetchall())
    return replace(
        facts,
        readable=verdict == "ok",
        schema_version=int(schema_version),
        counts={str(state): states.get(state, 0) for state in OutboxState},
        asked=asked,
        sounds_missing=sum(take_id not in sounds for (take_id,) in kept),
        requests={str(bucket): requests.get(bucket, 0) for bucket in Bucket},
    )
