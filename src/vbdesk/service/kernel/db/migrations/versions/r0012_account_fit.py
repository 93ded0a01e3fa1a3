"""The usual variances of an account's groups, fitted at most once in 30 days.

Only adds a nullable column: older processes keep running. A snapshot that they take has no fit, and the next one of a
newer process fits again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("cohort_snapshots", sa.Column("fit", sa.Text(), nullable=True))
