"""Each recording is analysed once: lost answers, late requests, services that keep little, groups that went away."""

import hashlib
from datetime import UTC, datetime, timedelta

import httpx
import numpy as np
import pytest

from vbdesk.client import RequestBudget
from vbdesk.contract.limits import Bucket, Plan
from vbdesk.outbox.library.states import Fix, OutboxState

NEEDS_ATTENTION = OutboxState.NEEDS_ATTENTION
MOMENT = datetime(2026, 3, 1, 8, 0, 12, 345678, tzinfo=UTC)


def pending(library, take_id):
    return library.store.rows("SELECT * FROM pending WHERE take_id = ?", (take_id,))[0]


def send_elsewhere(service, library, **other):
    """What another computer does with the same recording."""
    job = {"job_id": "elsewhere", "status": "queued", "created_at": library.store.now(), "completed_at": None}
    job |= {"job_type": "model", "api_version": "v2", "audio_content_type": "audio/flac", "audio_size_bytes": 9}
    job |= {"audio_duration_seconds": 15.0, "audio_sample_rate": 1000, "model_name": "pulse", "result": None}
    service.jobs["elsewhere"] = job | {"group_id": "ward4-0172", "recorded_at": MOMENT, "done_at": 0.0} | other


def test_a_request_that_arrives_after_the_first_search_is_found_by_the_second(
    library, all_done, waiting, courier, service, drive
):
    service.faults["analyze"].append("late")
    waiting()
    drive(courier, all_done)
    assert service.count("group") == 2
    assert len(service.jobs) == 1


def test_a_search_that_fails_is_not_repeated_at_once(library, all_done, waiting, courier, service, drive):
    service.faults["analyze"].append("lost")
    service.faults["group"].extend([500] * 3)
    waiting()
    drive(courier, all_done)
    moments = [moment for moment, kind in service.requests if kind == "group"]
    assert np.diff(moments) == pytest.approx([2, 4, 8], abs=0.1)  # the lost answer counts too
    assert len(service.jobs) == 1


@pytest.mark.parametrize("digits", [6, 3, 0])
def test_a_lost_answer_is_found_by_all_digits_of_its_time_and_fewer_are_left_to_a_person(
    library, all_done, waiting, courier, service, drive, digits
):
    service.digits = digits
    service.faults["analyze"].append("lost")
    take_id = waiting()
    drive(courier, all_done)
    assert len(service.jobs) == 1
    item = library.get(take_id)
    assert item.recorded_at == MOMENT
    assert (item.state, item.fix) == ((OutboxState.DONE, None) if digits == 6 else (NEEDS_ATTENTION, Fix.SEND_AGAIN))


def test_a_job_of_the_same_second_but_another_length_is_another_recordings(
    library, all_done, waiting, courier, service, drive
):
    service.digits = 0
    service.faults["analyze"].extend(["unreachable", "lost"])
    first = waiting(seconds=15)
    second = waiting(seconds=17, recorded_at=MOMENT + timedelta(milliseconds=1))
    drive(courier, lambda: len(service.jobs) == 2 and library.get(first).job_id is not None, seconds=600)
    drive(courier, seconds=60)
    durations = {job_id: job["audio_duration_seconds"] for job_id, job in service.jobs.items()}
    assert sorted(durations.values()) == [15.0, 17.0], "one is sent though the other is unclear, and none twice"
    items = [library.get(take_id) for take_id in (first, second)]
    known = [item for item in items if item.job_id is not None]
    assert [round(item.duration_s) for item in known] == [durations[item.job_id] for item in known]
    assert {item.fix for item in items} == {None, Fix.SEND_AGAIN}


def test_while_one_recording_of_a_subject_is_unclear_no_other_of_it_is_sent(
    library, all_done, waiting, courier, service, drive
):
    service.faults["analyze"].append("lost")
    waiting("a")
    waiting("a", recorded_at=MOMENT + timedelta(microseconds=1))
    other = waiting("b")
    drive(courier, lambda: service.count("analyze") == 2)
    assert {job["group_id"] for job in service.jobs.values()} == {"a", "b"}
    assert library.get(other).job_id is not None
    drive(courier, all_done)
    assert len(service.jobs) == 3


def test_a_job_whose_group_was_deleted_meanwhile_is_left_to_a_person(
    library, all_done, waiting, courier, service, drive
):
    service.faults["analyze"].append("lost")
    take_id = waiting(seconds=15)
    drive(courier, lambda: len(service.jobs) == 1)
    ((job_id, job),) = service.jobs.items()
    service.jobs[job_id] = job | {"group_id": "deleted"}
    service.jobs["stranger"] = job | {"group_id": "other", "job_id": "stranger", "audio_size_bytes": 77}
    drive(courier, all_done)
    item = library.get(take_id)
    assert (item.job_id, item.state, item.fix) == (None, NEEDS_ATTENTION, Fix.SEND_AGAIN)
    assert "at its price" in item.reason
    assert service.count("analyze") == 1, "and nothing is sent before somebody says so"
    library.send_again(take_id)
    drive(courier, all_done)
    assert library.get(take_id).state is OutboxState.DONE
    assert service.count("analyze") == 2


