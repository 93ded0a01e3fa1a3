"""The fair order of waiting jobs, as one number a job: the lowest runs next.

Start-time fair queueing: time in the queue is measured in work, V, and advances as the lowest number leaves. A job gets
the moment at which it would end if its account had a worker to itself from V on and gave its shortest jobs first. So
the burst of one account stands behind itself and not before others, short recordings go before long ones, and because V
only rises while anything waits, nothing is passed by for ever.
"""

import tomllib
from functools import cache

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat
from sqlalchemy import Connection

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
    return QueueFigures.model_validate(tomllib.loads(resource("service", "queue.toml").read_text("utf-8")))


def next_tag(connection: Connection, account_id: str, duration_s: float, *, diarize: bool) -> int:
    """Place in the order of a job that is about to be stored, 1 to `LAST`.

    Whoever asks holds the account's balance, so that two submits of one account cannot get the same place.
    """
    figures = queue_figures()
    work_s = figures.work_s(duration_s, diarize=diarize)
    lowest, ahead, ahead_s = repository.look_ahead(
        connection, account_id, work_s - figures.start_seconds, figures.diarize_factor
    )
    return min(lowest + round(work_s + ahead * figures.start_seconds + ahead_s), LAST)
