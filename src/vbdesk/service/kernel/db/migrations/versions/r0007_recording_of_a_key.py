"""The digest of the recording that an idempotency key was used for.

Only adds a nullable column: rows of older releases match as before, and older processes keep running.
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
