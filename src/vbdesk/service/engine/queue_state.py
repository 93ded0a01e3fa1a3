"""Queue length and executors, for autoscaling and operators."""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.engine.executors import DEAD_AFTER
from vbdesk.service.jobs.repository import UNFINISHED
from vbdesk.service.kernel.db.jobs import executors, jobs


@dataclass(frozen=True, slots=True)
class QueueState:
    """Snapshot of the queue.

    Attributes:
        waiting: jobs that no process runs.
        waiting_audio_s: length of their recordings.
        oldest_wait_s: waiting time of the oldest; 0 when none waits.
        running: jobs that a process runs.
        set_aside: analysed jobs that wait for earlier jobs of their group.
        executors: living processes that run jobs.
        draining: executors that take no new jobs.
        slots: analyses that executors can run in parallel, without draining ones.
    """

    waiting: int
    waiting_audio_s: float
    oldest_wait_s: float
    running: int
    set_aside: int
    executors: int
    draining: int
    slots: int


def read_queue_state(connection: Connection, now: datetime) -> QueueState:
    """Read the queue; each query covers unfinished jobs and living executors only."""
    set_aside = jobs.c.analysis.is_not(None)
    running = jobs.c.executor_id.is_not(None)
    waiting = ~set_aside & ~running  # includes jobs that were handed back
    found = connection.execute(
        sa.select(
            sa.func.count().filter(waiting).label("waiting"),
            sa.func.coalesce(sa.func.sum(jobs.c.audio_duration_seconds).filter(waiting), 0.0).label("audio_s"),
            sa.func.min(jobs.c.created_at).filter(waiting).label("oldest"),
            sa.func.count().filter(running).label("running"),
            sa.func.count().filter(set_aside).label("set_aside"),
        ).where(jobs.c.status.in_(UNFINISHED))
    ).one()
    living = connection.execute(
        sa.select(executors.c.draining, executors.c.slots).where(executors.c.seen_at >= now - DEAD_AFTER)
    ).all()
    return QueueState(
        waiting=found.waiting,
        waiting_audio_s=float(found.audio_s),
        oldest_wait_s=0.0 if found.oldest is None else max(0.0, (now - found.oldest).total_seconds()),
        running=found.running,
        set_aside=found.set_aside,
        executors=len(living),
        draining=sum(row.draining for row in living),
        slots=sum(row.slots or 0 for row in living if not row.draining),
    )
