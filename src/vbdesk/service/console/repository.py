"""SQL of an account's use."""

from collections.abc import Sequence
from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.contract.jobs import JobType
from vbdesk.service.kernel.db.credits import credit_entries
from vbdesk.service.kernel.db.jobs import jobs


def list_use(
    connection: Connection, account_id: str, since: datetime
) -> Sequence[Row[date, str | None, str | None, int, int]]:
    """List `(day, job_type, name, analyses, credits)` charged since `since`; days are in UTC.

    Type and name are None for erased jobs: their amounts stay in the ledger.
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
