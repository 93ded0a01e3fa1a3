"""Tables of accounts and their API keys."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import ID_LENGTH, UtcDateTime, account_reference, metadata

ACTIVE, SUSPENDED, DELETING, DELETED = "active", "suspended", "deleting", "deleted"
"""States of an account. Only an active account has access; `deleting` changes to `deleted` and to no other state."""

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("account_id", sa.String(ID_LENGTH), primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("plan", sa.String(20), nullable=False),
    sa.Column("secret_key_hash", sa.LargeBinary(32), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("state", sa.String(10), nullable=False, server_default=ACTIVE),
    sa.Column("ended_at", UtcDateTime),
)
"""A deleted account keeps its row, without name and keys, because the ledger refers to it. `ended_at` is the time when
its deletion began."""

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("key_id", sa.String(ID_LENGTH), primary_key=True),
    account_reference(),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("key_hash", sa.LargeBinary(32), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("revoked_at", UtcDateTime),
    sa.Column("last_used_at", UtcDateTime),
    sa.Index("ix_api_keys_account_id", "account_id"),
)
"""`last_used_at` is accurate to the hour; an exact time would need a write per request."""
