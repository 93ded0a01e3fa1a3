"""SQL of the console's sessions, and of an account's use."""

from collections.abc import Sequence
from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.contract.jobs import JobType
from vbdesk.service.kernel.db.accounts import ACTIVE, accounts
from vbdesk.service.kernel.db.console import console_sessions
from vbdesk.service.kernel.db.credits import credit_entries
from vbdesk.service.kernel.db.jobs import jobs


def insert_session(connection: Connection, token_hash: bytes, account_id: str, now: datetime) -> None:
    """Store a session that begins now."""
    connection.execute(
        sa.insert(console_sessions).values(
            token_hash=token_hash, account_id=account_id, created_at=now, last_seen_at=now
        )
    )


def find_session(connection: Connection, token_hash: bytes, begun_after: datetime) -> Row[str, str, datetime] | None:
    """`(account_id, plan, last_seen_at)` of a session that is not too old, of an active account."""
    query = (
        sa.select(accounts.c.account_id, accounts.c.plan, console_sessions.c.last_seen_at)
        .join_from(console_sessions, accounts)
        .where(
            console_sessions.c.token_hash == token_hash,
            accounts.c.state == ACTIVE,
            console_sessions.c.created_at > begun_after,
        )
    )
    return connection.execute(query).one_or_none()


def touch_session(connection: Connection, token_hash: bytes, now: datetime) -> None:
    """Note that the session is being used."""
    mine = console_sessions.c.token_hash == token_hash
    connection.execute(sa.update(console_sessions).where(mine).values(last_seen_at=now))


def delete_session(connection: Connection, token_hash: bytes) -> None:
    """Forget a session."""
    connection.execute(sa.delete(console_sessions).where(console_sessions.c.token_hash == token_hash))


def delete_past_sessions(connection: Connection, begun_before: datetime, seen_before: datetime) -> None:
    """Forget sessions that are over."""
    over = (console_sessions.c.created_at <= begun_before) | (console_sessions.c.last_seen_at <= seen_before)
    connection.execute(sa.delete(console_sessions).where(over))


def list_use(
    connection: Connection, account_id: str, since: datetime
) -> Sequence[Row[date, str | None, str | None, int, int]]:
    """`(day, job_type, name, analyses, credits)` of what was charged since that moment; days are in UTC.

    Type and name are None for jobs that were erased: their amounts stay in the ledger.
    """
    charged_at = credit_entries.c.created_at
    local = charged_at if connection.dialect.name == "sqlite" else sa.func.timezone("UTC", charged_at)
    day = sa.func.date(local, type_=sa.Date)
    name = sa.case(
        (jobs.c.job_type == JobType.MODEL.value, jobs.c.model_name),
        (jobs.c.job_type == JobType.SIGN.value, jobs.c.sign_name),
        (jobs.c.job_type == JobType.USE_CASE.value, jobs.c.use_case),
        else_=jobs.c.condition,
    )
    query = (
        sa.select(
            day, jobs.c.job_type, name, sa.func.count(), sa.cast(sa.func.sum(credit_entries.c.amount), sa.Integer)
        )
        .select_from(credit_entries.outerjoin(jobs, jobs.c.job_id == credit_entries.c.job_id))
        .where(
            credit_entries.c.account_id == account_id,
            credit_entries.c.kind == "capture",
            charged_at >= since,
        )
        .group_by(day, jobs.c.job_type, name)
    )
    return connection.execute(query).all()
