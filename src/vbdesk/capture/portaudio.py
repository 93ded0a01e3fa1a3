"""The only module that uses PortAudio in this process.

PortAudio reads the list of devices once. Reading it again ends every open stream, so that happens only while none is
open. sounddevice is imported on first use: it may block for seconds while the sound system hangs. One thread imports
it, opens and closes every stream: Windows' sound interfaces belong to the thread that opened them. Others wait for it
for some seconds at most, also at the end of the program.
"""

import atexit
import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from vbdesk.capture.call_timeout import CallThread, CallTimedOut
from vbdesk.language import message

OPEN_LIMIT_S = 6.0  # a cold start of a sound server takes up to four
CLOSE_LIMIT_S = 2.0
WASAPI = "Windows WASAPI"

T = TypeVar("T")
_sound = CallThread("sound-system")
_open: list[Any] = []
_ours: list[Any] = []


class SoundSystemHangs(Exception):
    """The sound system does not answer."""


def answered(work: Callable[[], T], undo: Callable[[T], None]) -> T:
    """Call `work` in the thread of the sound system; `undo` receives a result that comes too late.

    Only `work` may call the functions below, except `close`.

    Raises:
        SoundSystemHangs: no answer in time.
    """
    try:
        return _sound.call_within(OPEN_LIMIT_S, work, undo)
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
        _sound.call_within(CLOSE_LIMIT_S, sd._exit_handler)


def errors() -> type[Exception]:
    """PortAudio's exception."""
    failure: type[Exception] = _sounddevice().PortAudioError
    return failure


def refresh_if_idle() -> None:
    """Read the list of devices again, 35 ms, unless a stream is open."""
    sd = _sounddevice()
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
        "extra_settings": _settings_of(sd, index, "input"),
    }
    try:
        stream = sd.InputStream(samplerate=sample_rate, **settings)
    except sd.PortAudioError:
        own_rate = sd.query_devices(index, "input")["default_samplerate"]
        stream = sd.InputStream(samplerate=own_rate, **settings)
    return _started(stream)


def open_output(sample_rate: int, callback: Callable[[Any, int, Any, Any], None], finished: Callable[[], None]) -> Any:
    """Start a mono int16 output stream on the system's default device."""
    sd = _sounddevice()
    stream = sd.OutputStream(
        samplerate=sample_rate,
        channels=1,
        dtype="int16",
        callback=callback,
        finished_callback=finished,
        extra_settings=_settings_of(sd, None, "output"),
    )
    return _started(stream)


def _settings_of(sd: Any, index: int | None, kind: str) -> Any:
    """Extra settings of a device: WASAPI takes only the rate and channels of its mixer, unless it is set to convert."""
    interface = sd.query_hostapis(sd.query_devices(index, kind)["hostapi"])["name"]
    return sd.WasapiSettings(auto_convert=True) if interface == WASAPI else None


def close(stream: Any) -> None:
    """End a stream; one that does not end in time is closed as soon as the sound system answers."""

    def closed() -> None:
        if stream in _open:
            _open.remove(stream)
            stream.close(ignore_errors=True)

    with contextlib.suppress(CallTimedOut):
        _sound.call_within(CLOSE_LIMIT_S, closed)


def _started(stream: Any) -> Any:
    try:
        stream.start()
    except BaseException:
        stream.close(ignore_errors=True)
        raise
    _open.append(stream)
    return stream
