"""Table of erasures."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import ID_LENGTH, UtcDateTime, account_reference, metadata

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
