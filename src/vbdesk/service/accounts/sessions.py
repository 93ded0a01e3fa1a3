"""Sign-in sessions of the console: a random token in the browser, its hash in the database."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.clock import Clock
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import hash_of
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import ACTIVE, accounts, console_sessions
from vbdesk.service.kernel.last_used import LastUsedWriter
from vbdesk.service.ports.identity import Account, Session

IDLE_FOR = timedelta(minutes=30)
"""An unused session ends after this time."""

LASTS = timedelta(hours=12)
"""Every session ends after this time."""

NOTED_FOR = timedelta(minutes=1)
"""Minimum time between two recorded uses of a session."""


class SessionService:
    """Rules of sessions. A token carries 256 random bits and is stored as its hash."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def begin(self, connection: Connection, account_id: str) -> str:
        """Begin a session and return its token; delete all ended sessions."""
        token, now = secrets.token_urlsafe(32), self._clock.now()
        delete_past_sessions(connection, now - LASTS, now - IDLE_FOR)
        insert_session(connection, hash_of(token), account_id, now)
        return token

    def find(self, connection: Connection, token: str, used_at: datetime | None = None) -> Session | None:
        """Return the session of this token, unless it has ended.

        `used_at` is a use that the database may not have yet.
        """
        now = self._clock.now()
        row = find_session(connection, hash_of(token), now - LASTS)
        if row is None:
            return None
        account_id, plan, last_seen_at = row
        unused_for = now - max(last_seen_at, used_at or last_seen_at)
        if unused_for >= IDLE_FOR:
            return None
        return Session(Account(account_id, Plan(plan)), noted=unused_for < NOTED_FOR)

    def note_use(self, connection: Connection, token: str, used_at: datetime | None = None) -> None:
        """Record a use at `used_at` (default: now), which extends the session."""
        touch_session(connection, hash_of(token), used_at or self._clock.now())

    def end(self, connection: Connection, token: str) -> None:
        """End the session at once."""
        delete_session(connection, hash_of(token))


def insert_session(connection: Connection, token_hash: bytes, account_id: str, now: datetime) -> None:
    """Store a session that begins now."""
    connection.execute(
        sa.insert(console_sessions).values(
            token_hash=token_hash, account_id=account_id, created_at=now, last_seen_at=now
        )
    )


def find_session(connection: Connection, token_hash: bytes, begun_after: datetime) -> Row[str, str, datetime] | None:
    """Return `(account_id, plan, last_seen_at)` of a session of an active account, unless too old."""
    query = (
        sa.select(accounts.c.account_id, accounts.c.plan, console_sessions.c.last_seen_at)
        .join_from(console_sessions, accounts)
        .where(
            console_sessions.c.token_hash == token_hash,
            accounts.c.state == ACTIVE,
            console_sessions.c.created_at > begun_after,
        )
    )
    return connection.execute(query).one_or_none()


def touch_session(connection: Connection, token_hash: bytes, now: datetime) -> None:
    """Store the time of the session's last use."""
    mine = console_sessions.c.token_hash == token_hash
    connection.execute(sa.update(console_sessions).where(mine).values(last_seen_at=now))


def delete_session(connection: Connection, token_hash: bytes) -> None:
    """Delete a session."""
    connection.execute(sa.delete(console_sessions).where(console_sessions.c.token_hash == token_hash))


def delete_past_sessions(connection: Connection, begun_before: datetime, seen_before: datetime) -> None:
    """Delete ended sessions."""
    over = (console_sessions.c.created_at <= begun_before) | (console_sessions.c.last_seen_at <= seen_before)
    connection.execute(sa.delete(console_sessions).where(over))


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
