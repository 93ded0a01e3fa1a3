"""How long the queue is, and who works on it: what autoscaling and operators look at."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.service.db.jobs import executors, jobs
from vbdesk.service.work.executors import DEAD_AFTER


@dataclass(frozen=True, slots=True)
class QueueState:
    """The queue at one moment.

    Attributes:
        waiting: jobs that no process has started.
        waiting_audio_s: how much was recorded for them.
        oldest_wait_s: how long the oldest of them has waited; 0 when none waits.
        running: jobs that a process has started.
        executors: processes that run jobs and are alive.
        draining: those of them that take no new job.
        slots: analyses that they can run at once, those that drain left out.
    """

    waiting: int
    waiting_audio_s: float
    oldest_wait_s: float
    running: int
    executors: int
    draining: int
    slots: int


def read_queue_state(connection: Connection, now: datetime) -> QueueState:
    """Look at the queue; every query keeps to unfinished jobs and living executors."""
    waiting, audio_s, oldest = connection.execute(
        sa.select(
            sa.func.count(),
            sa.func.coalesce(sa.func.sum(jobs.c.audio_duration_seconds), 0.0),
            sa.func.min(jobs.c.created_at),
        ).where(jobs.c.status == JobStatus.QUEUED.value)
    ).one()
    running = sa.select(sa.func.count()).where(jobs.c.status == JobStatus.RUNNING.value)
    living = connection.execute(
        sa.select(executors.c.draining, executors.c.slots).where(executors.c.seen_at >= now - DEAD_AFTER)
    ).all()
    return QueueState(
        waiting=waiting,
        waiting_audio_s=float(audio_s),
        oldest_wait_s=0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
        running=connection.execute(running).scalar_one(),
        executors=len(living),
        draining=sum(row.draining for row in living),
        slots=sum(row.slots or 0 for row in living if not row.draining),
    )
