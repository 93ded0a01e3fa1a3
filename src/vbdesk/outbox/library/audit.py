"""The audit log: who did what with which recording and when; any change to it is detected.

Entries are only added, each in the transaction of the change that it records. Each carries a MAC over itself and the
MAC before it, under a key derived from the library's. A changed, moved, removed or foreign entry breaks this chain.
The head holds number and MAC of the last entry. It is stored in the row of `library` and renewed by every change of
the library: a log that was truncated, or replaced by an older one, does not match its head. Replacing the whole folder
by an older one cannot be detected here.

In clear, an entry holds nothing that was said, measured or written, and names nobody: take ids are random, and the
account id represents the user. What an event says of subjects is encrypted, see `journal`; the chain covers it so.
"""

import hmac
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from vbdesk.language import N_, joined, message
from vbdesk.outbox.library.column_encryption import MAC_BYTES, ColumnCipher
from vbdesk.outbox.library.encrypted_sqlite import Connection, DatabaseRow

_DETAIL = re.compile(r"[a-z0-9_=:., -]{0,80}")
_COUNT_BYTES = 8
OTHER_KEY = N_("The recordings here belong to another key. They are kept as they are.")
_ENTRIES = "SELECT seq, at, who, what, take_id, detail, subject_keys, sealed, mac FROM audit"
_to_json = json.JSONEncoder(separators=(",", ":"), default=lambda value: {"hex": value.hex()}).encode

OUTLASTS = "outlasts:"
"""Begins, in place of the ids of keys, the encrypted id of a subject whose erasure the content outlasts."""

Content = tuple[str | None, bytes | None]
"""Ids of keys (or `OUTLASTS`) and encrypted content of an entry."""


class AuditPart(StrEnum):
    """Which part of vbdesk acted."""

    DESK = N_("desk")
    SYNC_WORKER = N_("courier")
    COMMAND_LINE = N_("command line")


class AuditAction(StrEnum):
    """What was done."""

    OPENED = N_("library opened")
    RECORDED = N_("recorded")
    IMPORTED = N_("imported")
    TRIMMED = N_("trimmed")
    TIME_CORRECTED = N_("time of recording corrected")
    TIME_KEPT = N_("time of recording kept")
    EXCLUDED = N_("excluded from the course")
    MOVED = N_("moved to another subject")
    PUT_BACK = N_("put back into the course")
    VOICE_CONFIRMED = N_("voice confirmed as the subject's")
    CORRECTED_AT_SERVICE = N_("course corrected at the service")
    LISTENED = N_("listened to")
    QUEUED = N_("queued")
    RELEASED = N_("released to be sent")
    CALLED_BACK = N_("called back")
    UPLOADED = N_("sound uploaded")
    SENT = N_("sent")
    SENT_AGAIN = N_("sent again at its price")
    RESULT_RECEIVED = N_("result received")
    HANDED_OVER = N_("handed over in a bundle")
    TAKEN_BACK = N_("taken back from a bundle")
    TAKEN_IN = N_("taken in from a bundle")
    EXPORTED = N_("exported")
    TRASHED = N_("moved to the trash")
    RESTORED_FROM_TRASH = N_("restored from the trash")
    SOUND_REMOVED = N_("sound removed")
    PARTS_RECOVERED = N_("readable parts of damaged sound recovered")
    DAMAGED_KEPT = N_("damaged sound kept aside")
    DAMAGED_DELETED = N_("damaged sound deleted")
    DELETED = N_("deleted")
    ERASED_AT_SERVICE = N_("erased at the service on this computer")
    SUBJECT_ERASED = N_("subject erased")
    CONSENT_GIVEN = N_("consent noted")
    CONSENT_WITHDRAWN = N_("consent withdrawn")
    CONSENT_TAKEN_IN = N_("consent taken in")
    SETTINGS_CHANGED = N_("settings changed")
    KEY_ENTERED = N_("API key entered")
    COPY_ACCEPTED = N_("restored copy accepted")
    CONVERTED = N_("taken over from an earlier version")


