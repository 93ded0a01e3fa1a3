"""Events of a job, published within the transaction that changes the job."""

from typing import Any

from sqlalchemy import Connection, Row

from vbdesk.contract.jobs import JobStatus


class JobSubscriber:
    """Base class of subscribers to job events; they override the methods that they need.

    Every method runs in the publisher's transaction: an exception also rolls back the change of the job.
    """

    def job_ending(self, connection: Connection, job: Row[Any]) -> None:
        """Prepare for a change of the job: take the locks that its end needs."""

    def job_analysed(self, connection: Connection, job: Row[Any]) -> None:
        """React to a finished analysis that waits for its turn in a group's history."""

    def job_ended(self, connection: Connection, job: Row[Any], status: JobStatus) -> None:
        """React to the end of a job; `job` is its row from before."""


class JobEvents(JobSubscriber):
    """Passes every event to the subscribers, in order of subscription."""

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
