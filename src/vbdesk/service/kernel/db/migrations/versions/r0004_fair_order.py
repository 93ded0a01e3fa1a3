"""The index of waiting jobs in their fair order.

Alone in its migration: it is created while others write to the table, and such a step cannot be rolled back.
"""

from vbdesk.service.kernel.db.migrations.steps import create_index

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the index."""
    create_index("ix_jobs_status_queue_tag", "jobs", ["status", "queue_tag"])
