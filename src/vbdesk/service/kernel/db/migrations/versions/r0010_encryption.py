"""Tables of data keys and of the encryption state of existing data.

Only adds tables: older processes keep running until a key is given.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "data_keys",
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("wrapped_by", sa.String(length=12), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name="pk_data_keys"),
    )
    op.create_table(
        "encryption_state",
        sa.Column("only_row", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("only_row = 1", name=op.f("ck_encryption_state_one_row")),
        sa.PrimaryKeyConstraint("only_row", name="pk_encryption_state"),
    )
