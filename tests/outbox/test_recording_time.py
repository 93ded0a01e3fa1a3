"""Recording times from wrong clocks: wrong ones are not sent without a decision, right ones are not doubted."""

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parent))

from laptop_with_manual_clock import KEY, NOON, ClockedLaptop, TrueTime

from vbdesk.client import RequestBudget
from vbdesk.contract.limits import Bucket, Plan
from vbdesk.outbox.bundles.bundle_export import exportable_recordings
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.outbox.library.recording_time import ServiceTime, TimeDoubt, clock_text, doubt_sentence
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.sync.request_journal import StoredRequestJournal
from vbdesk.outbox.sync.upload_queue import UploadQueue

YEAR, DAY, HOUR, MINUTE = timedelta(days=365), timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
DONE, ATTENTION, CHECKED = OutboxState.DONE, OutboxState.NEEDS_ATTENTION, OutboxState.CHECKED


@pytest.fixture
def clock():
    return TrueTime()


@pytest.fixture
def service(service):
    """The service, which sends its time."""
    service.clock_ahead = timedelta(0)
    return service


@pytest.fixture
def new_laptop(tmp_path, service):
    made = []

    def make(name="laptop"):
        made.append(ClockedLaptop(tmp_path / name, service, name))
        return made[-1]

    yield make
    for laptop in made:
        laptop.close()


@pytest.fixture
def laptop(new_laptop):
    return new_laptop()


def doubted(laptop, take_id, suggested=None):
    """Whether a recording waits for a decision, with this suggestion to the second."""
    item = laptop.get(take_id)
    assert (item.state, item.fix) == (ATTENTION, Fix.SET_CLOCK), item.reason
    found = item.time_doubt.suggested
    if suggested is None or found is None:
        return found is suggested
    return abs(found - suggested) < timedelta(seconds=3)


# A wrong clock during the recording


@pytest.mark.parametrize("wrong", [-YEAR, YEAR, -20 * MINUTE, 2 * HOUR])
def test_a_take_of_a_wrong_clock_is_asked_about_after_the_clock_is_set_right(laptop, wrong):
    laptop.clock.wrong = wrong
    take_id = laptop.record()
    laptop.clock.wrong = timedelta(0)
    laptop.run()
    assert doubted(laptop, take_id, laptop.began[take_id])
    assert laptop.sent() == []
    assert ("ahead" if wrong > timedelta(0) else "behind") in laptop.get(take_id).reason
    for moment in (laptop.get(take_id).recorded_at, laptop.began[take_id]):
        assert f"{moment.astimezone():%H:%M}" in laptop.get(take_id).reason


def test_a_clock_a_year_behind_in_an_earlier_run_is_found_by_what_the_service_had_confirmed(laptop):
    laptop.run(10)
    laptop.restart()
    laptop.clock.wrong = -YEAR
    take_id = laptop.record(send=False)
    assert laptop.get(take_id).fix is Fix.SET_CLOCK  # even before the first answer
    laptop.restart()
    laptop.clock.wrong = timedelta(0)
    laptop.library.queue(take_id)
    laptop.run()
    assert doubted(laptop, take_id)
    assert laptop.get(take_id).time_doubt.after < laptop.began[take_id]
    assert laptop.sent() == []


def test_a_clock_that_was_ahead_in_an_earlier_run_is_found_by_the_first_contact_after_it(laptop):
    laptop.run(10)
    laptop.restart()
    laptop.clock.wrong = 3 * DAY
    take_id = laptop.record(send=False)
    laptop.restart()
    laptop.clock.wrong = timedelta(0)
    laptop.run(10)
    laptop.true.advance(5 * 86_400)  # until its time is in the past
    laptop.library.queue(take_id)
    laptop.run()
    assert doubted(laptop, take_id)
    assert laptop.get(take_id).time_doubt.before < laptop.get(take_id).recorded_at


def test_a_clock_set_back_in_the_middle_of_a_recording_does_no_harm_to_it(laptop):
    take_id = laptop.record(ends_at=-YEAR)
    laptop.clock.wrong = timedelta(0)
    laptop.run()
    assert laptop.state(take_id) is DONE


@pytest.mark.parametrize("start", [datetime(1970, 1, 1, tzinfo=UTC), datetime(2099, 12, 31, tzinfo=UTC)])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_clock_that_begins_in_another_century_is_found_on_the_very_first_run(laptop, start, restarted):
    laptop.clock.set_to(start)
    take_id = laptop.record()
    if restarted:
        laptop.restart()
    laptop.clock.wrong = timedelta(0)
    laptop.run()
    assert doubted(laptop, take_id, None if restarted else laptop.began[take_id])
    assert laptop.sent() == []


