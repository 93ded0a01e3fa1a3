import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile as sf

from patience import HANGS_S
from vbdesk.clock import SystemClock
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.outbox.library.library import NotAllowed
from vbdesk.outbox.library.settings import Retention, RetentionRule
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.profiles.vault import VaultLocked

sys.path.append(str(Path(__file__).parent))

from failing_disk import FailingDisk

EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


def state(library, take_id):
    return library.get(take_id).state


def test_a_recording_goes_in_and_a_result_comes_out(library, waiting, sync_worker, service, drive):
    seen = []
    take_id = waiting("ward4-0172", recorded_at=EIGHT)
    library.subscribe(lambda: seen.append(state(library, take_id)))
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    item = library.get(take_id)
    assert item.result.signal.name == "fatigue"
    assert item.job_id in service.jobs
    (job,) = service.jobs.values()
    assert (job["group_id"], job["recorded_at"], job["model_name"]) == ("ward4-0172", EIGHT, "pulse")
    order = list(dict.fromkeys(seen))
    assert order == [
        OutboxState.UPLOADING,
        OutboxState.SUBMITTED,
        OutboxState.RUNNING,
        OutboxState.DONE,
    ]
    assert sync_worker.status.connected
    assert sync_worker.status.sentence == "Connected."


def test_what_is_uploaded_is_the_take_without_loss(library, waiting, sync_worker, service, drive, tmp_path):
    take_id = waiting()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    (content,) = service.uploads.values()
    (tmp_path / "sent.flac").write_bytes(content)
    samples, rate = sf.read(tmp_path / "sent.flac", dtype="int16")
    audio = library.audio(take_id)
    assert rate == audio.sample_rate
    assert np.array_equal(samples, audio.samples)


def test_progress_of_the_upload_is_shown(library, waiting, sync_worker, drive):
    take_id, seen = waiting(), []
    library.subscribe(lambda: seen.append((library.get(take_id).bytes_sent, library.get(take_id).bytes_total)))
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.SUBMITTED)
    sizes = [size for size in seen if size[1]]
    assert sizes[-1][0] == sizes[-1][1] > 0
    assert library.get(take_id).bytes_total == 0


def test_a_lost_answer_is_found_again_and_nothing_is_sent_twice(library, waiting, sync_worker, service, drive):
    service.faults["analyze"].append("lost")
    take_id = waiting()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    assert len(service.jobs) == 1
    assert service.count("analyze") == 1
    assert service.credits == 990


def test_a_submit_that_never_arrived_is_sent_again_without_a_second_upload(
    library, waiting, sync_worker, service, drive
):
    service.faults["analyze"].extend(["unreachable", 504])
    take_id = waiting()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    assert len(service.jobs) == 1
    assert (service.count("put"), service.count("analyze")) == (1, 3)


def test_a_lost_answer_of_a_second_try_is_not_taken_for_the_first_job(library, waiting, sync_worker, service, drive):
    service.ends_as = "failed"
    take_id = waiting()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.FAILED)
    first_job = library.get(take_id).job_id
    service.ends_as = "done"
    service.faults["analyze"].append("lost")
    library.retry(take_id)
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    assert len(service.jobs) == 2
    assert library.get(take_id).job_id != first_job


def test_a_lost_answer_survives_a_restart(library, waiting, new_sync_worker, service, drive, reopen):
    service.faults["analyze"].append("lost")
    take_id = waiting()
    drive(new_sync_worker(), lambda: len(service.jobs) == 1)
    library.close()
    again = reopen()
    drive(new_sync_worker(again), lambda: state(again, take_id) is OutboxState.DONE)
    assert len(service.jobs) == 1


def test_days_without_network_end_by_themselves(library, waiting, sync_worker, service, drive):
    service.online = False
    takes = [waiting(f"ward4-{number}") for number in range(3)]
    drive(sync_worker, seconds=300)
    assert {state(library, take_id) for take_id in takes} == {OutboxState.WAITING}
    assert not sync_worker.status.connected
    assert "cannot be reached" in sync_worker.status.sentence
    moments = [moment for moment, _ in service.requests]
    gaps = np.diff(moments)
    assert gaps[:5] == pytest.approx([1, 2, 4, 8, 16], abs=0.1)
    assert max(gaps[5:]) == pytest.approx(16, abs=0.1)
    service.online = True
    drive(sync_worker, lambda: library.counts()[OutboxState.DONE] == 3)
    assert len(service.jobs) == 3


