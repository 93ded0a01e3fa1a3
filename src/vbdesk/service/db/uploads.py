"""Table of minted upload references."""

import sqlalchemy as sa

from vbdesk.service.db.metadata import ID_LENGTH, UtcDateTime, account_reference, metadata

uploads = sa.Table(
    "uploads",
    metadata,
    sa.Column("upload_ref", sa.String(ID_LENGTH), primary_key=True),
    account_reference(),
    sa.Column("content_type", sa.String(100), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
    sa.Column("usable_until", UtcDateTime, nullable=False),
    sa.Index("ix_uploads_usable_until", "usable_until"),
)