def test_a_job_of_another_computer_is_not_taken_for_ours(library, all_done, waiting, courier, service, drive):
    """Same target, same length, some bytes more, and in another group."""
    service.faults["analyze"].append("unreachable")
    send_elsewhere(service, library, group_id="other", audio_size_bytes=4711)
    service.faults["analyze"].append(503)
    take_id = waiting()
    drive(courier, all_done)
    assert service.count("jobs") == 1
    assert len(service.jobs) == 2
    assert library.get(take_id).job_id != "elsewhere"


def test_an_upload_of_yesterday_is_made_anew_without_asking(library, all_done, waiting, courier, service, drive, clock):
    service.credits = 0
    waiting()
    drive(courier, seconds=20)
    assert service.count("put") == 1
    clock.advance(24 * 3600)
    service.credits = 100
    drive(courier, all_done, seconds=1000)
    assert service.count("put") == 2
    assert len(service.jobs) == 1


def test_an_upload_of_an_hour_ago_is_still_there_after_a_restart(
    library, all_done, waiting, new_courier, service, drive, clock
):
    service.credits = 0
    waiting()
    drive(new_courier(), seconds=20)
    clock.advance(3600)
    service.credits = 100
    drive(new_courier(), all_done)
    assert service.count("put") == 1


@pytest.mark.parametrize("fault", ["lost", "unreachable", 503])
def test_a_broken_upload_is_repeated_at_its_address(library, all_done, waiting, courier, service, drive, fault):
    """After a lost answer the storage says that the bytes are there already."""
    service.faults["put"].append(fault)
    waiting()
    drive(courier, all_done)
    assert (service.count("mint"), service.count("put")) == (1, 2)
    assert len(service.jobs) == 1


def test_an_address_that_has_expired_meanwhile_is_minted_anew(
    library, all_done, waiting, courier, service, drive, clock
):
    service.faults["put"].append("unreachable")
    waiting()
    drive(courier, lambda: service.count("put") == 1)
    clock.advance(16 * 60)
    drive(courier, all_done)
    assert (service.count("mint"), service.count("put")) == (2, 2)


def test_an_address_that_the_storage_refuses_is_minted_anew(library, all_done, waiting, courier, service, drive):
    service.faults["put"].append(lambda _: httpx.Response(400, text="<Error><Code>ExpiredToken</Code></Error>"))
    waiting()
    drive(courier, all_done)
    assert (service.count("mint"), service.count("put")) == (2, 2)


def test_the_digest_of_what_was_sent_is_kept(library, all_done, waiting, courier, service, drive):
    take_id = waiting()
    drive(courier, all_done)
    (sent,) = service.uploads.values()
    row = library.store.rows("SELECT sent_sha256 FROM recordings WHERE take_id = ?", (take_id,))[0]
    assert row["sent_sha256"] == hashlib.sha256(sent).hexdigest()


def hand_over(library, take_id):
    with library.store.changing():
        library.store.update(take_id, {"bundle_id": "bundle"})
        library.store.move(take_id, OutboxState.HANDED_OVER)
        library.store.write_event_of(take_id, {"asked_at": library.store.now()})


def test_a_recording_that_was_handed_over_is_followed_once_another_computer_has_sent_it(
    library, all_done, waiting, new_courier, service, drive
):
    take_id = waiting()
    hand_over(library, take_id)
    courier = new_courier()
    drive(courier, seconds=1300)
    assert library.get(take_id).state is OutboxState.HANDED_OVER
    assert pending(library, take_id)["asked_at"] is not None
    assert 2 <= service.count("group") <= 4  # every ten minutes
    assert service.count("mint") == 0
    send_elsewhere(service, library)
    drive(courier, all_done, seconds=700)
    assert library.get(take_id).job_id == "elsewhere"


def test_a_recording_that_another_computer_may_send_is_looked_for_before_every_submit(
    library, all_done, waiting, courier, service, drive
):
    take_id = waiting()
    with library.store.changing():
        library.store.update(take_id, {"bundle_id": "bundle"})
    mint = service._mint

    def meanwhile(_):
        send_elsewhere(service, library)
        return mint()

    service.faults["mint"].append(meanwhile)
    drive(courier, all_done)
    assert library.get(take_id).job_id == "elsewhere"
    assert service.count("analyze") == 0


def test_without_room_for_that_search_the_courier_waits(library, waiting, new_courier, service, clock):
    budget = RequestBudget.of_plan(Plan.STANDARD)
    take_id = waiting()
    with library.store.changing():
        library.store.update(take_id, {"bundle_id": "bundle"})
    for _ in range(10):
        budget.spend(Bucket.GENERAL, clock.monotonic())
    assert new_courier(budget=budget).step() > 10
    assert service.requests == []


def test_a_subjects_history_is_read_once_after_its_last_result(library, all_done, waiting, courier, service, drive):
    service.recomputes = 1
    for number in range(3):
        waiting(recorded_at=MOMENT + timedelta(days=number))
    assert library.responses.trajectory("ward4-0172") is None
    drive(courier, seconds=120)
    assert all_done()
    assert service.count("longitudinal") == 2  # the first time it was being recomputed
    body, _ = library.responses.trajectory("ward4-0172")
    assert b'"done_job_count":3' in body


def test_a_result_that_came_before_the_program_ended_has_its_history_read_later(
    library, all_done, waiting, new_courier, service, drive
):
    waiting()
    drive(new_courier(), all_done)
    assert service.count("longitudinal") == 0
    courier = new_courier()
    courier.recover()
    drive(courier, lambda: library.responses.trajectory("ward4-0172") is not None)
    assert service.count("longitudinal") == 1
