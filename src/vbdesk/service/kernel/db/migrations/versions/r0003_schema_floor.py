"""How old the code may be that still serves this schema, told by the schema itself.

Only adds. Code before this revision does not ask: it runs on beside the new tables, but does not start on them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table with its one row."""
    floor = op.create_table(
        "schema_floor",
        sa.Column("oldest_revision", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("oldest_revision", name="pk_schema_floor"),
    )
    op.bulk_insert(floor, [{"oldest_revision": "0001"}])
