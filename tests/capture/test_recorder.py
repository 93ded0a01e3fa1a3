import errno
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta

import numpy as np
import pytest
import sounddevice

from patience import until
from vbdesk.capture.crash_recovery import unfinished_takes
from vbdesk.capture.encrypted_take import EncryptedTakeWriter, read_take
from vbdesk.capture.microphone import Block, FileMicrophone, MicrophoneError, PortAudioStream
from vbdesk.capture.monitor import Monitor
from vbdesk.capture.recorder import EndReason, Recorder, RecordingFailed, RecordingPhase
from vbdesk.clock import ManualClock

RATE = 48_000


def test_what_was_heard_is_on_the_disk_bit_for_bit(recorder, microphone, speech, key):
    recorder.start(microphone.device, {"group_id": "ward4-0172"})
    microphone.play(3)
    take = recorder.stop()
    audio = read_take(take.path, key)
    assert np.array_equal(audio.samples, speech[: 3 * RATE])
    assert audio.complete
    assert audio.about["group_id"] == "ward4-0172"
    assert (take.duration_s, take.end, take.sentence, take.overflows) == (3.0, EndReason.STOPPED, None, 0)


def test_frames_are_on_the_disk_while_it_records(recorder, microphone, key, tmp_path):
    recorder.start(microphone.device)
    microphone.play(2)
    until(lambda: recorder.elapsed_s == 2.0)
    after_a_crash = shutil.copytree(tmp_path / "recording", tmp_path / "crashed")
    (running,) = unfinished_takes(after_a_crash, key)
    assert running.duration_s >= 1.0


def test_a_pause_is_left_out_and_a_mark_is_kept(recorder, microphone, speech, key):
    recorder.start(microphone.device)
    microphone.play(2)
    recorder.pause()
    microphone.play(3)
    until(lambda: recorder.phase is RecordingPhase.PAUSED)
    recorder.resume()
    recorder.mark()
    microphone.play(1)
    audio = read_take(recorder.stop().path, key)
    assert np.array_equal(audio.samples, np.concatenate([speech[: 2 * RATE], speech[5 * RATE : 6 * RATE]]))
    assert audio.marks_s == (2.0,)


def test_it_stops_by_itself_at_twenty_minutes(new_recorder, finished, key):
    microphone = FileMicrophone(np.ones(100, np.int16), sample_rate=1000)
    recorder = new_recorder(microphone=microphone, lister=None, speech_meter=None)
    recorder.start(None)
    microphone.play(1201)
    until(lambda: finished)  # 1,250 blocks, each synced to the disk
    assert (finished[0].end, finished[0].duration_s) == (EndReason.LIMIT, 1200.0)
    assert "20 minutes" in finished[0].sentence
    assert read_take(finished[0].path, key).duration_s == 1200.0


def test_an_unplugged_microphone_keeps_the_take(recorder, microphone, finished, key):
    recorder.start(microphone.device)
    microphone.play(20)
    microphone.unplug()
    until(lambda: finished)
    take = finished[0]
    assert take.end is EndReason.UNPLUGGED
    assert take.sentence == "The microphone was unplugged. The 20 seconds before that are kept."
    assert read_take(take.path, key).duration_s == 20.0
    assert recorder.stop() is take


def test_another_microphone_taking_over_is_noticed_and_left_out(new_recorder, speech, finished, key):
    microphone = FileMicrophone(speech)
    listings = []

    class Lister:
        def devices(self):
            listings.append(recorder.elapsed_s)
            return microphone.devices()

    recorder = new_recorder(microphone=microphone, lister=Lister())
    recorder.start(microphone.device)
    microphone.play(1.5)
    until(lambda: 1.5 in listings[:-1])  # a listing with it was answered
    microphone.play(0.5)
    microphone.replace()
    microphone.play(3)
    until(lambda: finished)
    take = finished[0]
    assert take.end is EndReason.REPLACED
    assert "another one took over" in take.sentence
    assert 1.5 <= take.duration_s <= 2.0
    assert read_take(take.path, key).duration_s == take.duration_s