def test_a_network_that_comes_back_is_noticed_with_an_empty_line(sync_worker, service, drive):
    service.online = False
    drive(sync_worker, seconds=300)
    assert sync_worker.status.connected is False
    service.online = True
    drive(sync_worker, lambda: sync_worker.status.connected is True, seconds=20)
    assert sync_worker.status.connected is True


def test_without_credits_the_line_waits_with_one_explanation_and_goes_on_when_there_are_some(
    library, waiting, sync_worker, service, drive
):
    service.credits = 15
    first, second, third = waiting("a"), waiting("b"), waiting("c")
    drive(sync_worker, seconds=600)
    assert sync_worker.status.on_hold is Fix.ADD_CREDITS
    assert "no credits" in sync_worker.status.sentence
    assert sorted([state(library, take_id) for take_id in (first, second, third)]) == ["done", "waiting", "waiting"]
    assert service.count("analyze") == 2
    assert sync_worker.status.credits == 5
    service.credits = 100
    drive(sync_worker, lambda: library.counts()[OutboxState.DONE] == 3, seconds=300)
    assert sync_worker.status.on_hold is None
    assert library.counts()[OutboxState.DONE] == 3


def test_a_revoked_key_holds_the_line_until_a_new_one_is_entered(library, waiting, sync_worker, service, drive):
    service.key = "new-key"
    take_id = waiting()
    drive(sync_worker, seconds=600)
    assert sync_worker.status.on_hold is Fix.ENTER_KEY
    assert state(library, take_id) is OutboxState.WAITING
    assert len(service.requests) == 1
    service.key = "right-key"
    sync_worker.resume()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    assert sync_worker.status.on_hold is None


def test_a_locked_keyring_holds_the_line(library, waiting, new_sync_worker):
    def locked():
        raise VaultLocked("The keyring is locked.")

    sync_worker = new_sync_worker(client_factory=locked)
    take_id = waiting()
    sync_worker.step()
    assert (sync_worker.status.on_hold, sync_worker.status.sentence) == (Fix.UNLOCK_KEYRING, "The keyring is locked.")
    assert state(library, take_id) is OutboxState.WAITING


def test_a_wrong_clock_holds_the_line_and_says_so(library, waiting, sync_worker, service, clock, drive):
    mint = service._mint
    early = timedelta(days=400)

    def long_ago(_):
        answer = mint().json()
        answer["expires_at"] = (service.clock.now() - early).isoformat()
        return httpx.Response(200, json=answer)

    service.faults["mint"].append(long_ago)
    take_id = waiting()
    drive(sync_worker, lambda: sync_worker.status.on_hold is not None)
    assert sync_worker.status.on_hold is Fix.SET_CLOCK
    assert f"it says {clock.now().astimezone():%Y-%m-%d}" in sync_worker.status.sentence
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    assert sync_worker.status.on_hold is None


def test_a_refused_rate_is_waited_out_as_told(library, waiting, sync_worker, service, drive):
    service.faults["analyze"].append(429)
    take_id = waiting()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    first, second = [moment for moment, kind in service.requests if kind == "analyze"]
    assert 7.0 <= second - first <= 7.1


def test_polls_come_every_two_to_five_seconds(library, waiting, sync_worker, service, drive):
    service.polls_until_done = 10
    take_id = waiting()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    gaps = np.diff([moment for moment, kind in service.requests if kind in ("analyze", "job")])
    assert gaps.min() >= 2.0
    assert gaps.max() <= 5.1


def test_results_of_others_come_while_a_long_upload_is_under_way(library, waiting, sync_worker, service, drive):
    short = waiting("a", seconds=15)
    drive(sync_worker, lambda: state(library, short) is OutboxState.SUBMITTED)
    service.upload_bytes_per_s = 20_000
    long, seen = waiting("b", seconds=60, rate=8000), []
    library.subscribe(lambda: seen.append((state(library, long), state(library, short))))
    drive(sync_worker, lambda: state(library, long) is OutboxState.DONE)
    assert (OutboxState.UPLOADING, OutboxState.DONE) in seen
    assert service.count("put") == 2


