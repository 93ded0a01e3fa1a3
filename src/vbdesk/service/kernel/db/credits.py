"""Tables of the credit ledger and of its balances."""

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import ID_LENGTH, UtcDateTime, account_reference, metadata

credit_balances = sa.Table(
    "credit_balances",
    metadata,
    sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), primary_key=True),
    sa.Column("credits", sa.BigInteger, nullable=False),
    sa.CheckConstraint("credits >= 0", name="never_below_zero"),
)

credit_entries = sa.Table(
    "credit_entries",
    metadata,
    sa.Column("entry_id", sa.String(ID_LENGTH), primary_key=True),
    account_reference(),
    sa.Column("kind", sa.String(10), nullable=False),
    sa.Column("amount", sa.BigInteger, nullable=False),
    sa.Column("delta", sa.BigInteger, nullable=False),
    sa.Column("job_id", sa.String(ID_LENGTH)),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.CheckConstraint("kind IN ('grant', 'hold', 'capture', 'release')", name="known_kind"),
    sa.Index("ix_credit_entries_account_id_created_at", "account_id", "created_at"),
)
"""Append-only. `amount` is the number of tokens of an entry, `delta` its effect on the balance, which is the sum of
deltas."""

_held = sa.text("kind = 'hold'")
_settled = sa.text("kind IN ('capture', 'release')")
sa.Index("uq_credit_entries_hold", credit_entries.c.job_id, unique=True, sqlite_where=_held, postgresql_where=_held)
sa.Index(
    "uq_credit_entries_settlement",
    credit_entries.c.job_id,
    unique=True,
    sqlite_where=_settled,
    postgresql_where=_settled,
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Sums of the ledger.

    Attributes:
        moved: tokens by kind of entry.
        mismatch: sum of all balances minus sum of all deltas; any value but 0 is an error.
    """

    moved: Mapping[str, int]
    mismatch: int
