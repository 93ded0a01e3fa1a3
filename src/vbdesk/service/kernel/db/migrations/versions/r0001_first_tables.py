"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "accounts",
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("plan", sa.String(length=20), nullable=False),
        sa.Column("secret_key_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_accounts")),
    )
    op.create_table(
        "executors",
        sa.Column("executor_id", sa.String(length=80), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("executor_id", name=op.f("pk_executors")),
    )
    op.create_table(
        "leases",
        sa.Column("task", sa.String(length=20), nullable=False),
        sa.Column("holder", sa.String(length=80), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("task", name=op.f("pk_leases")),
    )
    op.create_table(
        "account_webhooks",
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.account_id"], name=op.f("fk_account_webhooks_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_account_webhooks")),
    )
    op.create_table(
        "api_keys",
        sa.Column("key_id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.account_id"], name=op.f("fk_api_keys_account_id_accounts")),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_api_keys")),
    )
    op.create_index("ix_api_keys_account_id", "api_keys", ["account_id"], unique=False)
    op.create_table(
        "cohort_snapshots",
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.account_id"], name=op.f("fk_cohort_snapshots_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_cohort_snapshots")),
    )
    op.create_table(
        "console_sessions",
        sa.Column("token_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.account_id"], name=op.f("fk_console_sessions_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_console_sessions")),
    )
    op.create_table(
        "credit_balances",
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("credits", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("credits >= 0", name=op.f("ck_credit_balances_never_below_zero")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.account_id"], name=op.f("fk_credit_balances_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_credit_balances")),
    )
    op.create_table(
        "credit_entries",
        sa.Column("entry_id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("delta", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('grant', 'hold', 'capture', 'release')", name=op.f("ck_credit_entries_known_kind")
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.account_id"], name=op.f("fk_credit_entries_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_credit_entries")),
    )
    op.create_index(
        "ix_credit_entries_account_id_created_at", "credit_entries", ["account_id", "created_at"], unique=False
    )
    op.create_index(
        "uq_credit_entries_hold",
        "credit_entries",
        ["job_id"],
        unique=True,
        sqlite_where=sa.text("kind = 'hold'"),
        postgresql_where=sa.text("kind = 'hold'"),
    )
    op.create_index(
        "uq_credit_entries_settlement",
        "credit_entries",
        ["job_id"],
        unique=True,
        sqlite_where=sa.text("kind IN ('capture', 'release')"),
        postgresql_where=sa.text("kind IN ('capture', 'release')"),
    )
    op.create_table(
        "erasures",
        sa.Column("erasure_id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('job', 'group')", name=op.f("ck_erasures_known_kind")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.account_id"], name=op.f("fk_erasures_account_id_accounts")),
        sa.PrimaryKeyConstraint("erasure_id", name=op.f("pk_erasures")),
    )
    op.create_table(
        "groups",
        sa.Column("group_key", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("group_id", sa.String(length=512), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.account_id"], name=op.f("fk_groups_account_id_accounts")),
        sa.PrimaryKeyConstraint("group_key", name=op.f("pk_groups")),
        sa.UniqueConstraint("account_id", "group_id", name=op.f("uq_groups_account_id_group_id")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("idempotency_key", sa.String(length=255), nullable=False),
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("request", sa.String(length=64), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.account_id"], name=op.f("fk_idempotency_keys_account_id_accounts")
        ),
        sa.PrimaryKeyConstraint("account_id", "idempotency_key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("job_type", sa.String(length=10), nullable=False),
        sa.Column("api_version", sa.String(length=5), nullable=False),
        sa.Column("model_name", sa.String(length=64), nullable=True),
        sa.Column("sign_name", sa.String(length=64), nullable=True),
        sa.Column("use_case", sa.String(length=64), nullable=True),
        sa.Column("condition", sa.String(length=64), nullable=True),
        sa.Column("diarize", sa.Boolean(), nullable=False),
        sa.Column("audio_key", sa.String(length=80), nullable=True),
        sa.Column("upload_ref", sa.String(length=36), nullable=True),
        sa.Column("audio_content_type", sa.String(length=100), nullable=False),
        sa.Column("audio_size_bytes", sa.Integer(), nullable=False),
        sa.Column("audio_duration_seconds", sa.Float(), nullable=False),
        sa.Column("audio_sample_rate", sa.Integer(), nullable=True),
        sa.Column("history_key", sa.String(length=36), nullable=True),
        sa.Column("webhook_url", sa.Text(), nullable=True),
        sa.Column("webhook_secret", sa.LargeBinary(), nullable=True),
        sa.Column("starts", sa.Integer(), nullable=False),
        sa.Column("executor_id", sa.String(length=80), nullable=True),
        sa.Column("run_deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("analysis", sa.Text(), nullable=True),
        sa.Column("reading", sa.Text(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.account_id"], name=op.f("fk_jobs_account_id_accounts")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_account_id_created_at", "jobs", ["account_id", "created_at", "job_id"], unique=False)
    op.create_index("ix_jobs_audio_key_created_at", "jobs", ["audio_key", "created_at"], unique=False)
    op.create_index("ix_jobs_history_key", "jobs", ["history_key"], unique=False)
    op.create_index("ix_jobs_status_run_deadline", "jobs", ["status", "run_deadline"], unique=False)
    op.create_table(
        "uploads",
        sa.Column("upload_ref", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("content_type", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("usable_until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.account_id"], name=op.f("fk_uploads_account_id_accounts")),
        sa.PrimaryKeyConstraint("upload_ref", name=op.f("pk_uploads")),
    )
    op.create_index("ix_uploads_usable_until", "uploads", ["usable_until"], unique=False)
    op.create_table(
        "group_states",
        sa.Column("group_key", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["group_key"], ["groups.group_key"], name=op.f("fk_group_states_group_key_groups"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("group_key", "kind", name=op.f("pk_group_states")),
    )
    op.create_table(
        "memberships",
        sa.Column("group_key", sa.String(length=36), nullable=False),
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["group_key"], ["groups.group_key"], name=op.f("fk_memberships_group_key_groups"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.job_id"], name=op.f("fk_memberships_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("group_key", "job_id", name=op.f("pk_memberships")),
    )
    op.create_index("ix_memberships_job_id", "memberships", ["job_id"], unique=False)
    op.create_table(
        "webhook_deliveries",
        sa.Column("delivery_id", sa.String(length=36), nullable=False),
        sa.Column("account_id", sa.String(length=36), nullable=False),
        sa.Column("job_id", sa.String(length=36), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_status", sa.Integer(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('pending', 'sent', 'given_up')", name=op.f("ck_webhook_deliveries_known_state")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.account_id"], name=op.f("fk_webhook_deliveries_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.job_id"], name=op.f("fk_webhook_deliveries_job_id_jobs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("delivery_id", name=op.f("pk_webhook_deliveries")),
        sa.UniqueConstraint("job_id", name=op.f("uq_webhook_deliveries_job_id")),
    )
    op.create_index(
        "ix_webhook_deliveries_account_id", "webhook_deliveries", ["account_id", "delivery_id"], unique=False
    )
    op.create_index("ix_webhook_deliveries_state_due_at", "webhook_deliveries", ["state", "due_at"], unique=False)
