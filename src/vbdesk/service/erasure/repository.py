"""SQL of erasures."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.service.db.erasures import erasures
from vbdesk.service.db.groups import cohort_snapshots, memberships
from vbdesk.service.db.jobs import idempotency_keys, jobs
from vbdesk.service.db.stores import erased_objects, quarantined_objects
from vbdesk.service.db.uploads import uploads
from vbdesk.service.db.upsert import insert_into
from vbdesk.service.jobs.repository import AnyRow

_KEPT_OF_A_JOB = (jobs.c.job_id, jobs.c.audio_key, jobs.c.upload_ref)


def find_job(connection: Connection, account_id: str, job_id: str) -> Sequence[AnyRow]:
    """`job_id`, `audio_key` and `upload_ref` of the account's job; nothing when there is none."""
    query = sa.select(*_KEPT_OF_A_JOB).where(jobs.c.job_id == job_id, jobs.c.account_id == account_id)
    return connection.execute(query).all()


def list_jobs(connection: Connection, account_id: str, job_ids: Collection[str]) -> Sequence[AnyRow]:
    """`job_id`, `audio_key`, `upload_ref` and `status` of those of these jobs that the account has, held until the end.

    None of them ends before the transaction does.
    """
    query = sa.select(*_KEPT_OF_A_JOB, jobs.c.status).where(jobs.c.job_id.in_(job_ids), jobs.c.account_id == account_id)
    return connection.execute(query.order_by(jobs.c.job_id).with_for_update()).all()


def list_uploads(connection: Connection, account_id: str, upload_refs: Collection[str]) -> list[str]:
    """Those of these uploads that the account has."""
    query = sa.select(uploads.c.upload_ref).where(
        uploads.c.upload_ref.in_(upload_refs), uploads.c.account_id == account_id
    )
    return list(connection.execute(query).scalars())


def count_owed(connection: Connection) -> int:
    """How many objects must go and are not gone."""
    return connection.execute(sa.select(sa.func.count()).select_from(erased_objects)).scalar_one()


def list_group_jobs(connection: Connection, group_key: str) -> Sequence[AnyRow]:
    """The same of every job that is in the group or is read against its history."""
    members = sa.select(memberships.c.job_id).where(memberships.c.group_key == group_key)
    query = sa.select(*_KEPT_OF_A_JOB).where(sa.or_(jobs.c.job_id.in_(members), jobs.c.history_key == group_key))
    return connection.execute(query).all()


def list_concerned_groups(connection: Connection, job_ids: Collection[str]) -> list[str]:
    """Keys of the groups that these jobs are in or are read against, in a fixed order."""
    members = sa.select(memberships.c.group_key).where(memberships.c.job_id.in_(job_ids))
    readers = sa.select(jobs.c.history_key).where(jobs.c.job_id.in_(job_ids), jobs.c.history_key.is_not(None))
    return sorted(connection.execute(members.union(readers)).scalars())


def hold_jobs(connection: Connection, job_ids: Collection[str]) -> None:
    """Let none of these jobs end before the transaction does: what it held is settled here or there, never twice."""
    query = sa.select(jobs.c.job_id).where(jobs.c.job_id.in_(job_ids)).order_by(jobs.c.job_id)
    connection.execute(query.with_for_update()).all()


def delete_jobs(connection: Connection, job_ids: Collection[str]) -> None:
    """Remove the jobs with their results, memberships, webhook deliveries and idempotency keys."""
    connection.execute(sa.delete(idempotency_keys).where(idempotency_keys.c.job_id.in_(job_ids)))
    connection.execute(sa.delete(jobs).where(jobs.c.job_id.in_(job_ids)))


def delete_uploads(connection: Connection, upload_refs: Collection[str]) -> None:
    """Forget the uploads."""
    connection.execute(sa.delete(uploads).where(uploads.c.upload_ref.in_(upload_refs)))


def owe_removal(connection: Connection, object_keys: Collection[str], erased_at: datetime) -> None:
    """Remember objects that must go, until they are gone."""
    for key in object_keys:
        insert = insert_into(connection, erased_objects).values(object_key=key, erased_at=erased_at)
        connection.execute(insert.on_conflict_do_nothing())


def forget_removed(connection: Connection, object_keys: Collection[str]) -> None:
    """Forget objects that are gone."""
    for table in (erased_objects, quarantined_objects):
        connection.execute(sa.delete(table).where(table.c.object_key.in_(object_keys)))


def forget_in_snapshot(connection: Connection, account_id: str, group_keys: Collection[str]) -> None:
    """Take the groups' levels out of the account's cohort snapshot."""
    mine = cohort_snapshots.c.account_id == account_id
    query = sa.select(cohort_snapshots.c.body).where(mine).with_for_update()
    body = connection.execute(query).scalar_one_or_none()
    if body is not None:
        kept = {key: levels for key, levels in json.loads(body).items() if key not in group_keys}
        connection.execute(sa.update(cohort_snapshots).where(mine).values(body=json.dumps(kept)))


def insert(
    connection: Connection, *, erasure_id: str, account_id: str, kind: str, jobs: int, erased_at: datetime
) -> None:
    """Write the audit line."""
    connection.execute(
        sa.insert(erasures).values(
            erasure_id=erasure_id, account_id=account_id, kind=kind, jobs=jobs, erased_at=erased_at
        )
    )


def list_all(connection: Connection) -> Sequence[AnyRow]:
    """Every audit line, oldest first."""
    return connection.execute(sa.select(erasures).order_by(erasures.c.erasure_id)).all()
