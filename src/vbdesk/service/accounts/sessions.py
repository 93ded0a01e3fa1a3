"""Sign-in sessions of the console: a random token in the browser, its hash in the database."""

import secrets
from datetime import datetime, timedelta

from sqlalchemy import Connection

from vbdesk.clock import Clock
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts import session_repository as repository
from vbdesk.service.accounts.credentials import hash_of
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
        repository.delete_past_sessions(connection, now - LASTS, now - IDLE_FOR)
        repository.insert_session(connection, hash_of(token), account_id, now)
        return token

    def find(self, connection: Connection, token: str, used_at: datetime | None = None) -> Session | None:
        """Return the session of this token, unless it has ended.

        `used_at` is a use that the database may not have yet.
        """
        now = self._clock.now()
        row = repository.find_session(connection, hash_of(token), now - LASTS)
        if row is None:
            return None
        account_id, plan, last_seen_at = row
        unused_for = now - max(last_seen_at, used_at or last_seen_at)
        if unused_for >= IDLE_FOR:
            return None
        return Session(Account(account_id, Plan(plan)), noted=unused_for < NOTED_FOR)

    def note_use(self, connection: Connection, token: str, used_at: datetime | None = None) -> None:
        """Record a use at `used_at` (default: now), which extends the session."""
        repository.touch_session(connection, hash_of(token), used_at or self._clock.now())

    def end(self, connection: Connection, token: str) -> None:
        """End the session at once."""
        repository.delete_session(connection, hash_of(token))
