"""Re-encryption of secrets with the current key, so that an older key can be removed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from vbdesk.service.kernel.db.jobs import client_ref_keys, jobs
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.db.tables import account_webhooks, webhook_deliveries
from vbdesk.service.kernel.secret_box import CLIENT_REF_KEY, WEBHOOK_SECRET, SecretBox
from vbdesk.service.webhooks.repository import GIVEN_UP, PENDING

AT_ONCE = 500


class Sealed(NamedTuple):
    """A column of encrypted secrets: the key of its rows, the column, and the purpose of the encryption."""

    key: sa.Column[str]
    column: sa.Column[Any]
    purpose: str = WEBHOOK_SECRET


_SEALED = (
    Sealed(account_webhooks.c.account_id, account_webhooks.c.secret),
    Sealed(jobs.c.job_id, jobs.c.webhook_secret),
    Sealed(webhook_deliveries.c.delivery_id, webhook_deliveries.c.secret),
    Sealed(client_ref_keys.c.account_id, client_ref_keys.c.sealed, CLIENT_REF_KEY),
)
"""All encrypted secrets. Deliveries follow jobs, whose secrets they copy."""

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
            connection.execute(sa.select(kind.key).where(_has_secret(kind.column)).limit(1)).first() is not None
            for kind in _SEALED
            if tables.has_table(kind.key.table.name)
        )


def forget_sealed(database: Database, now: datetime) -> int:
    """Delete every encrypted secret, since its key is lost, with all webhooks; return how many.

    Pending deliveries are given up. References of earlier submits are not recognised any more.
    """
    mine = webhook_deliveries.c.state == PENDING
    with database.writing() as connection:
        count = sum(
            connection.execute(sa.select(sa.func.count()).where(_has_secret(kind.column))).scalar_one()
            for kind in _SEALED
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
    for kind, rows in _pages(database):
        total += _judged(box, kind.purpose, [row.sealed for row in rows])
    return total


def reseal(database: Database, box: SecretBox) -> SealCount:
    """Encrypt older secrets with the current key; return the counts from before. Repeatable."""
    total = SealCount()
    for kind, rows in _pages(database):
        total += _judged(box, kind.purpose, [row.sealed for row in rows])
        older = [row for row in rows if not box.is_sealed_now(row.sealed, kind.purpose)]
        with database.writing() as connection:
            for row in older:
                _reseal_row(connection, box, kind, row)
    return total


def _reseal_row(connection: sa.Connection, box: SecretBox, kind: Sealed, row: sa.Row[Any]) -> None:
    try:
        text = box.unseal(row.sealed, kind.purpose)
    except ValueError:
        return
    unchanged = (kind.key == row.id) & (kind.column == row.sealed)  # its owner may set another meanwhile
    values = {kind.column.name: box.seal(text, kind.purpose)}
    connection.execute(sa.update(kind.key.table).where(unchanged).values(values))


def _judged(box: SecretBox, purpose: str, sealed: Sequence[bytes]) -> SealCount:
    present = sum(box.is_sealed_now(one, purpose) for one in sealed)
    readable = sum(_is_readable(box, purpose, one) for one in sealed)
    return SealCount(present, readable - present, len(sealed) - readable)


def _is_readable(box: SecretBox, purpose: str, sealed: bytes) -> bool:
    try:
        box.unseal(sealed, purpose)
    except ValueError:
        return False
    return True


def _pages(database: Database) -> Iterator[tuple[Sealed, Sequence[sa.Row[Any]]]]:
    """Yield every secret with its row's `id`, in batches and short transactions."""
    for kind in _SEALED:
        key, column, last = kind.key, kind.column, ""
        while True:
            query = sa.select(key.label("id"), column.label("sealed")).where(key > last, _has_secret(column))
            with database.reading() as connection:
                rows = connection.execute(query.order_by(key).limit(AT_ONCE)).all()
            if not rows:
                break
            yield kind, rows
            last = rows[-1].id
