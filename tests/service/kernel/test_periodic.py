"""Work that a process repeats: one loop for every job of a table, and one stop."""

import threading

from sqlalchemy.exc import OperationalError

from patience import HANGS_S, until
from vbdesk.service.kernel.periodic import PeriodicJob, PeriodicWorker


class NoPause(threading.Event):
    """Does not wait, and notes how long it should have."""

    def __init__(self):
        super().__init__()
        self.pauses = []

    def wait(self, timeout=None):
        self.pauses.append(timeout)
        return True


def repeat(work, rounds, **more):
    """Repeat `work` so many times; the pauses before each round."""
    wake, done, worker = NoPause(), [], None

    def counted():
        done.append(None)
        if len(done) >= rounds:
            worker.stopping.set()
        return work()

    worker = PeriodicWorker([PeriodicJob("test", 4.0, counted, wake=wake, **more)])
    worker.start()
    until(lambda: len(done) >= rounds)
    worker.stop()
    return wake.pauses[:rounds]


def database_is_away():
    raise OperationalError("SELECT 1", {}, Exception())


def mistake():
    raise ZeroDivisionError


def test_a_round_follows_its_interval_or_what_the_last_one_says():
    assert repeat(lambda: None, 3) == [0.0, 4.0, 4.0]
    assert repeat(lambda: 90.0, 3, first_after_s=7.0) == [7.0, 90.0, 90.0]


def test_a_round_that_fails_ends_no_loop_and_failures_in_a_row_double_the_pause(caplog):
    assert repeat(database_is_away, 4) == [0.0, 4.0, 4.0, 4.0]
    assert repeat(database_is_away, 5, longest_pause_s=20.0) == [0.0, 8.0, 16.0, 20.0, 20.0]
    assert all(record.exc_info is None for record in caplog.records), "the database is known to go away"
    assert repeat(mistake, 3) == [0.0, 4.0, 4.0]
    assert caplog.records[-1].exc_info is not None
    outcomes = iter([database_is_away, lambda: None, database_is_away, lambda: None, lambda: None])
    assert repeat(lambda: next(outcomes)(), 5, longest_pause_s=60.0) == [0.0, 8.0, 4.0, 8.0, 4.0]


def test_no_job_delays_another_and_the_stop_ends_each_once():
    release, quick, ended = threading.Event(), [], []

    def end_without_database():
        ended.append("slow")
        database_is_away()

    worker = PeriodicWorker(
        [
            PeriodicJob("slow", HANGS_S, lambda: release.wait(HANGS_S) and None, at_end=end_without_database),
            PeriodicJob("quick", 0.001, lambda: quick.append(None), at_end=lambda: ended.append("quick")),
        ]
    )
    worker.start()
    until(lambda: len(quick) > 3)
    release.set()
    worker.stop()
    assert ended == ["slow", "quick"]
    assert not {"vbdesk-slow", "vbdesk-quick"} & {thread.name for thread in threading.enumerate()}


def test_a_worker_that_never_started_ends_its_jobs_too():
    ended = []
    PeriodicWorker([PeriodicJob("test", 1.0, mistake, at_end=lambda: ended.append("test"))]).stop()
    assert ended == ["test"]
