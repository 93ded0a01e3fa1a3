"""Tables of encryption at rest: data keys, and the encryption state of existing data."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import UtcDateTime, metadata

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
