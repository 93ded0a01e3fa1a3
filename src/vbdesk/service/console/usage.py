"""Use of an account by day and by kind, as charged in the ledger."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from vbdesk.contract.jobs import JobType
from vbdesk.contract.limits import Bucket
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.tables import credit_entries
from vbdesk.service.ports.context import Context
from vbdesk.service.ports.identity import Account

DAYS = 30


@dataclass(frozen=True, slots=True)
class Amount:
    """Finished analyses and the credits they cost."""

    analyses: int
    credits: int


@dataclass(frozen=True, slots=True)
class Kind:
    """What the analyses were for; both fields are None for erased jobs."""

    job_type: JobType | None
    name: str | None


@dataclass(frozen=True, slots=True)
class Usage:
    """Use over the last days.

    Attributes:
        by_day: every day, oldest first, including days without use.
        by_kind: most credits first.
        total: sum over all days.
    """

    by_day: dict[date, Amount]
    by_kind: dict[Kind, Amount]
    total: Amount


@dataclass(frozen=True, slots=True)
class Allowance:
    """Requests of one kind in the last minute, and the plan's limit."""

    bucket: Bucket
    used: int
    limit: int


def read_usage(connection: Connection, account_id: str, now: datetime) -> Usage:
    """Read what was charged today and on the days before; days are in UTC."""
    days = [now.astimezone(UTC).date() - timedelta(days=back) for back in reversed(range(DAYS))]
    since = datetime.combine(days[0], time(), UTC)
    analyses: Counter[date | Kind] = Counter()
    credits: Counter[date | Kind] = Counter()
    for day, job_type, name, count, amount in list_use(connection, account_id, since):
        for part in (day, Kind(JobType(job_type) if job_type else None, name)):
            analyses[part] += count
            credits[part] += amount
    amounts = {part: Amount(analyses[part], credits[part]) for part in (*days, *analyses)}
    by_kind = {part: amount for part, amount in amounts.items() if isinstance(part, Kind)}
    return Usage(
        by_day={day: amounts[day] for day in days},
        by_kind=dict(sorted(by_kind.items(), key=lambda item: -item[1].credits)),
        total=Amount(sum(each.analyses for each in by_kind.values()), sum(each.credits for each in by_kind.values())),
    )


def read_allowances(context: Context, account: Account) -> list[Allowance]:
    """Read how much of the plan's limits the account used in the last minute."""
    now = context.clock.now()
    return [
        Allowance(bucket, context.rates.counted(account.account_id, bucket.value, now), limit)
        for bucket, limit in context.settings.rate_limits[account.plan].items()
    ]


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
