"""A microphone as a stream of blocks: the real one through PortAudio, and one for tests that plays a file."""

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import soundfile as sf

from vbdesk.capture import portaudio
from vbdesk.capture.devices import Device
from vbdesk.capture.encrypted_take import Frames
from vbdesk.language import Message, joined, message, message_of

SAMPLE_RATE = 48_000  # Hz; the sound system resamples for other devices
BLOCK_FRAMES = 960  # 20 ms


@dataclass(frozen=True, slots=True)
class Block:
    """Frames of the microphone, shape (n,), int16, mono; `overflowed` if some were lost before them."""

    samples: Frames
    overflowed: bool = False


Sink = Callable[[Block], None]


class MicrophoneError(Exception):
    """The microphone cannot be used; `str(error)` is one sentence for a person."""


class MicrophoneStream(Protocol):
    """An open microphone."""

    @property
    def sample_rate(self) -> int:
        """Hz."""

    def close(self) -> None:
        """End the stream. May block for two seconds while the sound system hangs."""


class Microphone(Protocol):
    """A source of sound."""

    def open(self, device: Device | None, sink: Sink, on_end: Callable[[], None]) -> MicrophoneStream:
        """Open `device`, the system's choice if None. May block for some seconds, never longer.

        Args:
            device: the microphone.
            sink: receives every block, in the sound system's thread: it must only store the block.
            on_end: called once if the stream ends unexpectedly.

        Raises:
            MicrophoneError: it cannot be opened.
        """


def _not_opened(device: Device | None) -> Message:
    if device is None:
        return message("The microphone of this computer cannot be opened. Nothing was recorded.")
    return message("The microphone “{name}” cannot be opened. Nothing was recorded.", name=device.name)


class PortAudioMicrophone:
    """The microphones of this computer."""

    def open(self, device: Device | None, sink: Sink, on_end: Callable[[], None]) -> "PortAudioStream":
        """Open a device; see `Microphone.open`."""

        def opened() -> PortAudioStream:
            try:
                portaudio.refresh_if_idle()
                index = None if device is None else portaudio.input_index(device.name, device.host_api)
                return PortAudioStream(index, sink, on_end)
            except (portaudio.errors(), ValueError, OSError) as error:
                advice = message("Check that it is plugged in and free, or choose another one.")
                raise MicrophoneError(joined(_not_opened(device), advice)) from error

        try:
            return portaudio.answered(opened, PortAudioStream.close)
        except portaudio.SoundSystemHangs as error:
            advice = message("Nothing was recorded. Wait a moment and try again, or restart the computer.")
            raise MicrophoneError(joined(message_of(error), advice)) from error


class PortAudioStream:
    """An open stream of PortAudio."""

    def __init__(self, index: int | None, sink: Sink, on_end: Callable[[], None]) -> None:
        self._closing = False
        self._sink = sink
        self._on_end = on_end
        self._stream = portaudio.open_input(index, SAMPLE_RATE, BLOCK_FRAMES, self._take_block, self._finished)
        self.sample_rate = round(self._stream.samplerate)

    def close(self) -> None:
        """End the stream."""
        self._closing = True
        portaudio.close(self._stream)

    def _take_block(self, data: Frames, frames: int, when: Any, status: Any) -> None:
        self._sink(Block(data[:, 0].copy(), bool(status.input_overflow)))

    def _finished(self) -> None:
        if not self._closing:
            self._on_end()


class FileMicrophone:
    """A microphone for tests that plays a file and can be unplugged; it also lists itself as a device.

    With `pace` it plays from `open` on, `pace` times as fast as real time, and continues with silence.
    Without it, it plays what `play` asks for, at once.
    """

    def __init__(self, sound: Path | Frames, sample_rate: int = SAMPLE_RATE, pace: float | None = None) -> None:
        if isinstance(sound, Path):
            read, sample_rate = sf.read(sound, dtype="int16", always_2d=True)
            self._samples: Frames = read[:, 0]
        else:
            self._samples = sound
        self._sample_rate = sample_rate
        self._pace = pace
        self._position = 0
        self._frozen = False
        self._listed = True
        self._session: FileStream | None = None
        self.device = Device("File microphone", "file", True)

    def open(self, device: Device | None, sink: Sink, on_end: Callable[[], None]) -> "FileStream":
        """Open it; MicrophoneError if it is unplugged."""
        if not self._listed:
            raise MicrophoneError(joined(_not_opened(self.device), message("Plug it in again.")))
        self._session = FileStream(self._sample_rate, sink, on_end)
        if self._pace is not None:
            self._session.run(self._play_by_itself)
        return self._session

    def devices(self) -> list[Device]:
        """Itself, while it is plugged in."""
        return [self.device] if self._listed else []

    def play(self, seconds: float) -> None:
        """Play the next `seconds` at once; silence follows the end of the file."""
        left = round(seconds * self._sample_rate)
        while left > 0 and self._session is not None and not self._frozen:
            count = min(left, BLOCK_FRAMES)
            self._session.sink(Block(self._next(count)))
            left -= count

    def unplug(self) -> None:
        """Unplug it, without another microphone: the stream ends."""
        self._listed = False
        session, self._session = self._session, None
        if session is not None:
            session.stopping.set()
            session.on_end()

    def replace(self) -> None:
        """Unplug it, with another microphone: the stream continues, and only the list shows it."""
        self._listed = False

    def plug(self) -> None:
        """Plug it in again."""
        self._listed = True

    def freeze(self, frozen: bool = True) -> None:
        """Let the sound system hang, or continue."""
        self._frozen = frozen

    def _next(self, count: int) -> Frames:
        samples = self._samples[self._position : self._position + count]
        self._position += count
        return np.concatenate([samples, np.zeros(count - len(samples), np.int16)])

    def _play_by_itself(self, session: "FileStream") -> None:
        block_s = BLOCK_FRAMES / self._sample_rate / (self._pace or 1.0)
        due = time.monotonic()
        while not session.stopping.wait(max(0.0, due - time.monotonic())):
            due += block_s
            if not self._frozen:
                session.sink(Block(self._next(BLOCK_FRAMES)))


class FileStream:
    """A stream of FileMicrophone."""

    def __init__(self, sample_rate: int, sink: Sink, on_end: Callable[[], None]) -> None:
        self.sample_rate = sample_rate
        self.sink = sink
        self.on_end = on_end
        self.stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def run(self, player: Callable[["FileStream"], None]) -> None:
        """Play in a thread until closed."""
        self._thread = threading.Thread(target=player, args=(self,), name="file-microphone", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the stream."""
        self.stopping.set()
        if self._thread is not None:
            with contextlib.suppress(RuntimeError):  # closed by its own thread
                self._thread.join()
