"""The processes that run jobs, and their heartbeats."""

import socket
from collections.abc import Collection
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.kernel.db.jobs import executors
from vbdesk.service.kernel.db.upsert import insert_into

DEAD_AFTER = timedelta(seconds=20)
"""Many missed beats, not one: a busy machine is not dead."""


def sign_on(connection: Connection, executor_id: str, slots: int, now: datetime) -> None:
    """Say that this executor begins; until `remove_dead` or `sign_off` its jobs are its own."""
    values = {"seen_at": now, "started_at": now, "host": socket.gethostname()[:255], "slots": slots, "draining": False}
    statement = insert_into(connection, executors).values(executor_id=executor_id, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=[executors.c.executor_id], set_=values))


def beat(connection: Connection, executor_id: str, now: datetime) -> bool:
    """Say that this executor lives; False when it was taken for dead meanwhile."""
    update = sa.update(executors).where(executors.c.executor_id == executor_id).values(seen_at=now)
    return connection.execute(update).rowcount == 1


def set_draining(connection: Connection, executor_id: str) -> None:
    """Say that this executor takes no more jobs."""
    connection.execute(sa.update(executors).where(executors.c.executor_id == executor_id).values(draining=True))


def sign_off(connection: Connection, executor_id: str) -> None:
    """Say that this executor is gone, so that nobody waits for it."""
    connection.execute(sa.delete(executors).where(executors.c.executor_id == executor_id))


def remove_dead(connection: Connection, now: datetime) -> Collection[str]:
    """Strike out executors that gave no sign of life lately: whatever they believe, their jobs are others' now."""
    removed = sa.delete(executors).where(executors.c.seen_at < now - DEAD_AFTER).returning(executors.c.executor_id)
    return connection.execute(removed).scalars().all()


def list_signed_on(connection: Connection) -> set[str]:
    """Executors whose jobs are their own."""
    return set(connection.execute(sa.select(executors.c.executor_id)).scalars())


def any_alive(connection: Connection, now: datetime) -> bool:
    """Whether any executor gave a sign of life lately."""
    alive = sa.select(executors.c.executor_id).where(executors.c.seen_at >= now - DEAD_AFTER).limit(1)
    return connection.execute(alive).one_or_none() is not None
