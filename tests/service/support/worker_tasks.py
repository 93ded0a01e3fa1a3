"""Tasks that a child process can import by name: normal, blocking, crashing."""

import ctypes
import json
import os
import time
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

import soundfile
from sample_results import result_json

from vbdesk.service.engine.analysis import Analysed, AnalysisRequest
from vbdesk.signs.stage_timing import Lap


def nothing_to_prepare() -> None:
    pass


def die_preparing() -> None:
    os._exit(3)


def own_pid() -> int:
    return os.getpid()


def double(number: int) -> int:
    return 2 * number


def spin(seconds: float) -> None:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        sum(range(1000))


def sleep_natively_holding_the_interpreter(seconds: int) -> None:
    ctypes.PyDLL(None).sleep(seconds)


def segfault() -> None:
    ctypes.string_at(0)


def size_of(recording: BinaryIO) -> int:
    return len(recording.read())


def refuse() -> None:
    raise ValueError("bad audio")


def analyse_at_once(recording: BinaryIO, request: AnalysisRequest) -> Analysed:
    """Return a result whose every score is the recording's mean square, so that it depends on the file."""
    samples, _ = soundfile.read(recording)
    return Analysed(result_json(request.kind, request.name, min(1.0, float((samples**2).mean()))))


def analyse_in_stages(recording: BinaryIO, request: AnalysisRequest) -> Analysed:
    return Analysed(
        analyse_at_once(recording, request).result, (Lap("decode", 0.0, 0.125), Lap("features", 0.125, 0.25))
    )


def analyse_never(recording: BinaryIO, request: AnalysisRequest) -> Analysed:
    """Block for models, in native code that keeps the interpreter; return at once for signs."""
    if request.kind == "model":
        ctypes.PyDLL(None).sleep(600)
    return analyse_at_once(recording, request)


def analyse_in_a_loop(recording: BinaryIO, request: AnalysisRequest) -> Analysed:
    """Loop endlessly for models; return at once for signs."""
    while request.kind == "model":
        pass
    return analyse_at_once(recording, request)


def analyse_badly(_recording: BinaryIO, _request: AnalysisRequest) -> Analysed:
    raise ValueError("nothing comes of this")


def analyse_nonsense(_recording: BinaryIO, _request: AnalysisRequest) -> Analysed:
    return Analysed('{"signals": 7}')


def analyse_and_die(_recording: BinaryIO, _request: AnalysisRequest) -> Analysed:
    ctypes.string_at(0)
    return Analysed("")


class AnalyseAtTheSecondTry:
    """Kills its child at the first attempt. It counts in the parent, because a child cannot keep state."""

    def __init__(self) -> None:
        self.tries = 0

    def __call__(self, recording: BinaryIO, request: AnalysisRequest) -> Analysed:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        self.tries += 1
        return itemgetter(0), ((analyse_and_die if self.tries == 1 else analyse_at_once,),)


def analyse_into_nonsense(_recording: BinaryIO, _request: AnalysisRequest) -> Analysed:
    return Analysed("no result")


def crash_at_a_look() -> None:
    """Prepare a child with a faulty decoder. Each such function simulates a flaw that a hostile file may trigger."""
    _decode_by(lambda _path: ctypes.string_at(0))


def stall_at_a_look() -> None:
    _decode_by(lambda _path: ctypes.PyDLL(None).sleep(600))


def burn_at_a_look() -> None:
    def burn(_recording: BinaryIO) -> object:
        while True:
            pass

    _decode_by(burn)


def wait_at_a_look() -> None:
    from vbdesk.voice.decode import decode

    def wait(recording: BinaryIO) -> object:
        time.sleep(2.5)
        return decode(recording)

    _decode_by(wait)


def bloat_at_a_look() -> None:
    _decode_by(lambda _path: bytearray(400 * 1024**2))


def stall_at_one_file() -> None:
    from vbdesk.voice.decode import decode

    size = (Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac").stat().st_size

    def stall(recording: BinaryIO) -> object:
        return ctypes.PyDLL(None).sleep(600) if recording.seek(0, 2) == size else decode(recording)

    _decode_by(stall)


def _decode_by(decode: Callable[[BinaryIO], object]) -> None:
    import vbdesk.voice.decode

    vbdesk.voice.decode.decode = decode


def address_space_grows_by(size: int) -> bool:
    try:
        bytearray(size)
    except MemoryError:
        return False
    return True


def core_file_limit() -> tuple[int, int]:
    import resource

    return resource.getrlimit(resource.RLIMIT_CORE)


NEWER_CALIBRATION = "2.0.0"


def pulse_made_by(version: str, score: float = 0.4) -> str:
    """A result of `pulse` by this calibration."""
    result = json.loads(result_json("model", "pulse", score))
    for signal in result["signals"]:
        signal["sign_version"] = version
    return json.dumps(result)


def analyse_anew(recording: BinaryIO, request: AnalysisRequest) -> Analysed:
    """A result of the newer calibration, with another score."""
    return Analysed(pulse_made_by(NEWER_CALIBRATION, 0.6))
