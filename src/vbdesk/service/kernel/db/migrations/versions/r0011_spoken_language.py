"""What the caller said about the language of a recording.

Only adds a nullable column: jobs of older releases have nothing to say, and older processes keep running. They analyse
a job as if nothing had been said.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("jobs", sa.Column("spoken", sa.Text(), nullable=True))
