"""The table of the oldest code revision that may use this schema.

Only adds a table. Code of an older release does not read it: it keeps running, but does not start on this schema.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table with its one row."""
    floor = op.create_table(
        "schema_floor",
        sa.Column("oldest_revision", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("oldest_revision", name="pk_schema_floor"),
    )
    op.bulk_insert(floor, [{"oldest_revision": "0001"}])
