"""A library looked at from outside: how many recordings are in which state, and what is not as it should be.

It reads with a connection of its own and takes nothing in hand, so it works while the desk has the library open, and on
a library that cannot be opened. What it gives holds numbers and words of ours alone.
"""

import errno
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from vbdesk.capture.rescue import DamagedTake, look_at_leftovers
from vbdesk.capture.sealed import SealedError, read_file
from vbdesk.contract.limits import RATE_WINDOW_S, Bucket
from vbdesk.outbox.library.column_seal import ColumnSeal, InvalidTag
from vbdesk.outbox.library.damaged import FOLDER as DAMAGED_FOLDER
from vbdesk.outbox.library.examine import has_findings
from vbdesk.outbox.library.high_water import MarkFile
from vbdesk.outbox.library.opening import LibraryInUse, hold
from vbdesk.outbox.library.rows import ITEMS, event_is_proved, is_proved
from vbdesk.outbox.library.schema import is_of_the_disk
from vbdesk.outbox.library.sounds import read_sound
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.table_sums import open_sums, sums_of


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


def look_at_library(folder: Path, now: datetime) -> LibraryFacts:
    """Look at the library in `folder`, which may not exist. Raises OSError."""
    if not (folder / "library.sqlite").exists():
        return LibraryFacts()
    sounds = {file.stem: file.stat().st_size for file in (folder / "takes").glob("*.take")}
    open_elsewhere = _is_open(folder)
    unfinished = 0 if open_elsewhere else len(list((folder / "recording").glob("*.take")))
    facts = LibraryFacts(True, open_elsewhere, unfinished=unfinished, sound_bytes=sum(sounds.values()))
    try:
        with closing(_connect(folder)) as database:
            return _read(database, facts, frozenset(sounds), now)
    except sqlite3.Error as error:
        if is_of_the_disk(error):
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


def prove_list(folder: Path, key: bytes) -> ListProof | None:
    """Prove every entry of the library in `folder`; None where that cannot be read."""
    seal = ColumnSeal(key)
    highest = MarkFile(folder, seal).read() or 0  # first: the list may go on meanwhile
    try:
        with closing(_connect(folder)) as database:
            database.row_factory = sqlite3.Row
            database.execute("BEGIN")
            accepted = not has_findings(database)
            library = database.execute("SELECT version, sums FROM library").fetchone()
            rows = database.execute(ITEMS).fetchall()
            sums = sums_of(lambda query: database.execute(query).fetchall(), seal)
    except sqlite3.Error:
        return None
    complete = open_sums(seal, library["sums"], library["version"]) == sums
    changed = sum(not (is_proved(row, seal) and event_is_proved(row, seal)) for row in rows)
    return ListProof(changed, complete and accepted, highest > library["version"])


@dataclass(frozen=True, slots=True)
class SoundFacts:
    """What reading every sound has shown.

    Attributes:
        damaged: subjects and times of recordings of which sound is missing or cannot be read.
        leftovers: takes that a crash left and that are damaged; none are looked at while the desk is open.
        kept: files of damaged takes that a person keeps aside.
    """

    damaged: tuple[str, ...] = ()
    leftovers: tuple[DamagedTake, ...] = ()
    kept: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """As numbers alone."""
        return {"damaged": len(self.damaged), "damaged_leftovers": len(self.leftovers), "kept_damaged": self.kept}


def look_at_sounds(folder: Path, key: bytes, *, open_elsewhere: bool) -> SoundFacts | None:
    """Read every sound of the library in `folder`; None where the list of recordings cannot be read."""
    query = "SELECT take_id, group_id, recorded_at, take_key, sound_sha256, imported FROM recordings"
    try:
        with closing(_connect(folder)) as database:
            database.row_factory = sqlite3.Row
            rows = database.execute(f"{query} WHERE audio_gone_at IS NULL ORDER BY recorded_at").fetchall()
    except sqlite3.Error:
        return None
    seal = ColumnSeal(key)
    damaged = [row for row in rows if not _is_readable(folder / "takes" / f"{row['take_id']}.take", key, seal, row)]
    leftovers = () if open_elsewhere else look_at_leftovers(folder / "recording", key).damaged
    kept = len(list((folder / DAMAGED_FOLDER).glob("*")))
    return SoundFacts(tuple(f"{row['group_id']}, {row['recorded_at'][:16]}" for row in damaged), leftovers, kept)


def _is_readable(path: Path, key: bytes, seal: ColumnSeal, row: sqlite3.Row) -> bool:
    """Whether a sound that is there is whole; one that is missing is counted elsewhere."""
    try:
        take_key = None if row["take_key"] is None else seal.open(row["take_key"], f"{row['take_id']}/key")
        if row["imported"]:
            read_file(path, key, take_key)
        else:
            read_sound(path, key, take_key, row["sound_sha256"])
    except FileNotFoundError:
        return True
    except (SealedError, InvalidTag, OSError):
        return False
    return True


def known_words(folder: Path) -> list[str]:
    """What the library says of people in the clear: subjects and the ids of their recordings, to keep them out."""
    try:
        with closing(_connect(folder)) as database:
            rows = database.execute("SELECT group_id, take_id, job_id FROM recordings").fetchall()
    except sqlite3.Error:
        return []
    return [str(value) for row in rows for value in row if value]


def _connect(folder: Path) -> sqlite3.Connection:
    uri = (folder / "library.sqlite").absolute().as_uri()
    return sqlite3.connect(f"{uri}?mode=ro", uri=True, isolation_level=None)


def _is_open(folder: Path) -> bool:
    try:
        hold(folder).release()
    except LibraryInUse:
        return True
    return False


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
