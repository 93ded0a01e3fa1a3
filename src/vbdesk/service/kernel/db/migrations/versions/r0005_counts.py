"""Job counts for lists, maintained by triggers: per account and day, and per group.

Groups also get their earliest and latest recording time. Only adds: the triggers count the inserts of older processes
too. On PostgreSQL submits wait while existing jobs are counted, about 1 s per million.
"""

import sqlalchemy as sa
from alembic import op

from vbdesk.service.kernel.db.count_triggers import COUNT_MEMBERS, triggers

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_DAY = {"sqlite": "substr({}.created_at, 1, 10)", "postgresql": "({}.created_at AT TIME ZONE 'UTC')::date"}


def upgrade() -> None:
    """Add the columns, the table and the triggers, and count existing rows."""
    for name in ("job_count", "done_job_count"):
        op.add_column("groups", sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False))
    for name in ("earliest_recorded_at", "latest_recorded_at"):
        op.add_column("groups", sa.Column(name, sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "job_days",
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.account_id"], name=op.f("fk_job_days_account_id_accounts")),
        sa.PrimaryKeyConstraint("account_id", "day", name=op.f("pk_job_days")),
    )
    dialect = op.get_bind().dialect.name
    for statement in triggers(dialect):
        op.get_bind().exec_driver_sql(statement)
    day = _DAY[dialect].format("jobs")
    op.get_bind().exec_driver_sql(
        f"INSERT INTO job_days (account_id, day, jobs) SELECT account_id, {day}, count(*) FROM jobs "  # noqa: S608
        f"GROUP BY account_id, {day}"
    )
    op.get_bind().exec_driver_sql(COUNT_MEMBERS)
