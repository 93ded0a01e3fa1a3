"""Metrics read from the database: queue, pending webhooks, credits. Read every few seconds at most."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import Connection
from sqlalchemy.pool import QueuePool

from vbdesk.service.engine.queue_state import QueueState, read_queue_state
from vbdesk.service.jobs.repository import UNFINISHED
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.tables import Ledger, credit_balances, credit_entries, webhook_deliveries
from vbdesk.service.observability.metrics import LEDGER_KINDS
from vbdesk.service.ports.context import Context
from vbdesk.service.webhooks.repository import OF_ACTIVE, PENDING


@dataclass(frozen=True, slots=True)
class State:
    """Snapshot of the database.

    Attributes:
        queue: waiting and running jobs, and their executors.
        webhooks_pending: deliveries that are still pending.
        webhook_oldest_s: age of the oldest pending delivery.
        credits_available: tokens that accounts may spend.
        credits_held: tokens reserved for unfinished jobs.
    """

    queue: QueueState
    webhooks_pending: int
    webhook_oldest_s: float
    credits_available: int
    credits_held: int


def read_state(connection: Connection, now: datetime) -> State:
    """Read a snapshot. Each query uses an index of unfinished rows, or reads one row per account."""
    pending, oldest = connection.execute(
        sa.select(sa.func.count(), sa.func.min(webhook_deliveries.c.created_at)).where(
            webhook_deliveries.c.state == PENDING, OF_ACTIVE
        )
    ).one()
    held = (
        sa.select(sa.func.coalesce(sa.func.sum(credit_entries.c.amount), 0))
        .join(jobs, jobs.c.job_id == credit_entries.c.job_id)
        .where(jobs.c.status.in_(UNFINISHED), credit_entries.c.kind == "hold")
    )
    available = sa.select(sa.func.coalesce(sa.func.sum(credit_balances.c.credits), 0))
    return State(
        queue=read_queue_state(connection, now),
        webhooks_pending=pending,
        webhook_oldest_s=max(0.0, (now - oldest).total_seconds()) if oldest is not None else 0.0,
        credits_available=int(connection.execute(available).scalar_one()),
        credits_held=int(connection.execute(held).scalar_one()),
    )


class StateCollector(Collector):
    """Exports the last snapshot and this process's own connections.

    Attributes:
        state: None if the database did not answer in time; its metrics are then omitted.
    """

    def __init__(self, context: Context) -> None:
        self._pool = context.database.engine.pool
        self._draining = context.draining
        self._metrics = context.metrics
        self._disk = context.disk
        self.state: State | None = None
        self.failing: dict[str, bool] = {}

    def describe(self) -> Iterable[Metric]:
        """Describe nothing in advance: the metrics depend on what could be read."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return the current metrics."""
        yield _gauge("vbdesk_state_known", "Whether the database answered in time.", self.state is not None)
        yield _gauge("vbdesk_draining", "Whether this process was asked to stop.", self._draining.is_set())
        ready = GaugeMetricFamily("vbdesk_ready", "Whether a check of readiness passes.", labels=["check"])
        for check, fails in self.failing.items():
            ready.add_metric([check], not fails)
        yield ready
        free_bytes = self._disk.free_bytes()
        if free_bytes is not None:
            yield _gauge("vbdesk_disk_free_bytes", "Free space of the disk that has least.", free_bytes)
        yield _gauge("vbdesk_disk_reserve_bytes", "Free space that is held back.", self._disk.reserve_bytes)
        if isinstance(self._pool, QueuePool):
            in_use = self._pool.checkedout()
            yield _gauge("vbdesk_database_connections_in_use", "Connections to the database in use.", in_use)
            most = self._pool.size() + self._pool._max_overflow
            yield _gauge("vbdesk_database_connections_most", "Connections that this process may open.", most)
        if self._metrics.ledger is not None:
            yield from _ledger_metrics(self._metrics.ledger)
        if self.state is not None:
            yield from _metrics_of(self.state)


def _metrics_of(state: State) -> Iterable[Metric]:
    queue = state.queue
    for name, description, value in (
        ("vbdesk_queue_waiting", "Jobs that wait for a worker.", queue.waiting),
        ("vbdesk_queue_waiting_audio_seconds", "Recorded time of waiting jobs.", queue.waiting_audio_s),
        ("vbdesk_queue_oldest_seconds", "How long the oldest waiting job has waited.", queue.oldest_wait_s),
        ("vbdesk_queue_running", "Jobs that run, on any machine.", queue.running),
        ("vbdesk_executors", "Processes that run jobs and are alive.", queue.executors),
        ("vbdesk_executors_draining", "Those of them that take no new job.", queue.draining),
        ("vbdesk_slots", "Analyses that all living processes can run at once.", queue.slots),
        ("vbdesk_webhooks_pending", "Webhook deliveries still owed.", state.webhooks_pending),
        ("vbdesk_webhook_oldest_seconds", "How long the oldest of them has been owed.", state.webhook_oldest_s),
        ("vbdesk_credits_available", "Tokens that accounts may spend.", state.credits_available),
        ("vbdesk_credits_held", "Tokens set aside for unfinished jobs.", state.credits_held),
    ):
        yield _gauge(name, description, value)


def _ledger_metrics(ledger: Ledger) -> Iterable[Metric]:
    moved = GaugeMetricFamily("vbdesk_ledger_credits", "Tokens in the ledger, by kind of entry.", labels=["kind"])
    for kind in LEDGER_KINDS:
        moved.add_metric([kind], ledger.moved.get(kind, 0))
    yield moved
    yield _gauge("vbdesk_ledger_mismatch_credits", "Balances less what the ledger adds up to.", ledger.mismatch)


def _gauge(name: str, description: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, description, value=value)
