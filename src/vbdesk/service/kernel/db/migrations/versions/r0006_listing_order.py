"""Indexes by which groups are listed and old audio is found.

Alone, for they are made while others write to the tables.
"""

from vbdesk.service.kernel.db.migrations.steps import create_index

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the indexes."""
    create_index("ix_groups_account_id_created_at", "groups", ["account_id", "created_at"])
    create_index("ix_jobs_kept_audio", "jobs", ["created_at"], where="audio_key IS NOT NULL")
