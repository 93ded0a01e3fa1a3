"""Re-encryption of secrets with the current key, so that an older key can be removed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from vbdesk.service.kernel.db.jobs import client_ref_keys, jobs
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.webhooks import account_webhooks, webhook_deliveries
from vbdesk.service.kernel.secret_box import WEBHOOK_SECRET, SecretBox
from vbdesk.service.webhooks.repository import GIVEN_UP, PENDING

AT_ONCE = 500

_SEALED: tuple[tuple[sa.Column[str], sa.Column[Any]], ...] = (
    (account_webhooks.c.account_id, account_webhooks.c.secret),
    (jobs.c.job_id, jobs.c.webhook_secret),
    (webhook_deliveries.c.delivery_id, webhook_deliveries.c.secret),
    (client_ref_keys.c.account_id, client_ref_keys.c.sealed),
)
"""Encrypted secrets: key of the row, column. Deliveries follow jobs, whose secrets they copy."""


_NO_WEBHOOK: dict[str, None] = {"webhook_url": None, "webhook_secret": None}
_KEY_LOST = "The key that encrypted the webhook's secret is lost."


@dataclass(frozen=True, slots=True)
class SealCount:
    """Numbers of secrets encrypted with the current key, an older key, or an unknown one."""

    present: int = 0
    older: int = 0
    unreadable: int = 0

    def __add__(self, other: "SealCount") -> "SealCount":
        return SealCount(self.present + other.present, self.older + other.older, self.unreadable + other.unreadable)


def any_sealed(database: Database) -> bool:
    """Return whether the database contains any encrypted secret; False without tables."""
    with database.reading() as connection:
        tables = sa.inspect(connection)
        return any(
            connection.execute(sa.select(key).where(_has_secret(column)).limit(1)).first() is not None
            for key, column in _SEALED
            if tables.has_table(key.table.name)
        )


def forget_sealed(database: Database, now: datetime) -> int:
    """Delete every encrypted secret, since its key is lost, with all webhooks; return how many.

    Pending deliveries are given up. References of earlier submits are not recognised any more.
    """
    mine = webhook_deliveries.c.state == PENDING
    with database.writing() as connection:
        count = sum(
            connection.execute(sa.select(sa.func.count()).where(_has_secret(column))).scalar_one()
            for _, column in _SEALED
        )
        connection.execute(
            sa.update(webhook_deliveries).where(mine).values(state=GIVEN_UP, due_at=now, last_error=_KEY_LOST)
        )
        connection.execute(sa.update(webhook_deliveries).values(secret=b""))
        connection.execute(sa.update(jobs).where(_has_secret(jobs.c.webhook_secret)).values(_NO_WEBHOOK))
        connection.execute(sa.delete(account_webhooks))
        connection.execute(sa.delete(client_ref_keys))
    return int(count)


def _has_secret(column: sa.Column[Any]) -> sa.ColumnElement[bool]:
    """Select rows with a secret; a deleted one is empty."""
    return column.is_not(None) & (sa.func.length(column) > 0)


def count_seals(database: Database, box: SecretBox) -> SealCount:
    """Count the secrets by the key that decrypts them."""
    total = SealCount()
    for _, rows in _pages(database):
        total += _judged(box, [row.sealed for row in rows])
    return total


def reseal(database: Database, box: SecretBox) -> SealCount:
    """Encrypt older secrets with the current key; return the counts from before. Repeatable."""
    total = SealCount()
    for (key, column), rows in _pages(database):
        total += _judged(box, [row.sealed for row in rows])
        older = [row for row in rows if not box.is_sealed_now(row.sealed, WEBHOOK_SECRET)]
        with database.writing() as connection:
            for row in older:
                _reseal_row(connection, box, key, column, row)
    return total


def _reseal_row(
    connection: sa.Connection, box: SecretBox, key: sa.Column[str], column: sa.Column[Any], row: sa.Row[Any]
) -> None:
    try:
        text = box.unseal(row.sealed, WEBHOOK_SECRET)
    except ValueError:
        return
    unchanged = (key == row.id) & (column == row.sealed)  # its owner may set another meanwhile
    connection.execute(sa.update(key.table).where(unchanged).values({column.name: box.seal(text, WEBHOOK_SECRET)}))


def _judged(box: SecretBox, sealed: Sequence[bytes]) -> SealCount:
    present = sum(box.is_sealed_now(one, WEBHOOK_SECRET) for one in sealed)
    readable = sum(_is_readable(box, one) for one in sealed)
    return SealCount(present, readable - present, len(sealed) - readable)


def _is_readable(box: SecretBox, sealed: bytes) -> bool:
    try:
        box.unseal(sealed, WEBHOOK_SECRET)
    except ValueError:
        return False
    return True


def _pages(database: Database) -> Iterator[tuple[tuple[sa.Column[str], sa.Column[Any]], Sequence[sa.Row[Any]]]]:
    """Yield every secret with its row's `id`, in batches and short transactions."""
    for key, column in _SEALED:
        last = ""
        while True:
            query = sa.select(key.label("id"), column.label("sealed")).where(key > last, _has_secret(column))
            with database.reading() as connection:
                rows = connection.execute(query.order_by(key).limit(AT_ONCE)).all()
            if not rows:
                break
            yield (key, column), rows
            last = rows[-1].id
