"""Interface of the durable engine that runs jobs, so that it can be replaced."""

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Protocol

from sqlalchemy import Connection

RunJob = Callable[[str], None]
"""Runs the job with this id to its end. Safe to repeat, even while another process runs the same job.

Raises:
    HandedBack: the process stops; another executor continues the job.
"""


class HandedBack(BaseException):
    """A run ended before its job, because the process stops.

    Not an `Exception`: an engine would record an exception as the outcome.
    """


class JobEngine(Protocol):
    """Keeps enqueued jobs until they have run, even if processes die."""

    def enqueue(self, connection: Connection, job_id: str, queue_tag: int) -> None:
        """Enqueue the job in the caller's transaction, so that it is queued exactly when the caller commits.

        The waiting job with the lowest `queue_tag` runs next.
        """
        ...

    def start(self, run: RunJob, *, at_once: int) -> None:
        """Start running jobs, `at_once` in parallel; first those that this executor left unfinished."""
        ...

    def pause(self) -> None:
        """Stop taking jobs; running jobs continue."""
        ...

    def stop(self) -> None:
        """Stop the engine, after running jobs have ended or were handed back."""
        ...

    def recover(
        self, list_live: Callable[[], Collection[str]], find_forgotten: Callable[[Collection[str]], Collection[str]]
    ) -> int:
        """Requeue jobs that dead executors left unfinished and that living executors lost; return the number.

        Living executors are listed after the unfinished jobs, because an executor signs on before it takes a job.
        `find_forgotten` receives the jobs that living executors took and returns those that nobody runs.
        """
        ...

    def purge(self, keep: timedelta) -> int:
        """Delete runs that ended longer ago than `keep`; return the number."""
        ...
