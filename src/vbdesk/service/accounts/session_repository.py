"""SQL of console sessions."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.service.kernel.db.accounts import ACTIVE, accounts
from vbdesk.service.kernel.db.console import console_sessions


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
