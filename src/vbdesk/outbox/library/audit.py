"""The audit log: who did what with which recording and when, so kept that nobody can change it unseen.

Entries are only ever added, each in the transaction of the change it tells of. Each carries a MAC over itself and the
MAC before it, under a key derived from the library's: an entry that was changed, moved, left out or made by somebody
else breaks the chain there. Number and MAC of the last one are the head, kept in the row of `library` and renewed by
every change of the library: a log that was cut at its end, or put back as it once was, does not fit its head. What
cannot be seen from inside is a whole folder put back as it once was.

An entry tells nothing of what was said, found or written, and names nobody: take ids are made at random, and the
account stands for whoever uses it.
"""

import hmac
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from vbdesk.outbox.library.column_encryption import MAC_BYTES, ColumnSeal, InvalidTag
from vbdesk.outbox.library.rows import lenient

_DETAIL = re.compile(r"[a-z0-9_=:., -]{0,80}")
_COUNT_BYTES = 8


class Part(StrEnum):
    """Which part of vbdesk acted."""

    DESK = "desk"
    COURIER = "courier"
    COMMAND_LINE = "command line"


class Deed(StrEnum):
    """What was done."""

    OPENED = "library opened"
    RECORDED = "recorded"
    IMPORTED = "imported"
    TRIMMED = "trimmed"
    TIME_CORRECTED = "time of recording corrected"
    TIME_KEPT = "time of recording kept"
    LISTENED = "listened to"
    QUEUED = "queued"
    RELEASED = "released to be sent"
    CALLED_BACK = "called back"
    UPLOADED = "sound uploaded"
    SENT = "sent"
    SENT_AGAIN = "sent again at its price"
    RESULT_RECEIVED = "result received"
    HANDED_OVER = "handed over in a bundle"
    TAKEN_BACK = "taken back from a bundle"
    TAKEN_IN = "taken in from a bundle"
    EXPORTED = "exported"
    PUT_AWAY = "put away"
    BROUGHT_BACK = "brought back"
    SOUND_REMOVED = "sound removed"
    PARTS_RECOVERED = "readable parts of damaged sound recovered"
    DAMAGED_KEPT = "damaged sound kept aside"
    DAMAGED_DELETED = "damaged sound deleted"
    DELETED = "deleted"
    ERASED_AT_SERVICE = "erased at the service on this computer"
    SETTINGS_CHANGED = "settings changed"
    KEY_ENTERED = "API key entered"
    COPY_ACCEPTED = "restored copy accepted"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a part of vbdesk, for the account of the profile. The system's user is a name, so it is not kept."""

    part: Part = Part.DESK
    account_id: str = ""

    def __str__(self) -> str:
        return f"{self.part}/{self.account_id}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log.

    Attributes:
        seq: counts from 1.
        at: the time of day in UTC, ISO 8601, by this computer's clock.
        who: part and account, see `Actor`.
        take_id: which recording; None where it was none in particular.
        detail: a word or a number more.
    """

    seq: int
    at: str
    who: str
    what: str
    take_id: str | None
    detail: str
    mac: bytes = field(repr=False)

    @property
    def moment(self) -> datetime:
        """When, aware."""
        return datetime.fromisoformat(self.at)

    @property
    def part(self) -> str:
        """Which part of vbdesk acted."""
        return self.who.partition("/")[0]

    @property
    def account_id(self) -> str:
        """For which account."""
        return self.who.partition("/")[2]


@dataclass(frozen=True, slots=True)
class Head:
    """Where the log ends."""

    count: int = 0
    mac: bytes = bytes(MAC_BYTES)


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of reading the whole log.

    Attributes:
        count: how many entries there are.
        broken_at: the first entry that is not as it was written; None when all are.
        sentence: for a person.
    """

    count: int
    broken_at: int | None
    sentence: str

    @property
    def ok(self) -> bool:
        """Whether the log is whole."""
        return self.broken_at is None


