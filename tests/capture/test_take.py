"""The manifest of a take, and its start."""

import hashlib
import threading
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from patience import HANGS_S, until
from vbdesk import __version__
from vbdesk.capture.encrypted_take import EncryptedTakeWriter, TaskStart, read_take
from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.recorder import EndReason, RecordingPhase
from vbdesk.clock import ManualClock

RATE = 48_000


def test_the_manifest_names_everything_that_made_the_take(new_recorder, microphone, speech, key):
    clock = ManualClock(datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
    recorder = new_recorder(clock=clock)
    consented_at = "2026-03-01T09:29:00+00:00"
    recorder.start(microphone.device, {"group_id": "ward4-0172", "consented_at": consented_at, "protocol": "reading"})
    microphone.play(2)
    audio = read_take(recorder.stop().path, key)
    assert audio.about.pop("boot").keys() == {"boot_id", "seconds"}
    assert audio.about == {
        "group_id": "ward4-0172",
        "consented_at": consented_at,
        "protocol": "reading",
        "recorded_at": "2026-03-01T09:30:00+00:00",
        "app_version": __version__,
        "device": "File microphone",
        "host_api": "file",
    }
    assert audio.sample_rate == RATE
    assert audio.closing == {
        "end": "stopped",
        "overflows": 0,
        "missing_s": 0.0,
        "all_zero": False,
        "pauses": [],
        "frames": 2 * RATE,
        "sha256": hashlib.sha256(speech[: 2 * RATE].astype("<i2").tobytes()).hexdigest(),
    }
    assert audio.sha256() == audio.closing["sha256"]


def test_the_digest_is_that_of_what_is_kept(tmp_path, key):
    writer = EncryptedTakeWriter(tmp_path / "a.take", key, 1000)
    sound = np.arange(3000, dtype=np.int16)
    for start in range(0, 3000, 1000):
        writer.append(sound[start : start + 1000])
    writer.close(keep_frames=1700)
    audio = read_take(tmp_path / "a.take", key)
    assert np.array_equal(audio.samples, sound[:1700])
    assert audio.closing["sha256"] == audio.sha256()


def test_the_take_begins_after_the_lead_in_to_the_sample(new_recorder, microphone, speech, key):
    clock = ManualClock()
    recorder = new_recorder(clock=clock)
    recorder.start(microphone.device, lead_in_s=3.0)
    microphone.play(2)
    until(lambda: recorder.lead_in_left_s <= 1.0)
    assert (recorder.phase, recorder.elapsed_s) == (RecordingPhase.LEAD_IN, 0.0)
    assert recorder.lead_in_left_s == pytest.approx(1.0)
    assert recorder.levels().noise_floor_dbfs is not None
    microphone.play(3)
    until(lambda: recorder.elapsed_s == 2.0)
    assert recorder.phase is RecordingPhase.RECORDING
    take = recorder.stop()
    assert np.array_equal(read_take(take.path, key).samples, speech[3 * RATE : 5 * RATE])
    assert take.recorded_at == clock.now() + timedelta(seconds=3)


def test_a_stop_during_the_lead_in_leaves_nothing_behind(recorder, microphone, tmp_path, finished):
    recorder.start(microphone.device, lead_in_s=3.0)
    microphone.play(1)
    take = recorder.stop()
    assert (take.end, take.duration_s, take.sentence) == (EndReason.CANCELLED, 0.0, None)
    assert finished == [take]
    assert list((tmp_path / "recording").iterdir()) == []


def test_a_microphone_pulled_during_the_lead_in_says_that_nothing_was_recorded(recorder, microphone, finished):
    recorder.start(microphone.device, lead_in_s=3.0)
    microphone.play(1)
    microphone.unplug()
    until(lambda: finished)
    assert finished[0].sentence == "The microphone was unplugged. Nothing had been recorded."


def test_tasks_of_a_sequence_are_found_again_in_the_take(recorder, microphone, key):
    recorder.start(microphone.device)
    recorder.begin_task("vowel")
    microphone.play(2)
    recorder.begin_task("reading")
    microphone.play(3)
    recorder.mark()
    audio = read_take(recorder.stop().path, key)
    assert audio.tasks == (TaskStart("vowel", 0.0), TaskStart("reading", 2.0))
    assert audio.marks_s == (5.0,)
    assert audio.part(1.0, 4.0).tasks == (TaskStart("vowel", 0.0), TaskStart("reading", 1.0))
    assert audio.part(2.5, 4.0).tasks == (TaskStart("reading", 0.0),)


def test_pauses_stand_in_the_manifest(new_recorder, microphone, key):
    clock = ManualClock()
    recorder = new_recorder(clock=clock)
    recorder.start(microphone.device)
    microphone.play(2)
    recorder.pause()
    until(lambda: recorder.phase is RecordingPhase.PAUSED)
    clock.advance(2.5)
    recorder.resume()
    until(lambda: recorder.phase is RecordingPhase.RECORDING)
    microphone.play(1)
    assert read_take(recorder.stop().path, key).closing["pauses"] == [[2.0, 2.5]]


def test_a_muted_microphone_is_known_while_it_records_and_afterwards(new_recorder, key):
    microphone = FileMicrophone(np.zeros(RATE, np.int16))
    recorder = new_recorder(microphone=microphone, lister=microphone)
    recorder.start(microphone.device)
    microphone.play(4)
    until(lambda: recorder.elapsed_s == 4.0)
    assert recorder.health().silent_s == pytest.approx(4.0)
    take = recorder.stop()
    assert take.all_zero
    assert read_take(take.path, key).closing["all_zero"] is True


def test_lost_sound_is_known_while_it_records(new_recorder, microphone):
    clock = ManualClock()
    recorder = new_recorder(clock=clock)
    recorder.start(microphone.device)
    microphone.play(1)
    clock.advance(2.9)
    microphone.play(1)
    until(lambda: recorder.elapsed_s == 2.0)
    assert recorder.health().missing_s == pytest.approx(2.9 - 1.98, abs=0.05)


def test_a_slow_disk_is_neither_a_stall_nor_a_loss(new_recorder, microphone):
    clock, hangs, works_again = ManualClock(), threading.Event(), threading.Event()

    class SlowDisk(EncryptedTakeWriter):
        def append(self, frames):
            hangs.set()
            assert works_again.wait(HANGS_S)
            super().append(frames)

    recorder = new_recorder(clock=clock, open_writer=SlowDisk)
    recorder.start(microphone.device)
    microphone.play(1)
    assert hangs.wait(HANGS_S)
    for _ in range(4):  # the microphone continues
        clock.advance(1.0)
        microphone.play(1)
    works_again.set()
    take = recorder.stop()
    assert (take.end, take.duration_s) == (EndReason.STOPPED, 5.0)
    assert take.missing_s == 0.0


def test_speech_is_counted_while_it_records_and_anew_for_each_task(new_recorder, speech_file, key):
    microphone = FileMicrophone(speech_file, 22_050)
    # the manual clock: a microphone that is silent while 20 s of speech are counted is not stalled
    recorder = new_recorder(microphone=microphone, lister=microphone, clock=ManualClock())
    recorder.start(microphone.device)
    recorder.begin_task("reading")
    microphone.play(20)
    until(lambda: recorder.speech().speech_s > 10)
    until(lambda: recorder.elapsed_s > 19.9)
    whole = recorder.speech()
    recorder.begin_task("free")
    assert recorder.speech().task_speech_s == 0.0
    assert recorder.speech().speech_s >= whole.speech_s
    recorder.stop()
