"""Convert the list of an earlier version: a copy first, then all steps to the present version in one transaction.

A step converts the table that its version had and the next one has not. The entries of the audit log stay as they are,
and it goes on from its last one: a log that somebody has changed stays so.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.audit import AuditAction, all_entries, verify_all
from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.library.encrypted_sqlite import Connection, DatabaseRow
from vbdesk.outbox.library.journal import Journal
from vbdesk.outbox.library.proved_tables import ProvedTables
from vbdesk.outbox.library.repair import whole_or_not
from vbdesk.outbox.library.rows import PROVED, event_mac_of, mac_of
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.structure import add_tables, is_ours, rebuild
from vbdesk.outbox.library.table_checksums import PROVED_TABLES, open_sums, seal_sums, sums_of
from vbdesk.outbox.library.tables import TABLES_7, TABLES_8, TABLES_9

FIRST_VERSION = 7
_PROVED_9 = PROVED_TABLES | {"trash": ("take_id", "deleted_at", "take_key", "sealed")}
_PROVED_8 = _PROVED_9 | {"consents": ("event_id", "group_id", "sealed")}
_NEW_IN_8 = ("corrections_due", "subject_keys", "audit")
_PROVED_7 = {name: columns for name, columns in _PROVED_8.items() if name not in _NEW_IN_8} | {
    "corrections": ("number", "sealed")
}
_SEARCH_FIRST = "search-first"  # a setting: what was deleted up to this version is searched for
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
    convert: Callable[[ProvedTables, list[DatabaseRow], Connection, str], None]


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
            step.convert(tables, rows, connection, at)
        now = library["version"] + 1
        sums = seal_sums(cipher, sums_of(tables.rows, cipher), now) if whole else None
        row = (FIRST_VERSION + len(_STEPS), now, sums, tables.log.end_change(now))
        connection.execute("UPDATE library SET schema_version = ?, version = ?, sums = ?, audit_head = ?", row)
        connection.execute("COMMIT")
    return was_ours


def _convert_corrections(tables: ProvedTables, rows: list[DatabaseRow], *_: object) -> None:
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


def _convert_consents(tables: ProvedTables, rows: list[DatabaseRow], *_: object) -> None:
    """Every row gets an event; one that somebody changed gets one without content, and stays unreadable."""
    journal = Journal(tables)
    for event_id, group_id, sealed in rows:
        if isinstance(event_id, str) and isinstance(group_id, str):  # the checksum reports any other
            document = _read(tables.cipher, f"consents/{event_id}/{group_id}", sealed)
            content = None if document is None else {"event_id": event_id, "group_id": group_id, **document}
            journal.note(AuditAction.CONSENT_TAKEN_IN, content, outlasts=group_id)


def _prove_rows(tables: ProvedTables, connection: Connection) -> None:
    """Let the MAC of every row that vbdesk wrote cover its time of deletion too."""
    for row in tables.rows("SELECT rowid AS place, * FROM recordings"):
        if row["mac"] == _mac_of_9(row, tables.cipher):
            values = mac_of(dict(row), tables.cipher), row["place"]
            connection.execute("UPDATE recordings SET mac = ? WHERE rowid = ?", values)


def _mac_of_9(row: Mapping[str, Any] | DatabaseRow, cipher: ColumnCipher) -> bytes:
    return cipher.mac([row[name] for name in PROVED if name != "deleted_at"])


def _convert_trash(tables: ProvedTables, trash: list[DatabaseRow], connection: Connection, at: str) -> None:
    """Each entry gets rows again; one that does not decrypt, or whose recording is here too, a row of nobody."""
    _prove_rows(tables, connection)
    rows = tables.rows("SELECT sealed FROM settings WHERE name = ?", (_SEARCH_FIRST,))
    searched = _read(tables.cipher, f"settings/{_SEARCH_FIRST}", rows[0]["sealed"] if rows else None)
    tables.drop("settings", _SEARCH_FIRST)
    for row in trash:
        take_id, deleted_at = row["take_id"], row["deleted_at"]
        entry = _read(tables.cipher, f"trash/{take_id}/{deleted_at}", row["sealed"])
        if not isinstance(take_id, str) or _has(tables, "recordings", "take_id", take_id):
            take_id, entry = new_id(), None  # one with these ids and this sound is here
        if entry is None:
            entry = {"recording": _changed(take_id, row["sealed"], at), "event": None, "result": None, "opened": False}
        search = searched is not None and entry.get("version", 0) <= searched
        kept = {"take_key": row["take_key"], "deleted_at": deleted_at}
        rows_of = _without_collisions(tables, {**entry, "recording": entry["recording"] | kept}, at, search=search)
        for table, columns in rows_of.items():
            names, marks = ", ".join(columns), ", ".join("?" * len(columns))
            statement = f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - names are ours
            connection.execute(statement, tuple(columns.values()))
    connection.execute("DELETE FROM removed WHERE take_id IN (SELECT take_id FROM recordings)")


def _without_collisions(
    tables: ProvedTables, entry: Mapping[str, Any], at: str, *, search: bool
) -> dict[str, Mapping[str, Any]]:
    """The rows of an entry by table, with another time or event if a recording has taken its own since.

    Args:
        tables: of the library.
        entry: the entry.
        at: the time now.
        search: whether the service is asked first whether it has the recording.
    """
    recording, event, cipher = entry["recording"], entry["event"], tables.cipher
    genuine = recording["mac"] == _mac_of_9(recording, cipher)
    if event is not None:
        genuine &= recording["event_mac"] == event_mac_of(event, cipher)
        if _has(tables, "pending", "event_id", event["event_id"]):
            event, search = event | {"event_id": new_id()}, True
        event = event | {"asked_at": event["asked_at"] or (at if search else None)}
    moment = recording["recorded_at"]
    while _has(tables, "recordings", "recorded_at", moment):
        later = datetime.fromisoformat(moment) + timedelta(microseconds=1)
        moment = later.isoformat(timespec="microseconds")
    recording = recording | {"recorded_at": moment}
    if genuine:  # else it stays what it was: changed by something else
        recording["event_mac"] = None if event is None else event_mac_of(event, cipher)
        recording["mac"] = mac_of(recording, cipher)
    found = {"recordings": recording, "pending": event}
    take_id = {"take_id": recording["take_id"]}
    found["results"] = None if entry["result"] is None else take_id | {"sealed": entry["result"]}
    found["opened"] = take_id if entry["opened"] else None
    return {table: row for table, row in found.items() if row is not None}


def _has(tables: ProvedTables, table: str, column: str, value: object) -> bool:
    return bool(tables.rows(f"SELECT 1 FROM {table} WHERE {column} = ?", (value,)))  # noqa: S608 - names are ours


def _changed(take_id: str, sealed: object, at: str) -> dict[str, Any]:
    """A row for an entry that cannot be read; it keeps what there is, and nothing of it is authentic."""
    values = {"take_id": take_id, "details": sealed, "state": OutboxState.NEEDS_ATTENTION, "group_id": "?"}
    values |= dict.fromkeys(("recorded_at", "created_at", "updated_at"), at) | {"target": "model:?", "mac": None}
    return dict.fromkeys(PROVED) | values | dict.fromkeys(("longitudinal", "duration_s", "imported", "version"), 0)


def _read(cipher: ColumnCipher, place: str, sealed: object) -> Any:
    """An encrypted document; None if there is none, or somebody else wrote it."""
    try:
        return json.loads(cipher.decrypt(sealed if isinstance(sealed, bytes) else b"", place), object_hook=_bytes)
    except (InvalidTag, TypeError, ValueError):
        return None


def _bytes(document: dict[str, Any]) -> Any:
    return bytes.fromhex(document["hex"]) if document.keys() == {"hex"} else document


_STEPS = (
    _Step(TABLES_7, _PROVED_7, "corrections", _convert_corrections),
    _Step(TABLES_8, _PROVED_8, "consents", _convert_consents),
    _Step(TABLES_9, _PROVED_9, "trash", _convert_trash),
)
