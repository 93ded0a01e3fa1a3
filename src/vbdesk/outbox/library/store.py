"""The one database behind the library and the line: transactions, versions, and rows as items."""

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.exceptions import InvalidTag

from vbdesk.capture.clock import Clock
from vbdesk.capture.sealed import Damaged
from vbdesk.contract.ids import new_id
from vbdesk.outbox.library import upkeep
from vbdesk.outbox.library.audit import Actor, AuditLog, Deed, Part
from vbdesk.outbox.library.column_seal import moved, open_sum, seal_sum, sum_of
from vbdesk.outbox.library.high_water import HighWater
from vbdesk.outbox.library.items import RecordingItem, TakeMetadata, details_json
from vbdesk.outbox.library.rows import ROW_CHANGED, is_proved, mac_of
from vbdesk.outbox.library.schema import ColumnSeal, open_database
from vbdesk.outbox.library.shelf import Shelf
from vbdesk.outbox.library.states import Fix, IllegalMove, OutboxState, check_move
from vbdesk.privacy import make_private

SEND, FOLLOW = "send", "follow"


class UnknownTake(Exception):
    """There is no recording with this id here."""


class Store:
    """Rows of one library.

    Safe to use from several threads. Subscribers are called in the thread that made a change, after it is on the disk.
    """

    def __init__(self, folder: Path, key: bytes, clock: Clock, actor: Actor | None = None) -> None:
        self.clock = clock
        self.key = key
        self.seal = ColumnSeal(key)
        self.folder = folder
        self.takes_folder = folder / "takes"
        make_private(self.takes_folder)
        self._lock = threading.RLock()
        self._depth = 0
        self._rows_sum = 0  # of the transaction under way
        self._afterwards: list[Callable[[], None]] = []
        self._database = open_database(folder / "library.sqlite", self.seal)
        self._audit = AuditLog(self._database, self.seal, actor or Actor())
        self._subscribers: list[Callable[[], None]] = []
        self._progress: dict[str, tuple[int, int]] = {}
        self._shelf = Shelf(self.rows, self.seal)
        self.high_water = HighWater(folder, self.seal)

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._database.close()

    def path(self, take_id: str) -> Path:
        """Where the sealed sound of a recording lies."""
        return self.takes_folder / f"{take_id}.take"

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, committed at the end, undone by an exception; may be nested. Subscribers hear of it.

        Columns of `recordings` change through `insert`, `update`, `move`, `forget` and `restore` alone: they keep the
        rows' proof.
        """
        with self._lock:
            if self._depth:
                yield self._database
                return
            self._depth = 1
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._begin_change()
                yield self._database
                self._end_change()
                self._database.execute("COMMIT")
            except BaseException:
                self._shelf.clear()
                self._afterwards.clear()
                self._undo()
                raise
            finally:
                self._depth = 0
            self.high_water.rise_to(self.version())
            afterwards, self._afterwards = self._afterwards, []
            for work in afterwards:
                work()
        self._tell()

    @contextmanager
    def quietly(self) -> Iterator[sqlite3.Connection]:
        """A transaction for what is no news of a recording: no version is counted, and nobody hears of it."""
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

    def afterwards(self, work: Callable[[], None]) -> None:
        """Have `work` done once the present transaction is on the disk, before subscribers hear of it."""
        self._afterwards.append(work)

    def note(self, what: Deed, take_id: str | None = None, detail: str = "", part: Part | None = None) -> None:
        """Tell the audit log what is done. Within the transaction that does it.

        Args:
            what: the deed.
            take_id: of which recording; None where it is none in particular.
            detail: a word or a number more, of ours: never what a person wrote.
            part: which part acts; the one that has opened the library if None.
        """
        self._audit.note(self.now(), what, take_id, detail, part)

    def rows(self, query: str, values: tuple[object, ...] = ()) -> list[sqlite3.Row]:
        """Read; characters that somebody else spoilt are replaced, so that a row's proof fails and not the reading."""
        with self._lock:
            try:
                return self._database.execute(query, values).fetchall()
            except (sqlite3.OperationalError, UnicodeDecodeError) as error:
                if "decode" not in str(error):
                    raise
                self._database.text_factory = _lenient  # slower, so not before it is needed
                return self._database.execute(query, values).fetchall()

    def version(self) -> int:
        """Counts the changes."""
        version: int = self.rows("SELECT version FROM library")[0]["version"]
        return version

    def get(self, take_id: str) -> RecordingItem:
        """One recording. Raises UnknownTake."""
        items = self.items("take_id = ?", (take_id,))
        if not items:
            raise UnknownTake("This recording is no longer on this computer.")
        return items[0]

    def items(self, condition: str, values: tuple[object, ...] = (), order: str = "take_id") -> list[RecordingItem]:
        """Recordings that meet a condition of ours; each row is read and opened once for each version of it."""
        with self._lock:
            return [self._with_progress(item) for item in self._shelf.items(condition, values, order)]

    @property
    def faulty(self) -> frozenset[str]:
        """Recordings whose entry is not as the desk wrote it, as far as they were read: nothing is done with them."""
        return frozenset(self._shelf.faulty)

    def is_as_written(self, take_id: str) -> bool:
        """Whether a recording's entry is as the desk wrote it: what is done to many leaves out those that are not."""
        try:
            return self.get(take_id).fault is None
        except UnknownTake:  # its very id is spoilt
            return False

    def insert(self, take_id: str, metadata: TakeMetadata, duration_s: float, *, imported: bool) -> None:
        """A new `checked` recording. Within a transaction."""
        now = self.now()
        columns: dict[str, object] = {
            "take_id": take_id,
            "group_id": metadata.group_id,
            "recorded_at": self.free_moment(metadata.recorded_at),
            "target": str(metadata.target),
            "longitudinal": metadata.longitudinal,
            "duration_s": duration_s,
            "imported": imported,
            "details": self.seal.seal(details_json(metadata), f"{take_id}/details"),
            "state": OutboxState.CHECKED,
            "created_at": now,
            "updated_at": now,
            "version": self.version(),
        }
        self._insert(columns)

    def free_moment(self, recorded_at: datetime) -> str:
        """This moment as the database keeps it, moved on by microseconds until no other recording here has it."""
        while self.rows("SELECT 1 FROM recordings WHERE recorded_at = ?", (time_text(recorded_at),)):
            recorded_at += timedelta(microseconds=1)
        return time_text(recorded_at)

    def keep_details(self, take_id: str, metadata: TakeMetadata) -> None:
        """Keep the sealed part of what is said of a recording, in place of the one before. Within a transaction."""
        self.update(take_id, {"details": self.seal.seal(details_json(metadata), f"{take_id}/details")})

    def take_key(self, take_id: str) -> bytes | None:
        """The key of a recording's sound; None if it is sealed with the library's.

        Raises:
            UnknownTake: there is no such recording.
            Damaged: somebody else wrote what stands there.
        """
        rows = self.rows("SELECT take_key FROM recordings WHERE take_id = ?", (take_id,))
        if not rows:
            raise UnknownTake("This recording is no longer on this computer.")
        sealed: bytes | None = rows[0]["take_key"]
        try:
            return None if sealed is None else self.seal.open(sealed, f"{take_id}/key")
        except InvalidTag as error:
            raise Damaged(
                "The key to the sound of this recording was changed, so the sound cannot be opened."
            ) from error

    def keep_take_key(self, take_id: str, take_key: bytes) -> None:
        """Keep the key of a recording's sound, in place of any other. Within a transaction."""
        self.update(take_id, {"take_key": self.seal.seal(take_key, f"{take_id}/key")})

    def move(self, take_id: str, state: OutboxState, reason: str | None = None, fix: Fix | None = None) -> None:
        """Change a recording's state along the table of edges. Within a transaction.

        A doubt about its time of recording stays with it unless there is something else to say.

        Raises:
            IllegalMove: the table has no such edge.
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
            IllegalMove: its entry was changed by somebody else, and is left as it is.
        """
        before = self._row(take_id)
        self._shelf.drop(take_id)
        if not is_proved(dict(before), self.seal):
            self._shelf.faulty.add(take_id)
            raise IllegalMove(ROW_CHANGED)
        changed = {**columns, "version": self.version()}
        assignments = ", ".join(f"{name} = ?" for name in changed)
        self._database.execute(
            f"UPDATE recordings SET {assignments} WHERE take_id = ?",  # noqa: S608 - names are ours
            (*changed.values(), take_id),
        )
        self._prove(take_id)

    def touch(self, take_id: str) -> None:
        """Count a recording as changed, so that whoever shows it reads it anew. Within a transaction."""
        self.update(take_id, {})

    def keep_result(self, take_id: str, result: bytes, result_at: datetime | None) -> None:
        """Keep what the service found, and when by its own clock. Within a transaction."""
        sealed = self.seal.seal(result, f"{take_id}/result")
        self._database.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (take_id, sealed))
        self.update(take_id, {"result_at": None if result_at is None else time_text(result_at)})

    def setting(self, name: str) -> bytes | None:
        """What is kept as `name`; None if nothing is, or somebody else wrote it."""
        rows = self.rows("SELECT sealed FROM settings WHERE name = ?", (name,))
        try:
            return self.seal.open(rows[0]["sealed"], f"settings/{name}") if rows else None
        except InvalidTag:
            return None

    def keep_setting(self, name: str, content: bytes) -> None:
        """Keep `content` as `name`. Within a transaction."""
        sealed = self.seal.seal(content, f"settings/{name}")
        self._database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, sealed))

    def trajectory(self, group_id: str) -> tuple[bytes, datetime] | None:
        """The last read of a subject's history, and when it was read; None if there is none."""
        rows = self.rows("SELECT read_at, sealed FROM trajectories WHERE group_id = ?", (group_id,))
        if not rows:
            return None
        try:
            body = self.seal.open(rows[0]["sealed"], f"trajectories/{group_id}")
            return body, datetime.fromisoformat(rows[0]["read_at"])
        except (InvalidTag, TypeError, ValueError):  # it will be read again
            return None

    def keep_trajectory(self, group_id: str, body: bytes) -> None:
        """Keep a read of a subject's history. Within a transaction."""
        sealed = self.seal.seal(body, f"trajectories/{group_id}")
        self._database.execute("INSERT OR REPLACE INTO trajectories VALUES (?, ?, ?)", (group_id, self.now(), sealed))

    def add_event(self, take_id: str, kind: str) -> None:
        """Something to be done, in place of what was to be done. Within a transaction."""
        self.remove_event(take_id)
        self._database.execute(
            "INSERT INTO pending (event_id, take_id, kind) VALUES (?, ?, ?)", (new_id(), take_id, kind)
        )
        self.touch(take_id)

    def restart_event(self, take_id: str) -> None:
        """The same thing to be done, as if it had never gone wrong. Within a transaction."""
        self._database.execute("UPDATE pending SET attempts = 0, not_before = NULL WHERE take_id = ?", (take_id,))
        self.touch(take_id)

    def remove_event(self, take_id: str) -> None:
        """Nothing more to be done. Within a transaction."""
        self._database.execute("DELETE FROM pending WHERE take_id = ?", (take_id,))

    def asked(self, take_id: str) -> bool:
        """Whether the service was asked for an analysis that it has not answered."""
        return bool(self.rows("SELECT 1 FROM pending WHERE take_id = ? AND asked_at IS NOT NULL", (take_id,)))

    def forget(self, take_id: str) -> None:
        """Delete a recording's row, and with it the key of its sound. Within a transaction. Raises UnknownTake."""
        self._rows_sum = moved(self._rows_sum, self._row(take_id)["mac"], None)
        self._database.execute("DELETE FROM recordings WHERE take_id = ?", (take_id,))
        self._database.execute("INSERT OR REPLACE INTO removed VALUES (?, ?)", (take_id, self.version()))
        self._shelf.drop(take_id)
        self._progress.pop(take_id, None)
        self._shelf.faulty.discard(take_id)

    def scrub(self, gone: Collection[bytes] = (), *, whole: bool = False) -> None:
        """See that what was deleted is not in the database's files any more; see `upkeep`. Outside of a transaction."""
        with self._lock:
            upkeep.scrub(self._database, gone, whole=whole)

    def row(self, take_id: str) -> dict[str, object]:
        """A recording's row as it is in the database, for `restore`. Raises UnknownTake."""
        return dict(self._row(take_id))

    def restore(self, row: Mapping[str, object]) -> None:
        """Put back a row that `forget` took away. Within a transaction."""
        self._insert({**row, "version": self.version(), "mac": None})
        self._database.execute("DELETE FROM removed WHERE take_id = ?", (row["take_id"],))

    def check_structure(self) -> None:
        """See that the database can be read through; see `upkeep`. Raises sqlite3.DatabaseError."""
        with self._lock:
            upkeep.check_structure(self._database)

    def sum_of_rows(self) -> int:
        """The rows as they are now, for comparison with what was kept."""
        return sum_of(row["mac"] for row in self.rows("SELECT mac FROM recordings"))

    def count_rows_anew(self) -> None:
        """Take the rows as they are now for the whole list, once it was said that some are missing."""
        with self.changing():
            self._rows_sum = self.sum_of_rows()

    def report_progress(self, take_id: str, sent: int, total: int) -> None:
        """Bytes of an upload; kept in memory only."""
        self._progress[take_id] = (sent, total)
        self._tell()

    def in_progress(self) -> list[str]:
        """Recordings whose progress may have changed."""
        return list(self._progress)

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called after every change; returns how to stop it."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def now(self) -> str:
        """The time as the database keeps it: ISO 8601 in UTC, sortable as text."""
        return time_text(self.clock.now())

    def _tell(self) -> None:
        for callback in list(self._subscribers):
            callback()

    def _undo(self) -> None:
        if self._database.in_transaction:  # SQLite may have undone it by itself, on a full disk
            self._database.execute("ROLLBACK")

    def _begin_change(self) -> None:
        library = self._database.execute("SELECT version, rows_sum, audit_head FROM library").fetchone()
        known = open_sum(self.seal, library["rows_sum"], library["version"])
        self._rows_sum = self.sum_of_rows() if known is None else known
        self._audit.begin_change(library["audit_head"], library["version"])
        self._database.execute("UPDATE library SET version = version + 1")

    def _end_change(self) -> None:
        version = self.version()
        proofs = (seal_sum(self.seal, self._rows_sum, version), self._audit.end_change(version))
        self._database.execute("UPDATE library SET rows_sum = ?, audit_head = ?", proofs)

    def _with_progress(self, item: RecordingItem) -> RecordingItem:
        sent, total = self._progress.get(item.take_id, (0, 0))
        return replace(item, bytes_sent=sent, bytes_total=total) if total else item

    def _row(self, take_id: str) -> sqlite3.Row:
        rows = self.rows("SELECT * FROM recordings WHERE take_id = ?", (take_id,))
        if not rows:
            raise UnknownTake("This recording is no longer on this computer.")
        return rows[0]

    def _insert(self, columns: Mapping[str, object]) -> None:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        self._database.execute(
            f"INSERT INTO recordings ({names}) VALUES ({marks})",  # noqa: S608 - names are ours
            tuple(columns.values()),
        )
        self._prove(str(columns["take_id"]))

    def _prove(self, take_id: str) -> None:
        """Give a row that has changed its new MAC."""
        row = self._row(take_id)
        mac = mac_of(dict(row), self.seal)
        self._rows_sum = moved(self._rows_sum, row["mac"], mac)
        self._database.execute("UPDATE recordings SET mac = ? WHERE take_id = ?", (mac, take_id))


def _lenient(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def time_text(moment: datetime) -> str:
    """A moment as the database keeps it."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
