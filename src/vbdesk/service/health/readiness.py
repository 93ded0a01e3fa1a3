"""Readiness of a process, with reasons; answers in time even when no dependency answers.

A process is ready when its required dependencies answer. An API process needs the database and the store. A worker
also needs its engine, its heartbeat and its child processes. No process checks another: an API without a worker
still accepts jobs, because they are stored.
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
STORE_GOOD_FOR_S = 15.0  # one check is a handful of requests, which may be billed
LIMIT_S = 1.5  # probes usually time out after 2 s

Check = Callable[[], None]
"""Returns when the check passes. Raises NotReady with the reason; any other exception means `unreachable`."""


class NotReady(Exception):
    """The check failed; the reason is one word."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Failed check and its machine-readable reason."""

    check: str
    reason: str


class RunsJobs(Protocol):
    """Worker state that readiness reads."""

    @property
    def engine_launched(self) -> bool:
        """Whether the process takes jobs."""
        ...

    @property
    def last_beat(self) -> float | None:
        """Time of the last heartbeat, by `time.monotonic`."""
        ...

    @property
    def children_start(self) -> bool:
        """Whether the newest child process became ready, if one was needed."""
        ...


class Readiness:
    """Checks of one process. Results of outside checks are cached for a few seconds."""

    def __init__(
        self, draining: Callable[[], bool], outside: Mapping[str, tuple[Check, float]], inside: Mapping[str, Check]
    ) -> None:
        """Create without running any check.

        Args:
            draining: whether the process was asked to stop.
            outside: checks that may block, each with the seconds for which its result is cached.
            inside: checks of this process only.
        """
        self._draining = draining
        self._outside = {
            name: CachedProbe(check, good_for_s=good_for_s, limit_s=LIMIT_S)
            for name, (check, good_for_s) in outside.items()
        }
        self._inside = inside

    @property
    def checks(self) -> list[str]:
        """Return the names of all checks."""
        return ["process", *self._outside, *self._inside]

    async def reasons(self) -> list[Reason]:
        """Return why the process is not ready; empty when it is."""
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
    """Create the readiness of a process that serves the API."""
    return Readiness(context.draining.is_set, _dependency_checks(context), {"disk": _disk(context)})


def worker_readiness(context: Context, jobs: RunsJobs) -> Readiness:
    """Create the readiness of a process that runs jobs."""

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
    return Readiness(context.draining.is_set, _dependency_checks(context), inside)


def _disk(context: Context) -> Check:
    def disk() -> None:
        if context.disk.is_reached():
            raise NotReady("low")

    return disk


def _dependency_checks(context: Context) -> dict[str, tuple[Check, float]]:
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
