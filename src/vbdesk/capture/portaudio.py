"""The only module that uses PortAudio in this process.

PortAudio reads the list of devices once. Reading it again ends every open stream, so that happens only while none is
open. sounddevice is imported on first use: it may block for seconds while the sound system hangs. Every call that may
block goes through `answered`, so that nothing waits longer than some seconds, not even the end of the program.
"""

import atexit
import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from vbdesk.capture.call_timeout import CallTimedOut, call_within
from vbdesk.language import message

OPEN_LIMIT_S = 6.0  # a cold start of a sound server takes up to four
CLOSE_LIMIT_S = 2.0

T = TypeVar("T")
lock = threading.RLock()
_open: list[Any] = []
_ours: list[Any] = []


class SoundSystemHangs(Exception):
    """The sound system does not answer."""


def answered(work: Callable[[], T], undo: Callable[[T], None]) -> T:
    """Call `work` with the lock held; `undo` receives a result that comes too late.

    Raises:
        SoundSystemHangs: no answer in time.
    """

    def locked() -> T:
        with lock:
            return work()

    try:
        return call_within(OPEN_LIMIT_S, locked, undo)
    except CallTimedOut as error:
        raise SoundSystemHangs(message("The sound system of this computer does not answer.")) from error


def _sounddevice() -> Any:
    """The library, with our exit handler, which has a timeout, in place of its own."""
    import sounddevice as sd

    if not _ours:
        _ours.append(sd)
        atexit.unregister(sd._exit_handler)
        atexit.register(_leave, sd)
    return sd


def _leave(sd: Any) -> None:
    with contextlib.suppress(CallTimedOut):
        call_within(CLOSE_LIMIT_S, sd._exit_handler)


def errors() -> type[Exception]:
    """PortAudio's exception."""
    failure: type[Exception] = _sounddevice().PortAudioError
    return failure


def refresh_if_idle() -> None:
    """Read the list of devices again, 35 ms, unless a stream is open."""
    sd = _sounddevice()
    with lock:
        if not _open:
            sd._terminate()
            sd._initialize()


def input_index(name: str, host_api: str) -> int:
    """Present number of an input device. Raises ValueError if there is none of this name."""
    sd = _sounddevice()
    for index, device in enumerate(sd.query_devices()):
        if device["name"] == name and device["max_input_channels"] > 0:
            api: str = sd.query_hostapis(device["hostapi"])["name"]
            if api == host_api:
                return index
    raise ValueError(f"no input device {name}")


def open_input(
    index: int | None,
    sample_rate: int,
    block_frames: int,
    callback: Callable[[Any, int, Any, Any], None],
    finished: Callable[[], None],
) -> Any:
    """Start a mono int16 input stream; at the device's own rate if it refuses `sample_rate`."""
    sd = _sounddevice()
    settings = {
        "device": index,
        "channels": 1,
        "dtype": "int16",
        "blocksize": block_frames,
        "callback": callback,
        "finished_callback": finished,
    }
    try:
        stream = sd.InputStream(samplerate=sample_rate, **settings)
    except sd.PortAudioError:
        own_rate = sd.query_devices(index, "input")["default_samplerate"]
        stream = sd.InputStream(samplerate=own_rate, **settings)
    return _started(stream)


def open_output(sample_rate: int, callback: Callable[[Any, int, Any, Any], None], finished: Callable[[], None]) -> Any:
    """Start a mono int16 output stream on the system's default device."""
    return _started(
        _sounddevice().OutputStream(
            samplerate=sample_rate, channels=1, dtype="int16", callback=callback, finished_callback=finished
        )
    )


def close(stream: Any) -> None:
    """End a stream; one that does not end in time continues in its thread."""

    def closed() -> None:
        with lock:
            if stream in _open:
                _open.remove(stream)
                stream.close(ignore_errors=True)

    with contextlib.suppress(CallTimedOut):
        call_within(CLOSE_LIMIT_S, closed)


def _started(stream: Any) -> Any:
    with lock:
        try:
            stream.start()
        except BaseException:
            stream.close(ignore_errors=True)
            raise
        _open.append(stream)
    return stream