class AuditLog:
    """The log of one library, written to within the transactions of its store."""

    def __init__(self, database: sqlite3.Connection, seal: ColumnSeal, actor: Actor) -> None:
        self._database, self._seal = database, seal
        self.actor = actor
        self._kept: bytes | None = None
        self._head: Head | None = None

    def begin_change(self, kept: bytes | None, version: int) -> None:
        """A transaction has begun, at this version of the library and with this head in its row."""
        self._kept, self._head = kept, _open_head(self._seal, kept, version)

    def end_change(self, version: int) -> bytes | None:
        """The head to keep at the end of the transaction. One that was not ours stays, so that it is found out."""
        return self._kept if self._head is None else seal_head(self._seal, self._head, version)

    def note(self, at: str, what: Deed, take_id: str | None, detail: str, part: Part | None) -> None:
        """Add an entry. Within a transaction.

        Raises:
            ValueError: the detail might hold more than words and numbers of our own.
        """
        if not _DETAIL.fullmatch(detail):
            raise ValueError("A detail of the audit log holds small letters and digits alone.")
        last, mac = self._last()
        head = self._head or Head(last, mac)
        who = str(self.actor if part is None else Actor(part, self.actor.account_id))
        columns = (max(last, head.count) + 1, at, who, str(what), take_id, detail)
        mac = _entry_mac(self._seal, head.mac, columns)
        self._database.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", (*columns, mac))
        if self._head is not None:
            self._head = Head(columns[0], mac)

    def _last(self) -> tuple[int, bytes]:
        row = self._database.execute("SELECT seq, mac FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
        return (0, Head().mac) if row is None else (row["seq"], row["mac"])


def seal_head(seal: ColumnSeal, head: Head, version: int) -> bytes:
    """The head as it is kept at `version` of the library: nobody without the key can make another."""
    plain = head.count.to_bytes(_COUNT_BYTES, "big") + head.mac
    return plain + seal.mac_of(f"audit-head/{version}/{plain.hex()}")


def _open_head(seal: ColumnSeal, kept: bytes | None, version: int) -> Head | None:
    """The head; None where there is none, or it is not that of this version."""
    if kept is None:
        return None
    head = Head(int.from_bytes(kept[:_COUNT_BYTES], "big"), kept[_COUNT_BYTES : _COUNT_BYTES + MAC_BYTES])
    return head if hmac.compare_digest(kept, seal_head(seal, head, version)) else None


def _entry_mac(seal: ColumnSeal, before: bytes, columns: tuple[object, ...]) -> bytes:
    return seal.mac_of(f"audit/{before.hex()}/{json.dumps(columns, separators=(',', ':'))}")


# Reading: with a connection of its own, also while the library is open elsewhere


class AuditReader:
    """Reads the log of a library without opening the library."""

    def __init__(self, library_folder: Path, key: bytes) -> None:
        """Find the log in the folder of a library.

        Raises:
            AuditUnreadable: there is no library of this version, or it belongs to another key.
        """
        self._path, self._seal = library_folder / "library.sqlite", ColumnSeal(key)
        with self._reading() as database:
            row = database.execute("SELECT key_check, audit_head FROM library").fetchone()
            try:
                self._seal.open(row["key_check"], "library")
            except InvalidTag:
                raise AuditUnreadable("The recordings here belong to another key.") from None

    def entries(self) -> list[Entry]:
        """Every entry, oldest first, whether or not the log is whole. Raises AuditUnreadable."""
        with self._reading() as database:
            return list(_entries(database))

    def verify(self) -> Verification:
        """Follow the chain from its first entry to its head. Raises AuditUnreadable."""
        with self._reading() as database:
            database.execute("BEGIN")  # entries and head of one moment
            library = database.execute("SELECT version, audit_head FROM library").fetchone()
            head = _open_head(self._seal, library["audit_head"], library["version"])
            return _follow(self._seal, _entries(database), head)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if not self._path.exists():
            raise AuditUnreadable("There are no recordings here yet.")
        try:
            uri = f"{self._path.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as database:
                database.row_factory = sqlite3.Row
                database.text_factory = lenient
                yield database
        except (sqlite3.Error, AttributeError, LookupError, TypeError, ValueError) as error:
            raise AuditUnreadable(
                "The audit log cannot be read: the disk is full or gone, or the list of recordings is damaged or "
                "of another version of vbdesk."
            ) from error


class AuditUnreadable(Exception):
    """The log cannot be read at all; `str(error)` is one sentence for a person."""


def _entries(database: sqlite3.Connection) -> Iterator[Entry]:
    for row in database.execute("SELECT seq, at, who, what, take_id, detail, mac FROM audit ORDER BY seq"):
        at, who, what, detail = (_text(row[name]) for name in ("at", "who", "what", "detail"))
        take_id = None if row["take_id"] is None else _text(row["take_id"])
        yield Entry(row["seq"], at, who, what, take_id, detail, row["mac"])


def _text(value: object) -> str:
    """What stands in a column, whatever somebody has put there."""
    return value if isinstance(value, str) else repr(value)


def _follow(seal: ColumnSeal, entries: Iterator[Entry], head: Head | None) -> Verification:
    count, mac = 0, Head().mac
    for entry in entries:
        due = count + 1
        if entry.seq != due:
            return _broken(count, due, f"Entry {due} is missing.")
        columns = (entry.seq, entry.at, entry.who, entry.what, entry.take_id, entry.detail)
        if entry.mac != _entry_mac(seal, mac, columns):
            return _broken(count, due, f"Entry {due} is not as vbdesk wrote it, or does not belong there.")
        count, mac = due, entry.mac
    if head is None:
        return _broken(count, count + 1, "What tells where the log ends was changed, so entries may be missing there.")
    if count < head.count:
        gap = f"Entry {head.count} is" if head.count == count + 1 else f"Entries {count + 1} to {head.count} are"
        return _broken(count, count + 1, f"{gap} missing at its end.")
    if (count, mac) != (head.count, head.mac):
        return _broken(count, head.count + 1, f"Entry {head.count + 1} was added by somebody else.")
    span = f"it runs from entry 1 to entry {count}" if count else "it has no entry yet"
    return Verification(count, None, f"The audit log is whole: {span}, and nothing was changed.")


def _broken(count: int, broken_at: int, what: str) -> Verification:
    return Verification(count, broken_at, f"The audit log was changed. {what}")
