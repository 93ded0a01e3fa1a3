"""Time since the computer started, sleep included; setting the time of day does not change it."""

import ctypes
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_LINUX_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class BootTime:
    """Seconds since a computer started; comparable only with times of the same `boot_id`."""

    boot_id: str
    seconds: float


def boot_time() -> BootTime:
    """The time since this computer started."""
    return BootTime(_boot_id(), _seconds())


@cache
def _boot_id() -> str:
    """An id of this start of the computer; of this process where the system has none."""
    with suppress(OSError, AttributeError, ValueError):
        return _system_boot_id()
    return str(uuid.uuid4())


if sys.platform == "darwin":

    def _system_boot_id() -> str:
        libc = ctypes.CDLL(None)
        text, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
        if libc.sysctlbyname(b"kern.bootsessionuuid", text, ctypes.byref(size), None, 0) != 0 or not text.value:
            raise OSError("The system has no id of its start.")
        return text.value.decode("ascii")

    def _seconds() -> float:
        return time.clock_gettime(time.CLOCK_MONOTONIC_RAW)  # mach_continuous_time, which counts sleep too

elif sys.platform == "win32":

    def _system_boot_id() -> str:
        """The machine's id and the count of its starts, which alone is not unique."""
        import winreg

        session = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, session) as key:
            number, _ = winreg.QueryValueEx(key, "BootId")
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Cryptography") as key:
            machine, _ = winreg.QueryValueEx(key, "MachineGuid")
        return f"{machine}/{number}"

    def _seconds() -> float:
        count = ctypes.windll.kernel32.GetTickCount64
        count.restype = ctypes.c_uint64
        return float(count()) / 1000

else:

    def _system_boot_id() -> str:
        return _LINUX_BOOT_ID.read_text(encoding="ascii").strip()

    def _seconds() -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
