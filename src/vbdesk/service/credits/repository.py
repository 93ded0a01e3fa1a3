"""SQL of the credit ledger."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.contract.ids import new_id
from vbdesk.service.kernel.db.credits import Ledger, credit_balances, credit_entries
from vbdesk.service.kernel.db.events import CreditsMoved, publish


def balance(connection: Connection, account_id: str) -> int | None:
    """Return the account's balance in tokens; None when there is no such account."""
    query = sa.select(credit_balances.c.credits).where(credit_balances.c.account_id == account_id)
    return connection.execute(query).scalar_one_or_none()


def change_balance(connection: Connection, account_id: str, delta: int) -> bool:
    """Add `delta` unless the balance would fall below zero; return whether it was added.

    Check and change are one statement, which locks the row: concurrent holds cannot both spend the last token.
    """
    enough = credit_balances.c.credits + delta >= 0
    mine = credit_balances.c.account_id == account_id
    changed = credit_balances.c.credits + delta
    return connection.execute(sa.update(credit_balances).where(mine, enough).values(credits=changed)).rowcount == 1


def append(
    connection: Connection,
    *,
    account_id: str,
    kind: str,
    amount: int,
    delta: int,
    job_id: str | None,
    created_at: datetime,
) -> None:
    """Append one entry to the ledger."""
    connection.execute(
        sa.insert(credit_entries).values(
            entry_id=new_id(),
            account_id=account_id,
            kind=kind,
            amount=amount,
            delta=delta,
            job_id=job_id,
            created_at=created_at,
        )
    )
    publish(connection, CreditsMoved(kind, amount))


def read_ledger(connection: Connection) -> Ledger:
    """Sum up the whole ledger in one statement, since entries are added meanwhile."""
    entries = sa.select(
        credit_entries.c.kind,
        sa.func.sum(credit_entries.c.amount).label("amount"),
        sa.func.sum(credit_entries.c.delta).label("delta"),
    ).group_by(credit_entries.c.kind)
    balances = sa.select(
        sa.literal("balance"), sa.literal(0), sa.func.coalesce(sa.func.sum(credit_balances.c.credits), 0)
    )
    rows = connection.execute(sa.union_all(entries, balances)).all()
    moved = {row.kind: int(row.amount) for row in rows if row.kind != "balance"}
    mismatch = sum(int(row.delta) * (1 if row.kind == "balance" else -1) for row in rows)
    return Ledger(moved, mismatch)


def find_open_hold(connection: Connection, job_id: str) -> sa.Row[str, int] | None:
    """Return `(account_id, amount)` of the job's hold, unless it is captured or released."""
    settlement = credit_entries.alias()
    settled = sa.exists().where(settlement.c.job_id == job_id, settlement.c.kind.in_(("capture", "release")))
    query = sa.select(credit_entries.c.account_id, credit_entries.c.amount).where(
        credit_entries.c.job_id == job_id, credit_entries.c.kind == "hold", ~settled
    )
    return connection.execute(query).one_or_none()
