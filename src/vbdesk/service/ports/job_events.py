"""Events in the life of a job, published within the transaction that changes the job."""

from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.contract.jobs import JobStatus


class JobSubscriber:
    """Base of what follows from a job's events; a subscriber overrides the methods that it needs.

    Every method runs in the publisher's transaction: what it raises undoes the change of the job too.
    """

    def job_ending(self, connection: Connection, job: Row[Any]) -> None:
        """Prepare for a change of the job: take the locks that its end needs."""

    def job_analysed(self, connection: Connection, job: Row[Any]) -> None:
        """React to a finished analysis that waits for its turn in a group's history."""

    def job_ended(self, connection: Connection, job: Row[Any], status: JobStatus) -> None:
        """React to the end of a job; `job` is the row as it was before."""


class JobEvents(JobSubscriber):
    """Passes every event to the subscribers, in the order in which they subscribed."""

    def __init__(self, *subscribers: JobSubscriber) -> None:
        self._subscribers = list(subscribers)

    def subscribe(self, subscriber: JobSubscriber) -> None:
        """Add a subscriber."""
        self._subscribers.append(subscriber)

    def job_ending(self, connection: Connection, job: Row[Any]) -> None:
        """Publish that a job is about to change."""
        for subscriber in self._subscribers:
            subscriber.job_ending(connection, job)

    def job_analysed(self, connection: Connection, job: Row[Any]) -> None:
        """Publish that an analysis waits for its turn."""
        for subscriber in self._subscribers:
            subscriber.job_analysed(connection, job)

    def job_ended(self, connection: Connection, job: Row[Any], status: JobStatus) -> None:
        """Publish that a job ended."""
        for subscriber in self._subscribers:
            subscriber.job_ended(connection, job, status)
