"""Job counts maintained by database triggers, and the pages that use them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random

import sqlalchemy as sa
from sqlalchemy import Connection

from vbdesk.contract.ids import new_id
from vbdesk.service.erasure.repository import delete_jobs
from vbdesk.service.jobs import repository as jobs
from vbdesk.service.kernel.db.jobs import jobs as jobs_table
from vbdesk.service.kernel.paging import PagePosition

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def store(connection: Connection, account_id: str, moments: Iterable[datetime], status: str = "done") -> list[str]:
    rows = [
        {
            "job_id": new_id(),
            "account_id": account_id,
            "status": status,
            "created_at": moment,
            "recorded_at": moment - timedelta(days=1),
            "job_type": "sign",
            "sign_name": "stress",
            "api_version": "v2",
            "diarize": False,
            "audio_content_type": "audio/wav",
            "audio_size_bytes": 1,
            "audio_duration_seconds": 20.0,
            "starts": 1,
        }
        for moment in moments
    ]
    connection.execute(sa.insert(jobs_table), rows)
    return [str(row["job_id"]) for row in rows]


def all_pages(connection: Connection, account_id: str, size: int) -> list[list[str]]:
    total = jobs.count(connection, account_id)
    return [
        [row.job_id for row in jobs.list_page(connection, account_id, PagePosition(number, size, total))]
        for number in range(-(-total // size) + 1)
    ]


def test_pages_of_jobs_over_many_days_contain_every_job_once_newest_first(service, account):
    chance = Random(20260101)
    moments = [NEW_YEAR + timedelta(seconds=chance.randrange(9 * 86_400)) for _ in range(60)]
    moments += [NEW_YEAR, NEW_YEAR + timedelta(days=1), NEW_YEAR + timedelta(days=1, microseconds=-1)]
    other = service.add_account()
    with service.context.database.writing() as connection:
        ids = store(connection, account.account_id, moments)
        store(connection, other.account_id, moments[:5])
    newest_first = [job_id for _, job_id in sorted(zip(moments, ids, strict=True), reverse=True)]
    with service.context.database.reading() as connection:
        pages = all_pages(connection, account.account_id, 7)
    assert [job_id for page in pages for job_id in page] == newest_first
    assert [len(page) for page in pages] == [7] * 9 + [0]


def test_an_erased_job_is_no_longer_counted(service, account):
    with service.context.database.writing() as connection:
        ids = store(connection, account.account_id, [NEW_YEAR + timedelta(hours=8 * n) for n in range(9)])
        delete_jobs(connection, ids[2:5])
        assert jobs.count(connection, account.account_id) == 6
        assert all_pages(connection, account.account_id, 4) == [ids[:4:-1], ids[1::-1], []]
