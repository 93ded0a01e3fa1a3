"""Encrypted cache of the service's answers, so that a page shows them at once, with their age."""

import zlib
from datetime import datetime

from vbdesk.outbox.library.column_encryption import InvalidTag
from vbdesk.outbox.library.store import Store


class ResponseCache:
    """Named JSON answers of one library. Every method reads or writes the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

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

    def keep(self, name: str, body: bytes) -> None:
        """Store `body` as `name`. Subscribers are not notified: no recording changes."""
        read_at = self._store.now()
        sealed = self._store.cipher.encrypt(zlib.compress(body, 1), _place(name, read_at))
        with self._store.changing_silently() as database:
            database.execute("INSERT OR REPLACE INTO reads VALUES (?, ?, ?)", (name, read_at, sealed))

    def trajectory(self, group_id: str) -> tuple[bytes, datetime] | None:
        """The last read of a subject's history as JSON, and when it was read; None before the first."""
        return self._store.trajectory(group_id)

    def trajectories(self) -> dict[str, datetime]:
        """Subjects with a cached trajectory, and when each was read."""
        rows = self._store.rows("SELECT group_id, read_at FROM trajectories")
        return {row["group_id"]: datetime.fromisoformat(row["read_at"]) for row in rows}

    def keep_trajectory(self, group_id: str, body: bytes) -> None:
        """Store a subject's trajectory. Subscribers are not notified."""
        with self._store.changing_silently():
            self._store.keep_trajectory(group_id, body)

    def forget_trajectory(self, group_id: str) -> None:
        """Delete a subject's trajectory. Subscribers are not notified."""
        with self._store.changing_silently() as database:
            database.execute("DELETE FROM trajectories WHERE group_id = ?", (group_id,))


def _place(name: str, read_at: str) -> str:
    return f"reads/{name}/{read_at}"
