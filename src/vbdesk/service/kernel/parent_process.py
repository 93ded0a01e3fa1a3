"""Detection of the parent process's end."""

import asyncio
import os
import sys

_POLL_S = 1.0


async def parent_gone(parent_pid: int) -> None:
    """Return once the process has ended.

    On Linux its file descriptor reports the end at once. The kernel's death signal would be simpler, but it follows the
    thread that started this process, not the parent process.
    """
    if sys.platform == "linux":
        try:
            descriptor = os.pidfd_open(parent_pid)
        except ProcessLookupError:
            return
        except OSError:
            pass  # an old kernel or a sandbox: poll
        else:
            await _readable(descriptor)
            return
    while _is_alive(parent_pid):
        await asyncio.sleep(_POLL_S)


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_alive_on_windows(pid: int) -> bool:
    """Open a handle of the process: on Windows signal 0 would interrupt it."""
    import ctypes

    synchronize, wait_timeout = 0x00100000, 0x102
    kernel: ctypes.CDLL = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined]
    handle = kernel.OpenProcess(synchronize, False, pid)
    if not handle:
        return False
    try:
        return bool(kernel.WaitForSingleObject(handle, 0) == wait_timeout)
    finally:
        kernel.CloseHandle(handle)