def test_a_second_system_that_sets_the_clock_to_local_time_is_whole_hours_off(laptop):
    laptop.run(10)
    for hours in (-8, -1, 1, 10):
        laptop.restart()
        laptop.clock.wrong = hours * HOUR
        take_id = laptop.record()
        laptop.clock.wrong = timedelta(0)
        laptop.run()
        assert doubted(laptop, take_id, laptop.began[take_id])
        laptop.true.advance(11 * 3600)


# A right clock during the recording


@pytest.mark.parametrize("wrong", [-YEAR, YEAR, HOUR])
def test_a_clock_that_is_wrong_at_sending_accuses_no_take_that_was_made_when_it_was_right(laptop, wrong):
    take_id = laptop.record()
    laptop.clock.wrong = wrong
    sync_worker = laptop.run(100)
    assert sync_worker.status.on_hold is Fix.SET_CLOCK
    assert laptop.get(take_id).fix is None
    laptop.clock.wrong = timedelta(0)
    laptop.run()
    assert laptop.sent() == [laptop.get(take_id).recorded_at]


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_clock_that_is_wrong_after_a_restart_accuses_no_earlier_take(laptop, confirmed):
    if confirmed:
        laptop.run(10)
    take_id = laptop.record(send=False)
    laptop.restart()
    laptop.clock.wrong = -YEAR
    laptop.run(10)
    assert laptop.get(take_id).fix is None
    laptop.clock.wrong = timedelta(0)
    laptop.library.queue(take_id)
    laptop.run()
    assert laptop.state(take_id) is DONE


@pytest.mark.parametrize("confirmed", [False, True])
def test_sleep_counts_so_that_a_take_of_before_is_not_doubted(laptop, confirmed):
    if confirmed:
        laptop.run(10)
    take_id = laptop.record()
    laptop.clock.sleep(3 * 86_400)
    laptop.run()
    assert laptop.state(take_id) is DONE


def test_a_machine_that_stood_still_without_noticing_accuses_no_take_of_before(laptop):
    laptop.run(10)
    take_id = laptop.record()
    laptop.clock.stand_still(3 * 86_400)
    laptop.run()
    assert laptop.state(take_id) is DONE


def test_takes_of_one_day_before_and_after_the_clock_was_set_right_are_told_apart(laptop):
    laptop.run(10)
    laptop.clock.wrong = -YEAR
    wrong = laptop.record("a")
    laptop.clock.wrong = timedelta(0)
    right = laptop.record("b")
    laptop.run()
    assert doubted(laptop, wrong, laptop.began[wrong])
    assert laptop.state(right) is DONE


def test_a_clock_corrected_while_the_sync_worker_runs_lets_the_right_ones_go(laptop):
    laptop.clock.wrong = DAY
    wrong = laptop.record("a")
    before = laptop.true.monotonic()

    def correct(sync_worker):
        if laptop.true.monotonic() > before + 30:
            laptop.clock.wrong = timedelta(0)

    laptop.run(400, correct)
    right = laptop.record("b")
    laptop.run()
    assert doubted(laptop, wrong, laptop.began[wrong])
    assert laptop.state(right) is DONE


def test_an_offset_that_stays_small_does_no_harm_and_one_that_changed_is_asked_about(laptop):
    laptop.clock.wrong = 9 * MINUTE
    steady, changed = laptop.record("a"), laptop.record("b", send=False)
    laptop.run(700)
    assert laptop.state(steady) is DONE
    laptop.clock.wrong = timedelta(0)
    laptop.library.queue(changed)
    laptop.run()
    assert doubted(laptop, changed, laptop.began[changed])


# Times from the service


def portal_in_json(moment):
    body = {"code": "NO", "message": "Log in.", "status": 403}
    return lambda _: httpx.Response(403, json=body, headers={"Date": format_datetime(moment, usegmt=True)})


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("slip", [10 * YEAR, -10 * YEAR])
def test_one_answer_that_is_wrong_by_years_neither_holds_the_line_nor_doubts_a_take(laptop, place, slip):
    holds = set()
    laptop.service.slips.extend([timedelta(0)] * place + [slip])
    first = laptop.record("a")
    laptop.run(200, lambda sync_worker: holds.add(sync_worker.status.on_hold))
    laptop.restart()
    second = laptop.record("b")
    laptop.run()
    assert [laptop.state(take_id) for take_id in (first, second)] == [DONE, DONE]
    assert holds == {None}