@dataclass(frozen=True, slots=True)
class AuditActor:
    """Who acts: a part of vbdesk, for the profile's account. The system's user is a name, so it is not stored."""

    part: AuditPart = AuditPart.DESK
    account_id: str = ""

    def __str__(self) -> str:
        return f"{self.part}/{self.account_id}"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry of the log.

    Attributes:
        seq: counts from 1.
        at: the time of day in UTC, ISO 8601, by this computer's clock.
        who: part and account, see `AuditActor`.
        take_id: the recording; None if the action concerns no single recording.
        detail: one more word or number.
        subject_keys: ids of the keys that its content needs, or that it has destroyed; or `OUTLASTS` and a subject;
            None if it has no content.
        sealed: its content, encrypted; None if it has none.
    """

    seq: int
    at: str
    who: str
    what: str
    take_id: str | None
    detail: str
    mac: bytes = field(repr=False)
    subject_keys: str | None = None
    sealed: bytes | None = field(default=None, repr=False)

    @property
    def key_ids(self) -> list[str]:
        """Ids of its keys."""
        stored = self.subject_keys or ""
        return [] if stored.startswith(OUTLASTS) else stored.split()

    @property
    def moment(self) -> datetime:
        """When it was done, aware."""
        return datetime.fromisoformat(self.at)

    @property
    def part(self) -> str:
        """Which part of vbdesk acted."""
        return self.who.partition("/")[0]

    @property
    def account_id(self) -> str:
        """For which account it acted."""
        return self.who.partition("/")[2]


@dataclass(frozen=True, slots=True)
class AuditHead:
    """Number and MAC of the last entry."""

    count: int = 0
    mac: bytes = bytes(MAC_BYTES)


@dataclass(frozen=True, slots=True)
class AuditVerification:
    """Result of verifying the whole log.

    Attributes:
        count: number of intact entries.
        broken_at: the first entry that is not as it was written; None if all are.
        sentence: for a person.
    """

    count: int
    broken_at: int | None
    sentence: str

    @property
    def ok(self) -> bool:
        """Whether the log is intact."""
        return self.broken_at is None


class AuditLog:
    """Writes the log of one library, within the transactions of its store."""

    def __init__(self, database: Connection, cipher: ColumnCipher, actor: AuditActor) -> None:
        self._database, self._cipher = database, cipher
        self.actor = actor
        self._kept: bytes | None = None
        self._head: AuditHead | None = None

    def begin_change(self, kept: bytes | None, version: int) -> None:
        """Begin a transaction at this version of the library, with the head stored in its row."""
        self._kept, self._head = kept, _open_head(self._cipher, kept, version)

    def end_change(self, version: int) -> bytes | None:
        """The head to store at the end of the transaction. A foreign head stays, so that it is detected."""
        return self._kept if self._head is None else seal_head(self._cipher, self._head, version)

    def note(
        self,
        at: str,
        what: AuditAction,
        take_id: str | None,
        detail: str,
        part: AuditPart | None,
        content: Callable[[int], Content] | None = None,
    ) -> int:
        """Add an entry, with the content for its number. Within a transaction. Returns the number.

        Raises:
            ValueError: the detail might hold more than words and numbers of our own.
        """
        if not _DETAIL.fullmatch(detail):
            raise ValueError("A detail of the audit log holds small letters and digits alone.")
        last, mac = self._last()
        head = self._head or AuditHead(last, mac)
        who = str(self.actor if part is None else AuditActor(part, self.actor.account_id))
        seq = max(last, head.count) + 1
        columns, subject = (seq, at, who, str(what), take_id, detail), (None, None) if content is None else content(seq)
        mac = _entry_mac(self._cipher, head.mac, AuditEntry(*columns, b"", *subject))
        self._database.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*columns, *subject, mac))
        if self._head is not None:
            self._head = AuditHead(seq, mac)
        return seq

    def _last(self) -> tuple[int, bytes]:
        row = self._database.execute("SELECT seq, mac FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
        return (0, AuditHead().mac) if row is None else (row["seq"], row["mac"])


def seal_head(cipher: ColumnCipher, head: AuditHead, version: int) -> bytes:
    """The head as it is kept at `version` of the library: nobody without the key can make another."""
    plain = head.count.to_bytes(_COUNT_BYTES, "big") + head.mac
    return plain + cipher.mac_of(f"audit-head/{version}/{plain.hex()}")


def _open_head(cipher: ColumnCipher, kept: bytes | None, version: int) -> AuditHead | None:
    """The head; None where there is none, or it is not that of this version."""
    if kept is None:
        return None
    head = AuditHead(int.from_bytes(kept[:_COUNT_BYTES], "big"), kept[_COUNT_BYTES : _COUNT_BYTES + MAC_BYTES])
    return head if hmac.compare_digest(kept, seal_head(cipher, head, version)) else None


def _entry_mac(cipher: ColumnCipher, before: bytes, entry: AuditEntry) -> bytes:
    return cipher.mac_of(f"audit/{before.hex()}/{_to_json(_signed(entry))}")


def _signed(entry: AuditEntry) -> tuple[object, ...]:
    """What the MAC covers; earlier versions wrote entries without content alone."""
    columns = (entry.seq, entry.at, entry.who, entry.what, entry.take_id, entry.detail)
    subject = entry.subject_keys, entry.sealed
    return columns if subject == (None, None) else (*columns, *subject)


def was_written(
    rows: Callable[[str, tuple[object, ...]], Iterable[DatabaseRow]], cipher: ColumnCipher, seq: int
) -> bool:
    """Whether vbdesk wrote the entry `seq` after the one before it; `rows` runs a query."""
    *before, entry = _read(rows(f"{_ENTRIES} WHERE seq IN (?, ?) ORDER BY seq", (seq - 1, seq)))
    return entry.mac == _entry_mac(cipher, before[0].mac if before else AuditHead().mac, entry)


def all_entries(database: Connection) -> Iterator[AuditEntry]:
    """Every entry, oldest first."""
    query = (
        _ENTRIES
        if has_keys(database)
        else _ENTRIES.replace("subject_keys, sealed", "NULL AS subject_keys, NULL AS sealed")
    )
    return _read(database.rows(f"{query} ORDER BY seq"))


def has_keys(database: Connection) -> bool:
    """Whether it has keys of subjects; a list that no desk has opened since the first release has none."""
    return bool(database.execute("SELECT 1 FROM sqlite_master WHERE name = 'subject_keys'").fetchone())


def _read(rows: Iterable[DatabaseRow]) -> Iterator[AuditEntry]:
    for row in rows:
        at, who, what, detail = (_text(row[name]) for name in ("at", "who", "what", "detail"))
        take_id, subject_keys = (
            None if row[name] is None else _text(row[name]) for name in ("take_id", "subject_keys")
        )
        yield AuditEntry(row["seq"], at, who, what, take_id, detail, row["mac"], subject_keys, row["sealed"])


def _text(value: object) -> str:
    """A column as text, even if somebody else has written another type."""
    return value if isinstance(value, str) else repr(value)


def verify_all(
    entries: Iterable[AuditEntry], cipher: ColumnCipher, head: bytes | None, version: int
) -> AuditVerification:
    """Follow the chain of a log whose `head` was stored at `version`."""
    return _follow(cipher, entries, _open_head(cipher, head, version))


def _follow(cipher: ColumnCipher, entries: Iterable[AuditEntry], head: AuditHead | None) -> AuditVerification:
    count, mac = 0, AuditHead().mac
    for entry in entries:
        due = count + 1
        if entry.seq != due:
            return broken_log(count, due, message("Entry {number} is missing.", number=due))
        if entry.mac != _entry_mac(cipher, mac, entry):
            return broken_log(
                count, due, message("Entry {number} is not as vbdesk wrote it, or does not belong there.", number=due)
            )
        count, mac = due, entry.mac
    if head is None:
        return broken_log(
            count, count + 1, message("The mark at the end of the log was changed, so entries may be missing there.")
        )
    if count < head.count:
        one = message("Entry {number} is missing at its end.", number=head.count)
        several = message("Entries {first} to {last} are missing at its end.", first=count + 1, last=head.count)
        return broken_log(count, count + 1, one if head.count == count + 1 else several)
    if (count, mac) != (head.count, head.mac):
        return broken_log(
            count, head.count + 1, message("Entry {number} was added by somebody else.", number=head.count + 1)
        )
    empty = message("The audit log is whole: it has no entry yet, and nothing was changed.")
    whole = message(
        "The audit log is whole: it runs from entry 1 to entry {last}, and nothing was changed.", last=count
    )
    return AuditVerification(count, None, whole if count else empty)


def broken_log(count: int, broken_at: int, what: str) -> AuditVerification:
    """The result for a log that was changed; `what` says how."""
    return AuditVerification(count, broken_at, joined(message("The audit log was changed."), what))
