"""What autoscaling looks at: how much waits, for how long, and who works on it."""

from sample_results import result_json

from vbdesk.service.engine import executors
from vbdesk.service.engine.executors import DEAD_AFTER
from vbdesk.service.engine.queue_state import QueueState, read_queue_state


def test_every_job_is_counted_where_it_stands_and_only_the_living_count(make_bench):
    bench = make_bench()
    context = bench.service.context
    bench.submit()
    context.clock.advance(7)
    bench.submit()
    running, handed_back, done = bench.submit(), bench.submit(), bench.submit()
    earlier, set_aside = (
        bench.submit_to("g", longitudinal=True, recorded_at=f"2026-01-0{day}T12:00:00Z") for day in (1, 2)
    )
    bench.start(running)
    bench.finish(done)
    bench.start(set_aside)
    bench.conclude(set_aside, result_json("model", "pulse", 0.4))
    with context.database.writing() as connection:
        run = bench._lifecycle.start(connection, handed_back, "bench", 120)
        bench._lifecycle.hand_back(connection, handed_back, run.hold)
        now = context.clock.now()
        executors.sign_on(connection, "gone", 16, now - 2 * DEAD_AFTER)
        executors.sign_on(connection, "leaving", 4, now)
        executors.set_draining(connection, "leaving")
        executors.sign_on(connection, "here", 2, now)
    assert bench.status(earlier) == "queued"
    with context.database.reading() as connection:
        state = read_queue_state(connection, now)
    assert state == QueueState(
        waiting=4,
        waiting_audio_s=4 * 15.5,
        oldest_wait_s=7.0,
        running=1,
        set_aside=1,
        executors=2,
        draining=1,
        slots=2,
    )