def test_a_refusal_of_something_between_tells_no_time(laptop, service):
    take_id = laptop.record()
    service.faults["mint"].append(portal_in_json(NOON + YEAR))
    service.clock_ahead = None
    laptop.run(1)
    assert laptop.library.times.known().spans == ()
    service.clock_ahead = timedelta(0)
    laptop.library.retry(take_id)
    laptop.run()
    assert laptop.state(take_id) is DONE


IMPOSSIBLE = [datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC), datetime(2099, 12, 31, tzinfo=UTC)]


@pytest.mark.parametrize("told", IMPOSSIBLE)
def test_a_service_time_that_cannot_be_accuses_neither_the_clock_nor_a_take(laptop, service, told):
    service.slips.extend([told - laptop.true.moment] * 500)  # a proxy writes the header of every answer
    holds = set()
    take_id = laptop.record()
    laptop.run(200, lambda sync_worker: holds.add(sync_worker.status.on_hold))
    assert holds == {None}
    assert laptop.library.times.known().spans == ()
    assert laptop.sent() == [laptop.get(take_id).recorded_at]
    assert laptop.get(take_id).time_doubt is None


@pytest.mark.parametrize("told", IMPOSSIBLE)
def test_an_impossible_time_that_an_earlier_release_kept_says_nothing(laptop, told):
    believed = ServiceTime(laptop.clock.boot(), told)
    laptop.library.times.confirm(believed)
    take_id = laptop.record(send=False)
    store = laptop.library.store
    with store.changing():  # the format of earlier releases
        laptop.library.times.mark(laptop.get(take_id), TimeDoubt(told))
    laptop.library.queue(take_id)
    assert laptop.library.times.known().spans == ()
    assert laptop.library.times.service_time() is None
    assert laptop.get(take_id).reference.confirmed is None
    assert laptop.get(take_id).time_doubt.suggested is None
    laptop.run(200)
    assert laptop.state(take_id) is DONE
    assert laptop.sent() == [laptop.get(take_id).recorded_at]


def test_a_service_whose_clock_is_set_back_poisons_no_later_take(laptop, service):
    service.clock_ahead = DAY
    laptop.clock.wrong = DAY  # the network's time server is wrong too
    laptop.run(200)
    service.clock_ahead = laptop.clock.wrong = timedelta(0)
    laptop.restart()
    offline = laptop.record("a")
    assert laptop.get(offline).fix is Fix.SET_CLOCK  # by all that is known so far
    laptop.run(200)
    assert laptop.state(offline) is DONE  # which the service has corrected
    laptop.restart()
    again = laptop.record("b")
    laptop.run()
    assert laptop.state(again) is DONE


def test_a_take_that_the_service_contradicted_goes_once_the_service_is_corrected(laptop, service):
    service.clock_ahead = DAY
    laptop.run(100)
    take_id = laptop.record()
    assert laptop.get(take_id).fix is Fix.SET_CLOCK
    service.clock_ahead = timedelta(0)
    laptop.run(300)
    assert laptop.state(take_id) is DONE


def test_a_wrong_time_that_the_service_had_confirmed_is_no_bound_once_it_is_corrected(laptop, service):
    service.clock_ahead = laptop.clock.wrong = 2 * DAY
    laptop.run(10)
    service.clock_ahead = laptop.clock.wrong = timedelta(0)
    laptop.restart()
    take_id = laptop.record()
    laptop.restart()  # so that nothing is measured in the same uptime
    laptop.run(200)
    assert laptop.state(take_id) is DONE


def let_service_lie(laptop, amount, seconds=60):
    """Every answer during one uptime has a time that is wrong by `amount`, as through a proxy."""
    laptop.service.slips.extend([amount] * 500)
    laptop.run(seconds)
    laptop.service.slips.clear()


@pytest.mark.parametrize(
    ("lie", "restarted"),
    [
        (lie, restarted)
        for lie in (3 * HOUR, -3 * HOUR, 20 * MINUTE, YEAR, -YEAR)
        for restarted in (False, True)
        if lie > timedelta(0) or not restarted  # else the computer may have been off for so long
    ],
)
def test_a_service_that_was_wrong_for_one_run_accuses_no_take_once_it_is_right(laptop, lie, restarted):
    first = laptop.record("a", send=False)
    let_service_lie(laptop, lie)
    during = laptop.record("b", send=False)
    for take_id in (first, during):
        assert abs(laptop.get(take_id).time_doubt.suggested - laptop.began[take_id] - lie) < timedelta(seconds=3)
        laptop.library.queue(take_id)
    let_service_lie(laptop, lie, 200)
    if restarted:
        laptop.restart()
    laptop.run(200)
    assert [laptop.state(take_id) for take_id in (first, during)] == [DONE, DONE]
    assert sorted(laptop.sent()) == sorted(laptop.get(take_id).recorded_at for take_id in (first, during))


