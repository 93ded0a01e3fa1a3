"""The fair order of waiting jobs, as one number a job: the lowest runs next.

Weighted fair queueing: the queue has a time of its own, measured in work, which advances with every job that is run by
its work divided by the number of accounts that wait. A job gets the moment of that time at which it would end if its
account were alone and gave its shortest jobs first. So the burst of one account stands behind itself and not before
others, short recordings go before long ones, and since every run moves the time on, none is passed by for ever.
"""

from functools import cache

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat
from sqlalchemy import Connection

from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource
from vbdesk.service.jobs import repository

LAST = 2**31 - 1
"""The highest number the engine takes; whoever gets it waits in the order of arrival."""


class QueueFigures(BaseModel):
    """Figures of `resources/service/queue.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start_seconds: PositiveFloat
    diarize_factor: float = Field(ge=1)
    audio_seconds_per_second: PositiveFloat
    longest_wait_s: PositiveFloat

    def work_s(self, duration_s: float, *, diarize: bool) -> float:
        """What an analysis takes, in seconds of audio."""
        return self.start_seconds + duration_s * (self.diarize_factor if diarize else 1.0)


@cache
def queue_figures() -> QueueFigures:
    """The figures that ship."""
    return QueueFigures.model_validate(read_toml(resource("service", "queue.toml")))


def next_tag(connection: Connection, account_id: str, duration_s: float, *, diarize: bool) -> int:
    """Place in the order of a job that is about to be stored, 1 to `LAST`.

    Whoever asks holds the account's balance, so that two submits of one account cannot get the same place.
    """
    figures = queue_figures()
    weights = repository.Weights(figures.start_seconds, figures.diarize_factor)
    work_s = figures.work_s(duration_s, diarize=diarize)
    queued = repository.look_at_queued(connection, account_id, work_s, weights)
    progress = repository.find_progress(connection, 1 / max(1, queued.accounts), weights)
    now = queued.begins if progress is None else progress
    return max(1, min(round(now + queued.ahead + work_s), LAST))
