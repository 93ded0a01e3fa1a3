"""Migrate a library of an earlier version: copy it first, then one transaction per step."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from vbdesk.language import message
from vbdesk.outbox.library.audit import AuditHead, seal_head
from vbdesk.outbox.library.column_encryption import MAC_BYTES, ColumnCipher, InvalidTag
from vbdesk.outbox.library.consent import event_of_tick
from vbdesk.outbox.library.consent_rows import encrypted_row
from vbdesk.outbox.library.rows import EVENT, event_mac_of, lenient, mac_of, result_nonce_of, row_is_authentic
from vbdesk.outbox.library.structure import TableMissing, check_columns, is_ours, rebuild, trigger_drop_statements
from vbdesk.outbox.library.table_checksums import open_sums, seal_sums, sums_of
from vbdesk.privacy import FILE_MODE


class LibraryMigrationFailed(Exception):
    """The library is unchanged; `str(error)` is one sentence for a person."""


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
"""Columns covered by the MAC of a recording in version 2."""


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """One version to the next: the changes of tables, then the values computed for their rows."""

    tables: str
    fill: Callable[[sqlite3.Connection, ColumnCipher], None]


def migrate(connection: sqlite3.Connection, path: Path, cipher: ColumnCipher, found: int, wanted: int) -> None:
    """Migrate the database at `path` from version `found` to `wanted`.

    Each step is one transaction, so a kill at any moment leaves the version before it or after it.

    Raises:
        LibraryMigrationFailed: a step failed, or there is no room for the copy. The database still works with the
            version of the desk that made it.
    """
    if found == wanted:
        return
    with _whole_or_not(connection, path, found):
        for version in range(found, wanted):
            step = _STEPS[version]
            drops = "".join(f"{statement};" for statement in trigger_drop_statements(connection))
            connection.executescript(f"BEGIN IMMEDIATE; {drops} {step.tables}")
            step.fill(connection, cipher)
            connection.execute("UPDATE library SET schema_version = ?", (version + 1,))
            connection.execute("COMMIT")


def repair(connection: sqlite3.Connection, path: Path, version: int) -> bool:
    """Restore the structure of a database of the present version; False if it is intact already.

    Raises:
        TableMissing: a table or a column is missing.
        LibraryMigrationFailed: there is no room for the copy, or a row does not fit; the database is unchanged.
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
    """Copy the database first; undo a change that fails."""
    try:
        back_up(connection, backup_path(path, version))
        connection.execute("PRAGMA foreign_keys = OFF")  # else dropping a table deletes rows of others
        connection.execute("PRAGMA legacy_alter_table = ON")  # else renaming a table renames references to it
        connection.text_factory = lenient
        yield
    except (sqlite3.Error, OSError, TableMissing) as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise LibraryMigrationFailed(
            message(
                "The list of recordings could not be brought up to date, so it was left as it was. "
                "Make room on the disk and start again."
            )
        ) from error
    finally:
        connection.text_factory = str
        connection.execute("PRAGMA legacy_alter_table = OFF")
        connection.execute("PRAGMA foreign_keys = ON")


def backup_path(path: Path, version: int) -> Path:
    """Path of the copy of a database of `version`."""
    return path.with_name(f"{path.name}.v{version}.bak")


def backups(folder: Path) -> list[Path]:
    """Every copy that a migration left, unfinished ones too.

    They hold what was deleted since, so they are deleted with the first deletion, or after some days (`SoundFiles`).
    """
    return sorted(folder.glob("*.sqlite.v*.bak*"))


def back_up(connection: sqlite3.Connection, target: Path) -> None:
    """Write a consistent copy to the disk before it gets its name, even during other writes."""
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


def _prove_rows(connection: sqlite3.Connection, cipher: ColumnCipher) -> None:
    """Add MACs to every recording, their sum to the library, and an audit log."""
    rows = connection.execute("SELECT * FROM recordings").fetchall()
    macs = [_mac_2(dict(row), cipher) for row in rows]
    changes = [(mac, row["take_id"]) for mac, row in zip(macs, rows, strict=True)]
    connection.executemany("UPDATE recordings SET mac = ? WHERE take_id = ?", changes)
    version = connection.execute("SELECT version FROM library").fetchone()["version"]
    proofs = (_sum_2(cipher, macs, version), seal_head(cipher, AuditHead(), version))
    connection.execute("UPDATE library SET rows_sum = ?, audit_head = ?", proofs)


def _mac_2(row: Mapping[str, Any], cipher: ColumnCipher) -> bytes:
    """The MAC of a recording in version 2."""
    return cipher.mac(row[name] for name in _PROVED_2)


def _sum_2(cipher: ColumnCipher, macs: Iterable[object], version: int) -> bytes:
    """The sum of all recordings in version 2."""
    numbers = (int.from_bytes(mac, "big") for mac in macs if isinstance(mac, bytes))
    total = sum(numbers) % (1 << (8 * MAC_BYTES))
    return total.to_bytes(MAC_BYTES, "big") + cipher.mac_of(f"rows/{version}/{total}")


