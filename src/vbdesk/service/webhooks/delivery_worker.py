"""Webhook delivery worker: retries with growing pauses, across restarts, until the receiver answers 2xx."""

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import httpcore
from opentelemetry.trace import Span, SpanKind
from sqlalchemy import Connection, Row
from sqlalchemy.exc import SQLAlchemyError

from vbdesk.clock import Clock
from vbdesk.contract.webhooks import DELIVERY_HEADER, SIGNATURE_HEADER, webhook_signature
from vbdesk.language import N_
from vbdesk.service.jobs import repository as jobs
from vbdesk.service.jobs.view import job_json
from vbdesk.service.kernel.address_guard import AddressNotAllowed, endpoint_of
from vbdesk.service.kernel.db.events import DeliveryTried, publish
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.name_resolver import numeric_address
from vbdesk.service.kernel.periodic import PeriodicJob
from vbdesk.service.kernel.secret_box import WEBHOOK_SECRET, SecretBox
from vbdesk.service.observability.metrics import Metrics
from vbdesk.service.observability.tracing import Tracing, continued, traced
from vbdesk.service.webhooks import repository
from vbdesk.service.webhooks.sender import WebhookSender
from vbdesk.service.webhooks.service import CLAIM

RETRY_DELAYS_S = (1, 5, 30, 120, 600, 1800, 3600, 10_800, 21_600, 43_200)
"""Pauses between attempts; after the last one the delivery is given up."""

PAGE = 200
URLS_PASSED_OVER = 5
"""URLs per account that the search for deliveries skips. If more URLs of an account have no slot, all its other
deliveries wait too, because each skipped URL slows the search."""

CHECK_INTERVAL_S = 0.25
LONGEST_PAUSE_S = 5.0
STOP_WAIT_S = 2.0

UNREADABLE = N_("The webhook's secret cannot be read with the keys of this service.")

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Attempt:
    """One attempt at a delivery, in its own thread.

    Attributes:
        delivery: row as before the claim.
        claimed_until: end of the claim.
        answer: the receiver's HTTP status, or the error; None when no attempt was made.
        ended: whether the attempt is over.
    """

    delivery: Row[Any]
    claimed_until: datetime
    answer: tuple[int | None, str | None] | None = None
    ended: bool = False
    thread: threading.Thread = field(init=False)


