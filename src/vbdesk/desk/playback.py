"""Playback of a recording: load, play, pause, seek and position."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.playback import Player
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.flow.tasks import Failure, TaskContext, TaskOwner

_ENVELOPE_STEPS = 2000
_POSITION_MS = 33
_FULL_SCALE = 32768.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """A recording that can be played; `envelope` (n, 2): lowest and highest sample of each step, -1..1.

    Attributes:
        marks_s: moments that were marked while recording.
    """

    envelope: NDArray[np.float32]
    seconds: float
    marks_s: tuple[float, ...] = ()


class Playback(QObject):
    """Plays one recording at a time. Everything that blocks happens in tasks.

    Attributes:
        seconds: length of what is loaded; 0 for nothing.

    Signals:
        loaded: (Loaded) it can be played.
        moved: (float) position in seconds.
        playing_changed: (bool) whether it plays.
        failed: (str) why there is no sound.
    """

    loaded = Signal(object)
    moved = Signal(float)
    playing_changed = Signal(bool)
    failed = Signal(str)

    def __init__(self, tasks: TaskOwner, make_player: Callable[[], Player], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks, self._make_player = tasks, make_player
        self._player: Player | None = None
        self._lock = threading.Lock()  # one blocking call to the player at a time, in order
        self._wanted = 0
        self._playing = False
        self._ready = False
        self._part: TrimRange | None = None
        self._on_played: list[Callable[[], None]] = []  # of the recording loaded last; empty once it was called
        self._reported_s = self.seconds = 0.0
        self._position_timer = QTimer(self)
        self._position_timer.setInterval(_POSITION_MS)
        self._position_timer.timeout.connect(self._tell_position)

    @property
    def playing(self) -> bool:
        """Whether the recording plays."""
        return self._playing

    @property
    def position_s(self) -> float:
        """The last known position."""
        return self._reported_s

    def load(self, read: Callable[[], TakeAudio], on_played: Callable[[], None] | None = None) -> None:
        """Load the recording that `read` returns.

        Args:
            read: may block; its error is reported by `failed`.
            on_played: called once, in a task, when playback first starts.
        """
        self._wanted += 1
        wanted = self._wanted
        self._stop_looking()
        self._ready, self._part, self._reported_s, self.seconds = False, None, 0.0, 0.0
        self._on_played = [] if on_played is None else [on_played]

        def work(context: TaskContext) -> tuple[int, Loaded]:
            audio = read()
            with self._lock:
                if wanted == self._wanted:
                    self._ensure_player().load(audio)
            return wanted, Loaded(envelope_of(audio.samples), audio.duration_s, audio.marks_s)

        self._tasks.start(work, self._on_loaded, self._on_failed, name="playback-load")

    @Slot()
    def toggle(self) -> None:
        """Play, or pause."""
        player = self._player
        if not self._ready or player is None:
            return
        if self._playing:
            player.pause()
            self._stop_looking()
            return
        self._playing = True
        self.playing_changed.emit(True)
        wanted, on_played = self._wanted, self._on_played
        self._tasks.start(
            lambda context: self._play(wanted, on_played), self._on_started, self._on_failed, name="playback"
        )

    def show_part(self, part: TrimRange) -> None:
        """Limit playback to `part`, unless the cursor is moved outside."""
        if part != self._part:
            self._part = part
            if not self._playing:
                self.seek(part.start)

    @Slot(float)
    def seek(self, seconds: float) -> None:
        """Seek to a position."""
        if self._ready and self._player is not None:
            self._player.seek(seconds)
            self._reported_s = seconds
            self.moved.emit(seconds)

    def close(self) -> None:
        """Stop, and close the audio output."""
        self._wanted += 1
        self._ready, self.seconds = False, 0.0
        self._stop_looking()
        if self._player is not None:
            self._player.pause()
            self._tasks.start(self._close, name="playback-close")

    def _ensure_player(self) -> Player:
        if self._player is None:
            self._player = self._make_player()
        return self._player

    def _play(self, wanted: int, on_played: list[Callable[[], None]]) -> None:
        with self._lock:
            if not self._plays(wanted):
                return
            player = self._ensure_player()
            player.play()
            if not self._plays(wanted):
                player.pause()
            note = on_played.pop() if on_played else None
        if note is not None:
            note()

    def _plays(self, wanted: int) -> bool:
        """Whether this recording is still to be heard; not if it was paused, closed or replaced meanwhile."""
        return self._playing and wanted == self._wanted

    def _close(self, context: TaskContext) -> None:
        with self._lock:
            self._ensure_player().close()

    def _stop_looking(self) -> None:
        self._position_timer.stop()
        if self._playing:
            self._playing = False
            self.playing_changed.emit(False)

    @Slot(object)
    def _on_loaded(self, loaded: tuple[int, Loaded]) -> None:
        wanted, content = loaded
        if wanted == self._wanted:
            self._ready, self.seconds = True, content.seconds
            self.loaded.emit(content)
            if self._part is not None:
                self.seek(self._part.start)

    @Slot(object)
    def _on_started(self, _: None) -> None:
        if self._playing:
            self._position_timer.start()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._stop_looking()
        self.failed.emit(failure.sentence)

    @Slot()
    def _tell_position(self) -> None:
        player = self._player
        if player is None:
            return
        before, self._reported_s = self._reported_s, player.position_s
        self.moved.emit(self._reported_s)
        if not player.playing:
            self._stop_looking()
        elif self._part is not None and before < self._part.end <= self._reported_s:
            player.pause()
            self._stop_looking()
            self.seek(self._part.start)


def envelope_of(samples: NDArray[np.int16], steps: int = _ENVELOPE_STEPS) -> NDArray[np.float32]:
    """Lowest and highest sample of each of at most `steps` equal parts, shape (n, 2), -1..1."""
    if not len(samples):
        return np.zeros((0, 2), np.float32)
    starts = np.unique(np.linspace(0, len(samples), min(steps, len(samples)), endpoint=False).astype(int))
    low = np.minimum.reduceat(samples, starts).astype(np.float32)
    high = np.maximum.reduceat(samples, starts).astype(np.float32)
    return np.column_stack([low, high]) / np.float32(_FULL_SCALE)
