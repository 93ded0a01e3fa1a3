"""State of the Record page from the count-in to the end of a take."""

import math
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.capture.meter import PAIRS_PER_SECOND, SILENCE, InputLevels
from vbdesk.capture.monitor import Monitor
from vbdesk.capture.protocols import ProtocolTask
from vbdesk.capture.recorder import EndReason, RecordingHealth, Take
from vbdesk.capture.recorder import RecordingPhase as RecorderPhase
from vbdesk.capture.room_check import RoomFinding, RoomRating, room_rules, silence_advice
from vbdesk.capture.speech_meter import SpeechProgress
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import Failure, LongLived, SerialTasks, Stoppable, TaskContext
from vbdesk.desk.record.setup_model import RecordSetupViewModel, microphone_name
from vbdesk.language import _, translated
from vbdesk.outbox.library.recording_time import service_time_json

COUNT_IN_S = 3
_TICK_MS = 40
_SILENT_S = 2.0
LIVE_WINDOW_S = 30.0


class RecordPhase(StrEnum):
    """Phase of the page; the take's review follows `ended`."""

    READY = "ready"
    COUNTING_IN = "counting_in"
    RECORDING = "recording"
    PAUSED = "paused"
    ENDING = "ending"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class RoomCheck:
    """The room check: running, its finding, or neither before the first check."""

    listening: bool = False
    finding: RoomFinding | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """State of a running recording at a moment.

    Attributes:
        envelope: minimum and maximum of every 10 ms of the last seconds, -1..1, shape (n, 2).
        speech: amount so far, in total and in the current task.
        health: lost sound, and a silent microphone.
    """

    seconds: float
    speech: SpeechProgress
    health: RecordingHealth
    levels: InputLevels
    envelope: NDArray[np.float32]
    marks_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RunningRecording:
    """A recording as every page shows it.

    Attributes:
        subject: with its second line, if it has one.
        consent: in a few words; empty if the profile asks for none, or while it is being read.
    """

    phase: RecordPhase
    subject: str
    consent: str
    microphone: str
    seconds: float
    levels: InputLevels


class FinishedTakes(QObject):
    """Brings takes from the recorder's thread, which may outlive the page: it has no parent that could delete it.

    Signals:
        finished: (Take).
    """

    finished = Signal(object)

    def announce(self, take: Take) -> None:
        """Tell the page, if there still is one. May be called on any thread."""
        self.finished.emit(take)


