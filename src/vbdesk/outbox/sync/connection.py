"""The courier's one connection to the service: made when needed, dropped when doubtful, every request counted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from vbdesk.capture.clock import Clock
from vbdesk.client import Client, RequestBudget
from vbdesk.client.errors import RateLimited
from vbdesk.contract.limits import RATE_WINDOW_S, Bucket
from vbdesk.outbox.library.recording_time import TOLERANCE, ServiceTime

SLOW_S = 30.0  # the time in an answer that took longer says little of the moment at which it came


class NoRoom(Exception):
    """Somebody else of this program took the last request of the minute: the step is done a little later."""


class Connection:
    """A client without a budget of its own, and the budget that it shares with everything else of the program.

    Attributes:
        key_kept_s: for how many seconds it keeps an idempotency key, by its last answer; None: no promise.
        answer: the time that the service's last answer told; None where it told none, or took too long.
        answered: an answer has come since the connection was made.
    """

    def __init__(
        self, client_factory: Callable[[], Client], budget: RequestBudget, clock: Clock, on_answer: Callable[[], None]
    ) -> None:
        self._client_factory = client_factory
        self._client: Client | None = None
        self._budget = budget
        self._clock = clock
        self._on_answer = on_answer
        self.key_kept_s: int | None = None
        self.answer: ServiceTime | None = None
        self.answered = False

    @property
    def client(self) -> Client:
        """The client, for what does not count: the storage. Raises VaultError."""
        if self._client is None:
            self._client = self._client_factory()
        return self._client

    @contextmanager
    def asking(self, bucket: Bucket) -> Iterator[Client]:
        """The client, for one request that counts against `bucket`.

        Raises:
            NoRoom: the minute is used up.
            VaultError: the key cannot be read.
        """
        client = self.client
        sent_at, began = self._clock.monotonic(), self._clock.boot()
        if not self._budget.take(bucket, sent_at):
            raise NoRoom
        try:
            yield client
        except RateLimited as error:
            pause_s = RATE_WINDOW_S if error.retry_after_s is None else error.retry_after_s
            self._budget.close(bucket, self._clock.monotonic() + pause_s)
            raise
        finally:
            # on a slow line the service counts a request at any moment up to its answer
            self._budget.answered(bucket, sent_at, self._clock.monotonic())
        now, self.answer, self.answered = self._clock.boot(), None, True
        if client.server_time is not None and now.seconds - began.seconds <= SLOW_S:
            self.answer = ServiceTime(now, client.server_time)
        self.key_kept_s = client.key_kept_s
        self._on_answer()

    @property
    def clock_error(self) -> timedelta | None:
        """How far the service's clock is before ours; None if its last answer did not tell."""
        heard = self.heard_time()
        return None if heard is None else heard - self._clock.now()

    @property
    def clock_is_wrong(self) -> bool:
        """Whether the last answer shows that our clock is wrong."""
        error = self.clock_error
        return error is not None and abs(error) > TOLERANCE

    def heard_time(self) -> datetime | None:
        """The time of day by the service's clock; None if its last answer did not tell."""
        return None if self.answer is None else self.answer.later(self._clock.boot().seconds)

    def service_time(self) -> datetime:
        """The time of day by the service's clock where that is known, else by ours."""
        return self.heard_time() or self._clock.now()

    def drop(self) -> None:
        """Let go of the connections; the next request makes new ones."""
        client, self._client = self._client, None
        self.answer, self.answered, self.key_kept_s = None, False, None
        if client is not None:
            client.close()
