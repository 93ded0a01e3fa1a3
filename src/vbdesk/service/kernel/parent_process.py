"""Detection of the end of the process that started this one."""

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

_POLL_S = 1.0
_PIECE = 4096

Ending = Callable[[], Awaitable[None]]
"""Waits for an event that ends this process."""


async def input_ended() -> None:
    """Return once standard input has ended: the process that holds its other end has closed it or is gone."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def read() -> None:
        # the descriptor, not sys.stdin: a thread that holds the lock of a stream stops the interpreter from ending
        with suppress(OSError):  # it was never open
            while os.read(0, _PIECE):
                pass
        with suppress(RuntimeError):  # this process has ended its work already
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, name="input-end", daemon=True).start()
    await ended.wait()


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


if sys.platform == "win32":

    def _is_alive(pid: int) -> bool:
        """Open a handle of the process: on Windows signal 0 would interrupt it."""
        import ctypes

        synchronize, wait_timeout = 0x00100000, 0x102
        kernel = ctypes.WinDLL("kernel32")
        handle = kernel.OpenProcess(synchronize, False, pid)
        if not handle:
            return False
        try:
            return bool(kernel.WaitForSingleObject(handle, 0) == wait_timeout)
        finally:
            kernel.CloseHandle(handle)

else:

    def _is_alive(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