class RecordViewModel(QObject):
    """A recording from count-in to end, and the meter and room check before it.

    Attributes:
        metadata: of the last take, as it was when the count-in began.

    Signals:
        phase_changed: (RecordPhase).
        counted: (int) seconds left before the recording begins.
        levels_changed: (Levels) the meter, while no recording runs.
        room_changed: (RoomCheck).
        hinted: (str) what to do about processing by the operating system; empty for none.
        health_noticed: (str) what is wrong with the running take's sound; empty for nothing.
        task_changed: (Task) the current task.
        moved: (Moment) 25 times a second while recording.
        took: (Take) a take has ended; its sentence says why, if it ended automatically.
        failed: (str) why a recording did not begin; nothing was lost.
    """

    phase_changed = Signal(object)
    counted = Signal(int)
    levels_changed = Signal(object)
    room_changed = Signal(object)
    hinted = Signal(str)
    health_noticed = Signal(str)
    task_changed = Signal(object)
    moved = Signal(object)
    took = Signal(object)
    failed = Signal(str)

    def __init__(self, flow: Flow, count_in_s: int = COUNT_IN_S) -> None:
        super().__init__()
        self.setup = setup = RecordSetupViewModel(flow)
        self._library, self._clock = flow.context.library, flow.context.clock
        self._count_in_s = count_in_s
        self.phase = RecordPhase.READY
        self.room = RoomCheck()
        self.hint = ""
        self._ailment = ""
        self.task: ProtocolTask = setup.form.protocol.tasks[0]
        self.metadata, self._device = setup.metadata(self._clock.now()), setup.device
        self._monitor = Monitor(flow.context.ports.microphone)
        self._monitor_lock = threading.Lock()  # closing waits for a microphone that is being opened
        self._finished_takes = FinishedTakes()
        self._recorder = flow.context.new_recorder(self._finished_takes.announce)
        self._audio = SerialTasks(flow.tasks, self)
        self._listening = False
        self._shown = False
        self._marks: tuple[float, ...] = ()
        self._left = 0
        self._tick = self._timer(_TICK_MS, self._on_tick)
        self._ending_thread: LongLived | None = None
        self._finished_takes.finished.connect(self._on_take)
        setup.devices_changed.connect(self._on_devices)

    def show(self) -> None:
        """Page shown: open the microphone for the meter."""
        self._shown = True
        self.setup.start()
        self._listen()

    def hide(self) -> None:
        """Page hidden: close the microphone, unless it records."""
        self._shown = False
        if self.phase is RecordPhase.READY:
            self._stop_listening()

    def press(self) -> None:
        """Handle the Space key: begin or stop."""
        if self.phase in (RecordPhase.RECORDING, RecordPhase.PAUSED):
            self.stop()
        elif self.phase is RecordPhase.COUNTING_IN:
            self.cancel_count_in()
        elif self.phase is RecordPhase.READY:
            self.begin()

    def begin(self) -> None:
        """Count in, then record; also straight after a review."""
        if self.phase not in (RecordPhase.READY, RecordPhase.ENDED):
            return
        if not self.setup.ready:
            self.failed.emit(self.setup.missing)
            return
        self._stop_listening()
        self._left, self._marks, self._ailment = self._count_in_s, (), ""
        self.metadata, self._device = self.setup.metadata(self._clock.now()), self.setup.device
        self._set_phase(RecordPhase.COUNTING_IN)
        self.counted.emit(self._left)
        entered, library = self.setup.entered(), self._library

        def work(context: TaskContext) -> None:
            if entered is not None:
                entered.store(library)  # before the first sample
            self._start_recorder(context)

        self._audio.run(work, self._on_started, self._on_not_started, name="record")

    def cancel_count_in(self) -> None:
        """Cancel before the recording begins."""
        if self.phase is RecordPhase.COUNTING_IN:
            self._tick.stop()
            self._audio.run(self._cancel_recorder, name="cancel")
            self._set_phase(RecordPhase.READY)
            self._listen()

    def pause(self) -> None:
        """Pause or resume."""
        if self.phase is RecordPhase.RECORDING:
            self._recorder.pause()
            self._set_phase(RecordPhase.PAUSED)
        elif self.phase is RecordPhase.PAUSED:
            self._recorder.resume()
            self._set_phase(RecordPhase.RECORDING)

    def mark(self) -> None:
        """Mark this moment."""
        if self.phase is RecordPhase.RECORDING:
            self._recorder.mark()
            self._marks = (*self._marks, self._recorder.elapsed_s)

    def next_task(self) -> None:
        """Start the next task of a sequence, if there is one."""
        tasks = self.setup.form.protocol.tasks
        following = tasks[tasks.index(self.task) + 1 :] if self.task in tasks else ()
        if self.phase is RecordPhase.RECORDING and following:
            self._recorder.begin_task(following[0].task_id)
            self._set_task(following[0])

    def stop(self) -> None:
        """End the take; `took` follows."""
        if self.phase in (RecordPhase.RECORDING, RecordPhase.PAUSED):
            self._set_phase(RecordPhase.ENDING)
            self._audio.run(self._stop_recorder, None, self._on_failed, name="stop")

    def ready_again(self) -> None:
        """Get ready for the next take."""
        if self.phase is RecordPhase.ENDED:
            self._set_phase(RecordPhase.READY)
            if self._shown:
                self._listen()

    def show_review(self) -> None:
        """Show the review of something else than a new take."""
        if self.phase is RecordPhase.READY:
            self._stop_listening()
            self._set_phase(RecordPhase.ENDED)

    def check_room(self) -> None:
        """Listen for three seconds and report whether the room is quiet enough."""
        if self.phase is RecordPhase.READY and self._listening:
            self._monitor.check_room()
            self._set_room(RoomCheck(listening=True))

    def closing(self) -> list[Stoppable]:
        """Stop everything and keep the take."""
        self._tick.stop()
        self.setup.stop_lookup()
        if self._ending_thread is None:
            self._ending_thread = LongLived(lambda stop: self._end(), lambda: None, "record-end")
            self._ending_thread.start()
        return [self._ending_thread]

    def _end(self) -> None:
        self._recorder.close()
        with self._monitor_lock:
            self._monitor.stop()
        self.setup.stop_watching()

    def running(self) -> RunningRecording | None:
        """The recording that runs, from its countdown until it is saved; None if none does."""
        if self.phase in (RecordPhase.READY, RecordPhase.ENDED):
            return None
        return RunningRecording(
            self.phase,
            self.setup.subject_name(self.metadata.group_id),
            self.setup.consent.summary(),
            "" if self._device is None else microphone_name(self._device),
            self._recorder.elapsed_s,
            self._recorder.levels(),
        )

    def now(self) -> datetime:
        """The current time."""
        return self._clock.now()

    @property
    def minimum_s(self) -> float:
        """Minimum duration of an analysis."""
        return MIN_DURATION_S

    @property
    def maximum_s(self) -> float:
        """Maximum duration."""
        return MAX_DURATION_S

    @property
    def noise_limit_dbfs(self) -> float:
        """Maximum noise of a quiet room."""
        return room_rules().noise_limit_dbfs

    def _about(self) -> Mapping[str, Any]:
        metadata = self.metadata
        return {
            "group_id": metadata.group_id,
            **self.setup.form.protocol.about(),
            "note": metadata.note,
            "tags": list(metadata.tags),
            "target": str(metadata.target),
            "service_time": self._service_time(),
        }

    def _service_time(self) -> Mapping[str, Any] | None:
        """The last time confirmed by the service; None if the library cannot be read."""
        try:
            return service_time_json(self._library.times.known().newest)
        except sqlite3.Error:
            return None

    # The audio lane: calls that may block on the sound system

    def _start_recorder(self, context: TaskContext) -> None:
        self._recorder.start(self._device, self._about(), lead_in_s=self._count_in_s)
        if len(self.setup.form.protocol.tasks) > 1:
            self._recorder.begin_task(self.setup.form.protocol.tasks[0].task_id)

    def _stop_recorder(self, context: TaskContext) -> None:
        self._recorder.stop()

    def _cancel_recorder(self, context: TaskContext) -> None:
        self._recorder.cancel()

    def _close_recorder(self, context: TaskContext) -> None:
        self._recorder.close()

    def _start_monitor(self, context: TaskContext) -> None:
        with self._monitor_lock:
            if self._ending_thread is None:
                self._monitor.start(self.setup.device)

    def _stop_monitor(self, context: TaskContext) -> None:
        with self._monitor_lock:
            self._monitor.stop()

    def _listen(self) -> None:
        if self._shown and self.phase is RecordPhase.READY and self.setup.device is not None:
            self._audio.run(self._start_monitor, self._on_listening, self._on_not_listening, name="listen")

    def _stop_listening(self) -> None:
        self._tick.stop()
        if self._listening:
            self._listening = False
            self.levels_changed.emit(SILENCE)
        self._audio.run(self._stop_monitor, name="stop-listening")

    @Slot(object)
    def _on_listening(self, nothing: None) -> None:
        if self.phase is RecordPhase.READY and self._shown:
            self._listening = True
            self._tick.start()
            if self.room.finding is None:
                self.check_room()

    @Slot(object)
    def _on_not_listening(self, failure: Failure) -> None:
        self._listening = False
        self.levels_changed.emit(SILENCE)
        if self.phase is RecordPhase.READY:  # a recording that begins says itself whether its microphone opens
            self.failed.emit(translated(failure.sentence))

    @Slot(object)
    def _on_devices(self, devices: object) -> None:
        if self.phase is not RecordPhase.READY:
            return
        self._set_room(RoomCheck())
        if self.setup.device is None:
            self._stop_listening()
        else:
            self._listen()

    @Slot(object)
    def _on_started(self, nothing: None) -> None:
        if self.phase is RecordPhase.COUNTING_IN:
            self._tick.start()
            self._on_tick()

    @Slot(object)
    def _on_not_started(self, failure: Failure) -> None:
        if self.phase is RecordPhase.COUNTING_IN:
            self._set_phase(RecordPhase.READY)
            self.failed.emit(translated(failure.sentence))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(translated(failure.sentence))

    @Slot(object)
    def _on_take(self, take: Take) -> None:
        """Handle the end of a take, manual or automatic; called from the recorder's thread by signal."""
        if take.end is EndReason.CANCELLED:
            return
        self._tick.stop()
        self._audio.run(self._close_recorder, name="close-microphone")
        if take.duration_s == 0.0:
            self._set_phase(RecordPhase.READY)
            if take.end is not EndReason.STOPPED:
                self.failed.emit(translated(take.sentence) if take.sentence else _("Nothing was recorded."))
            self._listen()
            return
        self._set_phase(RecordPhase.ENDED)
        self.took.emit(take)

    @Slot()
    def _on_tick(self) -> None:
        if self.phase is RecordPhase.READY:
            levels = self._monitor.levels()
            self.levels_changed.emit(levels)
            self._listen_to_room(levels)
        elif self.phase is RecordPhase.COUNTING_IN:
            self._count_in()
        elif self.phase in (RecordPhase.RECORDING, RecordPhase.PAUSED):
            self._tell_moment()

    def _count_in(self) -> None:
        if self._recorder.phase is RecorderPhase.RECORDING:
            self._set_task(self.setup.form.protocol.tasks[0])
            self._set_phase(RecordPhase.RECORDING)
        elif self._recorder.phase is RecorderPhase.LEAD_IN:
            left = math.ceil(self._recorder.lead_in_left_s)
            if left != self._left:
                self._left = left
                self.counted.emit(left)

    def _tell_moment(self) -> None:
        pairs = self._recorder.envelope()[-round(LIVE_WINDOW_S * PAIRS_PER_SECOND) :]
        moment = Moment(
            seconds=self._recorder.elapsed_s,
            speech=self._recorder.speech(),
            health=self._recorder.health(),
            levels=self._recorder.levels(),
            envelope=pairs.astype(np.float32) / np.float32(32768.0),
            marks_s=self._marks,
        )
        self.moved.emit(moment)
        ailment = _ailment(moment.health)
        if ailment != self._ailment:
            self._ailment = ailment
            self.health_noticed.emit(ailment)

    def _listen_to_room(self, levels: InputLevels) -> None:
        finding = self.room.finding
        if finding is not None and finding.rating is RoomRating.SILENT and np.isfinite(levels.rms_dbfs):
            if levels.silent_s == 0.0:
                self.check_room()  # sound has arrived
        elif self.room.listening and self._monitor.room() is not None:
            self._set_room(RoomCheck(finding=self._monitor.room()))
        advice = self._monitor.enhancement().sentence
        hint = translated(advice) if advice else ""
        if hint != self.hint:
            self.hint = hint
            self.hinted.emit(hint)

    def _set_task(self, task: ProtocolTask) -> None:
        self.task = task
        self.task_changed.emit(task)

    def _set_room(self, room: RoomCheck) -> None:
        self.room = room
        self.room_changed.emit(room)

    def _set_phase(self, phase: RecordPhase) -> None:
        if phase is not self.phase:
            self.phase = phase
            self.phase_changed.emit(phase)

    def _timer(self, interval_ms: int, slot: Any) -> QTimer:
        timer = QTimer(self)
        timer.setInterval(interval_ms)
        timer.timeout.connect(slot)
        return timer


def _ailment(health: RecordingHealth) -> str:
    """What is wrong with the sound of a take; empty if nothing is."""
    if health.silent_s >= _SILENT_S:
        return translated(silence_advice())
    if health.missing_s > 0 or health.overflows:
        return _("Some sound did not arrive: the computer is too busy. The recording goes on; close other programs.")
    return ""
