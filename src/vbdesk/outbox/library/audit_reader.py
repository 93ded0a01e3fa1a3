"""Read the audit log with a connection of its own, also while the library is open elsewhere."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from vbdesk.language import message
from vbdesk.outbox.library.audit import (
    OTHER_KEY,
    AuditAction,
    AuditEntry,
    AuditVerification,
    all_entries,
    broken_log,
    has_keys,
    verify_all,
)
from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.library.encrypted_sqlite import Connection, has_mark, open_to_read
from vbdesk.outbox.library.journal import Journal
from vbdesk.outbox.library.proved_tables import ProvedTables

_DETAILS = ("reason", "change", "kind", "event_id")  # of the contents of events: words and ids of ours


class AuditReader:
    """Reads the log of a library without opening the library."""

    def __init__(self, library_folder: Path, key: bytes) -> None:
        """Find the log in the folder of a library.

        Raises:
            AuditUnreadable: there is no library of this version, or it belongs to another key.
        """
        self._path, self._key, self._cipher = library_folder / "library.sqlite", key, ColumnCipher(key)
        with self._reading() as database:
            row = database.execute("SELECT key_check, audit_head FROM library").fetchone()
            try:
                self._cipher.decrypt(row["key_check"], "library")
            except InvalidTag:
                raise AuditUnreadable(OTHER_KEY) from None

    def entries(self) -> list[AuditEntry]:
        """Every entry, oldest first, whether or not the log is whole. Raises AuditUnreadable.

        The detail of an event of subjects is what it says in words of ours, as long as its key is there.
        """
        with self._reading() as database:
            database.execute("BEGIN")  # entries and keys of one moment
            entries = list(all_entries(database))
            if not has_keys(database):
                return entries
            events = Journal(ProvedTables(database, self._cipher, str)).events(*AuditAction)
            details = {each.seq: _detail(each.content) for each in events if each.content is not None}
            return [replace(each, detail=each.detail or details.get(each.seq, "")) for each in entries]

    def verify(self) -> AuditVerification:
        """Follow the chain from its first entry to its head, and compare the keys with it. Raises AuditUnreadable."""
        with self._reading() as database:
            database.execute("BEGIN")  # entries and head of one moment
            library = database.execute("SELECT version, audit_head FROM library").fetchone()
            entries = list(all_entries(database))
            followed = verify_all(entries, self._cipher, library["audit_head"], library["version"])
            if not followed.ok or not has_keys(database):
                return followed
            key_ids = {row["key_id"] for row in database.execute("SELECT key_id FROM subject_keys")}
            return _compare_keys(entries, key_ids, followed)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        if not self._path.exists():
            raise AuditUnreadable(message("There are no recordings here yet."))
        try:
            if not has_mark(self._path, self._key):
                raise AuditUnreadable(OTHER_KEY)
            with closing(open_to_read(self._path, self._key)) as database:
                yield database
        except (sqlite3.Error, OSError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise AuditUnreadable(
                message(
                    "The audit log cannot be read: the disk is full or gone, or the list of recordings is damaged or "
                    "of another version of vbdesk."
                )
            ) from error


class AuditUnreadable(Exception):
    """The log cannot be read at all; `str(error)` is one sentence for a person."""


def _detail(content: Mapping[str, Any]) -> str:
    return ", ".join(str(content[name]) for name in _DETAILS if name in content)


def _compare_keys(entries: Iterable[AuditEntry], there: Set[str], intact: AuditVerification) -> AuditVerification:
    """Compare the keys that are there with those that the entries need and have destroyed."""
    destroyed: dict[str, int] = {}
    needed: dict[str, int] = {}
    for entry in entries:
        found = destroyed if entry.what == AuditAction.SUBJECT_ERASED else needed
        for key_id in entry.key_ids:
            found.setdefault(key_id, entry.seq)
    back = min((seq for key_id, seq in destroyed.items() if key_id in there), default=None)
    if back is not None:
        return broken_log(
            intact.count, back, message("A key that entry {number} has destroyed was put back.", number=back)
        )
    gone = min((seq for key_id, seq in needed.items() if key_id not in there | destroyed.keys()), default=None)
    if gone is not None:
        return broken_log(intact.count, gone, message("The key of entry {number} is missing.", number=gone))
    return intact
