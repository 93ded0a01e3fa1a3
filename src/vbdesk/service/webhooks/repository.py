"""SQL of account webhooks and deliveries."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.service.db.webhooks import account_webhooks, webhook_deliveries

PENDING, SENT, GIVEN_UP = "pending", "sent", "given_up"


def store_webhook(connection: Connection, account_id: str, url: str, secret: bytes, now: datetime) -> None:
    """Set the account's webhook in place of the last one."""
    connection.execute(sa.delete(account_webhooks).where(account_webhooks.c.account_id == account_id))
    connection.execute(
        sa.insert(account_webhooks).values(account_id=account_id, url=url, secret=secret, updated_at=now)
    )


def find_webhook(connection: Connection, account_id: str) -> Row[Any] | None:
    """`url` and sealed `secret` of the account's webhook."""
    query = sa.select(account_webhooks).where(account_webhooks.c.account_id == account_id)
    return connection.execute(query).one_or_none()


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
    """Store a delivery that is due at once."""
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


def list_due(connection: Connection, now: datetime, limit: int) -> Sequence[Row[Any]]:
    """Deliveries whose time has come, longest due first."""
    query = (
        sa.select(webhook_deliveries)
        .where(webhook_deliveries.c.state == PENDING, webhook_deliveries.c.due_at <= now)
        .order_by(webhook_deliveries.c.due_at)
        .limit(limit)
    )
    return connection.execute(query).all()


def claim(connection: Connection, delivery: Row[Any], until: datetime) -> bool:
    """Keep others from trying it before `until`; False when another was faster."""
    update = (
        sa.update(webhook_deliveries)
        .where(
            webhook_deliveries.c.delivery_id == delivery.delivery_id,
            webhook_deliveries.c.state == PENDING,
            webhook_deliveries.c.due_at == delivery.due_at,
        )
        .values(due_at=until)
    )
    return connection.execute(update).rowcount == 1


def record_attempt(
    connection: Connection,
    delivery_id: str,
    *,
    state: str,
    attempts: int,
    due_at: datetime,
    status: int | None,
    error: str | None,
) -> None:
    """Store how an attempt went and when the next is due."""
    connection.execute(
        sa.update(webhook_deliveries)
        .where(webhook_deliveries.c.delivery_id == delivery_id)
        .values(state=state, attempts=attempts, due_at=due_at, last_status=status, last_error=error)
    )