@pytest.mark.parametrize("lie", [3 * HOUR, -3 * HOUR, DAY])
def test_a_service_that_lied_between_takes_nothing_from_what_it_had_confirmed_in_the_same_run(laptop, lie):
    laptop.run(10)
    laptop.clock.wrong = -2 * DAY
    wrong = laptop.record("a")
    laptop.clock.wrong = timedelta(0)
    let_service_lie(laptop, lie)
    laptop.run(200)
    assert doubted(laptop, wrong, laptop.began[wrong])


def test_a_suggestion_by_a_time_that_was_refuted_is_replaced(laptop):
    laptop.clock.wrong = -2 * DAY
    take_id = laptop.record(send=False)
    laptop.clock.wrong = timedelta(0)
    let_service_lie(laptop, 3 * HOUR)
    assert laptop.get(take_id).time_doubt.suggested > laptop.began[take_id] + 2 * HOUR
    laptop.library.queue(take_id)
    laptop.run(100)
    assert doubted(laptop, take_id, laptop.began[take_id])
    assert f"{laptop.began[take_id].astimezone():%H:%M}" in laptop.get(take_id).reason


def test_a_refuted_time_does_not_accuse_again_once_that_time_has_come(laptop):
    take_id = laptop.record(send=False)
    let_service_lie(laptop, 3 * HOUR)
    during = laptop.record("b", send=False)
    laptop.restart()
    laptop.run(100)
    laptop.restart()
    laptop.true.advance(5 * 3600)
    laptop.run(100)
    for each in (take_id, during):
        laptop.library.queue(each)
    laptop.run(200)
    assert [laptop.state(each) for each in (take_id, during)] == [DONE, DONE]


def test_a_machine_that_stood_still_accuses_no_take_that_was_confirmed_only_afterwards(laptop):
    take_id = laptop.record(send=False)
    laptop.run(100)
    laptop.clock.stand_still(3 * 86_400)
    laptop.run(100)
    laptop.library.queue(take_id)
    laptop.run(100)
    assert laptop.state(take_id) is DONE


def test_where_the_machine_stood_still_a_wrong_time_is_only_bounded(laptop):
    laptop.clock.wrong = -YEAR
    take_id = laptop.record(send=False)
    laptop.clock.wrong = timedelta(0)
    laptop.run(100)
    laptop.clock.stand_still(3 * 86_400)
    laptop.library.queue(take_id)
    laptop.run(100)
    assert doubted(laptop, take_id)
    doubt = laptop.get(take_id).time_doubt
    assert doubt.after - 3 * MINUTE < laptop.began[take_id] < doubt.before


def test_a_service_that_was_a_year_ahead_with_the_computer_leaves_takes_of_the_future_to_a_person(laptop, service):
    service.clock_ahead = laptop.clock.wrong = YEAR  # a local service uses the same clock
    laptop.run(10)
    take_id = laptop.record(send=False)
    service.clock_ahead = laptop.clock.wrong = timedelta(0)
    laptop.run(10)
    laptop.library.queue(take_id)
    before = len(service.requests)
    laptop.run(120)
    assert doubted(laptop, take_id, laptop.began[take_id])
    assert laptop.sent() == []
    assert len(service.requests) - before < 20


def test_without_room_for_a_request_the_time_is_confirmed_a_little_later(laptop, service):
    budget = RequestBudget.of_plan(Plan.STANDARD, StoredRequestJournal(laptop.library.store))
    for _ in range(10):
        budget.take(Bucket.GENERAL, laptop.clock.monotonic())
        budget.answered(Bucket.GENERAL, laptop.clock.monotonic(), laptop.clock.monotonic())
    take_id, steps = laptop.record(), []
    laptop.run(40, steps.append, budget=budget)
    assert laptop.state(take_id) is not DONE
    assert len(steps) < 200
    laptop.run(60, budget=budget)
    assert laptop.state(take_id) is DONE


def test_a_take_of_the_future_does_not_move_what_counts_as_confirmed(laptop):
    laptop.run(10)
    laptop.clock.wrong = 10 * YEAR
    laptop.record("a")
    laptop.run(100)
    laptop.clock.wrong = timedelta(0)
    right = laptop.record("b")
    laptop.run(200)
    assert laptop.state(right) is DONE


def test_a_full_disk_does_not_lose_the_answer_that_told_the_time(laptop, monkeypatch):
    def full(answer):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(laptop.library.times, "confirm", full)
    take_id = laptop.record()
    laptop.run()
    assert laptop.state(take_id) is DONE
    assert len(laptop.service.jobs) == 1


