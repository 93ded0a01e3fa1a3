"""Whether a process can do its part, and if not, why: truly, and in time, also when nothing out there answers.

A process is ready when what it cannot do without answers it. An API process leans on the database and on the store; a
worker also on its engine, its heartbeat and its children. No process asks for another: an API without any worker takes
jobs all the same, for they are kept.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from vbdesk.service.engine.executors import DEAD_AFTER
from vbdesk.service.kernel.db.migrate import SchemaState, status
from vbdesk.service.observability.cached_probe import CachedProbe
from vbdesk.service.ports.context import Context

DATABASE_GOOD_FOR_S = 2.0
STORE_GOOD_FOR_S = 15.0  # to ask it is a handful of requests to somebody's bill
LIMIT_S = 1.5  # what asks for readiness waits 2 s, as a rule

Check = Callable[[], None]
"""Returns when all is well. Raises NotReady with the reason; anything else means `unreachable`."""


class NotReady(Exception):
    """Why not, in a word."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A check that did not pass, and why, in words made for machines."""

    check: str
    reason: str


class RunsJobs(Protocol):
    """The working half of a process."""

    @property
    def engine_launched(self) -> bool:
        """Whether jobs are taken."""
        ...

    @property
    def last_beat(self) -> float | None:
        """When the last heartbeat was written, by `time.monotonic`."""
        ...

    @property
    def children_start(self) -> bool:
        """Whether the newest child became ready, as far as one was wanted."""
        ...


class Readiness:
    """The checks of one process. Questions to the outside are asked a few seconds apart, however often it is looked."""

    def __init__(
        self, draining: Callable[[], bool], outside: Mapping[str, tuple[Check, float]], inside: Mapping[str, Check]
    ) -> None:
        """Ask nothing yet.

        Args:
            draining: whether the process was told to stop.
            outside: checks that may block, and for how many seconds their outcome is good.
            inside: checks that look at this process alone.
        """
        self._draining = draining
        self._outside = {
            name: CachedProbe(check, good_for_s=good_for_s, limit_s=LIMIT_S)
            for name, (check, good_for_s) in outside.items()
        }
        self._inside = inside

    @property
    def checks(self) -> list[str]:
        """Names of all checks."""
        return ["process", *self._outside, *self._inside]

    async def reasons(self) -> list[Reason]:
        """Why the process is not ready; none when it is."""
        found = [Reason("process", "draining")] if self._draining() else []
        asked = await asyncio.gather(*(check.get() for check in self._outside.values()), return_exceptions=True)
        for name, outcome in zip(self._outside, asked, strict=True):
            if isinstance(outcome, BaseException):
                found.append(Reason(name, _word_for(outcome)))
        for name, check in self._inside.items():
            try:
                check()
            except NotReady as error:
                found.append(Reason(name, str(error)))
        return found


def api_readiness(context: Context) -> Readiness:
    """Whether a process can answer requests."""
    return Readiness(context.draining.is_set, _outside(context), {"disk": _disk(context)})


def worker_readiness(context: Context, jobs: RunsJobs) -> Readiness:
    """Whether a process can run jobs."""

    def engine() -> None:
        if not jobs.engine_launched:
            raise NotReady("not_launched")

    def heartbeat() -> None:
        beat = jobs.last_beat
        if beat is None or time.monotonic() - beat > DEAD_AFTER.total_seconds():
            raise NotReady("stale")

    def children() -> None:
        if not jobs.children_start:
            raise NotReady("cannot_start")

    inside = {"disk": _disk(context), "engine": engine, "heartbeat": heartbeat, "children": children}
    return Readiness(context.draining.is_set, _outside(context), inside)


def _disk(context: Context) -> Check:
    def disk() -> None:
        if context.disk.is_reached():
            raise NotReady("low")

    return disk


def _outside(context: Context) -> dict[str, tuple[Check, float]]:
    def database() -> None:
        with context.database.reading() as connection:
            state = status(connection).state
        if state not in (SchemaState.CURRENT, SchemaState.AHEAD):
            raise NotReady(f"schema_{state.value.replace('-', '_')}")

    def store() -> None:
        context.storage.check()

    return {"database": (database, DATABASE_GOOD_FOR_S), "store": (store, STORE_GOOD_FOR_S)}


def _word_for(error: BaseException) -> str:
    if isinstance(error, NotReady):
        return str(error)
    if isinstance(error, TimeoutError):
        return "no_answer_in_time"
    return "unreachable"
