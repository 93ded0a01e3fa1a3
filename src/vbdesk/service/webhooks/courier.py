"""Delivering webhooks: tried at once, then less and less often, across restarts, until the receiver says 2xx."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import httpcore
from opentelemetry.trace import Span, SpanKind
from sqlalchemy import Row
from sqlalchemy.exc import SQLAlchemyError

from vbdesk.contract.webhooks import DELIVERY_HEADER, SIGNATURE_HEADER, webhook_signature
from vbdesk.service.clock import Clock
from vbdesk.service.db.facts import DeliveryTried, tell
from vbdesk.service.db.session import Database
from vbdesk.service.jobs import repository as jobs
from vbdesk.service.jobs.view import job_json
from vbdesk.service.observe.metrics import Metrics
from vbdesk.service.observe.tracing import Tracing, continued, traced
from vbdesk.service.secret_box import SecretBox
from vbdesk.service.webhooks import repository
from vbdesk.service.webhooks.guard import AddressRefused
from vbdesk.service.webhooks.sender import WebhookSender
from vbdesk.service.webhooks.service import CLAIM, PURPOSE

RETRY_DELAYS_S = (1, 5, 30, 120, 600, 1800, 3600, 10_800, 21_600, 43_200)
"""Between an attempt and the next; after the last the delivery is given up."""

AT_ONCE = 4
LOOK_EVERY_S = 0.25
LONGEST_PAUSE_S = 5.0
STOP_PATIENCE_S = 2.0

UNREADABLE = "The webhook's secret cannot be read with the keys of this service."

log = logging.getLogger(__name__)


class WebhookCourier:
    """Carries the deliveries that are due; several processes may do so side by side."""

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
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="vbdesk-webhook-courier", daemon=True)

    def start(self) -> None:
        """Begin to look for due deliveries."""
        self._thread.start()

    def stop(self) -> None:
        """Stop looking. An attempt that does not end soon is left behind; its delivery is tried again later."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def deliver_due(self) -> int:
        """Try the deliveries that are due now, a few side by side, and wait for them; how many were tried."""
        attempts = self._begin_due(AT_ONCE)
        for attempt in attempts:
            attempt.join()
        return len(attempts)

    def _work(self) -> None:
        under_way: list[threading.Thread] = []
        pause_s = LOOK_EVERY_S
        while not self._stopping.wait(pause_s):
            under_way = [attempt for attempt in under_way if attempt.is_alive()]
            try:
                under_way += self._begin_due(AT_ONCE - len(under_way))
                pause_s = LOOK_EVERY_S
            except SQLAlchemyError as error:  # the database may be away for a while; deliveries are not
                log.warning("Webhook deliveries wait for the database (%s).", type(error).__name__)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            except Exception:  # whatever it was, the next look must come
                log.exception("Webhook deliveries could not be begun; trying again.")
                pause_s = LONGEST_PAUSE_S
        leaves_at = time.monotonic() + STOP_PATIENCE_S
        for attempt in under_way:
            attempt.join(max(0.0, leaves_at - time.monotonic()))

    def _begin_due(self, at_most: int) -> list[threading.Thread]:
        now = self._clock.now()
        with self._database.reading() as connection:
            due = repository.list_due(connection, now, at_most)
        if not due:
            return []
        with self._database.writing() as connection:
            claimed = [delivery for delivery in due if repository.claim(connection, delivery, now + CLAIM)]
        attempts = [threading.Thread(target=self._try, args=(delivery,), daemon=True) for delivery in claimed]
        for attempt in attempts:
            attempt.start()
        return attempts

    def _try(self, delivery: Row[Any]) -> None:
        try:
            self._attempt(delivery)
        except SQLAlchemyError as error:  # how it went is not known any more, so it is tried again
            log.warning("A webhook delivery could not be written down (%s).", type(error).__name__)

    def _attempt(self, delivery: Row[Any]) -> None:
        with self._database.reading() as connection:
            job = jobs.find(connection, delivery.job_id)
        if job is None:
            return  # erased meanwhile, and the delivery with it
        with self._observed(job) as span:
            status, error = self._send(delivery, job_json(job))
            if status is not None:
                span.set_attribute("http.response.status_code", status)
        succeeded = status is not None and 200 <= status < 300
        attempts = delivery.attempts + 1
        exhausted = attempts > len(RETRY_DELAYS_S)
        delay_s = 0 if succeeded or exhausted else RETRY_DELAYS_S[attempts - 1]
        state = repository.SENT if succeeded else repository.GIVEN_UP if exhausted else repository.PENDING
        with self._database.writing() as connection:
            tell(connection, DeliveryTried(state))
            repository.record_attempt(
                connection,
                delivery.delivery_id,
                state=state,
                attempts=attempts,
                due_at=self._clock.now() + timedelta(seconds=delay_s),
                status=status,
                error=error,
            )

    @contextmanager
    def _observed(self, job: Row[Any]) -> Iterator[Span]:
        parent, told = continued(job.trace_parent), {"vbdesk.job_id": job.job_id}
        with (
            self._metrics.webhook_seconds.time(),
            traced(self._tracer, "webhook", parent=parent, kind=SpanKind.CLIENT, attributes=told) as span,
        ):
            yield span

    def _send(self, delivery: Row[Any], body: bytes) -> tuple[int | None, str | None]:
        """The receiver's HTTP status, or why there was none."""
        try:
            secret_key = self._secrets.unseal(delivery.secret, PURPOSE)
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
        except AddressRefused as refusal:
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