def test_a_full_disk_keeps_what_was_there(new_recorder, microphone, finished, key, speech):
    class TinyDisk(EncryptedTakeWriter):
        def append(self, frames):
            if self.frames + len(frames) > 2 * RATE:
                raise OSError(errno.ENOSPC, "No space left on device")
            super().append(frames)

    recorder = new_recorder(open_writer=TinyDisk)
    recorder.start(microphone.device)
    microphone.play(4)
    until(lambda: finished)
    take = finished[0]
    assert (take.end, take.duration_s) == (EndReason.DISK_FULL, 2.0)
    assert take.sentence.startswith("The disk is full or gone. The 2 seconds before that are kept. Make room")
    audio = read_take(take.path, key)
    assert np.array_equal(audio.samples, speech[: 2 * RATE])
    assert not audio.complete


def test_a_disk_without_room_for_a_beginning_is_said_before_recording(new_recorder, microphone):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    recorder = new_recorder(open_writer=refuse)
    with pytest.raises(RecordingFailed, match="nothing was recorded"):
        recorder.start(microphone.device)
    assert recorder.phase is RecordingPhase.IDLE


def test_a_sound_system_that_hangs_ends_the_take_after_three_seconds(new_recorder, microphone, finished):
    clock = ManualClock()
    recorder = new_recorder(clock=clock)
    recorder.start(microphone.device)
    microphone.play(5)
    until(lambda: recorder.elapsed_s == 5.0)
    microphone.freeze()
    clock.advance(2.9)
    time.sleep(0.25)
    assert not finished
    clock.advance(0.2)
    until(lambda: finished)
    assert finished[0].end is EndReason.STALLED
    assert "gives no sound any more. The 5 seconds" in finished[0].sentence


def test_a_microphone_that_is_gone_cannot_be_started(recorder, microphone):
    microphone.unplug()
    with pytest.raises(MicrophoneError, match="Nothing was recorded"):
        recorder.start(microphone.device)


def test_a_second_take_waits_until_the_first_is_stopped(recorder, microphone, finished):
    recorder.start(microphone.device)
    with pytest.raises(RecordingFailed):
        recorder.start(microphone.device)
    recorder.stop()
    recorder.start(microphone.device)
    recorder.stop()
    assert len(finished) == 2
    assert finished[0].path != finished[1].path


def test_overflows_and_missing_sound_are_counted(new_recorder, finished):
    class Sputtering:
        sample_rate = 1000

        def open(self, device, sink, on_end):
            self.sink = sink
            return self

        def close(self):
            pass

    clock, microphone = ManualClock(), Sputtering()
    recorder = new_recorder(microphone=microphone, lister=None, clock=clock)
    recorder.start(None)
    second = np.zeros(1000, np.int16)
    microphone.sink(Block(second))
    until(lambda: recorder.elapsed_s == 1.0)
    clock.advance(2.5)
    microphone.sink(Block(second, overflowed=True))
    take = recorder.stop()
    assert take.overflows == 1
    assert take.missing_s == pytest.approx(1.5)


def test_the_envelope_and_the_meter_follow_the_sound(recorder, microphone, speech):
    recorder.start(microphone.device)
    microphone.play(3)
    until(lambda: recorder.elapsed_s == 3.0)
    pairs = recorder.envelope()
    assert pairs.shape == (300, 2)
    assert tuple(pairs[150]) == (speech[150 * 480 : 151 * 480].min(), speech[150 * 480 : 151 * 480].max())
    levels = recorder.levels()
    assert -32 < levels.rms_dbfs < -28  # the quiet third of the last second
    assert levels.noise_floor_dbfs < levels.rms_dbfs <= levels.peak_dbfs <= levels.held_peak_dbfs


def test_the_monitor_hears_without_recording(microphone, tmp_path):
    monitor = Monitor(microphone)
    monitor.start(microphone.device)
    microphone.play(1)
    until(lambda: monitor.levels().noise_floor_dbfs is not None)
    monitor.stop()
    assert monitor.levels().rms_dbfs == -np.inf


