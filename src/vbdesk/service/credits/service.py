"""Credits: granted by the operator, held at submit, captured when done, released otherwise."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.clock import Clock
from vbdesk.contract.ids import new_id
from vbdesk.contract.jobs import JobStatus
from vbdesk.language import N_
from vbdesk.service.kernel.db.events import CreditsMoved, publish
from vbdesk.service.kernel.db.tables import Ledger, credit_balances, credit_entries
from vbdesk.service.kernel.errors import InsufficientCredits, NotFound
from vbdesk.service.ports.job_events import JobSubscriber


class CreditsService(JobSubscriber):
    """Rules of the ledger. Every method uses the caller's transaction, so credits change with the job."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def balance(self, connection: Connection, account_id: str) -> int:
        """Return the balance in tokens: grants minus holds plus releases. Raises NotFound."""
        credits = balance(connection, account_id)
        if credits is None:
            raise NotFound(N_("There is no account with this id."))
        return credits

    def grant(self, connection: Connection, account_id: str, amount: int) -> int:
        """Add tokens and return the new balance.

        Raises:
            NotFound: there is no such account.
            ValueError: `amount` is not positive.
        """
        if amount <= 0:
            raise ValueError("Grant at least one credit.")
        if not change_balance(connection, account_id, amount):
            raise NotFound(N_("There is no account with this id."))
        self._append(connection, account_id, "grant", amount, amount, None)
        return self.balance(connection, account_id)

    def hold(self, connection: Connection, account_id: str, amount: int, job_id: str) -> None:
        """Reserve tokens for a job. Raises InsufficientCredits when the balance is too low."""
        if not change_balance(connection, account_id, -amount):
            raise InsufficientCredits
        self._append(connection, account_id, "hold", amount, -amount, job_id)

    def capture(self, connection: Connection, job_id: str) -> bool:
        """Charge the tokens that the job holds; return False when it was settled before."""
        return self._settle(connection, job_id, captured=True)

    def release(self, connection: Connection, job_id: str) -> bool:
        """Return the tokens that the job holds; return False when it was settled before."""
        return self._settle(connection, job_id, captured=False)

    def job_ended(self, connection: Connection, job: Row[Any], status: JobStatus) -> None:
        """Capture the credits of a finished job; release those of any other ended job."""
        self._settle(connection, job.job_id, captured=status is JobStatus.DONE)

    def _settle(self, connection: Connection, job_id: str, *, captured: bool) -> bool:
        held = find_open_hold(connection, job_id)
        if held is None:
            return False
        if captured:
            self._append(connection, held.account_id, "capture", held.amount, 0, job_id)
        else:
            self._append(connection, held.account_id, "release", held.amount, held.amount, job_id)
            change_balance(connection, held.account_id, held.amount)
        return True

    def _append(
        self, connection: Connection, account_id: str, kind: str, amount: int, delta: int, job_id: str | None
    ) -> None:
        append(
            connection,
            account_id=account_id,
            kind=kind,
            amount=amount,
            delta=delta,
            job_id=job_id,
            created_at=self._clock.now(),
        )


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
