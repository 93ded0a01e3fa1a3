"""Record a take: from the microphone's blocks to sealed sound on disk, whatever happens in between.

Three threads: the sound system's puts blocks into a queue; the recorder's takes them out, measures and seals them at
least twice a second; a watch asks once in a while whether the microphone is still the one that was chosen, because the
sound system goes on with another one without a word.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbdesk.capture.clock import Clock, SystemClock
from vbdesk.capture.devices import Device, DeviceLister, DevicesUnknown
from vbdesk.capture.meter import SILENCE, LevelMeter, Levels, LiveEnvelope
from vbdesk.capture.microphone import Block, Microphone, Session
from vbdesk.capture.sealed import Frames, SealedTakeWriter
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import MAX_DURATION_S

SEAL_S = 0.5
STALL_S = 3.0
WATCH_S = 0.8  # with the listing itself, less than a second of another microphone's sound
POLL_S = 0.1
NOTICED_LOSS_S = 0.5


class EndReason(StrEnum):
    """Why a recording ended."""

    STOPPED = "stopped"
    LIMIT = "limit"
    UNPLUGGED = "unplugged"
    REPLACED = "replaced"
    STALLED = "stalled"
    DISK_FULL = "disk_full"


_SENTENCES = {
    EndReason.LIMIT: "The recording has reached 20 minutes, the most that can be analysed. All of it is kept.",
    EndReason.UNPLUGGED: "The microphone was unplugged. {kept} before that {verb} kept.",
    EndReason.REPLACED: "The microphone was unplugged and another one took over. {kept} before that {verb} kept.",
    EndReason.STALLED: "The microphone gives no sound any more. {kept} before that {verb} kept.",
    EndReason.DISK_FULL: "The disk is full or gone. {kept} before that {verb} kept; make room before you record again.",
}


class RecordingFailed(Exception):
    """A recording could not begin; `str(error)` is one sentence for a person."""


class Phase(StrEnum):
    """What the recorder does."""

    IDLE = "idle"
    RECORDING = "recording"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Take:
    """A take that has ended, sealed on disk.

    Attributes:
        sentence: why it ended by itself and what was kept; None after a stop by hand.
        overflows: how often the sound system said that it lost frames.
        missing_s: how much less sound came than time passed, 0 below half a second.
    """

    path: Path
    sample_rate: int
    duration_s: float
    recorded_at: datetime
    end: EndReason
    sentence: str | None
    overflows: int
    missing_s: float


@dataclass(frozen=True, slots=True)
class _End:
    reason: EndReason
    keep_frames: int | None = None


class _Command(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    MARK = "mark"


class Recorder:
    """Records one take at a time. `start`, `stop` and `close` may block: not for the thread of a window."""

    def __init__(
        self,
        microphone: Microphone,
        takes_folder: Path,
        key_provider: Callable[[], bytes],
        clock: Clock | None = None,
        lister: DeviceLister | None = None,
        on_finished: Callable[[Take], None] | None = None,
        open_writer: Callable[..., SealedTakeWriter] = SealedTakeWriter,
    ) -> None:
        """Make a recorder.

        Args:
            microphone: what to listen to.
            takes_folder: where takes are written.
            key_provider: gives the key that takes are sealed with; called by `start`.
            clock: the system's if None.
            lister: lets it notice that another microphone has taken over; not noticed if None.
            on_finished: called once for every take, in the recorder's thread: hand it on, do not start from there.
            open_writer: makes the writer of a take.
        """
        self._microphone = microphone
        self._folder = takes_folder
        self._key_provider = key_provider
        self._clock = clock or SystemClock()
        self._lister = lister
        self._on_finished = on_finished
        self._open_writer = open_writer
        self._recording: _Recording | None = None

    @property
    def phase(self) -> Phase:
        """What it does now."""
        return Phase.IDLE if self._recording is None else self._recording.phase

    @property
    def elapsed_s(self) -> float:
        """Length of the take so far, pauses left out."""
        return 0.0 if self._recording is None else self._recording.elapsed_s

    def start(self, device: Device | None, about: Mapping[str, Any] | None = None) -> None:
        """Begin a take on `device`; `about` is sealed with it, so that a rescued take knows its subject.

        Raises:
            MicrophoneError: the microphone cannot be opened.
            RecordingFailed: a take is running, or nothing can be written.
        """
        if self.phase is not Phase.IDLE:
            raise RecordingFailed("A recording is running. Stop it before the next one begins.")
        self.close()
        recording = _Recording(self._clock, self._lister, device, self._on_finished)
        session = self._microphone.open(device, recording.take_block, recording.stream_ended)
        path = self._folder / f"{new_id()}.take"
        described = {**(about or {}), "recorded_at": recording.recorded_at.isoformat()}
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            writer = self._open_writer(path, self._key_provider(), session.sample_rate, described)
        except OSError as error:
            session.close()
            raise RecordingFailed(
                "Nothing can be written to the disk, so nothing was recorded. Make room and try again."
            ) from error
        except BaseException:
            session.close()
            raise
        recording.begin(session, writer, path)
        self._recording = recording

    def pause(self) -> None:
        """Leave out what comes, until `resume`; the meter goes on."""
        self._tell(_Command.PAUSE)

    def resume(self) -> None:
        """Take in what comes again."""
        self._tell(_Command.RESUME)

    def mark(self) -> None:
        """Mark this moment in the take."""
        self._tell(_Command.MARK)

    def stop(self) -> Take:
        """End the take; returns once it is sealed, or the take that has ended by itself.

        Raises:
            RecordingFailed: there was no take.
        """
        if self._recording is None:
            raise RecordingFailed("No recording is running.")
        return self._recording.stop()

    def close(self) -> None:
        """Stop if need be, and let go of the microphone."""
        if self._recording is not None:
            self._recording.stop()
            self._recording.join()

    def levels(self) -> Levels:
        """The meter, cheap enough for every frame of a window."""
        return SILENCE if self._recording is None else self._recording.levels()

    def envelope(self) -> NDArray[np.int16]:
        """Lowest and highest sample of every 10 ms of the take, shape (n, 2)."""
        return np.zeros((0, 2), np.int16) if self._recording is None else self._recording.envelope()

    def _tell(self, command: _Command) -> None:
        if self._recording is not None:
            self._recording.tell(command)


class _Recording:
    """One take from its first block to its end."""

    def __init__(
        self,
        clock: Clock,
        lister: DeviceLister | None,
        device: Device | None,
        on_finished: Callable[[Take], None] | None,
    ) -> None:
        self.recorded_at = clock.now()
        self.phase = Phase.RECORDING
        self._clock = clock
        self._lister = lister
        self._device = device
        self._on_finished = on_finished
        self._queue: queue.SimpleQueue[Block | _Command | _End] = queue.SimpleQueue()
        self._waiting: list[Frames] = []
        self._frames = 0
        self._heard_frames = 0
        self._overflows = 0
        self._sealed = threading.Event()
        self._take: Take | None = None

    def begin(self, session: Session, writer: SealedTakeWriter, path: Path) -> None:
        self._session, self._writer, self._path = session, writer, path
        self._rate = session.sample_rate
        self._limit = round(MAX_DURATION_S * self._rate)
        self._meter, self._envelope = LevelMeter(self._rate), LiveEnvelope(self._rate)
        self._last_block = self._last_seal = self._clock.monotonic()
        self._first_block: float | None = None
        self._threads = [threading.Thread(target=self._run, name="recorder", daemon=True)]
        if self._lister is not None and self._device is not None:
            watch = threading.Thread(
                target=self._watch, args=(self._lister, self._device), name="recorder-watch", daemon=True
            )
            self._threads.append(watch)
        for thread in self._threads:
            thread.start()

    # Called from outside

    def take_block(self, block: Block) -> None:
        self._queue.put(block)

    def stream_ended(self) -> None:
        self._queue.put(_End(EndReason.UNPLUGGED))

    def tell(self, command: _Command) -> None:
        self._queue.put(command)

    def stop(self) -> Take:
        self._queue.put(_End(EndReason.STOPPED))
        self._sealed.wait()
        if self._take is None:
            raise RecordingFailed("The recording ended without a take.")
        return self._take

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    @property
    def elapsed_s(self) -> float:
        return self._frames / self._rate

    def levels(self) -> Levels:
        return self._meter.levels()

    def envelope(self) -> NDArray[np.int16]:
        return self._envelope.pairs()

    # The recorder's thread

    def _run(self) -> None:
        try:
            self._take = self._record_and_seal()
        finally:
            self.phase = Phase.IDLE
            self._sealed.set()  # nobody waits for the microphone to close, which may take seconds
            if self._take is not None and self._on_finished is not None:
                self._on_finished(self._take)
            self._session.close()

    def _record_and_seal(self) -> Take:
        try:
            end = self._record()
            self._seal()
            self._writer.close(end.keep_frames)
        except OSError:
            self._writer.abandon()
            return self._described(_End(EndReason.DISK_FULL), self._writer.frames)
        kept = self._frames if end.keep_frames is None else min(end.keep_frames, self._frames)
        return self._described(end, kept)

    def _record(self) -> _End:
        while True:
            end = self._next()
            if end is not None:
                return end
            if self._clock.monotonic() - self._last_block >= STALL_S:
                return _End(EndReason.STALLED)
            if self._waiting and self._clock.monotonic() - self._last_seal >= SEAL_S:
                self._seal()

    def _next(self) -> _End | None:
        """Deal with the next thing in the queue; the end if it is one."""
        try:
            item = self._queue.get(timeout=POLL_S)
        except queue.Empty:
            return None
        if isinstance(item, _End):
            return item
        if isinstance(item, Block):
            return self._take_in(item)
        if item is _Command.MARK:
            self._writer.mark(self.elapsed_s)
        else:
            self.phase = Phase.PAUSED if item is _Command.PAUSE else Phase.RECORDING
        return None

    def _take_in(self, block: Block) -> _End | None:
        self._last_block = self._clock.monotonic()
        if self._first_block is None:
            self._first_block = self._last_block
        else:
            self._heard_frames += len(block.samples)
        self._overflows += block.overflowed
        self._meter.feed(block.samples)
        if self.phase is Phase.PAUSED:
            return None
        samples = block.samples[: self._limit - self._frames]
        self._waiting.append(samples)
        self._envelope.feed(samples)
        self._frames += len(samples)
        if sum(map(len, self._waiting)) >= SEAL_S * self._rate:
            self._seal()
        return _End(EndReason.LIMIT) if self._frames >= self._limit else None

    def _seal(self) -> None:
        if self._waiting:
            self._writer.append(np.concatenate(self._waiting))
            self._waiting = []
        self._last_seal = self._clock.monotonic()

    def _described(self, end: _End, kept_frames: int) -> Take:
        duration_s = kept_frames / self._rate
        missing_s = 0.0
        if self._first_block is not None:
            missing_s = self._last_block - self._first_block - self._heard_frames / self._rate
        return Take(
            path=self._path,
            sample_rate=self._rate,
            duration_s=duration_s,
            recorded_at=self.recorded_at,
            end=end.reason,
            sentence=_sentence(end.reason, duration_s),
            overflows=self._overflows,
            missing_s=missing_s if missing_s >= NOTICED_LOSS_S else 0.0,
        )

    # The watch's thread

    def _watch(self, lister: DeviceLister, device: Device) -> None:
        """End the take when the microphone is not listed any more, cut back to where it last was for certain."""
        certain = 0
        while not self._sealed.wait(WATCH_S):
            frames_before = self._frames
            with contextlib.suppress(DevicesUnknown):
                if all(other.name != device.name for other in lister.devices()):
                    self._queue.put(_End(EndReason.REPLACED, certain))
                    return
                certain = frames_before


class Monitor:
    """The meter without a recording: for choosing a microphone and for the check of the room."""

    def __init__(self, microphone: Microphone) -> None:
        self._microphone = microphone
        self._session: Session | None = None
        self._meter: LevelMeter | None = None

    def start(self, device: Device | None) -> None:
        """Begin to listen; may block. Raises MicrophoneError."""
        self.stop()
        blocks: queue.SimpleQueue[Block | None] = queue.SimpleQueue()
        session = self._microphone.open(device, blocks.put, lambda: blocks.put(None))
        meter = LevelMeter(session.sample_rate)
        self._thread = threading.Thread(target=_measure, args=(blocks, meter), name="monitor", daemon=True)
        self._thread.start()
        self._session, self._meter, self._blocks = session, meter, blocks

    def stop(self) -> None:
        """End; may block."""
        session, self._session, self._meter = self._session, None, None
        if session is not None:
            session.close()
            self._blocks.put(None)
            self._thread.join()

    def levels(self) -> Levels:
        """The meter."""
        meter = self._meter
        return SILENCE if meter is None else meter.levels()


def _measure(blocks: "queue.SimpleQueue[Block | None]", meter: LevelMeter) -> None:
    while (block := blocks.get()) is not None:
        meter.feed(block.samples)


def _sentence(reason: EndReason, duration_s: float) -> str | None:
    text = _SENTENCES.get(reason)
    if text is None:
        return None
    seconds = int(duration_s)
    kept, verb = ("The one second", "is") if seconds == 1 else (f"The {seconds} seconds", "are")
    return text.format(kept=kept, verb=verb)
