"""Last use of console sessions, written in the background."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection

from vbdesk.clock import Clock
from vbdesk.service.accounts.sessions import SessionService
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.last_used import LastUsedWriter
from vbdesk.service.ports.identity import Session

RETRY_S = 5.0  # other processes end a session in use after half an hour without a recorded use


class SessionUses:
    """Finds sessions and records their use; uses that are not written yet count in this process."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._sessions = SessionService(clock)
        self._notes: LastUsedWriter[str] = LastUsedWriter(database, self._write, "console sessions", RETRY_S)

    def use(self, token: str) -> Session | None:
        """Return the session of this token, unless it has ended; record its use."""
        unwritten = self._notes.unwritten(token)
        with self._database.reading() as connection:
            session = self._sessions.find(connection, token, unwritten)
        if session is not None and not session.noted:
            self._notes.note(token, self._clock.now())
        return session

    def close(self) -> None:
        """Write the remaining uses, if the database accepts them in time."""
        self._notes.close()

    def _write(self, connection: Connection, used_at: Mapping[str, datetime]) -> None:
        for token in sorted(used_at):  # sorted, so that processes do not deadlock
            self._sessions.note_use(connection, token, used_at[token])
