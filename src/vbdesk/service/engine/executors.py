"""Executors (processes that run jobs) and their heartbeats."""

import socket
from collections.abc import Collection
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.kernel.db.jobs import executors
from vbdesk.service.kernel.db.session import insert_into

DEAD_AFTER = timedelta(seconds=20)
"""Many missed heartbeats: a busy machine is not dead."""


def sign_on(connection: Connection, executor_id: str, slots: int, now: datetime) -> None:
    """Register this executor; it owns its jobs until `remove_dead` or `sign_off`."""
    values = {"seen_at": now, "started_at": now, "host": socket.gethostname()[:255], "slots": slots, "draining": False}
    statement = insert_into(connection, executors).values(executor_id=executor_id, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=[executors.c.executor_id], set_=values))


def beat(connection: Connection, executor_id: str, now: datetime) -> bool:
    """Record a heartbeat; False when the executor was already removed as dead."""
    update = sa.update(executors).where(executors.c.executor_id == executor_id).values(seen_at=now)
    return connection.execute(update).rowcount == 1


def set_draining(connection: Connection, executor_id: str) -> None:
    """Mark this executor as taking no more jobs."""
    connection.execute(sa.update(executors).where(executors.c.executor_id == executor_id).values(draining=True))


def sign_off(connection: Connection, executor_id: str) -> None:
    """Remove this executor, so that nobody waits for it."""
    connection.execute(sa.delete(executors).where(executors.c.executor_id == executor_id))


def remove_dead(connection: Connection, now: datetime) -> Collection[str]:
    """Remove executors without a recent heartbeat, even if they are still running; return them."""
    removed = sa.delete(executors).where(executors.c.seen_at < now - DEAD_AFTER).returning(executors.c.executor_id)
    return connection.execute(removed).scalars().all()


def list_signed_on(connection: Connection) -> set[str]:
    """List the executors that own jobs."""
    return set(connection.execute(sa.select(executors.c.executor_id)).scalars())


def any_alive(connection: Connection, now: datetime) -> bool:
    """Return whether any executor has a recent heartbeat."""
    alive = sa.select(executors.c.executor_id).where(executors.c.seen_at >= now - DEAD_AFTER).limit(1)
    return connection.execute(alive).one_or_none() is not None
