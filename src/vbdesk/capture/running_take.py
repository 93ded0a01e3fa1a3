"""One take from its first block to its end.

The sound system's thread puts blocks into a queue. The recorder's thread takes them out, measures them, and writes them
encrypted at least twice a second. `MicrophoneLoss` ends the take when its microphone is lost.
"""

import contextlib
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vbdesk.boot_clock import BootTime
from vbdesk.capture.devices import Device, DeviceLister, DeviceListUnavailable, is_among
from vbdesk.capture.encrypted_take import EncryptedTakeWriter, Frames
from vbdesk.capture.meter import InputLevelMeter, InputLevels, LiveEnvelope
from vbdesk.capture.microphone import Block, MicrophoneStream
from vbdesk.capture.speech_meter import SpeechMeter, SpeechProgress
from vbdesk.capture.take import EndReason, Take, end_sentence
from vbdesk.capture.take_keys import shred
from vbdesk.clock import Clock
from vbdesk.contract.limits import MAX_DURATION_S

SEAL_S = 0.5
POLL_S = 0.1
NOTICED_LOSS_S = 0.5
JOIN_S = 3.0  # a listing may take longer if the sound system hangs; do not wait for that


class RecordingPhase(StrEnum):
    """Phase of the recorder."""

    IDLE = "idle"
    LEAD_IN = "lead_in"
    RECORDING = "recording"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class RecordingHealth:
    """Completeness of a running take; see `Take` for the final fields.

    Attributes:
        silent_s: duration of digital silence until now.
    """

    overflows: int = 0
    missing_s: float = 0.0
    silent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class _End:
    reason: EndReason
    keep_frames: int | None = None


@dataclass(frozen=True, slots=True)
class _Mark:
    task_id: str | None = None


