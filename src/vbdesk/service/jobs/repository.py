"""SQL of jobs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.contract.jobs import JOB_EDGES, TERMINAL_STATUSES, JobStatus
from vbdesk.service.kernel.db.jobs import client_ref_keys, client_refs, executors, idempotency_keys, job_days, jobs
from vbdesk.service.kernel.db.session import insert_into
from vbdesk.service.kernel.paging import PagePosition

AnyRow = Row[*tuple[Any, ...]]

UNFINISHED = tuple(status.value for status in JOB_EDGES if status not in TERMINAL_STATUSES)
"""Non-terminal states."""


def insert(connection: Connection, **values: Any) -> None:
    """Store a new job."""
    connection.execute(sa.insert(jobs).values(**values))


_SHOWN = (
    jobs.c.job_id, jobs.c.status, jobs.c.created_at, jobs.c.completed_at, jobs.c.recorded_at, jobs.c.job_type,
    jobs.c.api_version, jobs.c.model_name, jobs.c.sign_name, jobs.c.use_case, jobs.c.condition, jobs.c.diarize,
    jobs.c.audio_content_type, jobs.c.audio_size_bytes, jobs.c.audio_duration_seconds, jobs.c.audio_sample_rate,
    jobs.c.result,
)  # fmt: skip
_FIND = sa.select(jobs).where(jobs.c.job_id == sa.bindparam("job_id"))
_FIND_OF_ACCOUNT: sa.Select[Any] = sa.select(*_SHOWN).where(  # built once, only columns shown: callers poll
    jobs.c.job_id == sa.bindparam("job_id"), jobs.c.account_id == sa.bindparam("account_id")
)


def find(connection: Connection, job_id: str, account_id: str | None = None) -> Row[Any] | None:
    """Find the job, or None; with an account, only its own job and the columns it may see."""
    if account_id is None:
        return connection.execute(_FIND, {"job_id": job_id}).one_or_none()
    return connection.execute(_FIND_OF_ACCOUNT, {"job_id": job_id, "account_id": account_id}).one_or_none()


def existing(connection: Connection, job_ids: Collection[str]) -> set[str]:
    """Return which of these jobs exist."""
    return set(connection.execute(sa.select(jobs.c.job_id).where(jobs.c.job_id.in_(job_ids))).scalars())


def list_queue_tags(connection: Connection, job_ids: Collection[str]) -> dict[str, int]:
    """Return the queue tags of the unfinished among these jobs; 1 for a job of an older release without one."""
    query = sa.select(jobs.c.job_id, sa.func.coalesce(jobs.c.queue_tag, 1).label("queue_tag")).where(
        jobs.c.job_id.in_(job_ids), jobs.c.status.in_(UNFINISHED)
    )
    return {row.job_id: row.queue_tag for row in connection.execute(query)}


def with_audio(connection: Connection, job_ids: Collection[str]) -> set[str]:
    """Return which of these jobs are marked as having audio."""
    query = sa.select(jobs.c.job_id).where(jobs.c.job_id.in_(job_ids), jobs.c.audio_key.is_not(None))
    return set(connection.execute(query).scalars())


def any_has_audio(connection: Connection) -> bool:
    """Return whether any job is marked as having audio."""
    query = sa.select(jobs.c.job_id).where(jobs.c.audio_key.is_not(None)).limit(1)
    return connection.execute(query).first() is not None


def count(connection: Connection, account_id: str) -> int:
    """Count the account's jobs."""
    query = sa.select(sa.func.coalesce(sa.func.sum(job_days.c.jobs), 0)).where(job_days.c.account_id == account_id)
    return int(connection.execute(query).scalar_one())


def list_page(connection: Connection, account_id: str, page: PagePosition) -> Sequence[AnyRow]:
    """List `job_id`, `status`, `job_type`, `created_at` of the account's jobs, newest first."""
    query = (
        sa.select(jobs.c.job_id, jobs.c.status, jobs.c.job_type, jobs.c.created_at)
        .where(jobs.c.account_id == account_id)
        .order_by(jobs.c.created_at.desc(), jobs.c.job_id.desc())
        .limit(page.size)
        .offset(page.offset)
    )
    day = _day_of(connection, account_id, page.offset) if page.offset else None
    if day is not None:
        ends = datetime.combine(day.day, time.min, UTC) + timedelta(days=1)
        query = query.where(jobs.c.created_at < ends).offset(page.offset - int(day.newer))
    return connection.execute(query).all()


