"""Listen without recording: to choose a microphone, check the room, and detect faults of the sound."""

import queue
import threading
from collections import deque

import numpy as np

from vbdesk.capture.devices import Device
from vbdesk.capture.encrypted_take import Frames
from vbdesk.capture.enhancement import Enhancement, EnhancementHint, Levels, detect_enhancement, frame_levels
from vbdesk.capture.meter import SILENCE, InputLevelMeter
from vbdesk.capture.meter import InputLevels as MeterLevels
from vbdesk.capture.microphone import Block, Microphone, MicrophoneStream
from vbdesk.capture.room_check import RoomFinding, rate_room, room_rules

ENHANCEMENT_MEMORY_S = 30.0
ENHANCEMENT_EVERY_S = 2.0
JOIN_S = 3.0
NO_HINT = EnhancementHint(Enhancement.NONE, None)


class Monitor:
    """The meter without a recording. Only `start` and `stop` may block, for some seconds."""

    def __init__(self, microphone: Microphone) -> None:
        self._microphone = microphone
        self._session: MicrophoneStream | None = None
        self._listening: _Listening | None = None

    def start(self, device: Device | None) -> None:
        """Open the microphone. Raises MicrophoneError."""
        self.stop()
        blocks: queue.SimpleQueue[Block | None] = queue.SimpleQueue()
        session = self._microphone.open(device, blocks.put, lambda: blocks.put(None))
        self._session, self._listening = session, _Listening(blocks, session.sample_rate)

    def stop(self) -> None:
        """Close the microphone."""
        session, self._session = self._session, None
        listening, self._listening = self._listening, None
        if session is not None:
            session.close()
        if listening is not None:
            listening.stop()

    def levels(self) -> MeterLevels:
        """The latest reading of the meter."""
        listening = self._listening
        return SILENCE if listening is None else listening.meter.levels()

    def ended(self) -> bool:
        """Whether the stream has ended unexpectedly: the microphone is gone, or the sound system."""
        listening = self._listening
        return listening is not None and listening.ended

    def check_room(self) -> None:
        """Rate the next three seconds; `room` then returns the result."""
        if self._listening is not None:
            self._listening.begin_room()

    def room(self) -> RoomFinding | None:
        """The result of the room check; None before and during it."""
        listening = self._listening
        return None if listening is None else listening.room

    def enhancement(self) -> EnhancementHint:
        """Enhancement by the operating system, from the last half minute with speech."""
        listening = self._listening
        return NO_HINT if listening is None else listening.hint


class _Listening:
    """One open microphone, measured in a thread of its own."""

    def __init__(self, blocks: "queue.SimpleQueue[Block | None]", sample_rate: int) -> None:
        self.meter = InputLevelMeter(sample_rate)
        self.room: RoomFinding | None = None
        self.hint = NO_HINT
        self.ended = False
        self._blocks = blocks
        self._rate = sample_rate
        self._room_frames = round(room_rules().seconds * sample_rate)
        self._room_wanted = threading.Event()
        self._room_so_far: list[Frames] | None = None
        self._second: list[Frames] = []
        self._seconds: deque[Levels] = deque(maxlen=round(ENHANCEMENT_MEMORY_S))
        self._since_hint_s = 0.0
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)
        self._thread.start()

    def begin_room(self) -> None:
        self.room = None
        self._room_wanted.set()

    def stop(self) -> None:
        self._stopping = True
        self._blocks.put(None)
        self._thread.join(JOIN_S)

    def _run(self) -> None:
        while (block := self._blocks.get()) is not None and not self._stopping:
            self.meter.feed(block.samples)
            self._feed_room(block.samples)
            self._feed_enhancement(block.samples)
        self.ended = not self._stopping

    def _feed_room(self, samples: Frames) -> None:
        if self._room_wanted.is_set():
            self._room_wanted.clear()
            self._room_so_far = []
        if self._room_so_far is None:
            return
        self._room_so_far.append(samples)
        if sum(map(len, self._room_so_far)) >= self._room_frames:
            self.room = rate_room(np.concatenate(self._room_so_far), self._rate)
            self._room_so_far = None

    def _feed_enhancement(self, samples: Frames) -> None:
        self._second.append(samples)
        received = sum(map(len, self._second))
        if received < self._rate:
            return
        self._seconds.append(frame_levels(np.concatenate(self._second), self._rate))
        self._second = []
        self._since_hint_s += received / self._rate
        if self._since_hint_s >= ENHANCEMENT_EVERY_S:
            self._since_hint_s = 0.0
            self.hint = detect_enhancement(np.concatenate(self._seconds))
