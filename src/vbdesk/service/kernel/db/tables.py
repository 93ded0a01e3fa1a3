"""Tables of the service, except for those of jobs."""

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from vbdesk.contract.limits import MAX_GROUP_ID_LENGTH
from vbdesk.service.kernel.db.metadata import ID_LENGTH, UtcDateTime, account_reference, metadata
from vbdesk.service.kernel.encrypted_text import EncryptedText

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


console_sessions = sa.Table(
    "console_sessions",
    metadata,
    sa.Column("token_hash", sa.LargeBinary(32), primary_key=True),
    account_reference(),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("last_seen_at", UtcDateTime, nullable=False),
)
"""Sign-in sessions of the console. Only the browser has the token itself."""


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


data_keys = sa.Table(
    "data_keys",
    metadata,
    sa.Column("key_id", sa.String(16), primary_key=True),
    sa.Column("wrapped", sa.LargeBinary, nullable=False),
    sa.Column("wrapped_by", sa.String(12), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
)
"""Keys that encrypt recordings and results, each encrypted by the key-encryption key that `wrapped_by` names."""

encryption_state = sa.Table(
    "encryption_state",
    metadata,
    sa.Column("only_row", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("began_at", UtcDateTime, nullable=False),
    sa.Column("completed_at", UtcDateTime),
    sa.CheckConstraint("only_row = 1", name="one_row"),
)
"""One row once a key was given; `completed_at` is when all older data was encrypted too."""


erasures = sa.Table(
    "erasures",
    metadata,
    sa.Column("erasure_id", sa.String(ID_LENGTH), primary_key=True),
    account_reference(),
    sa.Column("kind", sa.String(10), nullable=False),
    sa.Column("jobs", sa.Integer, nullable=False),
    sa.Column("erased_at", UtcDateTime, nullable=False),
    sa.CheckConstraint("kind IN ('job', 'group', 'account')", name="known_kind"),
)
"""Audit of erasures: kind, time and number of jobs. Group names are not kept, because they may name people."""


groups = sa.Table(
    "groups",
    metadata,
    sa.Column("group_key", sa.String(ID_LENGTH), primary_key=True),
    account_reference(),
    sa.Column("group_id", sa.String(MAX_GROUP_ID_LENGTH), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False, default=0),
    sa.Column("job_count", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("done_job_count", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("earliest_recorded_at", UtcDateTime),
    sa.Column("latest_recorded_at", UtcDateTime),
    sa.UniqueConstraint("account_id", "group_id"),
    sa.Index("ix_groups_account_id_created_at", "account_id", "created_at"),
)
"""`group_key` is internal and never reused; `group_id` is the caller's and may be reused after a deletion.

`revision` counts every change of the data that the group's computations use. When it changes, a trigger counts the
group's jobs again and stores the earliest and the latest recording time.
"""

memberships = sa.Table(
    "memberships",
    metadata,
    sa.Column(
        "group_key", sa.String(ID_LENGTH), sa.ForeignKey("groups.group_key", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("job_id", sa.String(ID_LENGTH), sa.ForeignKey("jobs.job_id", ondelete="CASCADE"), primary_key=True),
    sa.Index("ix_memberships_job_id", "job_id"),
)

group_states = sa.Table(
    "group_states",
    metadata,
    sa.Column(
        "group_key", sa.String(ID_LENGTH), sa.ForeignKey("groups.group_key", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("kind", sa.String(20), primary_key=True),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("computed_at", UtcDateTime, nullable=False),
    sa.Column("body", EncryptedText("group_states.body"), nullable=False),
)
"""Cached trajectories and aggregates, as JSON, with the group's revision they were computed from."""

cohort_snapshots = sa.Table(
    "cohort_snapshots",
    metadata,
    sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), primary_key=True),
    sa.Column("taken_at", UtcDateTime, nullable=False),
    sa.Column("body", EncryptedText("cohort_snapshots.body"), nullable=False),
    sa.Column("fit", sa.Text),
)
"""At most one per day and account: each group's current level by sign, as JSON.

`fit` has the usual variances of the account's groups, as JSON; it is fitted at most once in 30 days.
"""


KEY_LENGTH = 120

store_identity = sa.Table(
    "store_identity",
    metadata,
    sa.Column("only_row", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("store_id", sa.String(ID_LENGTH), nullable=False),
    sa.CheckConstraint("only_row = 1", name="one_row"),
)
"""One row: the random id that the database and its object store share."""

quarantined_objects = sa.Table(
    "quarantined_objects",
    metadata,
    sa.Column("object_key", sa.String(KEY_LENGTH), primary_key=True),
    sa.Column("noted_at", UtcDateTime, nullable=False),
    sa.Column("seen_at", UtcDateTime, nullable=False),
    sa.Column("days_seen", sa.Integer, nullable=False),
)
"""How long each object has been in quarantine; the store's listing says which objects are there.

`object_key` is the key from before the quarantine. `days_seen` counts the sweeps that found it, a day apart, so that a
jump of the clock does not make it older.
"""

erased_objects = sa.Table(
    "erased_objects",
    metadata,
    sa.Column("object_key", sa.String(KEY_LENGTH), primary_key=True),
    sa.Column("erased_at", UtcDateTime, nullable=False),
)
"""Objects of erased jobs that the store still has to remove; the row is deleted after its object.

`erased_at` is in the future for an upload whose address is still valid: a file may still arrive there, and is then
removed again.
"""


uploads = sa.Table(
    "uploads",
    metadata,
    sa.Column("upload_ref", sa.String(ID_LENGTH), primary_key=True),
    account_reference(),
    sa.Column("content_type", sa.String(100), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("usable_until", UtcDateTime, nullable=False),
    sa.Column("held_bytes", sa.BigInteger),
    sa.Column("settled", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index("ix_uploads_usable_until", "usable_until"),
    sa.Index(
        "ix_uploads_held",
        "account_id",
        sqlite_where=sa.text("held_bytes > 0"),
        postgresql_where=sa.text("held_bytes > 0"),
    ),
)
"""`held_bytes` counts against the account's quota: first the maximum that the address accepts, 0 once a job has used
the file. `settled` is true when `held_bytes` is final: 0, or the size of the file in the store. NULL in rows of older
releases, which count nothing."""


account_webhooks = sa.Table(
    "account_webhooks",
    metadata,
    sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("secret", sa.LargeBinary, nullable=False),
    sa.Column("updated_at", UtcDateTime, nullable=False),
)
"""Webhook of an account, called when its jobs end; `secret` is encrypted."""

webhook_deliveries = sa.Table(
    "webhook_deliveries",
    metadata,
    sa.Column("delivery_id", sa.String(ID_LENGTH), primary_key=True),
    account_reference(),
    sa.Column(
        "job_id", sa.String(ID_LENGTH), sa.ForeignKey("jobs.job_id", ondelete="CASCADE"), nullable=False, unique=True
    ),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("secret", sa.LargeBinary, nullable=False),
    sa.Column("state", sa.String(10), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("due_at", UtcDateTime, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("last_status", sa.Integer),
    sa.Column("last_error", sa.Text),
    sa.CheckConstraint("state IN ('pending', 'sent', 'given_up')", name="known_state"),
    sa.Index("ix_webhook_deliveries_state_due_at", "state", "due_at"),
    sa.Index("ix_webhook_deliveries_account_id", "account_id", "delivery_id"),
)
"""One delivery per finished job, with its outcome. The body is not kept: a finished job never changes.

`due_at` is the time of the next attempt or, once sent or given up, of the last one.
"""


schema_floor = sa.Table(
    "schema_floor",
    metadata,
    sa.Column("oldest_revision", sa.String(32), primary_key=True),
)
"""One row: code older than this revision must not start on this schema.

A migration raises it when it removes or changes something that older code uses; a migration that only adds leaves it.
So processes of the previous release can start and restart while those of the new release run.
"""
