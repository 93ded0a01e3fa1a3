"""Convert the list of an earlier version: a copy first, then one transaction.

Version 7, the first release, had corrections in a table of their own. They become events of the journal. The entries of
the audit log stay as they are, and it goes on from its last one: a log that somebody has changed stays so.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vbdesk.outbox.library.audit import AuditAction, verify_all
from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.library.encrypted_sqlite import Connection
from vbdesk.outbox.library.journal import Journal
from vbdesk.outbox.library.proved_tables import ProvedTables
from vbdesk.outbox.library.repair import whole_or_not
from vbdesk.outbox.library.structure import add_tables, is_ours, rebuild
from vbdesk.outbox.library.table_checksums import PROVED_TABLES, open_sums, seal_sums, sums_of
from vbdesk.outbox.library.tables import TABLES_7

FIRST_VERSION = 7
_NEW = ("corrections_due", "subject_keys", "audit")
_PROVED = {name: columns for name, columns in PROVED_TABLES.items() if name not in _NEW} | {
    "corrections": ("number", "sealed")
}
_PROGRESS = ("step", "attempts", "not_before", "trouble", "erased")


def convert(connection: Connection, cipher: ColumnCipher, path: Path, key: bytes, version: int, at: str) -> bool:
    """Convert a database of version 7 to `version`; returns whether it had the structure that vbdesk made.

    Args:
        connection: to the database.
        cipher: of the library.
        path: of its file.
        key: of the library.
        version: the present one.
        at: the time now, for the log.

    Raises:
        RepairFailed: there is no room for the copy, or a row does not fit; the database is unchanged.
    """
    with whole_or_not(connection, path, key, FIRST_VERSION):
        connection.execute("BEGIN IMMEDIATE")
        tables = ProvedTables(connection, cipher, lambda: at)
        library = tables.rows("SELECT version, sums, audit_head FROM library")[0]
        whole = open_sums(cipher, library["sums"], library["version"]) == sums_of(tables.rows, cipher, _PROVED)
        corrections = tables.rows("SELECT number, sealed FROM corrections ORDER BY number")
        was_ours = is_ours(connection, TABLES_7)
        add_tables(connection)
        rebuild(connection)
        tables.log.begin_change(library["audit_head"], library["version"])
        checked = verify_all(connection, cipher, library["audit_head"], library["version"])
        state = "whole" if checked.ok else f"changed at {checked.broken_at}"
        tables.note(AuditAction.CONVERTED, detail=f"version {FIRST_VERSION}, log of {checked.count} {state}")
        _convert_corrections(tables, {row["number"]: row["sealed"] for row in corrections})
        now = library["version"] + 1
        sums = seal_sums(cipher, sums_of(tables.rows, cipher), now) if whole else None
        row = (version, now, sums, tables.log.end_change(now))
        connection.execute("UPDATE library SET schema_version = ?, version = ?, sums = ?, audit_head = ?", row)
        connection.execute("COMMIT")
    return was_ours


def _convert_corrections(tables: ProvedTables, sealed: Mapping[int, bytes]) -> None:
    """Every number gets an event, those that were erased get one without content: so a number counts as before."""
    journal = Journal(tables)
    for number in range(1, max(sealed, default=0) + 1):
        document = _read(tables.cipher, f"corrections/{number}", sealed.get(number))
        if document is not None and document["settled_at"] is None:
            due = tables.cipher.encrypt(json.dumps(document).encode(), f"corrections_due/{number}")
            tables.add("corrections_due", number, due)
        if document is None or document.get("erased"):
            journal.note(AuditAction.CONVERTED, None, ())
        else:
            subjects = {document[name] for name in ("group", "source", "target")} - {None}
            content = {name: value for name, value in document.items() if name not in _PROGRESS}
            journal.note(AuditAction.CONVERTED, content, subjects, document["take"], document["reason"])


def _read(cipher: ColumnCipher, place: str, sealed: bytes | None) -> dict[str, Any] | None:
    """An encrypted document; None if there is none, or somebody else wrote it."""
    try:
        document: dict[str, Any] = json.loads(cipher.decrypt(sealed or b"", place))
    except (InvalidTag, TypeError, ValueError):
        return None
    return document