class _Command(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"


class RunningTake:
    """A running take; `begin` starts it, `stop` ends it, and failures may end it before."""

    def __init__(
        self,
        clock: Clock,
        lister: DeviceLister | None,
        device: Device | None,
        on_finished: Callable[[Take], None] | None,
        lead_in_s: float,
    ) -> None:
        now, boot = clock.now(), clock.boot()
        self.recorded_at: datetime = now + timedelta(seconds=lead_in_s)
        self.boot = BootTime(boot.boot_id, boot.seconds + lead_in_s)  # read now, since the clock may be set later
        self.phase = RecordingPhase.RECORDING if lead_in_s <= 0 else RecordingPhase.LEAD_IN
        self._clock = clock
        self._loss = MicrophoneLoss(lambda reason, keep_frames: self._queue.put(_End(reason, keep_frames)))
        self._lister = lister
        self._device = device
        self._on_finished = on_finished
        self._lead_in_s = lead_in_s
        self._queue: queue.SimpleQueue[tuple[float, Block] | _Command | _Mark | _End] = queue.SimpleQueue()
        self._waiting: list[Frames] = []
        self._frames = 0
        self._received_frames = 0
        self._overflows = 0
        self._all_zero = True
        self._pauses: list[tuple[float, float]] = []  # begin, duration
        self._paused_at = 0.0
        self._sealed = threading.Event()
        self._take: Take | None = None

    def begin(
        self, session: MicrophoneStream, writer: EncryptedTakeWriter, path: Path, speech: SpeechMeter | None
    ) -> None:
        """Start writing blocks of `session` with `writer`."""
        self._session, self._writer, self._path, self._speech = session, writer, path, speech
        self._rate = session.sample_rate
        self._limit = round(MAX_DURATION_S * self._rate)
        self._lead_in_frames = round(self._lead_in_s * self._rate)
        self._meter, self._envelope = InputLevelMeter(self._rate), LiveEnvelope(self._rate)
        self._last_block = self._last_seal = self._clock.monotonic()
        self._first_block: float | None = None
        self._threads = [threading.Thread(target=self._run, name="recorder", daemon=True)]
        if self._lister is not None and self._device is not None:
            self._threads.append(self._loss.watching(self._lister, self._device, lambda: self._frames, self._sealed))
        for thread in self._threads:
            thread.start()

    # Called from other threads

    def take_block(self, block: Block) -> None:
        """Queue a block; called by the sound system every 20 ms."""
        self._queue.put((self._clock.monotonic(), block))

    def stream_ended(self) -> None:
        """Handle an unexpected end of the stream."""
        self._loss.stream_ended()

    def pause(self) -> None:
        """Leave out sound until `resume`."""
        self._queue.put(_Command.PAUSE)

    def resume(self) -> None:
        """Record again after a pause."""
        self._queue.put(_Command.RESUME)

    def mark(self, task_id: str | None = None) -> None:
        """Mark this moment, as the start of a task if `task_id` is given."""
        if task_id is not None and self._speech is not None:
            self._speech.begin_task()
        self._queue.put(_Mark(task_id))

    def stop(self, reason: EndReason = EndReason.STOPPED) -> Take | None:
        """End the take, and wait until it is complete on disk, or deleted if it is cancelled."""
        self._queue.put(_End(reason))
        self._sealed.wait()
        return self._take

    def join(self) -> None:
        """Wait for all threads with a timeout; abandons hanging ones."""
        for thread in self._threads:
            thread.join(JOIN_S)
        if self._speech is not None:
            self._speech.join(JOIN_S)

    @property
    def elapsed_s(self) -> float:
        """Length so far, without pauses and lead-in."""
        return self._frames / self._rate

    @property
    def lead_in_left_s(self) -> float:
        """Seconds until the take begins."""
        return self._lead_in_frames / self._rate

    def levels(self) -> InputLevels:
        """The latest reading of the meter."""
        return self._meter.levels()

    def envelope(self) -> NDArray[np.int16]:
        """Lowest and highest sample of every 10 ms, shape (n, 2)."""
        return self._envelope.pairs()

    def speech(self) -> SpeechProgress:
        """Speech counted so far."""
        return SpeechProgress() if self._speech is None else self._speech.so_far()

    def health(self) -> RecordingHealth:
        """Completeness so far."""
        return RecordingHealth(self._overflows, self._missing_s(), self._meter.levels().silent_s)

    # Recorder thread

    def _run(self) -> None:
        try:
            self._take = self._record_and_seal()
        finally:
            self.phase = RecordingPhase.IDLE
            self._sealed.set()  # do not wait for the microphone to close, which may take seconds
            if self._speech is not None:
                self._speech.stop()
            if self._take is not None and self._on_finished is not None:
                self._on_finished(self._take)
            self._session.close()

    def _record_and_seal(self) -> Take:
        try:
            end = self._record()
            self._seal()
            stored_frames = self._frames if end.keep_frames is None else min(end.keep_frames, self._frames)
            if end.reason is EndReason.CANCELLED:
                self._writer.abandon()
                with contextlib.suppress(FileNotFoundError):  # a look for takes of a crash has just deleted it
                    shred(self._path)
            else:
                self._writer.close(stored_frames, self._closing(end))
        except OSError:
            self._writer.abandon()
            return self._described(_End(EndReason.DISK_FULL), self._writer.frames)
        return self._described(end, stored_frames)

    def _record(self) -> _End:
        while True:
            end = self._next()
            if end is not None:
                cancelled = end.reason is EndReason.STOPPED and self.phase is RecordingPhase.LEAD_IN
                return _End(EndReason.CANCELLED) if cancelled else end
            if self._waiting and self._clock.monotonic() - self._last_seal >= SEAL_S:
                self._seal()

    def _next(self) -> _End | None:
        """Process the next entry of the queue; returns it if it ends the take."""
        try:
            item = self._queue.get(timeout=POLL_S)
        except queue.Empty:  # queued blocks behind a slow disk do not count as a stall
            stalled = self._loss.is_stalled(self._clock.monotonic() - self._last_block)
            return _End(EndReason.STALLED) if stalled else None
        if isinstance(item, _End):
            return item
        if isinstance(item, tuple):
            return self._take_in(*item)
        if isinstance(item, _Mark):
            self._writer.mark(self.elapsed_s, item.task_id)
        elif self.phase is not RecordingPhase.LEAD_IN:
            self._pause_or_resume(item)
        return None

    def _pause_or_resume(self, command: _Command) -> None:
        if command is _Command.PAUSE and self.phase is RecordingPhase.RECORDING:
            self.phase, self._paused_at = RecordingPhase.PAUSED, self._clock.monotonic()
        elif command is _Command.RESUME and self.phase is RecordingPhase.PAUSED:
            self.phase = RecordingPhase.RECORDING
            self._pauses.append((self.elapsed_s, self._clock.monotonic() - self._paused_at))

    def _take_in(self, received_at: float, block: Block) -> _End | None:
        self._last_block = received_at
        if self._first_block is None:
            self._first_block = received_at
        else:
            self._received_frames += len(block.samples)
        self._overflows += block.overflowed
        self._meter.feed(block.samples)
        samples = self._after_lead_in(block.samples)
        if self.phase is not RecordingPhase.RECORDING or len(samples) == 0:
            return None
        samples = samples[: self._limit - self._frames]
        self._all_zero = self._all_zero and not samples.any()
        self._waiting.append(samples)
        self._envelope.feed(samples)
        if self._speech is not None:
            self._speech.feed(samples)
        self._frames += len(samples)
        if sum(map(len, self._waiting)) >= SEAL_S * self._rate:
            self._seal()
        return _End(EndReason.LIMIT) if self._frames >= self._limit else None

    def _after_lead_in(self, samples: Frames) -> Frames:
        """The part of a block that belongs to the take."""
        if self.phase is not RecordingPhase.LEAD_IN:
            return samples
        before = samples[: self._lead_in_frames]
        self._lead_in_frames -= len(before)
        if self._speech is not None and len(before):
            self._speech.feed(before, counts=False)
        if self._lead_in_frames == 0:
            self.phase = RecordingPhase.RECORDING
        return samples[len(before) :]

    def _seal(self) -> None:
        if self._waiting:
            self._writer.append(np.concatenate(self._waiting))
            self._waiting = []
        self._last_seal = self._clock.monotonic()

    def _closing(self, end: _End) -> dict[str, object]:
        return {
            "end": end.reason,
            "overflows": self._overflows,
            "missing_s": self._missing_s(),
            "all_zero": self._all_zero,
            "pauses": self._pauses,
        }

    def _missing_s(self) -> float:
        """Sound missing compared with the elapsed time, without the normal drift of two clocks."""
        if self._first_block is None:
            return 0.0
        missing_s = self._last_block - self._first_block - self._received_frames / self._rate
        return missing_s if missing_s >= NOTICED_LOSS_S else 0.0

    def _described(self, end: _End, kept_frames: int) -> Take:
        duration_s = kept_frames / self._rate
        return Take(
            path=self._path,
            sample_rate=self._rate,
            duration_s=duration_s,
            recorded_at=self.recorded_at,
            end=end.reason,
            sentence=end_sentence(end.reason, duration_s),
            overflows=self._overflows,
            missing_s=self._missing_s(),
            all_zero=self._all_zero and kept_frames > 0,
        )


STALL_S = 3.0
WATCH_S = 0.8  # with the listing itself, under a second of another microphone's sound


class MicrophoneLoss:
    """Ends a take whose microphone is lost.

    The sound system silently continues with another microphone, so a thread lists the devices regularly.
    """

    def __init__(self, end: Callable[[EndReason, int | None], None]) -> None:
        """Make it; `end` is called with the reason and the frames to keep (None: all), on any thread."""
        self._end = end

    def stream_ended(self) -> None:
        """Handle an unexpected end of the stream."""
        self._end(EndReason.UNPLUGGED, None)

    def is_stalled(self, silent_for_s: float) -> bool:
        """Whether the microphone gave no block for too long."""
        return silent_for_s >= STALL_S

    def watching(
        self, lister: DeviceLister, device: Device, frames: Callable[[], int], ended: threading.Event
    ) -> threading.Thread:
        """Make the thread that ends the take when `device` is no longer listed, until the take has `ended`.

        The take is cut back to its `frames` when the microphone was last certainly there.
        """
        return threading.Thread(
            target=self._watch, args=(lister, device, frames, ended), name="recorder-watch", daemon=True
        )

    def _watch(self, lister: DeviceLister, device: Device, frames: Callable[[], int], ended: threading.Event) -> None:
        certain = 0
        while not ended.wait(WATCH_S):
            frames_before = frames()
            with contextlib.suppress(DeviceListUnavailable):
                if not is_among(device, lister.devices()):
                    self._end(EndReason.REPLACED, certain)
                    return
                certain = frames_before
