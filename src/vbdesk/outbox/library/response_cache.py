"""Encrypted cache of the service's answers, so that a page shows them at once, with their age."""

import zlib
from datetime import datetime

from vbdesk.outbox.library.column_encryption import InvalidTag
from vbdesk.outbox.library.store import Store

STORED_COHORT = "cohort"
"""The name of the summaries of all subjects."""

STORED_WEBHOOK = "webhook"
"""The one name that is about no subject: no erasure deletes it."""


class ResponseCache:
    """Named JSON answers of one library. Every method reads or writes the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._erasures: list[str] = []

    def read(self, name: str) -> tuple[bytes, datetime] | None:
        """The answer stored as `name`, and when; None if there is none, or somebody else wrote it."""
        rows = self._store.rows("SELECT read_at, sealed FROM reads WHERE name = ?", (name,))
        if not rows:
            return None
        try:
            body = zlib.decompress(self._store.cipher.decrypt(rows[0]["sealed"], _place(name, rows[0]["read_at"])))
            return body, datetime.fromisoformat(rows[0]["read_at"])
        except (InvalidTag, TypeError, ValueError, zlib.error):
            return None

    def store(self, name: str, body: bytes, since: int) -> None:
        """Store `body` as `name`. Subscribers are not notified: no recording changes.

        Nothing happens if a subject that it is about was erased since `erasures` was `since`; an answer about several
        may be about any. `since` is read before the answer is asked for.
        """
        read_at = self._store.now()
        sealed = self._store.cipher.encrypt(zlib.compress(body, 1), _place(name, read_at))
        with self._store.changing_silently() as database:
            about = name.partition("/")[2]
            if self.is_erased(about, since) if about else self._erasures[since:] and name != STORED_WEBHOOK:
                return
            database.execute("INSERT OR REPLACE INTO reads VALUES (?, ?, ?)", (name, read_at, sealed))

    def trajectory(self, group_id: str) -> tuple[bytes, datetime] | None:
        """The last read of a subject's history as JSON, and when it was read; None before the first."""
        return self._store.trajectory(group_id)

    def trajectories(self) -> dict[str, datetime]:
        """Subjects with a cached trajectory, and when each was read."""
        rows = self._store.rows("SELECT group_id, read_at FROM trajectories")
        return {row["group_id"]: datetime.fromisoformat(row["read_at"]) for row in rows}

    def store_trajectory(self, group_id: str, body: bytes, since: int) -> bool:
        """Store a subject's trajectory as in `store`; returns whether it was stored."""
        with self._store.changing_silently():
            if self.is_erased(group_id, since):
                return False
            self._store.store_trajectory(group_id, body)
            return True

    def erase_subject(self, group_id: str) -> None:
        """Delete every answer about a subject, and those about several subjects: they are made again without it.

        A name ends with the subject after a slash; one without a slash is about several. Within a transaction.
        """
        self._erasures.append(group_id)  # first: if the transaction fails, an answer is lost, and read again
        self._store.forget_trajectory(group_id)
        with self._store.changing_silently() as database:
            about = "substr(name, instr(name, '/') + 1)"  # the whole name if it has no slash
            database.execute(
                f"DELETE FROM reads WHERE {about} IN (name, ?) AND name != ?",  # noqa: S608
                (group_id, STORED_WEBHOOK),
            )

    @property
    def erasures(self) -> int:
        """How many subjects were erased so far: to be read before an answer is asked for, see `store`."""
        return len(self._erasures)

    def is_erased(self, group_id: str, since: int) -> bool:
        """Whether a subject was erased since `erasures` was `since`: an answer from before must not be shown."""
        return group_id in self._erasures[since:]


def aggregate_name(group_id: str) -> str:
    """The name under which a group's aggregate is stored."""
    return f"aggregate/{group_id}"


def trajectory_name(group_id: str) -> str:
    """The name under which the recordings of a subject's course are stored."""
    return f"course/{group_id}"


def _place(name: str, read_at: str) -> str:
    return f"reads/{name}/{read_at}"
