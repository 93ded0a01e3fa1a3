"""Heartbeats of the processes that run jobs."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.db.jobs import executors

DEAD_AFTER = timedelta(seconds=20)
"""Many missed beats, not one: a busy machine is not dead."""


def beat(connection: Connection, executor_id: str, now: datetime) -> None:
    """Say that this executor lives."""
    update = sa.update(executors).where(executors.c.executor_id == executor_id).values(seen_at=now)
    if connection.execute(update).rowcount == 0:
        connection.execute(sa.insert(executors).values(executor_id=executor_id, seen_at=now))


def sign_off(connection: Connection, executor_id: str) -> None:
    """Say that this executor is gone, so that nobody waits for it."""
    connection.execute(sa.delete(executors).where(executors.c.executor_id == executor_id))


def list_live(connection: Connection, now: datetime) -> set[str]:
    """Executors that gave a sign of life lately."""
    query = sa.select(executors.c.executor_id).where(executors.c.seen_at >= now - DEAD_AFTER)
    return set(connection.execute(query).scalars())
