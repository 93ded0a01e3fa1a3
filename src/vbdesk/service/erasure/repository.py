"""SQL of erasures."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.jobs.repository import AnyRow
from vbdesk.service.kernel.db.jobs import client_ref_keys, client_refs, idempotency_keys, job_days, jobs
from vbdesk.service.kernel.db.tables import (
    DELETED,
    DELETING,
    account_webhooks,
    accounts,
    api_keys,
    cohort_snapshots,
    console_sessions,
    erasures,
    groups,
    memberships,
    uploads,
    webhook_deliveries,
)

_JOB_COLUMNS = (jobs.c.job_id, jobs.c.audio_key, jobs.c.upload_ref)


def find_job(connection: Connection, account_id: str, job_id: str) -> Sequence[AnyRow]:
    """Return `job_id`, `audio_key` and `upload_ref` of the account's job; empty when there is none."""
    query = sa.select(*_JOB_COLUMNS).where(jobs.c.job_id == job_id, jobs.c.account_id == account_id)
    return connection.execute(query).all()


def list_jobs(connection: Connection, account_id: str, job_ids: Collection[str]) -> Sequence[AnyRow]:
    """Return and lock those of these jobs that belong to the account.

    Columns: `job_id`, `audio_key`, `upload_ref` and `status`. No locked job can end before the transaction does.
    """
    query = sa.select(*_JOB_COLUMNS, jobs.c.status).where(jobs.c.job_id.in_(job_ids), jobs.c.account_id == account_id)
    return connection.execute(query.order_by(jobs.c.job_id).with_for_update()).all()


def list_uploads(connection: Connection, account_id: str, upload_refs: Collection[str]) -> list[str]:
    """Return the subset of these uploads that belong to the account."""
    query = sa.select(uploads.c.upload_ref).where(
        uploads.c.upload_ref.in_(upload_refs), uploads.c.account_id == account_id
    )
    return list(connection.execute(query).scalars())


def list_group_jobs(connection: Connection, group_key: str) -> Sequence[AnyRow]:
    """Return these columns of every job that is in the group or is read against its history."""
    members = sa.select(memberships.c.job_id).where(memberships.c.group_key == group_key)
    query = sa.select(*_JOB_COLUMNS).where(sa.or_(jobs.c.job_id.in_(members), jobs.c.history_key == group_key))
    return connection.execute(query).all()


def list_concerned_groups(connection: Connection, job_ids: Collection[str]) -> list[str]:
    """Return the sorted keys of the groups that these jobs are in or are read against."""
    members = sa.select(memberships.c.group_key).where(memberships.c.job_id.in_(job_ids))
    readers = sa.select(jobs.c.history_key).where(jobs.c.job_id.in_(job_ids), jobs.c.history_key.is_not(None))
    return sorted(connection.execute(members.union(readers)).scalars())


def hold_jobs(connection: Connection, job_ids: Collection[str]) -> None:
    """Lock these jobs, so that none ends meanwhile and its credits are settled only once."""
    query = sa.select(jobs.c.job_id).where(jobs.c.job_id.in_(job_ids)).order_by(jobs.c.job_id)
    connection.execute(query.with_for_update()).all()


def delete_jobs(connection: Connection, job_ids: Collection[str]) -> int:
    """Delete the jobs with results, memberships, webhook deliveries and idempotency keys; return how many.

    Of a reference its digest stays, so that a repeat of the submit is refused.
    """
    nothing = {"job_id": None, "request": None, "recorded_at": None, "recording_digest": None}
    connection.execute(sa.update(client_refs).where(client_refs.c.job_id.in_(job_ids)).values(nothing))
    connection.execute(sa.delete(idempotency_keys).where(idempotency_keys.c.job_id.in_(job_ids)))
    return connection.execute(sa.delete(jobs).where(jobs.c.job_id.in_(job_ids))).rowcount


def list_account_groups(connection: Connection, account_id: str, limit: int) -> list[str]:
    """Return at most `limit` keys of the account's groups."""
    query = sa.select(groups.c.group_key).where(groups.c.account_id == account_id).limit(limit)
    return list(connection.execute(query).scalars())


def list_empty_groups(connection: Connection, account_id: str) -> list[str]:
    """Return the keys of the account's groups that have no job and against which none is read."""
    used = sa.or_(
        sa.exists().where(memberships.c.group_key == groups.c.group_key),
        sa.exists().where(jobs.c.history_key == groups.c.group_key),
    )
    query = sa.select(groups.c.group_key).where(groups.c.account_id == account_id, ~used)
    return list(connection.execute(query).scalars())