class DeliveryWorker:
    """Sends due deliveries; several processes may run it in parallel.

    Each account and each receiver has a few slots of its own, so slow receivers delay only themselves. One thread
    claims deliveries and records results; each attempt has its own thread.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        secrets: SecretBox,
        sender: WebhookSender,
        metrics: Metrics | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._secrets = secrets
        self._sender = sender
        self._metrics = metrics or Metrics()
        self._tracer = (tracing or Tracing()).tracer
        self._under_way: list[_Attempt] = []
        self._wake = threading.Event()  # set when an attempt ends

    def job(self) -> PeriodicJob:
        """The search for what is due."""
        return PeriodicJob(
            "webhook-delivery",
            CHECK_INTERVAL_S,
            self._check,
            longest_pause_s=LONGEST_PAUSE_S,
            wake=self._wake,
            at_end=self.finish,
        )

    def finish(self) -> None:
        """Wait a moment for attempts. One that does not end is abandoned; its delivery is retried later."""
        leaves_at = time.monotonic() + STOP_WAIT_S
        for attempt in self._under_way:
            attempt.thread.join(max(0.0, leaves_at - time.monotonic()))
        self._record_ended()

    def deliver_due(self) -> int:
        """Attempt the due deliveries that get a slot, wait for them and return their number."""
        tried = self._begin_due()
        for attempt in self._under_way:
            attempt.thread.join()
        self._record_ended()
        return tried

    def _check(self) -> None:
        """Record ended attempts and start due ones."""
        self._record_ended()
        self._begin_due()

    def _begin_due(self) -> int:
        """Claim due deliveries that get a slot and start them; return their number."""
        now = self._clock.now()
        with self._database.reading() as connection:
            due = self._list_with_place(connection, now)
        if not due:
            return 0
        until = now + CLAIM
        with self._database.writing() as connection:
            claimed = [delivery for delivery in due if repository.claim(connection, delivery, until)]
        for delivery in claimed:
            attempt = _Attempt(delivery, until)
            attempt.thread = threading.Thread(target=self._try, args=(attempt,), daemon=True)
            attempt.thread.start()
            self._under_way.append(attempt)
        return len(claimed)

    def _list_with_place(self, connection: Connection, now: datetime) -> list[Row[Any]]:
        """List due deliveries that have a free slot, longest due first, past any number that have none."""
        places = DeliverySlots(attempt.delivery for attempt in self._under_way)
        found: list[Row[Any]] = []
        waiting: defaultdict[str, set[str]] = defaultdict(set)  # URLs without a free slot, by account
        last = None
        while places.free:
            many = [account_id for account_id, urls in waiting.items() if len(urls) > URLS_PASSED_OVER]
            accounts = {*places.full_accounts, *many}
            urls = [(account_id, url) for account_id in waiting.keys() - accounts for url in waiting[account_id]]
            page = repository.list_due(connection, now, PAGE, after=last, without_accounts=accounts, without=urls)
            for delivery in page:
                if places.take(delivery):
                    found.append(delivery)
                else:
                    waiting[delivery.account_id].add(delivery.url)
            if len(page) < PAGE:
                break
            last = page[-1]
        return found

    def _try(self, attempt: _Attempt) -> None:
        try:
            attempt.answer = self._attempt(attempt.delivery)
        except SQLAlchemyError as error:  # no attempt was made, so it is retried when the claim expires
            log.warning("A webhook delivery could not be read (%s).", type(error).__name__)
        finally:
            attempt.ended = True
            self._wake.set()

    def _attempt(self, delivery: Row[Any]) -> tuple[int | None, str | None] | None:
        """Return the receiver's HTTP status or the error."""
        with self._database.reading() as connection:
            job = jobs.find(connection, delivery.job_id)
        if job is None:
            return None  # erased in the meantime, together with the delivery
        with self._observed(job) as span:
            status, error = self._send(delivery, job_json(job))
            if status is not None:
                span.set_attribute("http.response.status_code", status)
        return status, error

    def _record_ended(self) -> None:
        """Record the results of attempts in one transaction and free their slots."""
        ended = [attempt for attempt in self._under_way if attempt.ended]
        answered = [(attempt, attempt.answer) for attempt in ended if attempt.answer is not None]
        if answered:
            with self._database.writing() as connection:
                for attempt, (status, error) in answered:
                    self._record(connection, attempt, status, error)
        self._under_way = [attempt for attempt in self._under_way if attempt not in ended]

    def _record(self, connection: Connection, attempt: _Attempt, status: int | None, error: str | None) -> None:
        delivery = attempt.delivery
        succeeded = status is not None and 200 <= status < 300
        attempts = delivery.attempts + 1
        exhausted = attempts > len(RETRY_DELAYS_S)
        delay_s = 0 if succeeded or exhausted else RETRY_DELAYS_S[attempts - 1]
        state = repository.SENT if succeeded else repository.GIVEN_UP if exhausted else repository.PENDING
        publish(connection, DeliveryTried(state))
        repository.record_attempt(
            connection,
            delivery.delivery_id,
            claimed_until=attempt.claimed_until,
            state=state,
            attempts=attempts,
            due_at=self._clock.now() + timedelta(seconds=delay_s),
            status=status,
            error=error,
        )

    @contextmanager
    def _observed(self, job: Row[Any]) -> Iterator[Span]:
        parent, attributes = continued(job.trace_parent), {"vbdesk.job_id": job.job_id}
        with (
            self._metrics.webhook_seconds.time(),
            traced(self._tracer, "webhook", parent=parent, kind=SpanKind.CLIENT, attributes=attributes) as span,
        ):
            yield span

    def _send(self, delivery: Row[Any], body: bytes) -> tuple[int | None, str | None]:
        """Send and return the receiver's HTTP status or the error."""
        try:
            secret_key = self._secrets.unseal(delivery.secret, WEBHOOK_SECRET)
        except ValueError:
            log.error("The webhook delivery %s is not sent: %s See vbdesk doctor.", delivery.delivery_id, UNREADABLE)
            return None, UNREADABLE
        try:
            headers = {
                "Content-Type": "application/json",
                SIGNATURE_HEADER: webhook_signature(body, secret_key),
                DELIVERY_HEADER: delivery.delivery_id,
            }
            return self._sender.post(delivery.url, body, headers, delivery.account_id), None
        except AddressNotAllowed as refusal:
            return None, str(refusal)
        except (
            OSError,
            ValueError,
            httpcore.TimeoutException,
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.UnsupportedProtocol,
        ) as error:
            return None, type(error).__name__


AT_ONCE = 128
"""Concurrent deliveries of one process; each uses a thread that mostly waits."""

OF_ONE_ACCOUNT = 6
OF_ONE_RECEIVER = 8
OF_ONE_ACCOUNT_AT_ONE_RECEIVER = 4
"""Lower than both limits above. A receiver that does not answer leaves slots for the account's other receivers. An
account whose deliveries hang leaves the receiver's slots to other accounts."""


class DeliverySlots:
    """Counts running deliveries and decides which may start."""

    def __init__(self, under_way: Iterable[Row[Any]] = ()) -> None:
        self.free = AT_ONCE
        self._taken: Counter[Hashable] = Counter()
        for delivery in under_way:
            self._occupy(delivery.account_id, receiver_of(delivery.url))

    @property
    def full_accounts(self) -> list[str]:
        """Accounts that have no free slot."""
        return [key for key, count in self._taken.items() if isinstance(key, str) and count >= OF_ONE_ACCOUNT]

    def take(self, delivery: Row[Any]) -> bool:
        """Take a slot for `delivery`; False when none is free."""
        account_id, receiver = delivery.account_id, receiver_of(delivery.url)
        if (
            self.free <= 0
            or self._taken[account_id] >= OF_ONE_ACCOUNT
            or self._taken[receiver] >= OF_ONE_RECEIVER
            or self._taken[account_id, receiver] >= OF_ONE_ACCOUNT_AT_ONE_RECEIVER
        ):
            return False
        self._occupy(account_id, receiver)
        return True

    def _occupy(self, account_id: str, receiver: tuple[str, int]) -> None:
        self.free -= 1
        self._taken.update([account_id, receiver, (account_id, receiver)])


def receiver_of(url: str) -> tuple[str, int]:
    """Return the normalised host and port; a URL without a host is its own receiver."""
    try:
        host, port = endpoint_of(url)
    except AddressNotAllowed:
        return url, 0
    return numeric_address(host) or host.rstrip("."), port
