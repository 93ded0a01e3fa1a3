"""Leases: one of several processes runs a task for all."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.kernel.db.jobs import leases
from vbdesk.service.kernel.db.session import insert_into

DURATION = timedelta(seconds=30)
"""Longer than the time between two renewals; if the holder dies, the task pauses for this long."""


def take(connection: Connection, task: str, holder: str, now: datetime, duration: timedelta = DURATION) -> bool:
    """Take or renew the lease of a task for `duration`; False while another holds it."""
    values = {"holder": holder, "expires_at": now + duration}
    statement = insert_into(connection, leases).values(task=task, **values)
    free = sa.or_(leases.c.holder == holder, leases.c.expires_at <= now)
    statement = statement.on_conflict_do_update(index_elements=[leases.c.task], set_=values, where=free)
    return connection.execute(statement.returning(leases.c.task)).one_or_none() is not None


def give_up(connection: Connection, task: str, holder: str) -> None:
    """Release the lease, so that another process can take it at once."""
    connection.execute(sa.delete(leases).where(leases.c.task == task, leases.c.holder == holder))