# Recordings without a reference


def test_an_import_is_never_doubted_by_the_runs_of_the_computer(laptop, speech_file):
    laptop.run(10)
    metadata = TakeMetadata("ward4-0172", NOON - 3 * YEAR, RecordingTarget("model", "pulse"))
    take_id = laptop.library.import_file(speech_file, metadata)
    laptop.library.queue(take_id)
    laptop.run()
    assert laptop.state(take_id) is DONE
    assert laptop.get(take_id).reference is None


def test_a_start_of_another_computer_is_not_compared(laptop, new_laptop):
    other = new_laptop("other")
    other.clock._name = "another"
    other.true.advance(5 * 86_400)
    other.run(10)
    path = laptop.write()
    moved = path.replace(other.library.recording_folder / path.name)
    other._last = laptop._last
    take_id = other.take_in(moved)
    other.library.queue(take_id)
    other.run()
    assert other.state(take_id) is DONE


def test_what_an_earlier_release_measured_of_a_doubtful_take_is_offered(laptop):
    path = laptop.write()
    laptop._last = (NOON, NOON)
    take_id = laptop.take_in(path)
    store = laptop.library.store
    document = {"protocol": "", "note": "n", "tags": [], "consented_at": None, "quality": {}, "trim_s": None}
    with store.changing():  # the format of earlier releases
        details = store.cipher.encrypt(json.dumps({**document, "clock_ahead_s": 7200.0}).encode(), f"{take_id}/details")
        store.update(take_id, {"details": details, "reason": "Made while the clock was wrong.", "fix": Fix.SET_CLOCK})
    laptop.library.queue(take_id)
    laptop.run()
    assert doubted(laptop, take_id, laptop.get(take_id).recorded_at - 2 * HOUR)
    laptop.library.set_recorded_at(take_id, laptop.get(take_id).time_doubt.suggested)
    laptop.library.retry(take_id)
    laptop.run()
    assert (laptop.state(take_id), laptop.get(take_id).note) == (DONE, "n")


def test_a_take_of_an_earlier_release_goes_as_before(laptop):
    path = laptop.write()
    laptop._last = (NOON - YEAR, NOON)  # unrelated to the file's time
    take_id = laptop.take_in(path)
    assert laptop.get(take_id).reference is None
    laptop.library.queue(take_id)
    laptop.run()
    assert laptop.state(take_id) is DONE


# Decisions of a person


@pytest.fixture
def asked(laptop):
    """A take made by a clock a day behind, which waits for a decision."""
    laptop.clock.wrong = -DAY
    take_id = laptop.record()
    laptop.clock.wrong = timedelta(0)
    laptop.run()
    assert doubted(laptop, take_id, laptop.began[take_id])
    return take_id


@pytest.mark.parametrize("choice", ["keep", "suggested", "entered"])
def test_what_a_person_decides_is_sent_and_noted_and_not_asked_again(laptop, asked, choice):
    before, entered = laptop.get(asked), NOON - 2 * HOUR
    library = laptop.library
    match choice:
        case "keep":
            library.confirm_recorded_at(asked)
        case "suggested":
            library.set_recorded_at(asked, before.time_doubt.suggested)
        case "entered":
            library.set_recorded_at(asked, entered)
    wanted = {"keep": before.recorded_at, "suggested": before.time_doubt.suggested, "entered": entered}[choice]
    library.retry(asked)
    laptop.run()
    [sent] = laptop.sent()
    assert sent.replace(microsecond=0) == wanted.replace(microsecond=0)
    assert choice == "keep" or sent.microsecond, "a time of whole seconds gets a fraction of its own"
    assert laptop.get(asked).reason is None
    notes = [(entry.what, entry.detail) for entry in AuditReader(library.store.folder, KEY).entries()]
    moved_s = (wanted - before.recorded_at).total_seconds()
    expected = {
        "keep": ("time of recording kept", ""),
        "suggested": ("time of recording corrected", "by 86400 s, suggested"),
        "entered": (
            "time of recording corrected",
            f"by {moved_s:.0f} s, entered",
        ),
    }[choice]
    assert expected in notes


@pytest.fixture
def misled(laptop):
    """A take of a right clock that a person moved to the time of a service that was wrong during one uptime."""

    def make(lie):
        take_id = laptop.record(send=False)
        let_service_lie(laptop, lie)
        told = laptop.get(take_id)
        laptop.library.set_recorded_at(take_id, told.time_doubt.suggested)
        laptop.library.queue(take_id)
        assert laptop.get(take_id).original_time == told.recorded_at
        return take_id, told.recorded_at

    return make


