"""Upload quotas, suspended and deleted accounts, and erasures of accounts.

Only adds columns with defaults and one more kind of erasure: older processes keep running. They ignore suspensions, so
a suspension is only effective once all processes are of this release.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_KINDS = "kind IN ('job', 'group', 'account')"
_CHECK = "ck_erasures_known_kind"


def upgrade() -> None:
    """Add the columns and the index, and allow the new kind."""
    op.add_column("accounts", sa.Column("state", sa.String(length=10), server_default="active", nullable=False))
    op.add_column("accounts", sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("uploads", sa.Column("held_bytes", sa.BigInteger(), nullable=True))
    op.add_column("uploads", sa.Column("settled", sa.Boolean(), server_default=sa.false(), nullable=False))
    held = sa.text("held_bytes > 0")  # matches no row yet, so that the index is created at once
    op.create_index("ix_uploads_held", "uploads", ["account_id"], sqlite_where=held, postgresql_where=held)
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(op.f(_CHECK), "erasures", type_="check")
        op.create_check_constraint(op.f(_CHECK), "erasures", _KINDS)
    else:
        _copy_erasures()


def _copy_erasures() -> None:
    """Copy the rows to a new table, because SQLite cannot change a table's check."""
    op.rename_table("erasures", "erasures_before")
    op.create_table(
        "erasures",
        sa.Column("erasure_id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(_KINDS, name=op.f(_CHECK)),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.account_id"], name=op.f("fk_erasures_account_id_accounts")),
        sa.PrimaryKeyConstraint("erasure_id", name=op.f("pk_erasures")),
    )
    columns = "erasure_id, account_id, kind, jobs, erased_at"
    op.execute(f"INSERT INTO erasures ({columns}) SELECT {columns} FROM erasures_before")  # noqa: S608
    op.drop_table("erasures_before")
