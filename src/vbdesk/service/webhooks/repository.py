"""SQL of account webhooks and deliveries."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.tables import ACTIVE, account_webhooks, accounts, webhook_deliveries

PENDING, SENT, GIVEN_UP = "pending", "sent", "given_up"


def store_webhook(connection: Connection, account_id: str, url: str, secret: bytes, now: datetime) -> None:
    """Set the account's webhook, replacing an earlier one."""
    connection.execute(sa.delete(account_webhooks).where(account_webhooks.c.account_id == account_id))
    connection.execute(
        sa.insert(account_webhooks).values(account_id=account_id, url=url, secret=secret, updated_at=now)
    )


def find_webhook(connection: Connection, account_id: str) -> Row[Any] | None:
    """Find `url` and encrypted `secret` of the account's webhook."""
    query = sa.select(account_webhooks).where(account_webhooks.c.account_id == account_id)
    return connection.execute(query).one_or_none()


def remove_webhook(connection: Connection, account_id: str) -> bool:
    """Delete the account's webhook; return whether there was one."""
    removed = sa.delete(account_webhooks).where(account_webhooks.c.account_id == account_id)
    return connection.execute(removed).rowcount == 1


def insert_delivery(
    connection: Connection,
    *,
    delivery_id: str,
    account_id: str,
    job_id: str,
    url: str,
    secret: bytes,
    now: datetime,
) -> None:
    """Insert a delivery that is due immediately."""
    connection.execute(
        sa.insert(webhook_deliveries).values(
            delivery_id=delivery_id,
            account_id=account_id,
            job_id=job_id,
            url=url,
            secret=secret,
            state=PENDING,
            attempts=0,
            due_at=now,
            created_at=now,
        )
    )


OF_ACTIVE = sa.exists().where(accounts.c.account_id == webhook_deliveries.c.account_id, accounts.c.state == ACTIVE)
"""Deliveries of active accounts; those of suspended accounts wait until the account is resumed."""


def list_due(
    connection: Connection,
    now: datetime,
    limit: int,
    *,
    after: Row[Any] | None = None,
    without_accounts: Collection[str] = (),
    without: Collection[tuple[str, str]] = (),
) -> Sequence[Row[Any]]:
    """List due deliveries, longest due first; those of suspended accounts wait.

    Args:
        connection: connection to read with.
        now: current time.
        limit: maximum number of rows.
        after: last delivery of the previous page.
        without_accounts: accounts whose deliveries are skipped.
        without: (account, URL) pairs whose deliveries are skipped.
    """
    table = webhook_deliveries.c
    query = sa.select(webhook_deliveries).where(table.state == PENDING, table.due_at <= now, OF_ACTIVE)
    if after is not None:
        later = (table.due_at > after.due_at) | (table.delivery_id > after.delivery_id)
        query = query.where(table.due_at >= after.due_at, later)
    if without_accounts:
        query = query.where(table.account_id.not_in(without_accounts))
    if without:
        query = query.where(sa.tuple_(table.account_id, table.url).not_in(without))
    return connection.execute(query.order_by(table.due_at, table.delivery_id).limit(limit)).all()


def claim(connection: Connection, delivery: Row[Any], until: datetime) -> bool:
    """Claim the delivery until `until`; False if another process claimed it or the account was suspended."""
    update = (
        sa.update(webhook_deliveries)
        .where(
            webhook_deliveries.c.delivery_id == delivery.delivery_id,
            webhook_deliveries.c.state == PENDING,
            webhook_deliveries.c.due_at == delivery.due_at,
            OF_ACTIVE,
        )
        .values(due_at=until)
    )
    return connection.execute(update).rowcount == 1


def record_attempt(
    connection: Connection,
    delivery_id: str,
    *,
    claimed_until: datetime,
    state: str,
    attempts: int,
    due_at: datetime,
    status: int | None,
    error: str | None,
) -> None:
    """Store the result of an attempt and the next due time, if its claim still stands.

    A delivery that was given up or restarted meanwhile, perhaps to another receiver, is not the one that was attempted.
    """
    table = webhook_deliveries.c
    connection.execute(
        sa.update(webhook_deliveries)
        .where(table.delivery_id == delivery_id, table.state == PENDING, table.due_at == claimed_until)
        .values(state=state, attempts=attempts, due_at=due_at, last_status=status, last_error=error)
    )


def list_deliveries(connection: Connection, account_id: str, before: str | None, limit: int) -> Sequence[Row[Any]]:
    """List the account's deliveries older than `before`, newest first."""
    query = sa.select(webhook_deliveries).where(webhook_deliveries.c.account_id == account_id)
    if before is not None:
        query = query.where(webhook_deliveries.c.delivery_id < before)
    return connection.execute(query.order_by(webhook_deliveries.c.delivery_id.desc()).limit(limit)).all()


def find_delivery(connection: Connection, account_id: str, delivery_id: str) -> Row[Any] | None:
    """Find the account's delivery, with `job_url` if the job has its own webhook."""
    query = (
        sa.select(webhook_deliveries, jobs.c.webhook_url.label("job_url"))
        .join(jobs, jobs.c.job_id == webhook_deliveries.c.job_id)
        .where(webhook_deliveries.c.account_id == account_id, webhook_deliveries.c.delivery_id == delivery_id)
    )
    return connection.execute(query).one_or_none()


def restart(
    connection: Connection, delivery_id: str, *, url: str, secret: bytes, now: datetime, claimed_until: datetime
) -> bool:
    """Make the delivery due now with a full set of attempts; False while an attempt may be running."""
    table = webhook_deliveries.c
    update = (
        sa.update(webhook_deliveries)
        .where(table.delivery_id == delivery_id, (table.state != PENDING) | (table.due_at > claimed_until))
        .values(state=PENDING, attempts=0, due_at=now, url=url, secret=secret, last_status=None, last_error=None)
    )
    return connection.execute(update).rowcount == 1


def give_up_pending(connection: Connection, account_id: str, reason: str, now: datetime) -> None:
    """Give up pending deliveries to the account's webhook; jobs with their own webhook keep theirs."""
    own = sa.select(jobs.c.job_id).where(jobs.c.account_id == account_id, jobs.c.webhook_url.is_not(None))
    connection.execute(
        sa.update(webhook_deliveries)
        .where(
            webhook_deliveries.c.account_id == account_id,
            webhook_deliveries.c.state == PENDING,
            webhook_deliveries.c.job_id.not_in(own),
        )
        .values(state=GIVEN_UP, due_at=now, last_error=reason)
    )
