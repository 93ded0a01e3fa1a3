"""References of submissions.

Only adds tables: jobs of older releases have no reference, and older processes keep running. They do not read the
field.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "client_refs",
        sa.Column("account_id", sa.String(36), nullable=False),
        sa.Column("ref_digest", sa.String(64), nullable=False),
        sa.Column("job_id", sa.String(36)),
        sa.Column("request", sa.String(64)),
        sa.Column("recorded_at", sa.DateTime(timezone=True)),
        sa.Column("recording_digest", sa.String(64)),
        sa.PrimaryKeyConstraint("account_id", "ref_digest", name="pk_client_refs"),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.account_id"], name="fk_client_refs_account_id_accounts"),
    )
    op.create_index("ix_client_refs_job_id", "client_refs", ["job_id"])
    op.create_table(
        "client_ref_keys",
        sa.Column("account_id", sa.String(36), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name="pk_client_ref_keys"),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.account_id"], name="fk_client_ref_keys_account_id_accounts"),
    )
