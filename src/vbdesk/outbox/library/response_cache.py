"""Answers of the service that are kept, so that a page shows them at once, with their age, while new ones come."""

import zlib
from datetime import datetime

from vbdesk.outbox.library.column_encryption import InvalidTag
from vbdesk.outbox.library.store import Store


class KeptReads:
    """Named pieces of JSON of one library, sealed. Every method touches the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, name: str) -> tuple[bytes, datetime] | None:
        """What is kept as `name`, and when it was kept; None if nothing is, or somebody else wrote it."""
        rows = self._store.rows("SELECT read_at, sealed FROM reads WHERE name = ?", (name,))
        if not rows:
            return None
        try:
            body = zlib.decompress(self._store.seal.open(rows[0]["sealed"], _place(name, rows[0]["read_at"])))
            return body, datetime.fromisoformat(rows[0]["read_at"])
        except (InvalidTag, TypeError, ValueError, zlib.error):
            return None

    def keep(self, name: str, body: bytes) -> None:
        """Keep `body` as `name`, in place of what was there. Nobody hears of it: it is no news of a recording."""
        read_at = self._store.now()
        sealed = self._store.seal.seal(zlib.compress(body, 1), _place(name, read_at))
        with self._store.quietly() as database:
            database.execute("INSERT OR REPLACE INTO reads VALUES (?, ?, ?)", (name, read_at, sealed))

    def trajectory(self, group_id: str) -> tuple[bytes, datetime] | None:
        """The last read of a subject's history as JSON, and when it was read; None before the first."""
        return self._store.trajectory(group_id)

    def trajectories(self) -> dict[str, datetime]:
        """Which subjects' histories are kept, and when each was read."""
        rows = self._store.rows("SELECT group_id, read_at FROM trajectories")
        return {row["group_id"]: datetime.fromisoformat(row["read_at"]) for row in rows}

    def keep_trajectory(self, group_id: str, body: bytes) -> None:
        """Keep a read of a subject's history, in place of the one before. Nobody hears of it."""
        with self._store.quietly():
            self._store.keep_trajectory(group_id, body)


def _place(name: str, read_at: str) -> str:
    return f"reads/{name}/{read_at}"
