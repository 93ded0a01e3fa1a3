"""What happened to subjects: the encrypted content of entries of the audit log, and the keys that open it.

An event is an entry of the log that was written in the transaction of its effect. What it says is encrypted with a key
of each subject that it concerns, and bound to its number, its action and its keys. The chain of the log covers the
ciphertext. So an erasure destroys the key of a subject, in the transaction of an entry that names it; the log stays
whole, and nobody can read what the events said. A subject that is recorded again gets a new key.
"""

import hmac
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.audit import AuditAction, AuditPart, Content, was_written
from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow
from vbdesk.outbox.library.proved_tables import ProvedTables

_KEY_BYTES = 32
_OF_KINDS = "FROM audit WHERE subject_keys IS NOT NULL AND what IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of the log that concerns subjects; without content if a key was destroyed, or somebody changed it."""

    seq: int
    at: str
    what: str
    content: Mapping[str, Any] | None


class Journal:
    """The events of one library. Every method reads or writes the disk."""

    def __init__(self, tables: ProvedTables) -> None:
        self._tables = tables
        self._keys: dict[str, bytes] = {}
        self._opened: dict[int, tuple[tuple[str, bytes], Mapping[str, Any]]] = {}  # each event is decrypted once

    def events(self, *kinds: AuditAction) -> list[Event]:
        """Events of these kinds, oldest first."""
        query = f"SELECT seq, at, what, subject_keys, sealed {_OF_KINDS} ORDER BY seq"
        with self._tables.reading():  # what an erasure forgets is not opened meanwhile
            rows = self._tables.rows(query, (json.dumps(kinds),))
            return [Event(row["seq"], row["at"], row["what"], self._open(row)) for row in rows]

    def count(self, *kinds: AuditAction) -> int:
        """How many events of these kinds there are, those without content too; it never falls."""
        count: int = self._tables.rows(f"SELECT count(*) AS n {_OF_KINDS}", (json.dumps(kinds),))[0]["n"]
        return count

    def note(
        self,
        what: AuditAction,
        content: Mapping[str, Any] | None,
        subjects: Iterable[str],
        take_id: str | None = None,
        detail: str = "",
        part: AuditPart | None = None,
    ) -> None:
        """Add an event of these subjects; `content` is JSON. Within a transaction."""
        keys = dict(self._key(subject) for subject in sorted(set(subjects)))
        key_ids = " ".join(keys)

        def encrypted(seq: int) -> Content:
            if content is None:
                return key_ids, None
            plain = json.dumps(content, separators=(",", ":")).encode()
            return key_ids, _cipher(keys.values()).encrypt(plain, _place(seq, what, key_ids))

        self._tables.note(what, take_id, detail, part, encrypted)

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

    def forget(self) -> None:
        """Read everything again."""
        self._keys.clear()
        self._opened.clear()

    def _open(self, row: DatabaseRow) -> Mapping[str, Any] | None:
        stored = row["subject_keys"], row["sealed"]
        known = self._opened.get(row["seq"])
        if known is not None and known[0] == stored:
            return known[1]
        try:
            cipher = _cipher(self._stored_key(key_id) for key_id in stored[0].split())
            content: Mapping[str, Any] = json.loads(
                cipher.decrypt(stored[1], _place(row["seq"], row["what"], stored[0]))
            )
        except (InvalidTag, AttributeError, LookupError, TypeError, ValueError):
            return None
        self._opened[row["seq"]] = stored, content
        return content

    def _key(self, group_id: str) -> tuple[str, bytes]:
        """Id and key of a subject; a new one if it has none that opens."""
        mark = self._mark(group_id)
        for row in self._tables.rows("SELECT key_id FROM subject_keys WHERE subject = ?", (mark,)):
            try:
                return row["key_id"], self._stored_key(row["key_id"])
            except (InvalidTag, TypeError, ValueError):
                continue
        key_id, key = new_id(), os.urandom(_KEY_BYTES)
        self._tables.add("subject_keys", key_id, mark, self._tables.cipher.encrypt(key, _key_place(key_id, mark)))
        return key_id, key

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


def _cipher(keys: Iterable[bytes]) -> ColumnCipher:
    """The cipher of an event, which needs each of these keys."""
    return ColumnCipher(reduce(lambda first, second: hmac.digest(first, second, "sha256"), keys))


def _place(seq: int, what: str, key_ids: str) -> str:
    return f"audit/{seq}/{what}/{key_ids}"


def _key_place(key_id: str, mark: str) -> str:
    return f"subject_keys/{key_id}/{mark}"
