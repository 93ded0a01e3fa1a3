"""Fair order of waiting jobs, as one number per job: the lowest runs next.

Weighted fair queueing with a virtual time, measured in work. Each run advances it by the job's work divided by the
number of waiting accounts. A job's number is the virtual time at which it would end if its account were alone and ran
its shortest jobs first. So a burst of one account delays only that account, and short recordings run before long
ones. No job waits forever, because every run advances the virtual time.
"""

from functools import cache

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat
from sqlalchemy import Connection

from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource
from vbdesk.service.jobs import repository

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
    queued = repository.look_at_queued(connection, account_id, work_s, weights)
    progress = repository.find_progress(connection, 1 / max(1, queued.accounts), weights)
    now = queued.begins if progress is None else progress
    return max(1, min(round(now + queued.ahead + work_s), LAST))