def _day_of(connection: Connection, account_id: str, offset: int) -> AnyRow | None:
    """Return the day that contains the job at `offset`, and the number of jobs `newer` than that day.

    A database reaches a far offset by reading all rows before it; this limits the rows to one day.
    """
    newer = sa.func.sum(job_days.c.jobs).over(order_by=job_days.c.day.desc()) - job_days.c.jobs
    days = sa.select(job_days.c.day, newer.label("newer")).where(job_days.c.account_id == account_id).subquery()
    query = sa.select(days).where(days.c.newer <= offset).order_by(days.c.day).limit(1)
    return connection.execute(query).one_or_none()


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights for the queue order: seconds of audio, times a factor for diarization."""

    start_seconds: float
    diarize_factor: float

    @property
    def work(self) -> sa.ColumnElement[float]:
        """SQL expression for the weight of a stored job."""
        factor = sa.case((jobs.c.diarize, self.diarize_factor), else_=1.0)
        return self.start_seconds + jobs.c.audio_duration_seconds * factor


@dataclass(frozen=True, slots=True)
class Queued:
    """Queued jobs as seen by one account.

    Attributes:
        accounts: number of accounts with queued jobs.
        begins: lowest difference of a tag and its work; 0 if there is none.
        ahead: work of the account's own jobs up to a given weight.
    """

    accounts: int
    begins: float
    ahead: float


def read_queued(connection: Connection, account_id: str, work_s: float, weights: Weights) -> Queued:
    """Read the queue for a job of this weight and account."""
    before_it = sa.and_(jobs.c.account_id == account_id, weights.work <= work_s)
    query = sa.select(
        sa.func.count(jobs.c.account_id.distinct()),
        sa.func.coalesce(sa.func.min(jobs.c.queue_tag - weights.work), 0.0),
        sa.func.coalesce(sa.func.sum(sa.case((before_it, weights.work), else_=0.0)), 0.0),
    ).where(jobs.c.status == JobStatus.QUEUED.value)
    return Queued(*connection.execute(query).one())


def find_progress(connection: Connection, share: float, weights: Weights) -> float | None:
    """Return the virtual time reached by running jobs, each with this share of its work; None if none runs."""
    query = sa.select(sa.func.max(jobs.c.queue_tag - (1 - share) * weights.work)).where(
        jobs.c.status == JobStatus.RUNNING.value, jobs.c.executor_id.is_not(None)
    )
    progress: float | None = connection.execute(query).scalar_one()
    return progress


@dataclass(frozen=True, slots=True)
class Hold:
    """An executor's claim on a job from one start; invalid after any later start."""

    executor_id: str
    starts: int

    def stands(self) -> sa.ColumnElement[bool]:
        """SQL condition: the executor still holds the job."""
        return sa.and_(jobs.c.executor_id == self.executor_id, jobs.c.starts == self.starts)


def _held(by: Hold | None) -> sa.ColumnElement[bool]:
    return sa.true() if by is None else by.stands()


def start(
    connection: Connection, job_id: str, executor_id: str, now: datetime, run_deadline: datetime
) -> Row[Any] | None:
    """Count one start and give the job to an executor.

    None if nothing is left to analyse, or while another signed-on executor holds the job.
    """
    held_by_another = sa.exists().where(
        executors.c.executor_id == jobs.c.executor_id, executors.c.executor_id != executor_id
    )
    update = (
        sa.update(jobs)
        .where(jobs.c.job_id == job_id, jobs.c.status.in_(UNFINISHED), jobs.c.analysis.is_(None), ~held_by_another)
        .values(
            status=JobStatus.RUNNING.value,
            starts=jobs.c.starts + 1,
            executor_id=executor_id,
            started_at=now,
            run_deadline=run_deadline,
        )
        .returning(*jobs.c)
    )
    return connection.execute(update).one_or_none()


def hand_back(connection: Connection, job_id: str, by: Hold) -> None:
    """Undo an interrupted start."""
    update = (
        sa.update(jobs)
        .where(jobs.c.job_id == job_id, jobs.c.status == JobStatus.RUNNING.value, by.stands())
        .values(starts=jobs.c.starts - 1, executor_id=None, run_deadline=None)
    )
    connection.execute(update)


def take_from(connection: Connection, executor_ids: Collection[str]) -> None:
    """Invalidate all holds of these executors."""
    connection.execute(
        sa.update(jobs)
        .where(jobs.c.status == JobStatus.RUNNING.value, jobs.c.executor_id.in_(executor_ids))
        .values(executor_id=None, run_deadline=None)
    )


def set_aside(connection: Connection, job_id: str, analysis: str, by: Hold | None = None) -> bool:
    """Store a finished analysis until the job's turn; False if the job has ended or another executor holds it."""
    update = (
        sa.update(jobs)
        .where(jobs.c.job_id == job_id, jobs.c.status.in_(UNFINISHED), _held(by))
        .values(analysis=analysis, executor_id=None, run_deadline=None)
    )
    return connection.execute(update).rowcount == 1


