"""Columns for several machines: order of waiting jobs, traces, and executors.

Only adds nullable columns: processes of the previous release keep running.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("jobs", sa.Column("queue_tag", sa.BigInteger(), nullable=True))
    op.add_column("jobs", sa.Column("trace_parent", sa.String(length=55), nullable=True))
    op.add_column("jobs", sa.Column("started_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("executors", sa.Column("started_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("executors", sa.Column("host", sa.String(length=255), nullable=True))
    op.add_column("executors", sa.Column("slots", sa.Integer(), nullable=True))
    op.add_column("executors", sa.Column("draining", sa.Boolean(), server_default=sa.false(), nullable=False))
