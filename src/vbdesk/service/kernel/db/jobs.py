"""Tables of jobs, the references and keys of their submits, and processes that run jobs."""

import sqlalchemy as sa

from vbdesk.service.kernel.db.metadata import ID_LENGTH, UtcDateTime, account_reference, metadata
from vbdesk.service.kernel.encrypted_text import EncryptedText

jobs = sa.Table(
    "jobs",
    metadata,
    sa.Column("job_id", sa.String(ID_LENGTH), primary_key=True),
    account_reference(),
    sa.Column("status", sa.String(10), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("completed_at", UtcDateTime),
    sa.Column("recorded_at", UtcDateTime, nullable=False),
    sa.Column("job_type", sa.String(10), nullable=False),
    sa.Column("api_version", sa.String(5), nullable=False),
    sa.Column("model_name", sa.String(64)),
    sa.Column("sign_name", sa.String(64)),
    sa.Column("use_case", sa.String(64)),
    sa.Column("condition", sa.String(64)),
    sa.Column("diarize", sa.Boolean, nullable=False),
    sa.Column("spoken", EncryptedText("jobs.spoken")),
    sa.Column("audio_key", sa.String(80)),
    sa.Column("upload_ref", sa.String(ID_LENGTH)),
    sa.Column("audio_content_type", sa.String(100), nullable=False),
    sa.Column("audio_size_bytes", sa.Integer, nullable=False),
    sa.Column("audio_duration_seconds", sa.Float, nullable=False),
    sa.Column("audio_sample_rate", sa.Integer),
    sa.Column("history_key", sa.String(ID_LENGTH)),
    sa.Column("webhook_url", sa.Text),
    sa.Column("webhook_secret", sa.LargeBinary),
    sa.Column("queue_tag", sa.BigInteger),
    sa.Column("trace_parent", sa.String(55)),
    sa.Column("started_at", UtcDateTime),
    sa.Column("starts", sa.Integer, nullable=False, default=0),
    sa.Column("executor_id", sa.String(80)),
    sa.Column("run_deadline", UtcDateTime),
    sa.Column("analysis", EncryptedText("jobs.analysis")),
    sa.Column("reading", EncryptedText("jobs.reading")),
    sa.Column("result", EncryptedText("jobs.result")),
    sa.Index("ix_jobs_account_id_created_at", "account_id", "created_at", "job_id"),
    sa.Index("ix_jobs_status_run_deadline", "status", "run_deadline"),
    sa.Index("ix_jobs_audio_key_created_at", "audio_key", "created_at"),
    sa.Index("ix_jobs_history_key", "history_key"),
    sa.Index("ix_jobs_status_queue_tag", "status", "queue_tag"),
    sa.Index(
        "ix_jobs_kept_audio",
        "created_at",
        sqlite_where=sa.text("audio_key IS NOT NULL"),
        postgresql_where=sa.text("audio_key IS NOT NULL"),
    ),
)
"""One row per job, the source of truth of its state.

`history_key` is the group whose history a longitudinal job is read against; null for other jobs. `executor_id` and
`run_deadline` are set while a child analyses the job. `analysis` is the finished analysis of a longitudinal job that
waits for its turn. `spoken` is what the caller said about the language; null where nothing
was said. `queue_tag` is its place in the fair order of waiting jobs, lowest first. `trace_parent` is the W3C
trace context of the submit; null without tracing. `started_at` is its latest start. `reading` is the part of the result
that a group's history needs. `result` is the result as it is sent, JSON. `audio_key` is null once the audio was
removed. `upload_ref` is the upload of the audio, if there was one.
"""

job_days = sa.Table(
    "job_days",
    metadata,
    sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("jobs", sa.Integer, nullable=False),
)
"""Number of the account's jobs created on each day (UTC), maintained by triggers so that lists need not count."""

idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), primary_key=True),
    sa.Column("idempotency_key", sa.String(255), primary_key=True),
    sa.Column("job_id", sa.String(ID_LENGTH), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("request", sa.String(64), nullable=False),
    sa.Column("recorded_at", UtcDateTime),
    sa.Column("recording_digest", sa.String(64)),
    sa.Index("ix_idempotency_keys_created_at", "created_at"),
)
"""The job that the first submit with a key created.

`request` is the digest of the route and its parameters, `recorded_at` the capture time if one was supplied.
`recording_digest` is the digest of the audio bytes, or of the audio address that a v1 request names; NULL in rows of
older releases.
"""

client_refs = sa.Table(
    "client_refs",
    metadata,
    sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), primary_key=True),
    sa.Column("ref_digest", sa.String(64), primary_key=True),
    sa.Column("job_id", sa.String(ID_LENGTH)),
    sa.Column("request", sa.String(64)),
    sa.Column("recorded_at", UtcDateTime),
    sa.Column("recording_digest", sa.String(64)),
    sa.Index("ix_client_refs_job_id", "job_id"),
)
"""The job that the submit with a reference created; the other columns as in `idempotency_keys`.

`ref_digest` is the reference, digested with the account's key in `client_ref_keys`. All other columns are null once the
job was erased: the reference stays used. It is a table of its own, because a reference is unique among all jobs of an
account, however they are divided.
"""

client_ref_keys = sa.Table(
    "client_ref_keys",
    metadata,
    sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), primary_key=True),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
)
"""Random key of an account that digests its references, encrypted."""

executors = sa.Table(
    "executors",
    metadata,
    sa.Column("executor_id", sa.String(80), primary_key=True),
    sa.Column("seen_at", UtcDateTime, nullable=False),
    sa.Column("started_at", UtcDateTime),
    sa.Column("host", sa.String(255)),
    sa.Column("slots", sa.Integer),
    sa.Column("draining", sa.Boolean, nullable=False, server_default=sa.false()),
)
"""Heartbeats: an executor without a recent heartbeat is dead, and its jobs run elsewhere."""

leases = sa.Table(
    "leases",
    metadata,
    sa.Column("task", sa.String(20), primary_key=True),
    sa.Column("holder", sa.String(80), nullable=False),
    sa.Column("expires_at", UtcDateTime, nullable=False),
)
"""Tasks that one process at a time does for all; another process may take an expired lease."""

recomputations = sa.Table(
    "recomputations",
    metadata,
    sa.Column("job_id", sa.String(ID_LENGTH), sa.ForeignKey("jobs.job_id", ondelete="CASCADE"), primary_key=True),
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("tried_at", UtcDateTime, nullable=False),
    sa.Column("outcome", sa.String(10), nullable=False),
)
"""Attempts of the service to make the reading of a job again with the calibration `version`.

The row is written before the analysis, so that a recording that ends the process counts too. `outcome` is `running`,
`done` or `failed`, of the latest attempt.
"""