def finish(
    connection: Connection,
    job_id: str,
    status: JobStatus,
    *,
    completed_at: datetime | None,
    result: str | None,
    reading: str | None,
    by: Hold | None = None,
) -> bool:
    """Move the job into a terminal state; False if it already is in one, or another executor holds it."""
    sources = [source.value for source, targets in JOB_EDGES.items() if status in targets]
    update = (
        sa.update(jobs)
        .where(jobs.c.job_id == job_id, jobs.c.status.in_(sources), _held(by))
        .values(
            status=status.value,
            completed_at=completed_at,
            result=result,
            reading=reading,
            analysis=None,
            executor_id=None,
            run_deadline=None,
        )
    )
    return connection.execute(update).rowcount == 1


def list_overdue(connection: Connection, before: datetime, executor_ids: Collection[str]) -> list[tuple[str, Hold]]:
    """List jobs of these executors whose deadline was before that moment, with the hold of the overdue run."""
    query = sa.select(jobs.c.job_id, jobs.c.executor_id, jobs.c.starts).where(
        jobs.c.status == JobStatus.RUNNING.value,
        jobs.c.run_deadline < before,
        jobs.c.executor_id.in_(executor_ids),
        jobs.c.analysis.is_(None),
    )
    return [(row.job_id, Hold(row.executor_id, row.starts)) for row in connection.execute(query)]


def list_unheld(connection: Connection, job_ids: Collection[str]) -> list[str]:
    """Return which of these jobs are not analysed and held by no executor."""
    query = sa.select(jobs.c.job_id).where(
        jobs.c.job_id.in_(job_ids),
        jobs.c.status.in_(UNFINISHED),
        jobs.c.executor_id.is_(None),
        jobs.c.analysis.is_(None),
    )
    return list(connection.execute(query).scalars())


def list_set_aside(connection: Connection) -> list[str]:
    """List history keys of groups in which an analysis waits for its turn."""
    query = sa.select(jobs.c.history_key).where(jobs.c.status.in_(UNFINISHED), jobs.c.analysis.is_not(None)).distinct()
    return [key for key in connection.execute(query).scalars() if key is not None]


def list_old_audio(connection: Connection, before: datetime, limit: int) -> Sequence[AnyRow]:
    """List `job_id` and `audio_key` of finished jobs created before that moment that still have audio."""
    query = (
        sa.select(jobs.c.job_id, jobs.c.audio_key)
        .where(jobs.c.audio_key.is_not(None), jobs.c.created_at < before, jobs.c.status.not_in(UNFINISHED))
        .limit(limit)
    )
    return connection.execute(query).all()


def forget_audio(connection: Connection, job_ids: Sequence[str]) -> None:
    """Mark these jobs as having no audio."""
    connection.execute(sa.update(jobs).where(jobs.c.job_id.in_(job_ids)).values(audio_key=None))


def find_by_idempotency_key(connection: Connection, account_id: str, key: str, since: datetime) -> Row[Any] | None:
    """Find the submit of the account with this key since that moment; columns as of `find_by_client_ref`."""
    named = idempotency_keys.c.idempotency_key == key
    return _find_submit(connection, idempotency_keys, account_id, named, idempotency_keys.c.created_at >= since)


def find_by_client_ref(connection: Connection, account_id: str, ref_digest: str) -> Row[Any] | None:
    """Find the submit of the account with this reference: its columns and those of its job, null once it was erased."""
    return _find_submit(connection, client_refs, account_id, client_refs.c.ref_digest == ref_digest)


def _find_submit(
    connection: Connection, names: sa.Table, account_id: str, *conditions: sa.ColumnElement[bool]
) -> Row[Any] | None:
    query = (
        sa.select(jobs, names.c.request, names.c.recorded_at.label("recorded_as"), names.c.recording_digest)
        .select_from(names.outerjoin(jobs, names.c.job_id == jobs.c.job_id))
        .where(names.c.account_id == account_id, *conditions)
    )
    return connection.execute(query).one_or_none()


def remember_idempotency_key(connection: Connection, **values: Any) -> None:
    """Store the key for the job. Raises IntegrityError when another submit stored it first."""
    connection.execute(sa.insert(idempotency_keys).values(**values))


def remember_client_ref(connection: Connection, **values: Any) -> None:
    """Store the reference for the job. Raises IntegrityError when another submit stored it first."""
    connection.execute(sa.insert(client_refs).values(**values))


def find_client_ref_key(connection: Connection, account_id: str) -> bytes | None:
    """Find the sealed key that digests the account's references; None before its first one."""
    query = sa.select(client_ref_keys.c.sealed).where(client_ref_keys.c.account_id == account_id)
    sealed: bytes | None = connection.execute(query).scalar_one_or_none()
    return sealed


def store_client_ref_key(connection: Connection, account_id: str, sealed: bytes) -> None:
    """Store the account's key unless it has one."""
    insert = insert_into(connection, client_ref_keys).values(account_id=account_id, sealed=sealed)
    connection.execute(insert.on_conflict_do_nothing())


def forget_idempotency_keys(connection: Connection, before: datetime) -> None:
    """Delete the keys from before that moment."""
    connection.execute(sa.delete(idempotency_keys).where(idempotency_keys.c.created_at < before))