@pytest.mark.parametrize("later_s", [0, 5 * 3600])
@pytest.mark.parametrize("lie", [3 * HOUR, -3 * HOUR])
def test_a_time_taken_from_a_service_that_was_wrong_is_asked_about_again_with_all_times(laptop, misled, lie, later_s):
    take_id, original = misled(lie)
    laptop.true.advance(later_s)
    laptop.run(200)
    assert laptop.sent() == []
    assert doubted(laptop, take_id, laptop.began[take_id])
    item = laptop.get(take_id)
    assert item.original_time == original
    was, has = clock_text(original, item.recorded_at)
    assert f"was corrected from {was} to {has}. By the service's clock it was made at " in item.reason


@pytest.mark.parametrize("choice", ["original", "suggested", "keep"])
def test_a_corrected_time_is_restored_or_moved_or_kept_as_a_person_decides(laptop, misled, choice):
    take_id, original = misled(-3 * HOUR)
    laptop.run(200)
    corrected = laptop.get(take_id)
    match choice:
        case "original":
            laptop.library.restore_recorded_at(take_id)
            assert laptop.get(take_id).original_time is None
        case "suggested":
            laptop.library.set_recorded_at(take_id, corrected.time_doubt.suggested)
            assert laptop.get(take_id).original_time == original
        case "keep":
            laptop.library.confirm_recorded_at(take_id)
            assert laptop.get(take_id).original_time == original
    laptop.library.retry(take_id)
    laptop.run(200)
    suggested, kept = corrected.time_doubt.suggested, corrected.recorded_at
    wanted = {"original": original, "suggested": suggested, "keep": kept}[choice]
    [sent] = laptop.sent()
    assert sent == wanted if choice != "suggested" else abs(sent - wanted) < timedelta(seconds=1)
    if choice == "original":
        notes = [(entry.what, entry.detail) for entry in AuditReader(laptop.library.store.folder, KEY).entries()]
        moved_s = (original - corrected.recorded_at).total_seconds()
        assert ("time of recording corrected", f"by {moved_s:.0f} s, restored") in notes
        assert laptop.get(take_id).time_is_unique


def test_a_corrected_time_can_be_restored_while_it_waits_and_not_once_it_is_sent(laptop, misled):
    take_id, original = misled(3 * HOUR)
    laptop.library.restore_recorded_at(take_id)
    laptop.run(200)
    assert laptop.sent() == [original]
    with pytest.raises(NotAllowed):
        laptop.library.restore_recorded_at(take_id)


def test_the_first_time_outlasts_every_correction_and_a_restart(laptop, asked):
    first = laptop.get(asked).recorded_at
    for hours in (1, 2):
        laptop.library.set_recorded_at(asked, NOON - hours * HOUR)
    laptop.restart()
    assert laptop.get(asked).original_time == first
    laptop.library.restore_recorded_at(asked)
    assert laptop.get(asked).recorded_at == first


def test_a_time_that_nobody_corrected_has_nothing_to_restore(laptop, asked):
    with pytest.raises(NotAllowed, match="was not corrected"):
        laptop.library.restore_recorded_at(asked)
    assert doubted(laptop, asked, laptop.began[asked])


def test_a_time_that_a_person_entered_is_not_compared_again(laptop, misled):
    take_id, _ = misled(-3 * HOUR)
    laptop.library.set_recorded_at(take_id, NOON - DAY)
    laptop.run(200)
    assert [sent.replace(microsecond=0) for sent in laptop.sent()] == [NOON - DAY]


def test_trying_again_without_a_decision_asks_again(laptop, asked):
    laptop.library.retry(asked)
    laptop.run()
    assert doubted(laptop, asked, laptop.began[asked])
    assert laptop.sent() == []


def test_a_time_that_lies_in_the_future_cannot_be_chosen(laptop):
    laptop.clock.wrong = DAY
    take_id = laptop.record()
    laptop.clock.wrong = timedelta(0)
    laptop.run()
    with pytest.raises(NotAllowed, match="is in the future"):
        laptop.library.confirm_recorded_at(take_id)
    with pytest.raises(NotAllowed, match="is in the future"):
        laptop.library.set_recorded_at(take_id, laptop.true.moment + HOUR)
    assert doubted(laptop, take_id, laptop.began[take_id])


