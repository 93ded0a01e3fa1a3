"""Bring a library of an earlier version up to date: a copy first, then step by step, each whole or not at all."""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbdesk.outbox.library.audit import Head, seal_head
from vbdesk.outbox.library.column_encryption import MAC_BYTES, ColumnSeal, InvalidTag
from vbdesk.outbox.library.rows import EVENT, event_mac_of, lenient, mac_of, result_nonce_of
from vbdesk.outbox.library.structure import TableLost, check_columns, drops_of_what_acts, is_ours, rebuild
from vbdesk.outbox.library.table_checksums import seal_sums, sums_of
from vbdesk.privacy import FILE_MODE


class MigrationFailed(Exception):
    """The library is as it was before; `str(error)` is one sentence for a person."""


_PROVED_2 = (
    "take_id",
    "group_id",
    "recorded_at",
    "target",
    "longitudinal",
    "duration_s",
    "imported",
    "details",
    "state",
    "reason",
    "fix",
    "job_id",
    "created_at",
    "updated_at",
    "version",
    "take_key",
    "sound_sha256",
    "sent_sha256",
    "result_at",
    "audio_gone_at",
    "bundle_id",
)
"""What the MAC of a recording spoke for in version 2."""


@dataclass(frozen=True, slots=True)
class Step:
    """From one version to the next: what changes in the tables, then what is computed for the rows."""

    tables: str
    fill: Callable[[sqlite3.Connection, ColumnSeal], None]


def migrate(connection: sqlite3.Connection, path: Path, seal: ColumnSeal, found: int, wanted: int) -> None:
    """Bring the database at `path` from version `found` to `wanted`.

    Each step is one transaction, so that a kill at any moment leaves the version before it, or the version after it.

    Raises:
        MigrationFailed: a step did not succeed, or there is no room for the copy; the database works as before with the
            version of the desk that made it.
    """
    if found == wanted:
        return
    with _whole_or_not(connection, path, found):
        for version in range(found, wanted):
            step = _STEPS[version]
            drops = "".join(f"{statement};" for statement in drops_of_what_acts(connection))
            connection.executescript(f"BEGIN IMMEDIATE; {drops} {step.tables}")
            step.fill(connection, seal)
            connection.execute("UPDATE library SET schema_version = ?", (version + 1,))
            connection.execute("COMMIT")


def repair(connection: sqlite3.Connection, path: Path, version: int) -> bool:
    """Give a database of the present version its form again; False if it has it, as a rule.

    Raises:
        TableLost: a table or a column is missing.
        MigrationFailed: there is no room for the copy, or a row does not fit; the database is as it was.
    """
    if is_ours(connection):
        return False
    check_columns(connection)
    with _whole_or_not(connection, path, version):
        connection.execute("BEGIN IMMEDIATE")
        rebuild(connection)
        connection.execute("COMMIT")
    return True


@contextmanager
def _whole_or_not(connection: sqlite3.Connection, path: Path, version: int) -> Iterator[None]:
    """Copy the database first; a change that fails is undone."""
    try:
        back_up(connection, backup_path(path, version))
        connection.execute("PRAGMA foreign_keys = OFF")  # a table that is dropped would take rows of others with it
        connection.execute("PRAGMA legacy_alter_table = ON")  # a table that is renamed keeps its name in the others
        connection.text_factory = lenient
        yield
    except (sqlite3.Error, OSError, TableLost) as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise MigrationFailed(
            "The list of recordings could not be brought up to date, so it was left as it was. "
            "Make room on the disk and start again."
        ) from error
    finally:
        connection.text_factory = str
        connection.execute("PRAGMA legacy_alter_table = OFF")
        connection.execute("PRAGMA foreign_keys = ON")


def backup_path(path: Path, version: int) -> Path:
    """Where the copy of a database of `version` lies."""
    return path.with_name(f"{path.name}.v{version}.bak")


def backups(folder: Path) -> list[Path]:
    """Every copy that a migration left, half ones too.

    They hold what has been deleted since, so they go with the first deletion, or after some days (`Sounds`).
    """
    return sorted(folder.glob("*.sqlite.v*.bak*"))


