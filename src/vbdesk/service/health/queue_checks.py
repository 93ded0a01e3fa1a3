"""Queue checks: jobs and webhooks are being processed, and none is lost."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.service.engine.queue_state import QueueState, read_queue_state
from vbdesk.service.engine.sweeper import TASK
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.kernel.db.jobs import jobs, leases
from vbdesk.service.kernel.db.webhooks import webhook_deliveries
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.webhooks.repository import OF_ACTIVE, PENDING

LONG_WAIT = timedelta(minutes=10)
OVERDUE_BORNE = timedelta(minutes=2)
WEBHOOK_LATE = timedelta(minutes=5)


def look_at_work(connection: Connection, settings: Settings, now: datetime) -> list[Finding]:
    """Check running and waiting work."""
    state = read_queue_state(connection, now)
    return [
        _look_at_executors(state),
        _look_at_lease(connection, now),
        _look_at_waiting(state, settings),
        _look_at_overdue(connection, now),
        _look_at_set_aside(connection),
        _look_at_webhooks(connection, now),
    ]


def _look_at_executors(state: QueueState) -> Finding:
    if not state.executors:
        if state.waiting:
            return action_needed("workers", f"None is alive, and {state.waiting} jobs wait: start a worker.")
        return note("workers", "None is alive; nothing waits for one.")
    words = f"{state.executors} alive with {state.slots} slots, {state.running} jobs in hand, {state.draining} draining"
    if state.draining == state.executors and state.waiting:
        return action_needed("workers", f"{words}: start one that takes new jobs.")
    return ok("workers", f"{words}.")


def _look_at_lease(connection: Connection, now: datetime) -> Finding:
    held = connection.execute(
        sa.select(leases.c.holder, leases.c.expires_at).where(leases.c.task == TASK)
    ).one_or_none()
    if held is None or held.expires_at < now:
        return note("sweeper", "No process sweeps at the moment; the next one that starts takes it up.")
    return ok("sweeper", f"{held.holder} sweeps.")


def _look_at_waiting(state: QueueState, settings: Settings) -> Finding:
    if not state.waiting:
        return ok("queue", "No job waits.")
    words = f"{state.waiting} jobs wait, the oldest for {_duration(timedelta(seconds=state.oldest_wait_s))}"
    if state.waiting >= settings.queue_limit:
        return action_needed("queue", f"{words}, beyond the limit of {settings.queue_limit}: add workers.")
    if state.oldest_wait_s > LONG_WAIT.total_seconds():
        return action_needed("queue", f"{words}: add workers.")
    return ok("queue", f"{words}.")


def _look_at_overdue(connection: Connection, now: datetime) -> Finding:
    late = (jobs.c.status == JobStatus.RUNNING.value) & (jobs.c.run_deadline < now - OVERDUE_BORNE)
    count = connection.execute(sa.select(sa.func.count()).where(late)).scalar_one()
    if count:
        one = "1 job runs beyond its time and nobody ends it: restart the workers."
        many = f"{count} jobs run beyond their time and nobody ends them: restart the workers."
        return action_needed("overdue runs", one if count == 1 else many)
    return ok("overdue runs", "None.")


def _look_at_set_aside(connection: Connection) -> Finding:
    aside = (jobs.c.status == JobStatus.RUNNING.value) & jobs.c.analysis.is_not(None)
    count = connection.execute(sa.select(sa.func.count()).where(aside)).scalar_one()
    if count:
        one = "1 analysed job waits for earlier recordings of its group."
        many = f"{count} analysed jobs wait for earlier recordings of their group."
        return note("set aside", one if count == 1 else many)
    return ok("set aside", "No analysed job waits for another.")


def _look_at_webhooks(connection: Connection, now: datetime) -> Finding:
    query = sa.select(sa.func.count(), sa.func.min(webhook_deliveries.c.due_at))
    pending, due_at = connection.execute(query.where(webhook_deliveries.c.state == PENDING, OF_ACTIVE)).one()
    if not pending:
        return ok("webhooks", "None is owed.")
    if due_at < now - WEBHOOK_LATE:
        late = _duration(now - due_at)
        return action_needed(
            "webhooks", f"{pending} are owed and one is {late} late: nobody delivers them, start a worker."
        )
    return note("webhooks", f"{pending} are owed and will be tried again in time.")


def _duration(length: timedelta) -> str:
    minutes = length.total_seconds() / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"