@pytest.mark.parametrize(
    ("decide", "kept"),
    [
        (lambda library, take_id: library.set_trim(take_id, (1.0, 9.0)), lambda item: item.trim_s == (1.0, 9.0)),
        (lambda library, take_id: library.confirm_recorded_at(take_id), lambda item: item.time_doubt is None),
        (lambda library, take_id: library.discard(take_id), None),
    ],
)
def test_what_a_person_does_while_times_are_compared_stays(laptop, meanwhile, decide, kept):
    laptop.clock.wrong = -HOUR
    take_id, library = laptop.record(send=False), laptop.library
    laptop.clock.wrong = timedelta(0)
    library.times.confirm(ServiceTime(laptop.clock.boot(), laptop.true.moment))
    meanwhile(library, lambda: decide(library, take_id))
    library.times.review()
    if kept is None:
        assert library.list() == []
    else:
        assert kept(library.get(take_id))


def test_a_time_that_a_person_keeps_while_it_is_compared_is_not_asked_about_again(laptop, meanwhile):
    laptop.clock.wrong = -HOUR
    take_id, library = laptop.record(), laptop.library
    laptop.clock.wrong = timedelta(0)
    library.times.confirm(ServiceTime(laptop.clock.boot(), laptop.true.moment))
    handlers = laptop.run(0)._handlers
    (event,) = UploadQueue(library.store).events()
    meanwhile(library, lambda: library.confirm_recorded_at(take_id))
    handlers.send(event)
    item = library.get(take_id)
    assert (item.state, item.fix, item.time_doubt) == (OutboxState.WAITING, None, None)


def test_what_is_doubtful_is_not_handed_over_in_a_bundle(laptop):
    laptop.run(10)
    laptop.clock.wrong = -DAY
    wrong = laptop.record("a")
    laptop.clock.wrong = timedelta(0)
    right = laptop.record("b")
    found = exportable_recordings(laptop.library)
    assert [item.take_id for item in found.items] == [right]
    assert [(left.item.take_id, left.reason) for left in found.left_out] == [(wrong, laptop.get(wrong).reason)]


# Stored settings


def test_the_reference_survives_a_restart_and_is_nowhere_in_clear(laptop):
    laptop.run(10)
    take_id = laptop.record(send=False)
    kept = laptop.get(take_id).reference
    assert kept.confirmed.boot == laptop.library.times.known().newest.boot
    laptop.restart()
    assert laptop.get(take_id).reference == kept
    laptop.close()
    content = b"".join(path.read_bytes() for path in laptop._folder.rglob("*") if path.is_file())
    assert kept.boot.boot_id.encode() not in content
    laptop.library = Library(laptop._folder, KEY, laptop.clock)


def test_confirmed_times_that_somebody_spoilt_say_nothing_and_stop_nothing(laptop):
    with laptop.library.store.changing_silently():
        laptop.library.store.store_setting("service_times", json.dumps([[1, 2]]).encode())
    take_id = laptop.record()
    laptop.run()
    assert laptop.state(take_id) is DONE


def test_many_starts_of_the_computer_are_kept_within_bounds(laptop):
    for _ in range(120):
        laptop.clock.restart()
        laptop.library.times.confirm(ServiceTime(laptop.clock.boot(), laptop.true.moment))
        laptop.true.advance(3600)
    assert len(laptop.library.times.known().spans) == 50


# Sentences


@pytest.fixture
def zone(monkeypatch):
    def use(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield use
    monkeypatch.undo()
    time.tzset()


def test_two_times_on_both_sides_of_the_change_to_winter_time_are_told_apart(zone):
    zone("Europe/Berlin")
    summer = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)  # 02:30 twice that night
    assert clock_text(summer, summer + HOUR) == ["2026-10-25 02:30 (UTC+0200)", "02:30 (UTC+0100)"]
    assert clock_text(summer, summer + DAY) == ["2026-10-25 02:30 (UTC+0200)", "2026-10-26 01:30 (UTC+0100)"]
    assert clock_text(NOON, NOON + 5 * MINUTE) == ["2026-03-01 13:00", "13:05"]


@pytest.mark.parametrize(
    ("told", "doubt", "words"),
    [
        (NOON, TimeDoubt(NOON - HOUR), ("was ahead: it gave 2026-03-01 12:00 for", "service's clock it was 11:00.")),
        (NOON, TimeDoubt(NOON + HOUR), ("was behind: it gave 2026-03-01 12:00 for", "service's clock it was 13:00.")),
        (NOON, TimeDoubt(NOON + DAY), ("was behind: it gave 2026-03-01 12:00 for", "it was 2026-03-02 12:00.")),
        (NOON, TimeDoubt(None, NOON + DAY, NOON + 2 * DAY), ("after 2026-03-02 12:00 and not later than 2026-03-03",)),
        (
            NOON,
            TimeDoubt(None, NOON + DAY),
            ("was behind: it gave 2026-03-01 12:00", "was after 2026-03-02 12:00."),
        ),
        (NOON, TimeDoubt(None, None, NOON - DAY), ("is 2026-03-01 12:00, and", "not later than 2026-02-28 12:00.")),
        (NOON - 56 * YEAR, TimeDoubt(None, None, NOON), ("it gave 1970-03-15 12:00", "did not exist then")),
        (NOON - 56 * YEAR, TimeDoubt(), ("it gave 1970-03-15 12:00", "did not exist then")),
    ],
)
def test_each_doubt_is_said_in_whole_sentences_with_both_times(zone, told, doubt, words):
    zone("UTC")
    sentence = doubt_sentence(told, doubt)
    for each in words:
        assert each in sentence
    assert sentence.endswith(" Decide which time is right. It is not sent before.")


