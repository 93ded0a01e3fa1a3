"""A lost answer is recovered by identity: by the reference, or by the exact capture time in the subject's own group."""

from datetime import UTC, datetime, timedelta

import httpx
import numpy as np
import pytest
import soundfile as sf

from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import NotAllowed
from vbdesk.outbox.library.states import Fix, OutboxState

MOMENT = datetime(2026, 3, 1, 8, 0, 12, 345678, tzinfo=UTC)
WHOLE = MOMENT.replace(microsecond=0)
DAY_S = 86_400
DONE, NEEDS_ATTENTION = OutboxState.DONE, OutboxState.NEEDS_ATTENTION


@pytest.fixture
def telling(service):
    """A service that sends its time."""
    service.clock_ahead = timedelta()
    return service


@pytest.fixture
def keeping(telling):
    """A service that reads references and says so."""
    telling.reads_refs = True
    return telling


@pytest.fixture
def imported(library, tmp_path):
    """Imports and queues a WAV; all have equal length and size, but different sound."""
    count = 0

    def make(group_id="ward4-0172", recorded_at=MOMENT):
        nonlocal count
        count += 1
        path = tmp_path / f"{count}.wav"
        sf.write(path, np.random.default_rng(count).normal(0, 0.1, 20 * 8000), 8000)
        take_id = library.import_file(path, TakeMetadata(group_id, recorded_at, RecordingTarget("model", "pulse")))
        library.queue(take_id)
        return take_id

    return make


def of_another_computer(service, **other):
    """A job of the account that this computer does not know."""
    [job] = service.jobs.values()
    service.jobs["elsewhere"] = job | {"job_id": "elsewhere"} | other


def event_of(library, take_id):
    return library.store.rows("SELECT * FROM pending WHERE take_id = ?", (take_id,))[0]


def test_a_service_that_reads_references_is_asked_again_and_nothing_is_searched(
    library, all_done, imported, sync_worker, keeping, drive
):
    keeping.faults["analyze"].extend(["lost", 500, "unreachable", "lost"])
    imported()
    drive(sync_worker, all_done)
    assert len(keeping.jobs) == 1
    assert keeping.count("group") == 0
    assert keeping.count("put") == 1, "the upload is still there"


def test_the_announcement_and_the_services_time_are_noted_before_it_is_asked(
    library, imported, sync_worker, keeping, drive
):
    keeping.clock_ahead = timedelta(minutes=5)
    noted = []
    keeping.faults["analyze"].append(lambda request: noted.append(event_of(library, take_id)) or keeping._refusal(503))
    take_id = imported()
    drive(sync_worker, lambda: noted)
    told = datetime.fromisoformat(noted[0]["asked_service_at"]) - datetime.fromisoformat(noted[0]["asked_at"])
    assert timedelta(minutes=4, seconds=58) < told <= timedelta(minutes=5)
    assert library.get(take_id).named


@pytest.mark.parametrize("hours", [22.9, 23.1, 30, 9000])
def test_a_reference_is_repeated_however_late(
    library, all_done, waiting, new_sync_worker, keeping, drive, clock, hours
):
    keeping.faults["analyze"].append(KeyboardInterrupt())
    waiting()
    with pytest.raises(KeyboardInterrupt):
        drive(new_sync_worker())
    clock.advance(hours * 3600)
    drive(new_sync_worker(), all_done)
    assert len(keeping.jobs) == 1
    assert keeping.count("group") == 0


def test_the_clock_of_this_computer_has_no_part_in_it(
    library, all_done, waiting, new_sync_worker, keeping, drive, clock
):
    """A day passes on the computer's clock only."""
    keeping.faults["analyze"].append(KeyboardInterrupt())
    waiting()
    with pytest.raises(KeyboardInterrupt):
        drive(new_sync_worker())
    clock.advance(DAY_S)
    keeping.clock_ahead = timedelta(days=-1)
    drive(new_sync_worker(), all_done)
    assert keeping.count("group") == 0
    assert len(keeping.jobs) == 1


def test_an_announcement_that_was_not_seen_before_the_asking_does_not_count(
    library, all_done, imported, new_sync_worker, telling, drive
):
    telling.faults["analyze"].append(KeyboardInterrupt())
    take_id = imported()
    with pytest.raises(KeyboardInterrupt):
        drive(new_sync_worker())
    telling.reads_refs = True
    drive(new_sync_worker(), all_done)
    assert (library.get(take_id).state, library.get(take_id).fix) == (NEEDS_ATTENTION, Fix.SEND_AGAIN)
    assert len(telling.jobs) == 1


def test_a_used_reference_is_searched_for_and_only_a_person_makes_a_new_one(
    library, all_done, imported, sync_worker, keeping, drive
):
    take_id = imported()
    keeping.refs[library.get(take_id).client_ref] = (b"another recording", {})
    drive(sync_worker, all_done)
    item = library.get(take_id)
    assert (item.state, item.fix, item.asked) == (NEEDS_ATTENTION, Fix.SEND_AGAIN, False)
    assert (keeping.count("analyze"), keeping.count("group")) == (1, 1)
    library.send_again(take_id)
    drive(sync_worker, all_done)
    assert library.get(take_id).state is DONE
    assert len(keeping.jobs) == 1


