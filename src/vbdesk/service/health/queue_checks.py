"""Queue checks: jobs and webhooks are being processed, and none is lost."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.contract.jobs import JobStatus
from vbdesk.language import N_, message, plural_message
from vbdesk.service.engine.queue_state import QueueState, read_queue_state
from vbdesk.service.engine.sweeper import TASK
from vbdesk.service.health.findings import Finding, action_needed, note, ok
from vbdesk.service.kernel.db.jobs import jobs, leases
from vbdesk.service.kernel.db.tables import webhook_deliveries
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.webhooks.repository import OF_ACTIVE, PENDING

LONG_WAIT = timedelta(minutes=10)
OVERDUE_BORNE = timedelta(minutes=2)
WEBHOOK_LATE = timedelta(minutes=5)


def check_work(connection: Connection, settings: Settings, now: datetime) -> list[Finding]:
    """Check running and waiting work."""
    state = read_queue_state(connection, now)
    return [
        _check_executors(state),
        _check_lease(connection, now),
        _check_waiting(state, settings),
        _check_overdue(connection, now),
        _check_set_aside(connection),
        _check_webhooks(connection, now),
    ]


def _check_executors(state: QueueState) -> Finding:
    if not state.executors:
        if state.waiting:
            nobody = plural_message(
                "No worker runs, and {count} job waits. Start a worker.",
                "No worker runs, and {count} jobs wait. Start a worker.",
                state.waiting,
            )
            return action_needed(N_("workers"), nobody)
        return note(N_("workers"), message("No worker runs, and no job waits."))
    counted = message(
        "Workers: {executors}; slots: {slots}; running jobs: {running}; workers that take no new jobs: {draining}.",
        executors=state.executors,
        slots=state.slots,
        running=state.running,
        draining=state.draining,
    )
    if state.draining == state.executors and state.waiting:
        return action_needed(N_("workers"), counted, message("Start a worker that takes new jobs."))
    return ok(N_("workers"), counted)


def _check_lease(connection: Connection, now: datetime) -> Finding:
    held = connection.execute(
        sa.select(leases.c.holder, leases.c.expires_at).where(leases.c.task == TASK)
    ).one_or_none()
    if held is None or held.expires_at < now:
        nobody = message("No process runs the sweeper at the moment. The next process that starts takes it over.")
        return note(N_("sweeper"), nobody)
    return ok(N_("sweeper"), message("The process {name} runs the sweeper.", name=held.holder))


def _check_waiting(state: QueueState, settings: Settings) -> Finding:
    if not state.waiting:
        return ok(N_("queue"), message("No job waits."))
    waiting = plural_message("{count} job waits.", "{count} jobs wait.", state.waiting)
    longest = message("The oldest waits for {minutes} min.", minutes=round(state.oldest_wait_s / 60))
    if state.waiting >= settings.queue_limit:
        over = message("The limit is {limit}. Add workers.", limit=settings.queue_limit)
        return action_needed(N_("queue"), waiting, longest, over)
    if state.oldest_wait_s > LONG_WAIT.total_seconds():
        return action_needed(N_("queue"), waiting, longest, message("Add workers."))
    return ok(N_("queue"), waiting, longest)


def _check_overdue(connection: Connection, now: datetime) -> Finding:
    late = (jobs.c.status == JobStatus.RUNNING.value) & (jobs.c.run_deadline < now - OVERDUE_BORNE)
    count = connection.execute(sa.select(sa.func.count()).where(late)).scalar_one()
    if count:
        overdue = plural_message(
            "{count} job runs longer than it may, and no process ends it. Restart the workers.",
            "{count} jobs run longer than they may, and no process ends them. Restart the workers.",
            count,
        )
        return action_needed(N_("overdue jobs"), overdue)
    return ok(N_("overdue jobs"), message("No job runs longer than it may."))


def _check_set_aside(connection: Connection) -> Finding:
    aside = (jobs.c.status == JobStatus.RUNNING.value) & jobs.c.analysis.is_not(None)
    count = connection.execute(sa.select(sa.func.count()).where(aside)).scalar_one()
    if count:
        held = plural_message(
            "{count} analysed job waits for earlier recordings of its group.",
            "{count} analysed jobs wait for earlier recordings of their groups.",
            count,
        )
        return note(N_("jobs set aside"), held)
    return ok(N_("jobs set aside"), message("No analysed job waits for another."))


def _check_webhooks(connection: Connection, now: datetime) -> Finding:
    query = sa.select(sa.func.count(), sa.func.min(webhook_deliveries.c.due_at))
    pending, due_at = connection.execute(query.where(webhook_deliveries.c.state == PENDING, OF_ACTIVE)).one()
    if not pending:
        return ok(N_("webhooks"), message("No webhook has to be sent."))
    if due_at < now - WEBHOOK_LATE:
        late = message(
            "Webhooks to be sent: {count}. The oldest is {minutes} min late, because no process sends them. Start a "
            "worker.",
            count=pending,
            minutes=round((now - due_at).total_seconds() / 60),
        )
        return action_needed(N_("webhooks"), late)
    on_time = message("Webhooks to be sent: {count}. The service tries them again in time.", count=pending)
    return note(N_("webhooks"), on_time)