# Random sequences

CLOCKS = [timedelta(0)] * 4 + [
    MINUTE, -MINUTE, 20 * MINUTE, -20 * MINUTE, HOUR, -HOUR, 9 * HOUR, DAY, -DAY, YEAR, -YEAR, 73 * YEAR, -56 * YEAR,
]  # fmt: skip

moves = st.one_of(
    st.tuples(st.just("record"), st.booleans()),
    st.tuples(st.just("set"), st.sampled_from(CLOCKS)),
    st.tuples(st.just("pass"), st.sampled_from([30.0, 600.0, 7200.0, 100_000.0])),
    st.tuples(st.just("sleep"), st.sampled_from([600.0, 30_000.0])),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("run"), st.sampled_from([5.0, 40.0, 200.0])),
    st.tuples(st.just("slip"), st.integers(0, 6)),
    st.tuples(st.just("send"), st.none()),
)


class Model:
    """An observer: the true time of each take, and when the service was reached."""

    def __init__(self, laptop):
        self.laptop = laptop
        self.contacts = []  # uptime and time
        self.takes = {}  # uptime, clock error, last contact before
        self.slips = 0

    def play(self, move, value):
        laptop = self.laptop
        match move:
            case "record":
                made = (laptop.clock.boot().boot_id, laptop.clock.wrong, len(self.contacts))
                self.takes[laptop.record(f"g-{len(self.takes)}", send=value)] = made
            case "set":
                laptop.clock.wrong = value
            case "pass":
                laptop.true.advance(value)
            case "sleep":
                laptop.clock.sleep(value)
            case "restart":
                laptop.restart()
            case "run":
                laptop.run(value)
                self.contacts.append((laptop.clock.boot().boot_id, laptop.true.moment))
            case "slip":
                self.slips += 1
                laptop.service.slips.extend([timedelta(0)] * value + [self.slips * 7 * YEAR / 3])
            case "send":
                for take_id in self.takes:
                    if laptop.state(take_id) is CHECKED:
                        laptop.library.queue(take_id)

    def evidence(self, take_id):
        """Whether the service's answers suffice to detect this take's error, with a minute to spare."""
        boot_id, wrong, before = self.takes[take_id]
        told, spare = self.laptop.began[take_id] + wrong, 4 * MINUTE
        if any(contact == boot_id for contact, _ in self.contacts):
            return True
        if before and told < self.contacts[before - 1][1] - spare:
            return True
        return before < len(self.contacts) and told > self.contacts[before][1] + spare

    def check(self):
        sent = set(self.laptop.sent())
        for take_id, (_, wrong, _) in self.takes.items():
            item = self.laptop.get(take_id)
            if abs(wrong) <= 2 * MINUTE:
                assert item.fix is None, item.reason
            elif abs(wrong) > 15 * MINUTE and item.recorded_at in sent:
                assert not self.evidence(take_id)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(st.lists(moves, min_size=3, max_size=25))
@example([("run", 40.0), ("restart", None), ("set", -YEAR), ("record", True), ("restart", None)])
@example(
    [("set", DAY), ("record", False), ("restart", None), ("set", 0 * DAY), ("run", 40.0)] + 2 * [("pass", 100_000.0)]
)
def test_whatever_happens_no_wrong_time_goes_out_unasked_and_no_right_one_is_doubted(
    tmp_path_factory, service, schedule
):
    truthful = type(service)(TrueTime())
    truthful.clock_ahead = timedelta(0)
    laptop = ClockedLaptop(tmp_path_factory.mktemp("library"), truthful)
    model = Model(laptop)
    try:
        for move, value in [*schedule, ("set", timedelta(0)), ("send", None), ("run", 1000.0)]:
            model.play(move, value)
            model.check()
        for take_id, (_, wrong, _) in model.takes.items():
            if abs(wrong) <= 2 * MINUTE:
                assert laptop.state(take_id) is DONE
    finally:
        laptop.close()
