"""The index by which waiting jobs are found in their fair order.

Alone, for it is made while others write to the table, and such a step cannot be undone with what stands beside it.
"""

from vbdesk.service.kernel.db.migrations.steps import create_index

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index."""
    create_index("ix_jobs_status_queue_tag", "jobs", ["status", "queue_tag"])