@pytest.mark.parametrize(("ends_as", "end"), [("failed", OutboxState.FAILED), ("timed-out", OutboxState.TIMED_OUT)])
def test_a_job_that_ends_badly_can_be_sent_again(library, waiting, sync_worker, service, drive, ends_as, end):
    service.ends_as = ends_as
    take_id = waiting()
    drive(sync_worker, lambda: state(library, take_id) is end)
    assert "can be sent again" in library.get(take_id).reason
    assert library.get(take_id).fix is Fix.TRY_AGAIN
    service.ends_as = "done"
    library.retry(take_id)
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    assert library.get(take_id).reason is None


def test_a_service_that_fails_inside_is_asked_six_times_then_the_recording_waits_and_goes_on_by_itself(
    library, waiting, sync_worker, service, drive
):
    service.faults["analyze"].extend([500] * 6)
    take_id = waiting("a")
    drive(sync_worker, lambda: service.count("analyze") == 6)
    gaps = np.diff([moment for moment, kind in service.requests if kind == "analyze"])
    assert gaps == pytest.approx([1, 2, 4, 8, 16], abs=0.1)
    other = waiting("b")
    drive(sync_worker, lambda: state(library, other) is OutboxState.DONE)
    item = library.get(take_id)
    assert (item.state, item.fix) == (OutboxState.WAITING, None)
    assert "tried 6 times" in item.reason
    assert "retried automatically" in item.reason
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE, seconds=1000)
    assert library.get(take_id).reason is None
    assert (len(service.jobs), service.count("put")) == (2, 2)


def test_an_answer_with_the_job_of_another_recording_is_no_answer(library, waiting, sync_worker, service, drive):
    first = waiting("a")
    drive(sync_worker, lambda: state(library, first) is OutboxState.DONE)
    (job,) = service.jobs.values()
    answer = {name: value for name, value in job.items() if name != "done_at"}
    answer |= {"group_id": "b", "recorded_at": format_timestamp(EIGHT)}
    service.faults["analyze"].append(lambda _: httpx.Response(200, json=answer))
    second = waiting("b")
    drive(sync_worker, lambda: service.count("analyze") == 2 and sync_worker.status.connected is False)
    assert "not like the service" in sync_worker.status.sentence
    drive(sync_worker, lambda: state(library, second) is OutboxState.DONE)
    assert library.get(second).job_id != library.get(first).job_id
    assert len(service.jobs) == 2


def test_a_recording_that_is_refused_waits_for_a_person_and_the_others_go_on(
    library, waiting, sync_worker, service, drive
):
    service.faults["analyze"].append(lambda _: service._refusal(422, "AUDIO_POOR_QUALITY"))
    bad, good = waiting("a", recorded_at=EIGHT), waiting("b")
    drive(sync_worker, lambda: state(library, good) is OutboxState.DONE)
    item = library.get(bad)
    assert (item.state, item.fix) == (OutboxState.NEEDS_ATTENTION, Fix.REVIEW_TAKE)
    assert "no voice" in item.reason


def test_a_recording_under_fifteen_seconds_is_never_sent(library, waiting, sync_worker, service, drive):
    take_id = waiting(seconds=9)
    drive(sync_worker, seconds=60)
    assert library.get(take_id).reason == "9 s of sound, under the 15 s minimum, so it was not sent."
    assert service.count("mint") == 0


def test_a_lost_upload_is_made_again(library, waiting, sync_worker, service, drive):
    service.faults["analyze"].append(lambda _: service._refusal(400, "INVALID_REQUEST", "Invalid audio_upload_ref"))
    take_id = waiting()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.DONE)
    assert service.count("put") == 2


def test_a_job_that_the_service_forgot_waits_for_a_person(library, waiting, sync_worker, service, drive):
    take_id = waiting()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.SUBMITTED)
    service.jobs.clear()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.NEEDS_ATTENTION)
    assert "does not know this analysis" in library.get(take_id).reason


