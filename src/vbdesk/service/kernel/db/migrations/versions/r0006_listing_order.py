"""Indexes to list groups and to find old audio.

Alone in their migration: they are created while others write to the tables.
"""

from vbdesk.service.kernel.db.migrations.steps import create_index

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the indexes."""
    create_index("ix_groups_account_id_created_at", "groups", ["account_id", "created_at"])
    create_index("ix_jobs_kept_audio", "jobs", ["created_at"], where="audio_key IS NOT NULL")
