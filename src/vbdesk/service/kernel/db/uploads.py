"""Table of uploads."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import ID_LENGTH, UtcDateTime, account_reference, metadata

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
