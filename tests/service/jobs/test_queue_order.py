"""The fair order of waiting jobs, served one after the other as a single slot would."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from vbdesk.service.jobs import repository
from vbdesk.service.jobs.admission import LAST, next_tag, queue_figures
from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.jobs import jobs

LONG_S, SHORT_S = 1200, 15
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Line:
    """Waiting jobs, and the work done so far in seconds of audio."""

    def __init__(self, connection):
        self._connection = connection
        self._count = 0
        self.worked_s = 0.0

    def submit(self, account, seconds, *, diarize=False):
        self._count += 1
        job_id = f"{self._count:06d}"
        repository.insert(
            self._connection,
            job_id=job_id,
            account_id=account,
            status="queued",
            created_at=NOON + timedelta(seconds=self._count),
            recorded_at=NOON,
            job_type="sign",
            api_version="v2",
            sign_name="stress",
            diarize=diarize,
            audio_content_type="audio/wav",
            audio_size_bytes=1,
            audio_duration_seconds=seconds,
            queue_tag=next_tag(self._connection, account, seconds, diarize=diarize),
        )
        return job_id

    def serve(self):
        """Take the next job as the engine does; its id and account, None when nothing waits."""
        query = sa.select(jobs).where(jobs.c.status == "queued").order_by(jobs.c.queue_tag, jobs.c.created_at)
        row = self._connection.execute(query.limit(1)).one_or_none()
        self._connection.execute(sa.delete(jobs).where(jobs.c.status == "running"))
        if row is None:
            return None
        running = sa.update(jobs).where(jobs.c.job_id == row.job_id).values(status="running", executor_id="only")
        self._connection.execute(running)
        self.worked_s += queue_figures().work_s(row.audio_duration_seconds, diarize=row.diarize)
        return row.job_id, row.account_id

    def tag(self, job_id):
        return self._connection.execute(sa.select(jobs.c.queue_tag).where(jobs.c.job_id == job_id)).scalar_one()

    def set_tag_of_running(self, tag):
        self._connection.execute(sa.update(jobs).where(jobs.c.status == "running").values(queue_tag=tag))

    def serve_all(self):
        return list(iter(self.serve, None))


@pytest.fixture
def line():
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        yield Line(connection)
    engine.dispose()


def test_the_burst_of_one_account_does_not_delay_anothers_few(line):
    for _ in range(500):
        line.submit("burst", LONG_S)
    for _ in range(20):
        line.serve()
    few = {line.submit("few", SHORT_S) for _ in range(5)}
    before = line.worked_s
    served = [line.serve() for _ in range(7)]
    assert few <= {job for job, _ in served}
    assert line.worked_s - before < 3 * (LONG_S + 10)
    assert len(line.serve_all()) == 478  # and all the others still come


def test_equal_accounts_share_alike_whoever_came_first(line):
    for account in "abc":
        for _ in range(20):
            line.submit(account, 60)
    for turn in range(20):
        assert {line.serve()[1] for _ in range(3)} == set("abc"), turn


def test_a_short_one_goes_before_the_long_ones_of_many(line):
    long_ones = [line.submit(f"account-{number}", LONG_S) for number in range(50)]
    line.serve()
    short = line.submit("one more", SHORT_S)
    assert line.serve() == (short, "one more")
    assert {job for job, _ in line.serve_all()} < set(long_ones)


def test_short_ones_go_before_the_accounts_own_long_ones(line):
    long_ones = [line.submit("a", LONG_S) for _ in range(3)]
    short = line.submit("a", SHORT_S)
    told_apart = line.submit("a", SHORT_S, diarize=True)
    served = [job for job, _ in line.serve_all()]
    assert served == [short, told_apart, *long_ones]


@pytest.mark.parametrize("accounts", [1, 8])
def test_a_long_one_is_not_passed_by_for_ever_under_endless_short_ones(line, accounts):
    long_one = line.submit("patient", LONG_S)
    others = [f"endless-{number}" for number in range(accounts)]
    for account in others:
        line.submit(account, SHORT_S)
        line.submit(account, SHORT_S)
    while True:
        job, account = line.serve()
        if job == long_one:
            break
        line.submit(account, SHORT_S)
    assert line.worked_s <= (accounts + 1) * (LONG_S + 10) * 2  # twice what everybody's fair share takes


def test_no_slot_rests_while_anything_waits_and_each_is_served_once(line):
    submitted = [line.submit(f"account-{n % 7}", SHORT_S + 13 * n % 900, diarize=n % 5 == 0) for n in range(200)]
    assert sorted(job for job, _ in line.serve_all()) == submitted


def test_the_order_begins_anew_when_nothing_waits(line):
    tags = []
    for account in ("a", "b"):
        job = line.submit(account, SHORT_S)
        tags.append(line.tag(job))
        line.serve_all()
    assert tags == [25, 25]


def test_no_tag_is_beyond_what_the_engine_takes(line):
    line.submit("a", SHORT_S)
    line.serve()
    line.set_tag_of_running(LAST)
    assert line.tag(line.submit("b", LONG_S)) == LAST


def test_a_tag_is_the_time_at_which_the_job_would_end_if_its_account_were_alone(line):
    figures, works = queue_figures(), []
    for seconds, diarize in [(60, False), (15, True), (1200, False), (15, False), (300, True)]:
        work = figures.start_seconds + seconds * (figures.diarize_factor if diarize else 1)
        ends = sum(other for other in works if other <= work) + work
        assert line.tag(line.submit("a", seconds, diarize=diarize)) == pytest.approx(ends, abs=2)
        works.append(work)


@pytest.mark.parametrize("diarize", [False, True])
def test_an_accounts_later_job_follows_all_its_work_that_waits(line, diarize):
    figures = queue_figures()
    first = line.submit("a", SHORT_S, diarize=diarize)
    second = line.submit("a", LONG_S)
    work_s = [figures.work_s(SHORT_S, diarize=diarize), figures.work_s(LONG_S, diarize=False)]
    assert (line.tag(first), line.tag(second)) == (round(work_s[0]), pytest.approx(sum(work_s), abs=1))


@pytest.mark.parametrize("waiting", [0, 1, 2, 4])
def test_a_newcomer_stands_behind_the_part_of_the_running_job_that_its_share_of_the_slot_allows(line, waiting):
    """Of several accounts each has an equal part of the slot, so that much of the running job's work is done first."""
    running = line.submit("running", LONG_S)
    line.serve()
    tag = line.tag(running)
    for number in range(waiting):
        line.submit(f"waits-{number}", LONG_S)
    work_s = [queue_figures().work_s(seconds, diarize=False) for seconds in (LONG_S, SHORT_S)]
    done = 1 / max(1, waiting)
    assert line.tag(line.submit("new", SHORT_S)) == pytest.approx(tag - (1 - done) * work_s[0] + work_s[1], abs=1)


def test_the_highest_tag_is_the_highest_signed_number_of_32_bits():
    assert LAST == 0x7FFFFFFF
