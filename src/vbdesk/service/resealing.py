"""Sealing anew what an older key sealed, so that the older key can go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from vbdesk.service.db.jobs import jobs
from vbdesk.service.db.session import Database
from vbdesk.service.db.webhooks import account_webhooks, webhook_deliveries
from vbdesk.service.secret_box import SecretBox
from vbdesk.service.webhooks.service import PURPOSE

AT_ONCE = 500

_SEALED: tuple[tuple[sa.Column[str], sa.Column[Any]], ...] = (
    (account_webhooks.c.account_id, account_webhooks.c.secret),
    (jobs.c.job_id, jobs.c.webhook_secret),
    (webhook_deliveries.c.delivery_id, webhook_deliveries.c.secret),
)
"""Where sealed texts stand: key of the row, column. Deliveries come after jobs, whose secrets they copy."""


@dataclass(frozen=True, slots=True)
class SealCount:
    """How many texts the present key sealed, how many an older one, and how many none that is known."""

    present: int = 0
    older: int = 0
    unreadable: int = 0

    def __add__(self, other: "SealCount") -> "SealCount":
        return SealCount(self.present + other.present, self.older + other.older, self.unreadable + other.unreadable)


def count_seals(database: Database, box: SecretBox) -> SealCount:
    """Try every sealed text."""
    total = SealCount()
    for _, rows in _pages(database):
        total += _judged(box, [row.sealed for row in rows])
    return total


def reseal(database: Database, box: SecretBox) -> SealCount:
    """Seal with the present key what an older one sealed; the count is that of before. It may be repeated."""
    total = SealCount()
    for (key, column), rows in _pages(database):
        total += _judged(box, [row.sealed for row in rows])
        older = [row for row in rows if not box.is_sealed_now(row.sealed, PURPOSE)]
        with database.writing() as connection:
            for row in older:
                _reseal_row(connection, box, key, column, row)
    return total


def _reseal_row(
    connection: sa.Connection, box: SecretBox, key: sa.Column[str], column: sa.Column[Any], row: sa.Row[Any]
) -> None:
    try:
        text = box.unseal(row.sealed, PURPOSE)
    except ValueError:
        return
    unchanged = (key == row.id) & (column == row.sealed)  # its owner may set another meanwhile
    connection.execute(sa.update(key.table).where(unchanged).values({column.name: box.seal(text, PURPOSE)}))


def _judged(box: SecretBox, sealed: Sequence[bytes]) -> SealCount:
    present = sum(box.is_sealed_now(one, PURPOSE) for one in sealed)
    readable = sum(_is_readable(box, one) for one in sealed)
    return SealCount(present, readable - present, len(sealed) - readable)


def _is_readable(box: SecretBox, sealed: bytes) -> bool:
    try:
        box.unseal(sealed, PURPOSE)
    except ValueError:
        return False
    return True


def _pages(database: Database) -> Iterator[tuple[tuple[sa.Column[str], sa.Column[Any]], Sequence[sa.Row[Any]]]]:
    """Every sealed text with its row's `id`, some hundred at a time, in short transactions."""
    for key, column in _SEALED:
        last = ""
        while True:
            query = sa.select(key.label("id"), column.label("sealed")).where(key > last, column.is_not(None))
            with database.reading() as connection:
                rows = connection.execute(query.order_by(key).limit(AT_ONCE)).all()
            if not rows:
                break
            yield (key, column), rows
            last = rows[-1].id
