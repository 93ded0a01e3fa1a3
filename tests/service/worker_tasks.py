"""Tasks that a child process can import by name: well-behaved, stuck, crashing."""

import ctypes
import os
import time


def nothing_to_prepare() -> None:
    pass


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


def refuse() -> None:
    raise ValueError("bad audio")