@pytest.mark.parametrize("error", [401, 429, 404])
def test_a_refusal_of_the_repeat_is_no_proof_that_the_first_was_not_taken(
    library, all_done, waiting, sync_worker, keeping, drive, error
):
    keeping.faults["analyze"].extend(["lost", error])
    take_id = waiting()
    drive(sync_worker, lambda: keeping.count("analyze") == 2)
    assert event_of(library, take_id)["asked_at"] is not None
    library.retry(take_id) if library.get(take_id).state is NEEDS_ATTENTION else sync_worker.resume()
    drive(sync_worker, all_done, seconds=400)
    assert len(keeping.jobs) == 1


def test_without_credits_a_repeat_proves_nothing_and_is_repeated_later(
    library, all_done, waiting, sync_worker, keeping, drive
):
    keeping.faults["analyze"].append(502)
    keeping.credits = 0
    take_id = waiting()
    drive(sync_worker, lambda: keeping.count("analyze") == 2)
    assert event_of(library, take_id)["asked_at"] is not None  # a service may look at credits before the key
    keeping.credits = 100
    sync_worker.resume()
    drive(sync_worker, all_done, seconds=400)
    assert len(keeping.jobs) == 1


def test_the_job_of_another_recording_is_not_adopted_however_alike(
    library, all_done, imported, sync_worker, telling, drive
):
    """Same target, length and size, but another subject and time: the request itself never arrived."""
    first = imported("mrs-x")
    drive(sync_worker, all_done)
    of_another_computer(telling, group_id="mrs-x", recorded_at=MOMENT + timedelta(seconds=9))
    telling.faults["analyze"].append(502)
    second = imported("mr-y", WHOLE)
    drive(sync_worker, all_done)
    assert library.get(second).job_id not in {"elsewhere", library.get(first).job_id}
    assert (library.get(second).state, library.get(second).fix) == (NEEDS_ATTENTION, Fix.SEND_AGAIN)


@pytest.mark.parametrize("recorded_at", [WHOLE, MOMENT], ids=["without a fraction", "supplied to the microsecond"])
def test_only_a_time_of_our_own_digits_proves_an_imported_file(
    library, all_done, imported, sync_worker, telling, drive, recorded_at
):
    telling.faults["analyze"].append("lost")
    take_id = imported(recorded_at=recorded_at)
    drive(sync_worker, all_done)
    assert len(telling.jobs) == 1
    assert library.get(take_id).state is (DONE if recorded_at == WHOLE else NEEDS_ATTENTION)


def test_two_files_of_one_second_differ_on_any_computer(library, imported):
    first, second = library.get(imported(recorded_at=WHOLE)), library.get(imported(recorded_at=WHOLE))
    assert first.recorded_at != second.recorded_at
    for item in (first, second):
        assert item.recorded_at.replace(microsecond=0) == WHOLE
        assert item.recorded_at.microsecond % 1000
        assert item.time_is_unique
    assert not library.get(imported(recorded_at=MOMENT)).time_is_unique


def test_a_job_from_before_the_asking_is_not_its_own(library, all_done, waiting, sync_worker, telling, drive, clock):
    """Its exact time in its group, but an hour older than the request: it cannot be its own."""
    take_id = waiting()
    drive(sync_worker, all_done)
    job = telling.jobs.pop(library.get(take_id).job_id)
    library.discard(take_id, at_once=True)
    telling.jobs["elsewhere"] = job | {"job_id": "elsewhere"}
    clock.advance(3600)
    telling.faults["analyze"].append(502)
    take_id = waiting()
    drive(sync_worker, all_done)
    assert library.get(take_id).job_id not in (None, "elsewhere")


def test_two_jobs_of_one_time_prove_nothing(library, all_done, waiting, sync_worker, telling, drive):
    telling.faults["analyze"].append("lost")
    take_id = waiting()
    drive(sync_worker, lambda: telling.jobs)
    of_another_computer(telling)
    drive(sync_worker, all_done)
    assert library.get(take_id).fix is Fix.SEND_AGAIN
    assert telling.count("analyze") == 1


def test_looking_again_finds_what_was_hidden_and_sends_nothing(library, all_done, waiting, sync_worker, telling, drive):
    telling.faults["analyze"].append("lost")
    take_id = waiting()
    drive(sync_worker, lambda: telling.jobs)
    of_another_computer(telling)
    drive(sync_worker, all_done)
    del telling.jobs["elsewhere"]
    library.retry(take_id)
    drive(sync_worker, all_done)
    assert library.get(take_id).state is DONE
    assert telling.count("analyze") == 1


def test_sending_again_is_a_decision_that_only_such_a_recording_takes(library, waiting):
    take_id = waiting()
    with pytest.raises(NotAllowed):
        library.send_again(take_id)


def test_an_answer_for_another_subject_is_no_answer(library, all_done, waiting, sync_worker, telling, drive):
    """A faulty proxy mixes answers up."""
    other = waiting("mrs-x")
    drive(sync_worker, all_done)
    job = telling.jobs[library.get(other).job_id]
    body = {name: value for name, value in job.items() if name not in ("group_id", "recorded_at", "done_at")}
    mixed = body | {"job_id": "mixed", "group_id": "mrs-x", "recorded_at": None}
    telling.faults["analyze"].append(lambda request: httpx.Response(200, json=mixed))
    take_id = waiting("mr-y")
    drive(sync_worker, all_done, seconds=400)
    assert library.get(take_id).job_id not in (None, "mixed")