def list_account_jobs(connection: Connection, account_id: str, limit: int) -> Sequence[AnyRow]:
    """Return `job_id`, `audio_key` and `upload_ref` of at most `limit` jobs of the account."""
    return connection.execute(sa.select(*_JOB_COLUMNS).where(jobs.c.account_id == account_id).limit(limit)).all()


def list_account_uploads(connection: Connection, account_id: str, limit: int) -> list[str]:
    """Return at most `limit` uploads of the account."""
    query = sa.select(uploads.c.upload_ref).where(uploads.c.account_id == account_id).limit(limit)
    return list(connection.execute(query).scalars())


def find_address_ends(connection: Connection, upload_refs: Collection[str]) -> dict[str, datetime]:
    """Return the end of each upload's address."""
    query = sa.select(uploads.c.upload_ref, uploads.c.expires_at).where(uploads.c.upload_ref.in_(upload_refs))
    return {row.upload_ref: row.expires_at for row in connection.execute(query)}


_LAST_OF_AN_ACCOUNT = (
    webhook_deliveries, account_webhooks, cohort_snapshots, idempotency_keys, client_refs, client_ref_keys,
    job_days, api_keys, console_sessions,
)  # fmt: skip
"""Deleted after the account's jobs, groups and uploads. The ledger and the audit of erasures stay."""


def delete_rest_of_account(connection: Connection, account_id: str) -> None:
    """Delete the remaining rows of an account without jobs, groups and uploads."""
    for table in _LAST_OF_AN_ACCOUNT:
        connection.execute(sa.delete(table).where(table.c.account_id == account_id))


def count_account(connection: Connection, account_id: str) -> dict[str, int]:
    """Count the rows of an account by kind."""
    counted = {
        "jobs": jobs.c.account_id,
        "groups": groups.c.account_id,
        "uploads": uploads.c.account_id,
        "api_keys": api_keys.c.account_id,
        "console_sessions": console_sessions.c.account_id,
        "webhook_deliveries": webhook_deliveries.c.account_id,
    }
    found = {
        name: connection.execute(sa.select(sa.func.count()).where(column == account_id)).scalar_one()
        for name, column in counted.items()
    }
    with_audio = sa.select(sa.func.count()).where(jobs.c.account_id == account_id, jobs.c.audio_key.is_not(None))
    return {"recordings": connection.execute(with_audio).scalar_one(), **found}


def list_ended_accounts(connection: Connection, deleted_after: datetime) -> list[str]:
    """Return accounts whose deletion is incomplete, or so recent that earlier requests may add rows."""
    recent = (accounts.c.state == DELETED) & (accounts.c.ended_at > deleted_after)
    query = sa.select(accounts.c.account_id).where((accounts.c.state == DELETING) | recent)
    return list(connection.execute(query.order_by(accounts.c.account_id)).scalars())


def find_of_account(connection: Connection, account_id: str) -> AnyRow | None:
    """Return the audit entry of the account's deletion."""
    query = sa.select(erasures).where(erasures.c.account_id == account_id, erasures.c.kind == "account")
    return connection.execute(query.order_by(erasures.c.erasure_id).limit(1)).one_or_none()


def add_erased_jobs(connection: Connection, account_id: str, count: int) -> None:
    """Add to the job count of the account's audit entry."""
    line = (erasures.c.account_id == account_id) & (erasures.c.kind == "account")
    connection.execute(sa.update(erasures).where(line).values(jobs=erasures.c.jobs + count))


def delete_uploads(connection: Connection, upload_refs: Collection[str]) -> None:
    """Delete the uploads."""
    connection.execute(sa.delete(uploads).where(uploads.c.upload_ref.in_(upload_refs)))


def forget_in_snapshot(connection: Connection, account_id: str, group_keys: Collection[str]) -> None:
    """Remove the groups' levels from the account's cohort snapshot."""
    mine = cohort_snapshots.c.account_id == account_id
    query = sa.select(cohort_snapshots.c.body).where(mine).with_for_update()
    body = connection.execute(query).scalar_one_or_none()
    if body is not None:
        remaining = {key: levels for key, levels in json.loads(body).items() if key not in group_keys}
        connection.execute(sa.update(cohort_snapshots).where(mine).values(body=json.dumps(remaining)))


def insert(
    connection: Connection, *, erasure_id: str, account_id: str, kind: str, jobs: int, erased_at: datetime
) -> None:
    """Write an audit entry."""
    connection.execute(
        sa.insert(erasures).values(
            erasure_id=erasure_id, account_id=account_id, kind=kind, jobs=jobs, erased_at=erased_at
        )
    )


def list_all(connection: Connection) -> Sequence[AnyRow]:
    """Return every audit entry, oldest first."""
    return connection.execute(sa.select(erasures).order_by(erasures.c.erasure_id)).all()
