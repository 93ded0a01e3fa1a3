"""List of the processes that run jobs, with their current jobs."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.service.kernel.db.jobs import executors, jobs


@dataclass(frozen=True, slots=True)
class Executor:
    """Process that runs jobs; `running` are its current jobs. Older releases report fewer fields."""

    executor_id: str
    host: str | None
    slots: int | None
    running: int
    draining: bool
    started_at: datetime | None
    seen_at: datetime


def list_executors(connection: Connection) -> list[Executor]:
    """List signed-on executors by host and name."""
    running = (
        sa.select(jobs.c.executor_id, sa.func.count().label("running"))
        .where(jobs.c.status == JobStatus.RUNNING.value, jobs.c.executor_id.is_not(None))
        .group_by(jobs.c.executor_id)
        .subquery()
    )
    query = (
        sa.select(
            executors.c.executor_id,
            executors.c.host,
            executors.c.slots,
            sa.func.coalesce(running.c.running, 0),
            executors.c.draining,
            executors.c.started_at,
            executors.c.seen_at,
        )
        .outerjoin(running, running.c.executor_id == executors.c.executor_id)
        .order_by(executors.c.host, executors.c.executor_id)
    )
    return [Executor(*row) for row in connection.execute(query)]
