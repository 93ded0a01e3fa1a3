"""Bring a library of an earlier version up to date: a copy first, then step by step, each whole or not at all."""

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vbdesk.outbox.library.audit import Head, seal_head
from vbdesk.outbox.library.column_seal import ColumnSeal, seal_sum, sum_of
from vbdesk.outbox.library.rows import mac_of
from vbdesk.privacy import FILE_MODE


class MigrationFailed(Exception):
    """The library is as it was before; `str(error)` is one sentence for a person."""


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
    try:
        back_up(connection, backup_path(path, found))
        for version in range(found, wanted):
            step = _STEPS[version]
            connection.executescript(f"BEGIN IMMEDIATE; {step.tables}")
            step.fill(connection, seal)
            connection.execute("UPDATE library SET schema_version = ?", (version + 1,))
            connection.execute("COMMIT")
    except (sqlite3.Error, OSError) as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise MigrationFailed(
            "The list of recordings could not be brought up to date, so it was left as it was. "
            "Make room on the disk and start again."
        ) from error


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
    macs = [mac_of(dict(row), seal) for row in rows]
    changes = [(mac, row["take_id"]) for mac, row in zip(macs, rows, strict=True)]
    connection.executemany("UPDATE recordings SET mac = ? WHERE take_id = ?", changes)
    version = connection.execute("SELECT version FROM library").fetchone()["version"]
    proofs = (seal_sum(seal, sum_of(macs), version), seal_head(seal, Head(), version))
    connection.execute("UPDATE library SET rows_sum = ?, audit_head = ?", proofs)


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
}