def test_a_damaged_take_waits_for_a_person(library, waiting, sync_worker, drive):
    take_id = waiting()
    library.store.path(take_id).unlink()
    drive(sync_worker, lambda: state(library, take_id) is OutboxState.NEEDS_ATTENTION)
    assert library.get(take_id).fix is Fix.REVIEW_TAKE


def test_a_fault_of_our_own_stops_one_recording_only(library, waiting, sync_worker, service, drive, caplog):
    def break_down(_):
        raise ZeroDivisionError

    service.faults["mint"].append(break_down)
    unlucky, other = waiting("a", recorded_at=EIGHT), waiting("b")
    drive(sync_worker, lambda: state(library, other) is OutboxState.DONE)
    assert state(library, unlucky) is OutboxState.NEEDS_ATTENTION
    assert "kept" in library.get(unlucky).reason


def test_cancelling_an_upload_stops_it_and_keeps_the_recording(library, waiting, sync_worker, service, drive):
    take_id = waiting()

    def cancel_once():
        if library.get(take_id).bytes_sent and state(library, take_id) is OutboxState.UPLOADING:
            library.cancel(take_id)

    library.subscribe(cancel_once)
    drive(sync_worker, seconds=60)
    assert state(library, take_id) is OutboxState.CHECKED
    assert service.jobs == {}
    assert library.audio(take_id).duration_s == 15


def test_what_the_service_may_have_cannot_be_called_back_or_deleted(library, waiting, sync_worker, service, drive):
    service.faults["analyze"].append("lost")
    take_id = waiting()
    drive(sync_worker, lambda: len(service.jobs) == 1)
    with pytest.raises(NotAllowed):
        library.cancel(take_id)
    with pytest.raises(NotAllowed):
        library.discard(take_id, at_once=True)


def test_the_sound_goes_after_the_result_where_that_is_the_rule(library, waiting, sync_worker, service, drive):
    service.clock_ahead = timedelta(0)
    library.change_settings(retention=Retention(RetentionRule.AFTER_RESULT, days=2))
    take_id = waiting()
    drive(sync_worker, seconds=24 * 3600)
    assert state(library, take_id) is OutboxState.DONE
    assert library.get(take_id).audio_gone_at is None
    drive(sync_worker, seconds=25 * 3600)
    assert library.get(take_id).audio_gone_at is not None


def test_the_oldest_recording_goes_first(library, waiting, sync_worker, service, drive):
    for day in (3, 1, 2):
        waiting("s", recorded_at=EIGHT + timedelta(days=day))
    drive(sync_worker, lambda: len(service.jobs) == 3)
    moments = [job["recorded_at"] for job in service.jobs.values()]
    assert moments == sorted(moments)


def test_the_loop_runs_in_a_thread_and_stops_when_told(library, waiting, new_sync_worker, service):
    service.clock = SystemClock()
    sync_worker = new_sync_worker(clock=service.clock)
    done, stop = threading.Event(), threading.Event()
    thread = threading.Thread(target=sync_worker.run, args=(stop,))
    thread.start()
    take_id = waiting()
    library.subscribe(lambda: state(library, take_id) is OutboxState.SUBMITTED and done.set())
    assert done.wait(HANGS_S)
    stop.set()
    thread.join(HANGS_S)
    assert not thread.is_alive()


def test_a_disk_that_is_full_at_the_start_does_not_end_the_loop(
    library, reopen, waiting, new_sync_worker, service, monkeypatch
):
    service.clock = SystemClock()
    take_id = waiting()
    library.close()
    disk = FailingDisk().under_databases(monkeypatch)
    library = reopen()
    said, sent, stop = threading.Event(), threading.Event(), threading.Event()
    sync_worker = new_sync_worker(
        library, clock=service.clock, on_status=lambda status: "disk is full" in status.sentence and said.set()
    )
    disk.full = True
    thread = threading.Thread(target=sync_worker.run, args=(stop,))
    thread.start()
    assert said.wait(HANGS_S)
    disk.make_room()
    library.subscribe(lambda: state(library, take_id) is OutboxState.SUBMITTED and sent.set())
    sync_worker.resume()
    assert sent.wait(HANGS_S)
    stop.set()
    thread.join(HANGS_S)
