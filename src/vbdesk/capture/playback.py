"""Play a take, and report the position."""

import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from vbdesk.capture import portaudio
from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.clock import Clock, SystemClock
from vbdesk.language import joined, message, message_of


class PlaybackError(Exception):
    """Nothing can be played; `str(error)` is one sentence for a person."""


class Player(Protocol):
    """Plays one take at a time. `load`, `play` and `close` may block: not for the GUI thread."""

    def load(self, audio: TakeAudio) -> None:
        """Load `audio`, paused at its start."""

    def play(self) -> None:
        """Play from the present position; from the start, if it is at the end. Raises PlaybackError."""

    def pause(self) -> None:
        """Pause at the present position."""

    def seek(self, position_s: float) -> None:
        """Move to a position."""

    @property
    def position_s(self) -> float:
        """The present position in seconds; cheap."""

    @property
    def playing(self) -> bool:
        """Whether it plays; False at the end."""

    def close(self) -> None:
        """Release the loudspeaker."""


class PortAudioPlayer:
    """Plays on the system's loudspeaker."""

    def __init__(self, on_end: Callable[[], None] | None = None) -> None:
        """Make a player; the sound system's thread calls `on_end` when a take was played to its end."""
        self._on_end = on_end
        self._lock = threading.Lock()
        self._samples = np.empty(0, np.int16)
        self._rate = 1
        self._frame = 0
        self._playing = False
        self._stream: Any = None

    def load(self, audio: TakeAudio) -> None:
        """Load `audio`, paused at its start."""
        self.close()
        self._samples, self._rate, self._frame = audio.samples, audio.sample_rate, 0

    def play(self) -> None:
        """Play from the present position; from the start, if it is at the end. Raises PlaybackError."""
        if self._frame >= len(self._samples):
            self._frame = 0
        self._playing = True
        if self._stream is None:
            try:
                self._stream = portaudio.answered(self._opened, portaudio.close)
            except portaudio.SoundSystemHangs as error:
                self._playing = False
                raise PlaybackError(
                    joined(message_of(error), message("The recording is kept. Wait a moment and try again."))
                ) from error
            except (portaudio.errors(), ValueError, OSError) as error:
                self._playing = False
                raise PlaybackError(
                    message(
                        "There is no loudspeaker to play this on. The recording is kept; plug one in and try again."
                    )
                ) from error

    def pause(self) -> None:
        """Pause at the present position."""
        self._playing = False

    def seek(self, position_s: float) -> None:
        """Move to a position."""
        with self._lock:
            self._frame = min(max(round(position_s * self._rate), 0), len(self._samples))

    @property
    def position_s(self) -> float:
        """The present position in seconds."""
        return self._frame / self._rate

    @property
    def playing(self) -> bool:
        """Whether it plays."""
        return self._playing

    def close(self) -> None:
        """Release the loudspeaker."""
        self._playing = False
        stream, self._stream = self._stream, None
        if stream is not None:
            portaudio.close(stream)

    def _opened(self) -> Any:
        portaudio.refresh_if_idle()
        return portaudio.open_output(self._rate, self._fill, self._stopped)

    def _fill(self, out: Any, frames: int, when: Any, status: Any) -> None:
        ended = False
        with self._lock:
            piece = self._samples[self._frame : self._frame + frames] if self._playing else self._samples[:0]
            out[: len(piece), 0] = piece
            out[len(piece) :] = 0
            self._frame += len(piece)
            if self._playing and self._frame >= len(self._samples):
                self._playing, ended = False, True
        if ended and self._on_end is not None:
            self._on_end()

    def _stopped(self) -> None:
        self._playing = False


class SilentPlayer:
    """A player for tests: silent, but with real durations."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._duration_s = 0.0
        self._position_s = 0.0
        self._since: float | None = None

    def load(self, audio: TakeAudio) -> None:
        """Load `audio`, paused at its start."""
        self._duration_s, self._position_s, self._since = audio.duration_s, 0.0, None

    def play(self) -> None:
        """Play from the present position; from the start, if it is at the end."""
        self._position_s = 0.0 if self.position_s >= self._duration_s else self.position_s
        self._since = self._clock.monotonic()

    def pause(self) -> None:
        """Pause at the present position."""
        self._position_s, self._since = self.position_s, None

    def seek(self, position_s: float) -> None:
        """Move to a position."""
        self._position_s = min(max(position_s, 0.0), self._duration_s)
        if self._since is not None:
            self._since = self._clock.monotonic()

    @property
    def position_s(self) -> float:
        """The present position in seconds."""
        played_s = 0.0 if self._since is None else self._clock.monotonic() - self._since
        return min(self._position_s + played_s, self._duration_s)

    @property
    def playing(self) -> bool:
        """Whether it plays."""
        return self._since is not None and self.position_s < self._duration_s

    def close(self) -> None:
        """Stop playing."""
        self.pause()
