"""Admission: refuse submits when the queue is too long."""

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat
from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource
from vbdesk.service.jobs import repository
from vbdesk.service.kernel.db.jobs import executors, jobs
from vbdesk.service.kernel.errors import ServiceBusy

CHECK_INTERVAL_S = 1.0
"""How long a reading of the queue is reused; many submits arrive in that time."""


@dataclass(frozen=True, slots=True)
class Load:
    """Snapshot of the queue.

    Attributes:
        waiting: queued jobs by account.
        work_s: work of all queued jobs, in seconds of audio.
        slots: analyses that can run in parallel.
    """

    waiting: Mapping[str, int] = field(default_factory=dict)
    work_s: float = 0.0
    slots: int = 0

    def excess(self, limit: int) -> int:
        """Return the number of jobs beyond the limit."""
        return max(0, sum(self.waiting.values()) - limit)

    def has_more_than_its_share(self, account_id: str, limit: int) -> bool:
        """Return whether an account has more queued jobs than the limit divided by the waiting accounts."""
        return self.waiting.get(account_id, 0) * max(1, len(self.waiting)) > limit

    def drain_s(self, limit: int) -> int:
        """Estimate the whole seconds until the queue is within the limit; at least 1."""
        figures = queue_figures()
        excess_s = self.work_s * self.excess(limit) / max(1, sum(self.waiting.values()))
        estimate_s = excess_s / (max(1, self.slots) * figures.audio_seconds_per_second)
        return math.ceil(min(max(1.0, estimate_s), figures.longest_wait_s))


class QueueAdmission:
    """Keeps the queue within its limit by refusing accounts above their share; one per process."""

    def __init__(self, limit: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Create; `limit` is the queue length up to which every submit is accepted."""
        self._limit = limit
        self._monotonic = monotonic
        self._load = Load()
        self._next_check_at = -math.inf
        self._looking = threading.Lock()

    def check(self, connection: Connection, account_id: str) -> None:
        """Check whether this account may submit.

        Raises:
            ServiceBusy: the queue is too long, and the account has more than its fair share of it.
        """
        self._refresh(connection)
        load = self._load
        if load.excess(self._limit) and load.has_more_than_its_share(account_id, self._limit):
            raise ServiceBusy(load.drain_s(self._limit))

    def _refresh(self, connection: Connection) -> None:
        if self._monotonic() < self._next_check_at or not self._looking.acquire(blocking=False):
            return  # recent enough, or another thread is reading
        try:
            self._load = read_load(connection)
            self._next_check_at = self._monotonic() + CHECK_INTERVAL_S
        finally:
            self._looking.release()


def read_load(connection: Connection) -> Load:
    """Read the queue."""
    waiting = connection.execute(
        sa.select(
            jobs.c.account_id,
            sa.func.count().label("jobs"),
            sa.func.sum(jobs.c.audio_duration_seconds).label("audio_s"),
        )
        .where(jobs.c.status == JobStatus.QUEUED.value)
        .group_by(jobs.c.account_id)
    ).all()
    slots = sa.select(sa.func.coalesce(sa.func.sum(executors.c.slots), 0)).where(~executors.c.draining)
    start_seconds = queue_figures().start_seconds
    return Load(
        waiting={row.account_id: row.jobs for row in waiting},
        work_s=sum(row.audio_s + row.jobs * start_seconds for row in waiting),
        slots=connection.execute(slots).scalar_one(),
    )


LAST = 2**31 - 1
"""Highest number that the engine accepts; jobs with this number run in order of arrival."""


class QueueFigures(BaseModel):
    """Figures of `resources/service/queue.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start_seconds: PositiveFloat
    diarize_factor: float = Field(ge=1)
    audio_seconds_per_second: PositiveFloat
    longest_wait_s: PositiveFloat

    def work_s(self, duration_s: float, *, diarize: bool) -> float:
        """Return the work of an analysis, in seconds of audio."""
        return self.start_seconds + duration_s * (self.diarize_factor if diarize else 1.0)


@cache
def queue_figures() -> QueueFigures:
    """Load the built-in figures."""
    return QueueFigures.model_validate(read_toml(resource("service", "queue.toml")))


def next_tag(connection: Connection, account_id: str, duration_s: float, *, diarize: bool) -> int:
    """Return the queue tag of a job to be stored, 1 to `LAST`.

    The caller holds a lock on the account's balance, so that two submits of one account cannot get the same tag.
    """
    figures = queue_figures()
    weights = repository.Weights(figures.start_seconds, figures.diarize_factor)
    work_s = figures.work_s(duration_s, diarize=diarize)
    queued = repository.read_queued(connection, account_id, work_s, weights)
    progress = repository.find_progress(connection, 1 / max(1, queued.accounts), weights)
    now = queued.begins if progress is None else progress
    return max(1, min(round(now + queued.ahead + work_s), LAST))
