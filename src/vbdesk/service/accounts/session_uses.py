"""When sessions of the console were used last: written in the background, so that no page waits for it or fails."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection

from vbdesk.service.accounts.sessions import SessionService
from vbdesk.service.kernel.clock import Clock
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.last_used import LastUsedWriter
from vbdesk.service.ports.identity import Session

RETRY_S = 5.0  # a session that is in use ends after half an hour without a note, at other processes


class SessionUses:
    """Finds sessions, and notes that they are used. What is not written yet counts in this process."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._sessions = SessionService(clock)
        self._notes: LastUsedWriter[str] = LastUsedWriter(database, self._write, "console sessions", RETRY_S)

    def use(self, token: str) -> Session | None:
        """The session of this token, unless it is over; noted as used now, unless it was noted lately."""
        unwritten = self._notes.unwritten(token)
        with self._database.reading() as connection:
            session = self._sessions.find(connection, token, unwritten)
        if session is not None and not session.noted:
            self._notes.note(token, self._clock.now())
        return session

    def close(self) -> None:
        """Write what is left, if the database takes it within a moment."""
        self._notes.close()

    def _write(self, connection: Connection, used_at: Mapping[str, datetime]) -> None:
        for token in sorted(used_at):  # in one order, so that processes do not block each other
            self._sessions.note_use(connection, token, used_at[token])
