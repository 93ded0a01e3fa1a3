"""Convert the list of an earlier version: a copy first, then all steps to the present version in one transaction.

A step converts the table that its version had and the next one has not. The entries of the audit log stay as they are,
and it goes on from its last one: a log that somebody has changed stays so.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbdesk.outbox.library.audit import AuditAction, all_entries, verify_all
from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.library.encrypted_sqlite import Connection, DatabaseRow
from vbdesk.outbox.library.journal import Journal
from vbdesk.outbox.library.proved_tables import ProvedTables
from vbdesk.outbox.library.repair import whole_or_not
from vbdesk.outbox.library.structure import add_tables, is_ours, rebuild
from vbdesk.outbox.library.table_checksums import PROVED_TABLES, open_sums, seal_sums, sums_of
from vbdesk.outbox.library.tables import TABLES_7, TABLES_8

FIRST_VERSION = 7
_PROVED_8 = PROVED_TABLES | {"consents": ("event_id", "group_id", "sealed")}
_NEW_IN_8 = ("corrections_due", "subject_keys", "audit")
_PROVED_7 = {name: columns for name, columns in _PROVED_8.items() if name not in _NEW_IN_8} | {
    "corrections": ("number", "sealed")
}
_PROGRESS = ("step", "attempts", "not_before", "trouble", "erased")


@dataclass(frozen=True, slots=True)
class _Step:
    """From one version to the next.

    Attributes:
        tables: the structure of the earlier version.
        proved: the columns of its tables that the checksums cover.
        table: that the next version does not have.
        convert: what becomes of its rows, in the structure of the present version.
    """

    tables: str
    proved: Mapping[str, tuple[str, ...]]
    table: str
    convert: Callable[[ProvedTables, list[DatabaseRow]], None]


def convert(connection: Connection, cipher: ColumnCipher, path: Path, key: bytes, version: int, at: str) -> bool:
    """Convert a database of an earlier version; returns whether it had the structure that vbdesk made.

    Args:
        connection: to the database.
        cipher: of the library.
        path: of its file.
        key: of the library.
        version: the earlier one.
        at: the time now, for the log.

    Raises:
        RepairFailed: there is no room for the copy, or a row does not fit; the database is unchanged.
    """
    first, *_ = steps = _STEPS[version - FIRST_VERSION :]
    with whole_or_not(connection, path, key, version):
        connection.execute("BEGIN IMMEDIATE")
        tables = ProvedTables(connection, cipher, lambda: at)
        library = tables.rows("SELECT version, sums, audit_head FROM library")[0]
        whole = open_sums(cipher, library["sums"], library["version"]) == sums_of(tables.rows, cipher, first.proved)
        old = [tables.rows(f"SELECT * FROM {step.table} ORDER BY rowid") for step in steps]  # noqa: S608 - names are ours
        was_ours = is_ours(connection, first.tables)
        add_tables(connection)
        rebuild(connection)
        tables.log.begin_change(library["audit_head"], library["version"])
        checked = verify_all(all_entries(connection), cipher, library["audit_head"], library["version"])
        state = "whole" if checked.ok else f"changed at {checked.broken_at}"
        tables.note(AuditAction.CONVERTED, detail=f"version {version}, log of {checked.count} {state}")
        for step, rows in zip(steps, old, strict=True):
            step.convert(tables, rows)
        now = library["version"] + 1
        sums = seal_sums(cipher, sums_of(tables.rows, cipher), now) if whole else None
        row = (FIRST_VERSION + len(_STEPS), now, sums, tables.log.end_change(now))
        connection.execute("UPDATE library SET schema_version = ?, version = ?, sums = ?, audit_head = ?", row)
        connection.execute("COMMIT")
    return was_ours


def _convert_corrections(tables: ProvedTables, rows: list[DatabaseRow]) -> None:
    """Every number gets an event, those that were erased get one without content: so a number counts as before."""
    journal, sealed = Journal(tables), {row["number"]: row["sealed"] for row in rows}
    for number in range(1, max(sealed, default=0) + 1):
        document = _read(tables.cipher, f"corrections/{number}", sealed.get(number))
        if document is not None and document["settled_at"] is None:
            due = tables.cipher.encrypt(json.dumps(document).encode(), f"corrections_due/{number}")
            tables.add("corrections_due", number, due)
        if document is None or document.get("erased"):
            journal.note(AuditAction.CONVERTED, None)
        else:
            subjects = {document[name] for name in ("group", "source", "target")} - {None}
            content = {name: value for name, value in document.items() if name not in _PROGRESS}
            journal.note(AuditAction.CONVERTED, content, subjects, document["take"])


def _convert_consents(tables: ProvedTables, rows: list[DatabaseRow]) -> None:
    """Every row gets an event; one that somebody changed gets one without content, and stays unreadable."""
    journal = Journal(tables)
    for event_id, group_id, sealed in rows:
        if isinstance(event_id, str) and isinstance(group_id, str):  # the checksum reports any other
            document = _read(tables.cipher, f"consents/{event_id}/{group_id}", sealed)
            content = None if document is None else {"event_id": event_id, "group_id": group_id, **document}
            journal.note(AuditAction.CONSENT_TAKEN_IN, content, outlasts=group_id)


def _read(cipher: ColumnCipher, place: str, sealed: object) -> dict[str, Any] | None:
    """An encrypted document; None if there is none, or somebody else wrote it."""
    try:
        document: dict[str, Any] = json.loads(cipher.decrypt(sealed if isinstance(sealed, bytes) else b"", place))
    except (InvalidTag, TypeError, ValueError):
        return None
    return document


_STEPS = (
    _Step(TABLES_7, _PROVED_7, "corrections", _convert_corrections),
    _Step(TABLES_8, _PROVED_8, "consents", _convert_consents),
)
