"""The sound is deleted by the rule, never early, with any clocks; everything else stays."""

from datetime import UTC, datetime, timedelta

import pytest

from list_by_hand import list_by_hand
from vbdesk.clock import ManualClock
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.outbox.library.retention import AT_ONCE_MOST, SoundRetention
from vbdesk.outbox.library.settings import Retention, RetentionRule, SendRule
from vbdesk.outbox.library.states import OutboxState

KEY = bytes(range(32))
DAY = timedelta(days=1)
RESULT_AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


@pytest.fixture
def done_take(library, new_take):
    """A recording with a result at the service's time `result_at`."""

    def make(result_at=RESULT_AT, **more):
        take_id = new_take(seconds=1, **more)
        library.queue(take_id)
        with library.store.changing():
            for state in (OutboxState.SUBMITTED, OutboxState.DONE):
                library.store.move(take_id, state)
            library.store.store_result(take_id, b'{"a": 1}', result_at)
            library.store.remove_event(take_id)
        return take_id

    return make


@pytest.fixture
def retention(library):
    return SoundRetention(library)


def after(library, days):
    library.change_settings(retention=Retention(RetentionRule.AFTER_RESULT, days))


def has_sound(library, take_id):
    return library.store.path(take_id).exists() and library.get(take_id).audio_gone_at is None


def test_sound_is_kept_for_ever_unless_somebody_says_otherwise(library, retention, done_take, clock):
    take_id = done_take()
    clock.advance(10_000 * 86_400)
    assert not retention.step(clock.now())
    assert has_sound(library, take_id)


def test_sound_goes_so_many_days_after_the_result_and_the_rest_stays(library, retention, done_take, clock):
    take_id = done_take(note="after lunch")
    after(library, 30)
    before, updated = library.get(take_id), library.store.version()
    clock.advance(30 * 86_400 - 1)
    assert not retention.step(clock.now())
    clock.advance(1)
    assert retention.step(clock.now())
    assert not has_sound(library, take_id)
    item = library.get(take_id)
    assert (item.note, item.state, item.result_json) == ("after lunch", OutboxState.DONE, b'{"a": 1}')
    assert (item.audio_gone_at, item.updated_at) == (clock.now(), before.updated_at)
    assert [changed.take_id for changed in library.changes_since(updated).items] == [take_id]
    assert library.store.rows("SELECT what FROM audit ORDER BY seq DESC")[0]["what"] == AuditAction.SOUND_REMOVED
    assert not retention.step(clock.now())


def test_a_rule_that_is_changed_meanwhile_holds(library, retention, done_take, clock, meanwhile):
    take_id = done_take()
    after(library, 30)
    clock.advance(30 * 86_400)
    meanwhile(library, lambda: library.change_settings(retention=Retention()))
    retention.step(clock.now())
    assert has_sound(library, take_id)


def test_none_goes_before_its_result(library, retention, done_take, new_take, clock):
    waiting, failed, done = new_take(seconds=1), new_take(seconds=1), done_take()
    library.queue(waiting)
    library.queue(failed)
    with library.store.changing():
        library.store.move(failed, OutboxState.SUBMITTED)
        library.store.move(failed, OutboxState.FAILED)
    after(library, 0)
    clock.advance(86_400)
    assert retention.step(clock.now())
    assert [has_sound(library, take_id) for take_id in (waiting, failed, done)] == [True, True, False]
    with pytest.raises(NotAllowed):
        library.remove_sounds([waiting])


def test_at_once_needs_no_clock(library, retention, done_take):
    take_id = done_take()
    after(library, 0)
    assert retention.step(None)
    assert not has_sound(library, take_id)


def test_before_the_service_is_heard_nothing_goes(library, retention, done_take, clock):
    take_id = done_take()
    after(library, 1)
    clock.advance(1000 * 86_400)
    assert not retention.step(None)
    assert has_sound(library, take_id)


@pytest.mark.parametrize("years", [-30, -1, 1, 30])
def test_a_computer_whose_clock_is_wrong_removes_nothing_early(tmp_path, library, done_take, years):
    """Set the clock while the program does not run, so that a jump looks like passed time."""
    take_id = done_take()
    after(library, 30)
    library.close()
    wrong = Library(tmp_path / "library", KEY, ManualClock(RESULT_AT + years * 365 * DAY))
    for day in range(30):
        assert not SoundRetention(wrong).step(RESULT_AT + day * DAY)
        assert has_sound(wrong, take_id)
    wrong.close()
    right = Library(tmp_path / "library", KEY, ManualClock(RESULT_AT + 30 * DAY))
    assert SoundRetention(right).step(RESULT_AT + 30 * DAY)
    right.close()


def test_a_service_whose_clock_is_wrong_removes_nothing_early(library, retention, done_take, clock):
    take_id = done_take()
    after(library, 30)
    assert not retention.step(clock.now() + 365 * DAY)
    assert has_sound(library, take_id)


def test_a_result_without_a_time_counts_from_when_the_service_is_heard(library, retention, done_take, clock):
    take_id = done_take(result_at=None)
    after(library, 10)
    clock.advance(100 * 86_400)
    assert not retention.step(clock.now())
    clock.advance(10 * 86_400)
    assert retention.step(clock.now())
    assert not has_sound(library, take_id)


def test_many_go_in_steps(library, retention, done_take, clock):
    takes = [done_take() for _ in range(AT_ONCE_MOST + 3)]
    after(library, 0)
    assert retention.step(clock.now())
    assert sum(has_sound(library, take_id) for take_id in takes) == 3
    assert retention.step(clock.now())
    assert not retention.step(clock.now())


def test_a_recording_whose_entry_was_changed_keeps_its_sound(library, retention, done_take, tmp_path, reopen):
    take_id = done_take()
    after(library, 0)
    library.close()
    with list_by_hand(tmp_path / "library") as database:
        database.execute("UPDATE recordings SET result_at = '2020-01-01T00:00:00.000000+00:00'")
    again = reopen()
    assert not SoundRetention(again).step(RESULT_AT + 100 * DAY)
    assert again.store.path(take_id).exists()


def test_settings_survive_and_change_one_by_one(library, reopen):
    library.change_settings(send_rule=SendRule.UNMETERED)
    library.change_settings(paused=True)
    after(library, 7)
    library.close()
    settings = reopen().settings()
    assert (settings.send_rule, settings.paused) == (SendRule.UNMETERED, True)
    assert settings.retention == Retention(RetentionRule.AFTER_RESULT, 7)


def test_days_below_nothing_are_refused():
    with pytest.raises(ValueError, match="below 0"):
        Retention(RetentionRule.AFTER_RESULT, -1)
