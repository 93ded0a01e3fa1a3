"""Tables of account webhooks and deliveries."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import ID_LENGTH, UtcDateTime, account_reference, metadata

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