def back_up(connection: sqlite3.Connection, target: Path) -> None:
    """Write a copy that is whole, whoever writes meanwhile, and on the disk, before it has its name."""
    unfinished = target.with_name(f"{target.name}.new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=FILE_MODE)
    copy = sqlite3.connect(unfinished, isolation_level=None)
    try:
        connection.backup(copy)
    finally:
        copy.close()
    with unfinished.open("rb+") as file:
        os.fsync(file.fileno())
    unfinished.replace(target)


def _prove_rows(connection: sqlite3.Connection, seal: ColumnSeal) -> None:
    """Give every recording its MAC, and the library the sum of them and an audit log to begin."""
    rows = connection.execute("SELECT * FROM recordings").fetchall()
    macs = [_mac_2(dict(row), seal) for row in rows]
    changes = [(mac, row["take_id"]) for mac, row in zip(macs, rows, strict=True)]
    connection.executemany("UPDATE recordings SET mac = ? WHERE take_id = ?", changes)
    version = connection.execute("SELECT version FROM library").fetchone()["version"]
    proofs = (_sum_2(seal, macs, version), seal_head(seal, Head(), version))
    connection.execute("UPDATE library SET rows_sum = ?, audit_head = ?", proofs)


def _mac_2(row: Mapping[str, Any], seal: ColumnSeal) -> bytes:
    """The MAC of a recording in version 2."""
    return seal.mac(row[name] for name in _PROVED_2)


def _sum_2(seal: ColumnSeal, macs: Iterable[object], version: int) -> bytes:
    """The sum of all recordings in version 2."""
    numbers = (int.from_bytes(mac, "big") for mac in macs if isinstance(mac, bytes))
    total = sum(numbers) % (1 << (8 * MAC_BYTES))
    return total.to_bytes(MAC_BYTES, "big") + seal.mac_of(f"rows/{version}/{total}")


def _prove_tables(connection: sqlite3.Connection, seal: ColumnSeal) -> None:
    """Have the recordings speak for their events and results too, and sum up every table.

    A row that version 2 had not proved gets no proof here, and a list that version 2 found incomplete gets no sums.
    """
    rows = [dict(row) for row in connection.execute("SELECT * FROM recordings").fetchall()]
    library = connection.execute("SELECT version, rows_sum FROM library").fetchone()
    was_whole = library["rows_sum"] == _sum_2(seal, (row["mac"] for row in rows), library["version"])
    proved = [row for row in rows if row["mac"] == _mac_2(row, seal)]
    rebuild(connection)
    events = {row["take_id"]: dict(row) for row in connection.execute(f"SELECT {', '.join(EVENT)} FROM pending")}  # noqa: S608
    nonces = dict(connection.execute("SELECT take_id, substr(sealed, 1, 12) FROM results").fetchall())
    changes = []
    for row in proved:
        event = events.get(row["take_id"])
        row["event_mac"] = None if event is None else event_mac_of(event, seal)
        row["result_nonce"] = result_nonce_of(nonces.get(row["take_id"]))
        changes.append((row["event_mac"], row["result_nonce"], mac_of(row, seal), row["take_id"]))
    connection.executemany("UPDATE recordings SET event_mac = ?, result_nonce = ?, mac = ? WHERE take_id = ?", changes)
    for table, key in (("trajectories", "group_id"), ("reads", "name")):
        _seal_with_time(connection, seal, table, key)
    sums = sums_of(lambda query: connection.execute(query).fetchall(), seal)
    kept = seal_sums(seal, sums, library["version"]) if was_whole else None
    connection.execute("UPDATE library SET sums = ?", (kept,))


def _seal_with_time(connection: sqlite3.Connection, seal: ColumnSeal, table: str, key: str) -> None:
    """Seal what was read of the service to the time of reading too."""
    for row in connection.execute(f"SELECT rowid, {key}, read_at, sealed FROM {table}").fetchall():  # noqa: S608
        place = f"{table}/{row[key]}"
        with suppress(InvalidTag):  # it is read again
            sealed = seal.seal(seal.open(row["sealed"], place), f"{place}/{row['read_at']}")
            connection.execute(f"UPDATE {table} SET sealed = ? WHERE rowid = ?", (sealed, row["rowid"]))  # noqa: S608


_STEPS = {
    1: Step(
        """
        ALTER TABLE library ADD COLUMN rows_sum BLOB;
        ALTER TABLE library ADD COLUMN audit_head BLOB;
        CREATE TABLE results (
          take_id TEXT PRIMARY KEY REFERENCES recordings (take_id) ON DELETE CASCADE,
          sealed BLOB NOT NULL
        );
        INSERT INTO results SELECT take_id, result FROM recordings WHERE result IS NOT NULL;
        ALTER TABLE recordings DROP COLUMN result;
        ALTER TABLE recordings ADD COLUMN take_key BLOB;
        ALTER TABLE recordings ADD COLUMN sound_sha256 TEXT;
        ALTER TABLE recordings ADD COLUMN sent_sha256 TEXT;
        ALTER TABLE recordings ADD COLUMN result_at TEXT;
        ALTER TABLE recordings ADD COLUMN audio_gone_at TEXT;
        ALTER TABLE recordings ADD COLUMN bundle_id TEXT;
        ALTER TABLE recordings ADD COLUMN mac BLOB;
        CREATE INDEX recordings_by_time ON recordings (recorded_at);
        CREATE INDEX recordings_with_result_and_sound ON recordings (result_at)
          WHERE state = 'done' AND audio_gone_at IS NULL;
        ALTER TABLE pending ADD COLUMN uploaded_at TEXT;
        ALTER TABLE pending ADD COLUMN released INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE settings (name TEXT PRIMARY KEY, sealed BLOB NOT NULL);
        CREATE TABLE requests (bucket TEXT NOT NULL, at TEXT NOT NULL);
        CREATE TABLE trajectories (group_id TEXT PRIMARY KEY, read_at TEXT NOT NULL, sealed BLOB NOT NULL);
        CREATE TABLE subjects (group_id TEXT PRIMARY KEY, sealed BLOB NOT NULL);
        CREATE TABLE opened (take_id TEXT PRIMARY KEY REFERENCES recordings (take_id) ON DELETE CASCADE);
        INSERT INTO opened SELECT take_id FROM recordings WHERE state = 'done';
        CREATE TABLE reads (name TEXT PRIMARY KEY, read_at TEXT NOT NULL, sealed BLOB NOT NULL);
        CREATE TABLE bundles (
          bundle_id TEXT PRIMARY KEY,
          made_at TEXT NOT NULL,
          settled INTEGER NOT NULL,
          sealed BLOB NOT NULL
        );
        CREATE TABLE audit (
          seq INTEGER PRIMARY KEY,
          at TEXT NOT NULL,
          who TEXT NOT NULL,
          what TEXT NOT NULL,
          take_id TEXT,
          detail TEXT NOT NULL DEFAULT '',
          mac BLOB NOT NULL
        );
        CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
        BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
        CREATE TRIGGER audit_is_never_shortened BEFORE DELETE ON audit
        BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END;
        """,
        _prove_rows,
    ),
    2: Step("", _prove_tables),
}