def _prove_tables(connection: sqlite3.Connection, cipher: ColumnCipher) -> None:
    """Extend the MACs of recordings to their events and results, and add a sum for every table.

    A row that version 2 had not authenticated gets no MAC; a list that version 2 found incomplete gets no sums.
    """
    rows = [dict(row) for row in connection.execute("SELECT * FROM recordings").fetchall()]
    library = connection.execute("SELECT version, rows_sum FROM library").fetchone()
    was_whole = library["rows_sum"] == _sum_2(cipher, (row["mac"] for row in rows), library["version"])
    proved = [row for row in rows if row["mac"] == _mac_2(row, cipher)]
    rebuild(connection, new_tables=True)
    events = {row["take_id"]: dict(row) for row in connection.execute(f"SELECT {', '.join(EVENT)} FROM pending")}  # noqa: S608
    nonces = dict(connection.execute("SELECT take_id, substr(sealed, 1, 12) FROM results").fetchall())
    changes = []
    for row in proved:
        event = events.get(row["take_id"])
        row["event_mac"] = None if event is None else event_mac_of(event, cipher)
        row["result_nonce"] = result_nonce_of(nonces.get(row["take_id"]))
        changes.append((row["event_mac"], row["result_nonce"], mac_of(row, cipher), row["take_id"]))
    connection.executemany("UPDATE recordings SET event_mac = ?, result_nonce = ?, mac = ? WHERE take_id = ?", changes)
    for table, key in (("trajectories", "group_id"), ("reads", "name")):
        _seal_with_time(connection, cipher, table, key)
    sums = sums_of(lambda query: connection.execute(query).fetchall(), cipher)
    kept = seal_sums(cipher, sums, library["version"]) if was_whole else None
    connection.execute("UPDATE library SET sums = ?", (kept,))


def _seal_with_time(connection: sqlite3.Connection, cipher: ColumnCipher, table: str, key: str) -> None:
    """Encrypt cached answers again, bound to their time of reading too."""
    for row in connection.execute(f"SELECT rowid, {key}, read_at, sealed FROM {table}").fetchall():  # noqa: S608
        place = f"{table}/{row[key]}"
        with suppress(InvalidTag):  # the sync worker reads it again
            sealed = cipher.encrypt(cipher.decrypt(row["sealed"], place), f"{place}/{row['read_at']}")
            connection.execute(f"UPDATE {table} SET sealed = ? WHERE rowid = ?", (sealed, row["rowid"]))  # noqa: S608


def _move_ticks_to_consents(connection: sqlite3.Connection, cipher: ColumnCipher) -> None:
    """Add a consent event for each tick that is stored with a recording; the recordings keep theirs."""
    rebuild(connection, new_tables=True)
    was_whole = _is_whole(connection, cipher)
    for row in connection.execute("SELECT * FROM recordings").fetchall():
        ticked_at = _ticked_at(dict(row), cipher)
        if ticked_at is not None:
            event = event_of_tick(row["group_id"], ticked_at)
            connection.execute("INSERT OR IGNORE INTO consents VALUES (?, ?, ?)", encrypted_row(event, cipher))
    if was_whole:
        _seal_tables(connection, cipher)


def _ticked_at(row: Mapping[str, Any], cipher: ColumnCipher) -> datetime | None:
    """When consent was ticked for a recording; None if it was not, or somebody else changed the row."""
    if not row_is_authentic(row, cipher):
        return None
    with suppress(InvalidTag, KeyError, TypeError, ValueError):
        moment = datetime.fromisoformat(
            json.loads(cipher.decrypt(row["details"], f"{row['take_id']}/details"))["consented_at"]
        )
        return moment if moment.tzinfo is not None else None
    return None


def _add_tables(connection: sqlite3.Connection, cipher: ColumnCipher) -> None:
    """Make the tables that the earlier version did not have, and cover them by the sums."""
    rebuild(connection, new_tables=True)
    if _is_whole(connection, cipher):
        _seal_tables(connection, cipher)


def _keep_rows(connection: sqlite3.Connection, cipher: ColumnCipher) -> None:
    """Change no row: reasons are messages from now on, and earlier sentences are read as they are.

    The step has its own version, so that an earlier program does not show messages as if they were sentences.
    """
    rebuild(connection)


def _is_whole(connection: sqlite3.Connection, cipher: ColumnCipher) -> bool:
    """Whether every table has the rows of the last change; a table that the earlier version did not have is empty."""
    library = connection.execute("SELECT version, sums FROM library").fetchone()
    kept = open_sums(cipher, library["sums"], library["version"])
    found = sums_of(lambda query: connection.execute(query).fetchall(), cipher)
    return kept is not None and dict.fromkeys(found, 0) | kept == found


def _seal_tables(connection: sqlite3.Connection, cipher: ColumnCipher) -> None:
    """Accept the present rows as complete."""
    version = connection.execute("SELECT version FROM library").fetchone()["version"]
    sums = sums_of(lambda query: connection.execute(query).fetchall(), cipher)
    connection.execute("UPDATE library SET sums = ?", (seal_sums(cipher, sums, version),))


_STEPS = {
    1: MigrationStep(
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
    2: MigrationStep("", _prove_tables),
    3: MigrationStep("", _move_ticks_to_consents),
    4: MigrationStep("", _add_tables),
    5: MigrationStep("", _add_tables),
    6: MigrationStep("", _keep_rows),
}
