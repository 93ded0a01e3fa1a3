"""The one place that touches PortAudio in this process.

PortAudio lists the devices once. Taking the list anew ends every open stream, so that happens only while none is open.
sounddevice is imported on first use: it may block for seconds while the sound system hangs.
"""

import threading
from collections.abc import Callable
from typing import Any

lock = threading.RLock()
_open: list[Any] = []


def errors() -> type[Exception]:
    """What PortAudio raises."""
    import sounddevice as sd

    failure: type[Exception] = sd.PortAudioError
    return failure


def refresh_if_idle() -> None:
    """Take the list of devices anew, 35 ms, unless a stream is open."""
    import sounddevice as sd

    with lock:
        if not _open:
            sd._terminate()
            sd._initialize()


def input_index(name: str, host_api: str) -> int:
    """Number of an input device now. Raises ValueError if there is none of this name."""
    import sounddevice as sd

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
    """Start a mono int16 input stream, at the device's own rate where it refuses `sample_rate`."""
    import sounddevice as sd

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
    import sounddevice as sd

    return _started(
        sd.OutputStream(
            samplerate=sample_rate, channels=1, dtype="int16", callback=callback, finished_callback=finished
        )
    )


def close(stream: Any) -> None:
    """End a stream; may block for seconds while the sound system hangs."""
    with lock:
        if stream in _open:
            _open.remove(stream)
            stream.close(ignore_errors=True)


def _started(stream: Any) -> Any:
    with lock:
        try:
            stream.start()
        except BaseException:
            stream.close(ignore_errors=True)
            raise
        _open.append(stream)
    return stream
