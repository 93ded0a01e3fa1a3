"""The database behind the library and the upload queue: transactions, versions, and rows as items."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.exceptions import InvalidTag

from vbdesk.capture.encrypted_take import FileDamaged
from vbdesk.clock import Clock
from vbdesk.contract.ids import new_id
from vbdesk.language import N_, message
from vbdesk.outbox.library import maintenance
from vbdesk.outbox.library.audit import AuditActor
from vbdesk.outbox.library.database import ColumnCipher, open_database
from vbdesk.outbox.library.encrypted_sqlite import Connection, DatabaseRow
from vbdesk.outbox.library.items import RecordingItem, TakeMetadata, details_json
from vbdesk.outbox.library.journal import Journal
from vbdesk.outbox.library.proved_tables import ProvedTables
from vbdesk.outbox.library.recording_cache import RecordingCache
from vbdesk.outbox.library.rollback_detection import MarkFile
from vbdesk.outbox.library.rows import (
    EVENT,
    ROW_CHANGED,
    event_is_authentic,
    event_mac_of,
    mac_of,
    result_nonce_of,
    row_is_authentic,
)
from vbdesk.outbox.library.states import Fix, IllegalStateChange, OutboxState, check_move
from vbdesk.outbox.library.stored_reasons import written_reason
from vbdesk.outbox.library.structure import drop_foreign_triggers, is_ours
from vbdesk.outbox.library.table_checksums import (
    RECORDINGS,
    open_sums,
    seal_sums,
    sums_of,
)
from vbdesk.privacy import make_private

SEND, FOLLOW = "send", "follow"
SEND_ANYWAY = "send anyway"  # a person decided so although another computer may have sent the recording
NOT_ASKED: dict[str, object] = {"asked_at": None, "asked_service_at": None}
"""Columns of an event in `pending` before the analysis is requested."""
ROWS_MISSING = N_(
    "Entries of the list of recordings were removed, or replaced by older ones, by something other than vbdesk. "
    "Compare the list with your notes."
)
STRUCTURE_CHANGED = N_(
    "The structure of the list of recordings was changed by something other than vbdesk. It was put right, and a copy "
    "of the changed list is kept beside it."
)
_EVENT = (
    f"SELECT event_mac, {', '.join(f'pending.{name}' for name in EVENT)} "  # noqa: S608 - names are ours
    "FROM main.pending LEFT JOIN main.recordings USING (take_id) WHERE event_id = ?"
)
ROOM_BYTES = 256 * 1024  # with less, the next few changes would fail again


class UnknownTake(Exception):
    """There is no recording with this id here."""


class Store(ProvedTables):
    """Rows of one library.

    Thread-safe. Subscribers are called in the thread that made a change, after the commit.

    Attributes:
        journal: the events of subjects.
        findings: damage to the list as a whole that no person has accepted, see `check_library`.
        unknown: why it is unknown whether the list is the newest one, as a sentence; None if it is known.
        highest_mark: the highest mark at the opening, see `rollback_detection`.
    """

    def __init__(self, folder: Path, key: bytes, clock: Clock, actor: AuditActor | None = None) -> None:
        self.clock = clock
        self.key = key
        self.folder = folder
        self.takes_folder = folder / "takes"
        make_private(self.takes_folder)
        cipher = ColumnCipher(key)
        database, self.structure_was_changed = open_database(folder / "library.sqlite", key, cipher, self.now())
        super().__init__(database, cipher, self.now, actor)
        self._depth = 0
        self._after_commit: list[Callable[[], None]] = []
        self.journal = Journal(self)
        self._subscribers: list[Callable[[], None]] = []
        self._progress: dict[str, tuple[int, int]] = {}
        self._cache = RecordingCache(self.rows, self.cipher)
        self.mark_file = MarkFile(folder, self.cipher)
        self.findings: tuple[str, ...] = ()
        self.unknown: str | None = None
        self.highest_mark = 0
        self._seen_commit = self.last_foreign_commit()

    @property
    def sending_blocked(self) -> bool:
        """Whether nothing may be sent until a person or the keyring has acted."""
        return bool(self.findings) or self.unknown is not None

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()

    def path(self, take_id: str) -> Path:
        """Path of the encrypted sound of a recording."""
        return self.takes_folder / f"{take_id}.take"

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """A transaction: committed at the end, rolled back by an exception; may be nested. Notifies subscribers.

        Change rows only through the methods of the store, which maintain the MACs: `recordings` through `insert`,
        `update`, `move`, `set_deleted` and `forget`; `pending` through `add_event`, `write_event` and `remove_event`;
        the tables of `PROVED_TABLES` through `add`, `put` and `drop`.
        """
        with self._lock:
            if self._depth:
                yield self._database
                return
            self._database.execute("BEGIN IMMEDIATE")
            self._depth = 1  # only now: if BEGIN fails, a later change needs a transaction of its own
            try:
                self._begin_change()
                yield self._database
                self._end_change()
                self._database.execute("COMMIT")
            except BaseException:
                self._cache.clear()
                self.journal.undo_change()
                self._after_commit.clear()
                self._undo()
                raise
            finally:
                self._depth = 0
            if not self.sending_blocked:  # the mark does not move until a person has accepted the copy
                self.mark_file.write(self.version())
            afterwards, self._after_commit = self._after_commit, []
            for work in afterwards:
                work()
        self.notify()

    @contextmanager
    def changing_silently(self) -> Iterator[Connection]:
        """A transaction that changes no recording: counts no version and notifies nobody."""
        with self._lock:
            if self._depth:
                yield self._database
                return
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                self._undo()
                raise

    def check_disk(self) -> None:
        """Check that the disk accepts writes and has some room. Raises sqlite3.Error, OSError."""
        probe = self.folder / "room.probe"
        try:
            with probe.open("wb") as file:
                file.write(bytes(ROOM_BYTES))
                file.flush()
                os.fsync(file.fileno())
        finally:
            probe.unlink(missing_ok=True)
        with self.changing_silently() as database:
            database.execute("UPDATE library SET version = version")

    def after_commit(self, work: Callable[[], None]) -> None:
        """Call `work` after the present transaction is committed, before subscribers are notified."""
        self._after_commit.append(work)

    def version(self) -> int:
        """The number of changes so far."""
        version: int = self.rows("SELECT version FROM library")[0]["version"]
        return version

    def get(self, take_id: str) -> RecordingItem:
        """One recording. Raises UnknownTake."""
        items = self.items("take_id = ?", (take_id,))
        if not items:
            raise UnknownTake(message("This recording is no longer on this computer."))
        return items[0]

    def items(self, condition: str, values: tuple[object, ...] = (), order: str = "take_id") -> list[RecordingItem]:
        """Recordings that match an SQL condition; each version of a row is read and decrypted once."""
        with self._lock:
            return [self._with_progress(item) for item in self._cache.items("recordings", condition, values, order)]

    def trashed(self, condition: str, values: tuple[object, ...] = ()) -> list[RecordingItem]:
        """Recordings of the trash that match an SQL condition, the last deleted first."""
        with self._lock:
            return self._cache.items("trash", condition, values, "deleted_at DESC, take_id")

    @property
    def faulty(self) -> frozenset[str]:
        """Recordings read so far whose entry somebody else changed: they are left alone."""
        return frozenset(self._cache.faulty)

    def is_intact(self, take_id: str) -> bool:
        """Whether the desk wrote a recording's entry, also one of the trash; operations on many skip the others."""
        found = self.items("take_id = ?", (take_id,)) or self.trashed("take_id = ?", (take_id,))
        return bool(found) and found[0].fault is None  # none: its take id is damaged

    def reread(self, take_id: str) -> None:
        """Read and authenticate a recording again, since a part of it was changed."""
        self._cache.drop(take_id)
        self.is_intact(take_id)

    def insert(self, take_id: str, metadata: TakeMetadata, duration_s: float, *, imported: bool) -> None:
        """Insert a new `checked` recording. Within a transaction."""
        now = self.now()
        columns: dict[str, object] = {
            "take_id": take_id,
            "group_id": metadata.group_id,
            "recorded_at": self.free_moment(metadata.recorded_at),
            "target": str(metadata.target),
            "longitudinal": metadata.longitudinal,
            "duration_s": duration_s,
            "imported": imported,
            "details": self.cipher.encrypt(details_json(metadata), f"{take_id}/details"),
            "state": OutboxState.CHECKED,
            "created_at": now,
            "updated_at": now,
            "version": self.version(),
        }
        self._insert(columns)

    def free_moment(self, recorded_at: datetime) -> str:
        """This moment as stored, increased by microseconds until no other recording has it, in the trash neither."""
        while self.rows("SELECT 1 FROM main.recordings WHERE recorded_at = ?", (time_text(recorded_at),)):
            recorded_at += timedelta(microseconds=1)
        return time_text(recorded_at)

    def is_taken(self, group_id: str, recorded_at: datetime, but: str = "") -> bool:
        """Whether a recording other than `but` has this subject and moment, also one of the trash."""
        query = "SELECT 1 FROM main.recordings WHERE group_id = ? AND recorded_at = ? AND take_id <> ?"
        return bool(self.rows(query, (group_id, time_text(recorded_at), but)))

    def store_details(self, take_id: str, metadata: TakeMetadata) -> None:
        """Replace the encrypted metadata of a recording. Within a transaction."""
        self.update(take_id, {"details": self.cipher.encrypt(details_json(metadata), f"{take_id}/details")})

    def take_key(self, take_id: str) -> bytes | None:
        """The key of a recording's sound; None if it is encrypted with the library's.

        Raises:
            UnknownTake: there is no such recording.
            FileDamaged: somebody else changed the stored key.
        """
        rows = self.rows("SELECT take_key FROM recordings WHERE take_id = ?", (take_id,))
        if not rows:
            raise UnknownTake(message("This recording is no longer on this computer."))
        sealed: bytes | None = rows[0]["take_key"]
        try:
            return None if sealed is None else self.cipher.decrypt(sealed, f"{take_id}/key")
        except InvalidTag as error:
            raise FileDamaged(
                message("The key to the sound of this recording was changed, so the sound cannot be opened.")
            ) from error

    def store_take_key(self, take_id: str, take_key: bytes) -> None:
        """Store the key of a recording's sound. Within a transaction."""
        self.update(take_id, {"take_key": self.cipher.encrypt(take_key, f"{take_id}/key")})

    def move(self, take_id: str, state: OutboxState, reason: str | None = None, fix: Fix | None = None) -> None:
        """Change a recording's state along the table of edges. Within a transaction.

        A doubt about its time stays, unless there is another reason.

        Raises:
            IllegalStateChange: the table has no such edge.
        """
        item = self.get(take_id)
        check_move(item.state, state)
        if reason is None and item.fix is Fix.SET_CLOCK:
            reason, fix = item.reason, item.fix
        self.update(take_id, {"state": state, "reason": reason, "fix": fix, "updated_at": self.now()})
        self._progress.pop(take_id, None)

    def update(self, take_id: str, columns: Mapping[str, object]) -> None:
        """Write columns of a recording. Within a transaction.

        Raises:
            UnknownTake: there is no such recording.
            IllegalStateChange: somebody else changed its entry, which is left as it is.
        """
        self._write(self._row(take_id), columns)

    def set_deleted(self, take_id: str, deleted_at: str | None) -> None:
        """Move a recording to the trash, date it again there, or (None) restore it. Within a transaction.

        Raises:
            UnknownTake, IllegalStateChange: as for `update`.
        """
        self._write(self._row(take_id, "main.recordings"), {"deleted_at": deleted_at})
        self._progress.pop(take_id, None)

    def _write(self, before: DatabaseRow, columns: Mapping[str, object]) -> None:
        take_id = before["take_id"]
        self._cache.drop(take_id)
        if not row_is_authentic(dict(before), self.cipher):
            self._cache.faulty.add(take_id)
            raise IllegalStateChange(ROW_CHANGED)
        changed = {**columns, "version": self.version()}
        if "reason" in columns:
            changed["reason"] = written_reason(columns["reason"])
        assignments = ", ".join(f"{name} = ?" for name in changed)
        self._database.execute(
            f"UPDATE main.recordings SET {assignments} WHERE take_id = ?",  # noqa: S608 - names are ours
            (*changed.values(), take_id),
        )
        self._prove(take_id)

    def touch(self, take_id: str) -> None:
        """Count a recording as changed, so that views read it again. Within a transaction."""
        self.update(take_id, {})

    def store_result(self, take_id: str, result: bytes, result_at: datetime | None) -> None:
        """Store a result, and when the service completed it. Within a transaction."""
        sealed = self.cipher.encrypt(result, f"{take_id}/result")
        self._database.execute("INSERT OR REPLACE INTO main.results VALUES (?, ?)", (take_id, sealed))
        when = None if result_at is None else time_text(result_at)
        self.update(take_id, {"result_at": when, "result_nonce": result_nonce_of(sealed)})

    def setting(self, name: str) -> bytes | None:
        """The setting `name`; None if there is none, or somebody else wrote it."""
        rows = self.rows("SELECT sealed FROM settings WHERE name = ?", (name,))
        try:
            return self.cipher.decrypt(rows[0]["sealed"], f"settings/{name}") if rows else None
        except InvalidTag:
            return None

    def store_setting(self, name: str, content: bytes) -> None:
        """Store `content` as the setting `name`. Within a transaction."""
        sealed = self.cipher.encrypt(content, f"settings/{name}")
        self.put("settings", name, sealed)

    def trajectory(self, group_id: str) -> tuple[bytes, datetime] | None:
        """A subject's last trajectory, and when it was read; None if there is none."""
        rows = self.rows("SELECT read_at, sealed FROM trajectories WHERE group_id = ?", (group_id,))
        if not rows:
            return None
        try:
            body = self.cipher.decrypt(rows[0]["sealed"], f"trajectories/{group_id}/{rows[0]['read_at']}")
            return body, datetime.fromisoformat(rows[0]["read_at"])
        except (InvalidTag, TypeError, ValueError):  # the sync worker reads it again
            return None

    def store_trajectory(self, group_id: str, body: bytes) -> None:
        """Store a subject's trajectory. Within a transaction."""
        read_at = self.now()
        sealed = self.cipher.encrypt(body, f"trajectories/{group_id}/{read_at}")
        self._database.execute("INSERT OR REPLACE INTO trajectories VALUES (?, ?, ?)", (group_id, read_at, sealed))

    def forget_trajectory(self, group_id: str) -> None:
        """Delete a subject's trajectory. Within a transaction."""
        self._database.execute("DELETE FROM trajectories WHERE group_id = ?", (group_id,))

    def event(self, event_id: str) -> DatabaseRow | None:
        """The row of `pending` with this id, also of a recording of the trash; None if there is none."""
        rows = self.rows("SELECT * FROM main.pending WHERE event_id = ?", (event_id,))
        return rows[0] if rows else None

    def add_event(self, take_id: str, kind: str, columns: Mapping[str, object] | None = None) -> None:
        """Add an event for a recording, in place of its present one. Within a transaction.

        Args:
            take_id: the recording.
            kind: SEND or FOLLOW.
            columns: values of `pending`, by name; without an `event_id` a new one is made.
        """
        self._database.execute("DELETE FROM main.pending WHERE take_id = ?", (take_id,))
        row = {"event_id": new_id(), "take_id": take_id, "kind": kind, **(columns or {})}
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        self._database.execute(f"INSERT INTO main.pending ({names}) VALUES ({marks})", tuple(row.values()))  # noqa: S608
        self._prove_event(take_id)

    def write_event(self, event_id: str, columns: Mapping[str, object]) -> bool:
        """Write columns of an event, also of a recording of the trash; False if there is none. Within a transaction.

        Raises:
            IllegalStateChange: somebody else changed the event or its recording, which are left as they are.
        """
        rows = self.rows(_EVENT, (event_id,))
        if not rows:
            return False
        take_id: str = rows[0]["take_id"]
        if not event_is_authentic(rows[0], self.cipher):
            self.reread(take_id)
            raise IllegalStateChange(ROW_CHANGED)
        assignments = ", ".join(f"{name} = ?" for name in columns)
        self._database.execute(
            f"UPDATE main.pending SET {assignments} WHERE event_id = ?",  # noqa: S608 - names are ours
            (*columns.values(), event_id),
        )
        self._prove_event(take_id)
        return True

    def restart_event(self, take_id: str) -> None:
        """Reset the retries of a recording's event. Within a transaction."""
        self.write_event_of(take_id, {"attempts": 0, "not_before": None})

    def write_event_of(self, take_id: str, columns: Mapping[str, object]) -> bool:
        """Write columns of a recording's event; see `write_event`. Within a transaction."""
        rows = self.rows("SELECT event_id FROM main.pending WHERE take_id = ?", (take_id,))
        return bool(rows) and self.write_event(rows[0]["event_id"], columns)

    def remove_event(self, take_id: str) -> None:
        """Delete a recording's event. Within a transaction."""
        self._database.execute("DELETE FROM main.pending WHERE take_id = ?", (take_id,))
        self._prove_event(take_id)

    def asked(self, take_id: str) -> bool:
        """Whether the analysis was requested without an answer yet."""
        return bool(self.rows("SELECT 1 FROM pending WHERE take_id = ? AND asked_at IS NOT NULL", (take_id,)))

    def forget(self, take_id: str) -> None:
        """Delete a recording's row, and with it the key of its sound; also one of the trash. Within a transaction.

        Raises:
            UnknownTake: there is no such recording.
        """
        self._count(RECORDINGS, self._row(take_id, "main.recordings")["mac"], None)
        self.drop("opened", take_id)
        self._database.execute("DELETE FROM main.recordings WHERE take_id = ?", (take_id,))
        self.put("removed", take_id, self.version())
        self._cache.drop(take_id)
        self._progress.pop(take_id, None)
        self._cache.faulty.discard(take_id)

    def scrub(self, gone: Collection[bytes] = (), *, whole: bool = False) -> None:
        """Remove deleted values from the database's files; see `maintenance`. Outside a transaction."""
        with self._lock:
            maintenance.scrub(self._database, gone, whole=whole)

    def row(self, take_id: str) -> dict[str, object]:
        """A recording's row as stored, also one of the trash. Raises UnknownTake."""
        return dict(self._row(take_id, "main.recordings"))

    def check_structure(self) -> None:
        """Check that the database is readable; see `maintenance`. Raises sqlite3.DatabaseError."""
        with self._lock:
            maintenance.check_structure(self._database)

    def is_whole(self) -> bool:
        """Whether every table has the same rows as after the last change."""
        library = self.rows("SELECT version, sums FROM library")[0]
        return open_sums(self.cipher, library["sums"], library["version"]) == sums_of(self.rows, self.cipher)

    def recount_rows(self) -> None:
        """Accept the present rows as complete, once the change was reported."""
        with self.changing():
            self._sums = sums_of(self.rows, self.cipher)

    def destroy_keys_again(self) -> None:
        """Destroy keys that an erasure has destroyed, and that somebody put back."""
        with self.changing():
            found = self.journal.destroy_again()
        if found:
            self.scrub(whole=True)

    def skip_versions(self, version: int) -> None:
        """Continue counting from `version` if that is higher. Within a transaction."""
        self._database.execute("UPDATE library SET version = max(version, ? + 1)", (version,))

    def report_progress(self, take_id: str, sent: int, total: int) -> None:
        """Store the progress of an upload, in memory only."""
        self._progress[take_id] = (sent, total)
        self.notify()

    def in_progress(self) -> list[str]:
        """Recordings whose progress may have changed."""
        return list(self._progress)

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every change; returns a function that stops it."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def now(self) -> str:
        """The time as stored: ISO 8601 in UTC, sortable as text."""
        return time_text(self.clock.now())

    def notify(self) -> None:
        """Notify subscribers of a change that is not in the database."""
        for callback in list(self._subscribers):
            callback()

    def _undo(self) -> None:
        if self._database.in_transaction:  # SQLite may have rolled back itself, on a full disk
            self._database.execute("ROLLBACK")

    def _look_for_foreign_writes(self) -> None:
        """Before a change: if somebody else wrote to the open database, drop foreign triggers and block sending."""
        commit = self.last_foreign_commit()
        if commit == self._seen_commit:
            return
        self._cache.clear()
        self.trashed("TRUE")  # as at an opening
        self.journal.forget()
        found = []
        if not is_ours(self._database):
            drop_foreign_triggers(self._database)
            found.append(STRUCTURE_CHANGED)
        if not self.is_whole():
            found.append(ROWS_MISSING)
        self.findings = tuple(dict.fromkeys((*self.findings, *found)))
        self._seen_commit = commit

    def _begin_change(self) -> None:
        self._look_for_foreign_writes()
        self.journal.begin_change()
        library = self._database.execute("SELECT version, sums, audit_head FROM library").fetchone()
        self._sums = open_sums(self.cipher, library["sums"], library["version"])
        self.log.begin_change(library["audit_head"], library["version"])
        self._database.execute("UPDATE library SET version = version + 1")

    def _end_change(self) -> None:
        version = self.version()
        head = self.log.end_change(version)
        self._database.execute("UPDATE library SET audit_head = ?", (head,))
        if self._sums is not None:  # foreign sums stay, so that they are detected
            self._database.execute("UPDATE library SET sums = ?", (seal_sums(self.cipher, self._sums, version),))

    def _with_progress(self, item: RecordingItem) -> RecordingItem:
        sent, total = self._progress.get(item.take_id, (0, 0))
        return replace(item, bytes_sent=sent, bytes_total=total) if total else item

    def _row(self, take_id: str, table: str = "recordings") -> DatabaseRow:
        rows = self.rows(f"SELECT * FROM {table} WHERE take_id = ?", (take_id,))  # noqa: S608 - names are ours
        if not rows:
            raise UnknownTake(message("This recording is no longer on this computer."))
        return rows[0]

    def _insert(self, columns: Mapping[str, object]) -> None:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        self._database.execute(
            f"INSERT INTO main.recordings ({names}) VALUES ({marks})",  # noqa: S608 - names are ours
            tuple(columns.values()),
        )
        self._prove(str(columns["take_id"]))

    def _prove(self, take_id: str) -> None:
        """Update the MAC of a changed row."""
        row = self._row(take_id, "main.recordings")
        mac = mac_of(dict(row), self.cipher)
        self._count(RECORDINGS, row["mac"], mac)
        self._database.execute("UPDATE main.recordings SET mac = ? WHERE take_id = ?", (mac, take_id))

    def _prove_event(self, take_id: str) -> None:
        """Update a recording's MAC of its event."""
        rows = self.rows("SELECT * FROM main.pending WHERE take_id = ?", (take_id,))
        known = event_mac_of(rows[0], self.cipher) if rows else None
        self._write(self._row(take_id, "main.recordings"), {"event_mac": known})


def time_text(moment: datetime) -> str:
    """A moment as stored."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
