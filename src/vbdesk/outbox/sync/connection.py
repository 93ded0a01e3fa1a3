"""The sync worker's connection to the service: opened on demand, every request counted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from vbdesk.client import Client, RequestBudget
from vbdesk.client.errors import RateLimited
from vbdesk.clock import Clock
from vbdesk.contract.limits import RATE_WINDOW_S, Bucket
from vbdesk.outbox.library.recording_time import TOLERANCE, ServiceTime

SLOW_S = 30.0  # the time in a slower answer is too old to compare clocks with


class RequestBudgetUsedUp(Exception):
    """Another part of the program used the last request of this minute; retry a little later."""


class ServiceConnection:
    """A client without a budget of its own, and the request budget shared with the rest of the program.

    Attributes:
        reads_language: whether it reads the fields of the language, by its last answer.
        reads_client_ref: whether it reads the reference of a submission, likewise.
        answer: the time in the service's last answer; None if it had none, or took too long.
        answered: whether an answer has come since the connection was opened.
    """

    def __init__(
        self, client_factory: Callable[[], Client], budget: RequestBudget, clock: Clock, on_answer: Callable[[], None]
    ) -> None:
        self._client_factory = client_factory
        self._client: Client | None = None
        self._budget = budget
        self._clock = clock
        self._on_answer = on_answer
        self.reads_language = self.reads_client_ref = False
        self.answer: ServiceTime | None = None
        self.answered = False

    @property
    def client(self) -> Client:
        """The client, for uploads, which do not count. Raises VaultError."""
        if self._client is None:
            self._client = self._client_factory()
        return self._client

    @contextmanager
    def requesting(self, bucket: Bucket) -> Iterator[Client]:
        """Give the client for one request that counts against `bucket`.

        Raises:
            RequestBudgetUsedUp: the minute is used up.
            VaultError: the key cannot be read.
        """
        client = self.client
        sent_at, began = self._clock.monotonic(), self._clock.boot()
        if not self._budget.take(bucket, sent_at):
            raise RequestBudgetUsedUp
        try:
            yield client
        except RateLimited as error:
            pause_s = RATE_WINDOW_S if error.retry_after_s is None else error.retry_after_s
            self._budget.close(bucket, self._clock.monotonic() + pause_s)
            raise
        finally:
            # a service may count a slow request at any moment up to its answer
            self._budget.answered(bucket, sent_at, self._clock.monotonic())
        now, self.answer, self.answered = self._clock.boot(), None, True
        if client.server_time is not None and now.seconds - began.seconds <= SLOW_S:
            self.answer = ServiceTime(now, client.server_time)
        self.reads_language, self.reads_client_ref = bool(client.reads_language), bool(client.reads_client_ref)
        self._on_answer()

    @property
    def clock_error(self) -> timedelta | None:
        """Service time minus our time; None if the last answer had no time."""
        answered_at = self.last_answer_time()
        return None if answered_at is None else answered_at - self._clock.now()

    @property
    def clock_is_wrong(self) -> bool:
        """Whether the last answer shows that our clock is wrong."""
        error = self.clock_error
        return error is not None and abs(error) > TOLERANCE

    def last_answer_time(self) -> datetime | None:
        """The time of day by the service's clock; None if the last answer had none."""
        return None if self.answer is None else self.answer.later(self._clock.boot().seconds)

    def service_time(self) -> datetime:
        """The time of day by the service's clock if known, else by ours."""
        return self.last_answer_time() or self._clock.now()

    def drop(self) -> None:
        """Close the connections; the next request opens new ones."""
        client, self._client = self._client, None
        self.answer, self.answered = None, False
        self.reads_language = self.reads_client_ref = False
        if client is not None:
            client.close()
