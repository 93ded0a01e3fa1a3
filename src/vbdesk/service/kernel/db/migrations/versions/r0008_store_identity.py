"""Tables of the store's identity, its quarantine, and objects of erased jobs.

Only adds tables: older processes keep running.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "store_identity",
        sa.Column("only_row", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("store_id", sa.String(length=36), nullable=False),
        sa.CheckConstraint("only_row = 1", name=op.f("ck_store_identity_one_row")),
        sa.PrimaryKeyConstraint("only_row", name="pk_store_identity"),
    )
    op.create_table(
        "quarantined_objects",
        sa.Column("object_key", sa.String(length=120), nullable=False),
        sa.Column("noted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("days_seen", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("object_key", name="pk_quarantined_objects"),
    )
    op.create_table(
        "erased_objects",
        sa.Column("object_key", sa.String(length=120), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("object_key", name="pk_erased_objects"),
    )
