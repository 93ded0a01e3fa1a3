"""Tables of groups, their members, and results computed from them."""

import sqlalchemy as sa

from vbdesk.contract.limits import MAX_GROUP_ID_LENGTH
from vbdesk.service.kernel.db.metadata import ID_LENGTH, UtcDateTime, account_reference, metadata
from vbdesk.service.kernel.encrypted_text import EncryptedText

groups = sa.Table(
    "groups",
    metadata,
    sa.Column("group_key", sa.String(ID_LENGTH), primary_key=True),
    account_reference(),
    sa.Column("group_id", sa.String(MAX_GROUP_ID_LENGTH), nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False, default=0),
    sa.Column("job_count", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("done_job_count", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("earliest_recorded_at", UtcDateTime),
    sa.Column("latest_recorded_at", UtcDateTime),
    sa.UniqueConstraint("account_id", "group_id"),
    sa.Index("ix_groups_account_id_created_at", "account_id", "created_at"),
)
"""`group_key` is internal and never reused; `group_id` is the caller's and may be reused after a deletion.

`revision` counts every change of the data that the group's computations use. When it changes, a trigger counts the
group's jobs again and stores the earliest and the latest recording time.
"""

memberships = sa.Table(
    "memberships",
    metadata,
    sa.Column(
        "group_key", sa.String(ID_LENGTH), sa.ForeignKey("groups.group_key", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("job_id", sa.String(ID_LENGTH), sa.ForeignKey("jobs.job_id", ondelete="CASCADE"), primary_key=True),
    sa.Index("ix_memberships_job_id", "job_id"),
)

group_states = sa.Table(
    "group_states",
    metadata,
    sa.Column(
        "group_key", sa.String(ID_LENGTH), sa.ForeignKey("groups.group_key", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("kind", sa.String(20), primary_key=True),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("computed_at", UtcDateTime, nullable=False),
    sa.Column("body", EncryptedText("group_states.body"), nullable=False),
)
"""Cached trajectories and aggregates, as JSON, with the group's revision they were computed from."""

cohort_snapshots = sa.Table(
    "cohort_snapshots",
    metadata,
    sa.Column("account_id", sa.String(ID_LENGTH), sa.ForeignKey("accounts.account_id"), primary_key=True),
    sa.Column("taken_at", UtcDateTime, nullable=False),
    sa.Column("body", EncryptedText("cohort_snapshots.body"), nullable=False),
    sa.Column("fit", sa.Text),
)
"""At most one per day and account: each group's current level by sign, as JSON.

`fit` has the usual variances of the account's groups, as JSON; it is fitted at most once in 30 days.
"""
