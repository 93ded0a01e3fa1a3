"""The port of the durable engine that runs jobs, so that another can take its place."""

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Protocol

from sqlalchemy import Connection

RunJob = Callable[[str], None]
"""Runs the job of this id to its end. Safe to call again for the same job, also while another process still does.

Raises:
    HandedBack: the process stops; the job is left to whoever comes next.
"""


class HandedBack(BaseException):
    """A run that ends without an end of its job, because the process stops.

    Not an `Exception`: an engine records exceptions as outcomes, and this is none.
    """


class JobEngine(Protocol):
    """Keeps what was enqueued until it was run, whatever process dies."""

    def enqueue(self, connection: Connection, job_id: str, queue_tag: int) -> None:
        """Enqueue the job in the caller's transaction: it is queued exactly when the caller commits.

        Of waiting jobs the one with the lowest `queue_tag` is run next.
        """
        ...

    def start(self, run: RunJob, *, at_once: int) -> None:
        """Begin to run jobs in this process, `at_once` at a time; first those that this executor left behind."""
        ...

    def pause(self) -> None:
        """Take no more jobs; those under way go on."""
        ...

    def stop(self) -> None:
        """Run no more jobs; those under way have ended or been handed back before."""
        ...

    def recover(
        self, list_live: Callable[[], Collection[str]], find_forgotten: Callable[[Collection[str]], Collection[str]]
    ) -> int:
        """Queue again what executors that are not alive left unfinished, and what living ones forgot; how many.

        Who is alive is asked after what is unfinished: an executor lives before it takes a job. `find_forgotten` is
        told which jobs living executors took, and tells which of them nobody is at.
        """
        ...

    def purge(self, keep: timedelta) -> int:
        """Forget runs that ended longer ago than `keep`; how many."""
        ...
