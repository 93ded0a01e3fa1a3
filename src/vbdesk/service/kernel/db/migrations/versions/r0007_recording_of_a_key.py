"""The digest of the recording that an idempotency key was used for.

Only adds a column that may be empty: rows of older releases match as before, and older processes run on beside it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("idempotency_keys", sa.Column("recording_digest", sa.String(length=64)))