CRASHING = """
import sys, time
from pathlib import Path
import numpy as np
from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.recorder import Recorder

microphone = FileMicrophone(np.full(48000 * 60, 1000, np.int16), pace=1.0)
recorder = Recorder(microphone, Path(sys.argv[1]), lambda: bytes(range(32)))
recorder.start(None, {"group_id": "ward4-0172"})
while True:
    time.sleep(0.02)
    sys.stdout.write(f"{recorder.elapsed_s}\\n")
    sys.stdout.flush()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_killed_process_loses_at_most_a_second(tmp_path, key):
    with subprocess.Popen([sys.executable, "-c", CRASHING, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            elapsed_s = float(line)
            if elapsed_s >= 2.3:
                child.send_signal(signal.SIGKILL)
                break
    (rescued,) = unfinished_takes(tmp_path, key)
    assert elapsed_s - 1.0 <= rescued.duration_s
    assert not rescued.complete
    assert rescued.about["group_id"] == "ward4-0172"


NO_ROOM = """
import resource, sys
from pathlib import Path
import numpy as np
from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.recorder import Recorder

resource.setrlimit(resource.RLIMIT_FSIZE, (250_000, 250_000))
microphone = FileMicrophone(np.full(48000 * 60, 1000, np.int16))
recorder = Recorder(microphone, Path(sys.argv[1]), lambda: bytes(range(32)))
recorder.start(None)
microphone.play(10)
take = recorder.stop()
recorder.close()
sys.stdout.write(f"{take.end} {take.duration_s}")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes")
def test_a_file_that_cannot_grow_keeps_what_it_has(tmp_path, key):
    child = subprocess.run(
        [sys.executable, "-c", NO_ROOM, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=True
    )
    end, duration_s = child.stdout.split()
    assert end == EndReason.DISK_FULL
    (rescued,) = unfinished_takes(tmp_path, key)
    assert rescued.duration_s == float(duration_s)
    assert rescued.duration_s >= 250_000 / 2 / RATE - 1.0


def test_a_disk_that_is_really_full_keeps_all_but_the_last_second(disk_of, microphone, speech, finished, key):
    small_disk = disk_of("300k")
    recorder = Recorder(microphone, small_disk, lambda: key, on_finished=finished.append)
    recorder.start(microphone.device)
    microphone.play(10)
    until(lambda: finished)
    recorder.close()
    take = finished[0]
    assert take.end is EndReason.DISK_FULL
    (rescued,) = unfinished_takes(small_disk, key)
    assert rescued.duration_s == take.duration_s >= 300 * 1024 / 2 / RATE - 1.0
    assert np.array_equal(read_take(rescued.path, key).samples, speech[: len(read_take(rescued.path, key).samples)])


def test_frames_that_the_sound_system_lost_are_counted_from_its_own_flags():
    blocks = []
    session = PortAudioStream.__new__(PortAudioStream)
    session._sink = blocks.append
    data = np.arange(960, dtype=np.int16).reshape(-1, 1)
    session._take_block(data, 960, None, sounddevice.CallbackFlags(0))
    session._take_block(data, 960, None, sounddevice.CallbackFlags(2))
    data[:] = 0  # the sound system reuses its buffer
    assert [block.overflowed for block in blocks] == [False, True]
    assert np.array_equal(blocks[0].samples, np.arange(960))


class SettableClock(ManualClock):
    """The computer's clock may be set."""

    wrong = timedelta(0)

    def now(self):
        return super().now() + self.wrong


def test_a_clock_set_back_in_the_middle_of_a_take_changes_neither_of_its_times(new_recorder, key):
    clock = SettableClock()
    clock.advance(100)
    began = clock.now()
    recorder = new_recorder(clock=clock)
    recorder.start(None, {"group_id": "g"})
    clock.wrong = -timedelta(days=365)
    take = recorder.stop()
    about = read_take(take.path, key).about
    assert about["boot"] == {"boot_id": clock.boot().boot_id, "seconds": 100}
    assert datetime.fromisoformat(about["recorded_at"]) == take.recorded_at == began


def test_a_count_in_is_counted_on_both_clocks(new_recorder, key, tmp_path):
    clock = ManualClock()
    recorder = new_recorder(clock=clock, microphone=FileMicrophone(np.zeros(48_000 * 5, np.int16)))
    recorder.start(None, lead_in_s=3)
    [path] = (tmp_path / "recording").glob("*.take")
    about = read_take(path, key).about
    assert about["boot"]["seconds"] == 3
    assert datetime.fromisoformat(about["recorded_at"]) == clock.now() + timedelta(seconds=3)
    recorder.cancel()
