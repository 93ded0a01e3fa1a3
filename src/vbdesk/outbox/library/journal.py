"""What happened to subjects: the encrypted content of entries of the audit log, and the keys that open it.

An event is an entry of the log that was written in the transaction of its effect. What it says is encrypted with a key
of each subject that it concerns, and bound to its number, its action and its keys. The chain of the log covers the
ciphertext. So an erasure destroys the key of a subject, in the transaction of an entry that names it; the log stays
whole, and nobody can read what the events said. A subject that is recorded again gets a new key.

An event that outlasts the erasure of its subject is encrypted with the library's key. In place of the ids of keys it
has the subject's id, encrypted too: so it is known whose event it is, even if somebody has changed what it says.
"""

import hmac
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Generic, TypeVar

from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.audit import OUTLASTS, AuditAction, AuditPart, Content, was_written
from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow
from vbdesk.outbox.library.proved_tables import ProvedTables

_KEY_BYTES = 32
_SUBJECT = "audit/subject"
_UNREADABLE = (InvalidTag, AttributeError, LookupError, TypeError, ValueError)

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of the log that concerns subjects.

    Attributes:
        content: what it says; None if a key was destroyed, or somebody changed it.
        subject: whose event it is, if it outlasts an erasure and has no content; None for any other.
    """

    seq: int
    at: str
    what: str
    content: Mapping[str, Any] | None
    subject: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Projection(Generic[Value]):
    """What is read from events of some kinds, and kept in memory.

    Attributes:
        kinds: of the events.
        empty: the value without any event.
        add: the value with more events, oldest first; it changes no value that it was given.
    """

    kinds: tuple[AuditAction, ...]
    empty: Value
    add: Callable[[Value, list[Event]], Value]


class Journal:
    """The events of one library. Every method reads or writes the disk."""

    def __init__(self, tables: ProvedTables) -> None:
        self._tables = tables
        self._keys: dict[str, bytes] = {}
        self._known: dict[Projection[Any], tuple[int, Any]] = {}  # the last event of each, and its value
        self._before: dict[Projection[Any], tuple[int, Any]] = {}  # the same before the present transaction
        self._seen_commit = tables.last_foreign_commit()

    def read(self, projection: Projection[Value]) -> Value:
        """The value of a projection. Each event is decrypted once, or again after a write by somebody else."""
        with self._tables.reading():  # what an erasure forgets is not read meanwhile
            commit = self._tables.last_foreign_commit()
            if commit != self._seen_commit:
                self.forget()
                self._seen_commit = commit
            known: tuple[int, Value] = self._known.get(projection, (0, projection.empty))
            new = self.events(*projection.kinds, after=known[0])
            if new:
                known = self._known[projection] = new[-1].seq, projection.add(known[1], new)
            return known[1]

    def events(self, *kinds: AuditAction, after: int = 0) -> list[Event]:
        """Events of these kinds with a higher number than `after`, oldest first."""
        where = f"subject_keys IS NOT NULL AND what IN ({', '.join('?' * len(kinds))}) AND seq > ?"
        query = f"SELECT seq, at, what, subject_keys, sealed FROM audit WHERE {where} ORDER BY seq"  # noqa: S608 - marks
        with self._tables.reading():
            return [self._event(row) for row in self._tables.rows(query, (*kinds, after))]

    def note(
        self,
        what: AuditAction,
        content: Mapping[str, Any] | None,
        subjects: Iterable[str] = (),
        take_id: str | None = None,
        part: AuditPart | None = None,
        outlasts: str | None = None,
    ) -> None:
        """Add an event. Within a transaction.

        Args:
            what: the action.
            content: JSON; None if nobody may read it.
            subjects: whose keys it needs.
            take_id: the recording; None if it concerns no single recording.
            part: as for `ProvedTables.note`.
            outlasts: in place of `subjects`, the subject whose erasure it outlasts.
        """
        if outlasts is None:
            key_ids = " ".join(self._key_id(each) for each in sorted(set(subjects)))
        else:
            key_ids = OUTLASTS + self._tables.cipher.encrypt(outlasts.encode(), _SUBJECT).hex()

        def encrypted(seq: int) -> Content:
            if content is None:
                return key_ids, None
            plain = json.dumps(content, separators=(",", ":")).encode()
            return key_ids, self._cipher(key_ids).encrypt(plain, _place(seq, what, key_ids))

        self._tables.note(what, take_id, part=part, content=encrypted)

    def erase_subject(self, group_id: str) -> None:
        """Destroy the key of a subject's events, and note that. Within a transaction."""
        rows = self._tables.rows("SELECT key_id FROM subject_keys WHERE subject = ?", (self._mark(group_id),))
        for key_id in (row["key_id"] for row in rows):
            self._tables.drop("subject_keys", key_id)
            self._tables.note(AuditAction.SUBJECT_ERASED, content=partial(_destroying, key_id))
        if not rows:
            self._tables.note(AuditAction.SUBJECT_ERASED)
        self.forget()

    def destroy_again(self) -> bool:
        """Destroy keys that somebody put back. Within a transaction. Returns whether there were any."""
        found = self._tables.rows(
            "SELECT seq, subject_keys FROM audit WHERE what = ? AND subject_keys IN (SELECT key_id FROM subject_keys)",
            (AuditAction.SUBJECT_ERASED,),
        )
        found = [row for row in found if was_written(self._tables.rows, self._tables.cipher, row["seq"])]
        for row in found:
            self._tables.drop("subject_keys", row["subject_keys"])
        return bool(found)

    def begin_change(self) -> None:
        """Remember what was known before a transaction."""
        self._before = dict(self._known)

    def undo_change(self) -> None:
        """Know again what was known before a transaction that is undone."""
        self._known = self._before

    def forget(self) -> None:
        """Read everything again."""
        self._keys.clear()
        self._known, self._before = {}, {}

    def _event(self, row: DatabaseRow) -> Event:
        seq, what, key_ids = row["seq"], row["what"], row["subject_keys"]
        content = subject = None
        try:
            content = json.loads(self._cipher(key_ids).decrypt(row["sealed"], _place(seq, what, key_ids)))
        except _UNREADABLE:
            with suppress(*_UNREADABLE):
                name = bytes.fromhex(key_ids.removeprefix(OUTLASTS))
                subject = self._tables.cipher.decrypt(name, _SUBJECT).decode()
        return Event(seq, row["at"], what, content, subject)

    def _cipher(self, key_ids: str) -> ColumnCipher:
        """The cipher of an event, which needs each of its keys; raises as `_stored_key`."""
        if key_ids.startswith(OUTLASTS):
            return self._tables.cipher
        keys = map(self._stored_key, key_ids.split())
        return ColumnCipher(reduce(lambda first, second: hmac.digest(first, second, "sha256"), keys))

    def _key_id(self, group_id: str) -> str:
        """Id of a subject's key; of a new one if it has none that opens."""
        mark = self._mark(group_id)
        for row in self._tables.rows("SELECT key_id FROM subject_keys WHERE subject = ?", (mark,)):
            try:
                self._stored_key(row["key_id"])
            except (InvalidTag, TypeError, ValueError):
                continue
            return str(row["key_id"])
        key_id = new_id()
        sealed = self._tables.cipher.encrypt(os.urandom(_KEY_BYTES), _key_place(key_id, mark))
        self._tables.add("subject_keys", key_id, mark, sealed)
        return key_id

    def _stored_key(self, key_id: str) -> bytes:
        """Raises InvalidTag, LookupError, TypeError, ValueError if there is none that opens."""
        if key_id not in self._keys:
            row = self._tables.rows("SELECT subject, sealed FROM subject_keys WHERE key_id = ?", (key_id,))[0]
            self._keys[key_id] = self._tables.cipher.decrypt(row["sealed"], _key_place(key_id, row["subject"]))
        return self._keys[key_id]

    def _mark(self, group_id: str) -> str:
        return self._tables.cipher.mac_of(f"subject/{group_id}").hex()


def _destroying(key_id: str, _seq: int) -> Content:
    return key_id, None


def _place(seq: int, what: str, key_ids: str) -> str:
    return f"audit/{seq}/{what}/{key_ids}"


def _key_place(key_id: str, mark: str) -> str:
    return f"subject_keys/{key_id}/{mark}"
