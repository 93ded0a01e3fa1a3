"""How a slot's child process is made and gets a recording: forked from a warm process on Linux, spawned elsewhere.

On Linux, children are forked from a warm process that has imported what tasks need (see `warm_imports`). A child starts
within milliseconds, so none waits idle, and imported modules are in memory once. On other systems forking is not safe:
every slot keeps a child with its own imports.

A child gets a recording as an open descriptor, or as bytes where descriptors cannot be passed. A recording encrypted on
the disk is decrypted in the service, into memory: the child has neither the key nor a file.
"""

import io
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeAlias

WARM = "vbdesk.service.engine.warm_imports"
PR_SET_PDEATHSIG = 1
ORPHANED = 99
LONGEST_TEMPORARY_FOLDER = 70  # bytes, so that a socket path below it stays within Linux's limit of 107

_COPY_BYTES = 1024 * 1024

Serve = Callable[..., None]
Pipe: TypeAlias = "Connection[Any, Any]"


class Children(Protocol):
    """A way to make child processes; pickled into each child."""

    @property
    def start_early(self) -> bool:
        """Whether a slot keeps a child that waits for its first task, and lets it wait idle."""

    def warm_up(self) -> None:
        """Prepare for children, before a slot needs one."""

    def start(self, serve: Serve, *arguments: Any) -> tuple[BaseProcess, Pipe]:
        """Start a child that runs `serve(its end of a pipe, *arguments)`; returns our end.

        Raises:
            OSError, EOFError: it did not start; another try may succeed.
        """

    def passable(self, file: BinaryIO) -> BinaryIO:
        """The content of an open recording in a form that `send` can pass; closes `file` if it is another one."""

    def send(self, pipe: Pipe, file: BinaryIO, pid: int) -> None:
        """Pass an open recording to the child `pid`. Raises OSError."""

    def receive(self, pipe: Pipe) -> BinaryIO:
        """In the child: the recording that was passed. Raises OSError, EOFError."""

    def settle(self, pipe: Pipe) -> None:
        """In the child: end with the service, and keep nothing of it open but `pipe`."""


class SpawnedChildren:
    """Children with their own interpreter; on every system."""

    start_early = True

    def warm_up(self) -> None:
        """Nothing to prepare."""

    def start(self, serve: Serve, *arguments: Any) -> tuple[BaseProcess, Pipe]:
        """See `Children`."""
        return _started(multiprocessing.get_context("spawn"), serve, arguments)

    def passable(self, file: BinaryIO) -> BinaryIO:
        """See `Children`."""
        return file

    def send(self, pipe: Pipe, file: BinaryIO, pid: int) -> None:
        """Pass the bytes."""
        pipe.send_bytes(file.read())

    def receive(self, pipe: Pipe) -> BinaryIO:
        """See `Children`."""
        return io.BytesIO(pipe.recv_bytes())

    def settle(self, pipe: Pipe) -> None:
        """See `Children`."""
        guardian = multiprocessing.parent_process()
        if guardian is not None:
            threading.Thread(target=_exit_after, args=(guardian.sentinel,), daemon=True).start()


def _started(context: Any, serve: Serve, arguments: tuple[Any, ...]) -> tuple[BaseProcess, Pipe]:
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, *arguments), name="vbdesk-slot", daemon=True)
    try:
        process.start()
    except (OSError, EOFError):
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(ORPHANED)


if sys.platform == "linux":
    import ctypes
    import fcntl
    from multiprocessing import forkserver, reduction

    _READ_ONLY = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL

    class ForkedChildren:
        """Children forked from a warm process."""

        start_early = False

        def warm_up(self) -> None:
            """Start the warm process if it is not running. Its socket is in /tmp if the temporary folder is deep."""
            usual = tempfile.gettempdir()
            if len(os.fsencode(usual)) > LONGEST_TEMPORARY_FOLDER:
                tempfile.tempdir = "/tmp"  # noqa: S108 - a private folder is made in it
            try:
                forkserver.set_forkserver_preload([WARM])
                forkserver.ensure_running()
            finally:
                tempfile.tempdir = usual

        def start(self, serve: Serve, *arguments: Any) -> tuple[BaseProcess, Pipe]:
            """See `Children`; it fails while the warm process is dying, and another is started when it is dead."""
            return _started(multiprocessing.get_context("forkserver"), serve, arguments)

        def passable(self, file: BinaryIO) -> BinaryIO:
            """The recording as a descriptor: itself, or a copy in memory if it is stored encrypted."""
            try:
                file.fileno()
            except io.UnsupportedOperation:
                with file:
                    return in_memory(file)
            return file

        def send(self, pipe: Pipe, file: BinaryIO, pid: int) -> None:
            """Pass the descriptor."""
            reduction.send_handle(pipe, file.fileno(), pid)

        def receive(self, pipe: Pipe) -> BinaryIO:
            """See `Children`."""
            return os.fdopen(reduction.recv_handle(pipe), "rb")

        def settle(self, pipe: Pipe) -> None:
            """See `Children`.

            The warm process ends with the service. The kernel then ends its children, even while native code holds the
            interpreter. WORKAROUND: each child inherits the pipe that makes the warm process exit when it is closed,
            and could use that process too (multiprocessing.forkserver of Python 3.11).
            """
            guardian = multiprocessing.parent_process()
            if guardian is not None:
                os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                if not guardian.is_alive():
                    os._exit(ORPHANED)
            _close_all_but(pipe)

    def in_memory(file: BinaryIO) -> BinaryIO:
        """Copy the content to a read-only file in memory that has a descriptor. Raises OSError."""
        descriptor = os.memfd_create("recording", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        with os.fdopen(descriptor, "w+b", buffering=0) as copy:
            shutil.copyfileobj(file, copy, _COPY_BYTES)
            fcntl.fcntl(copy, fcntl.F_ADD_SEALS, _READ_ONLY)
            copy.seek(0)
            return os.fdopen(os.dup(copy.fileno()), "rb")

    def _close_all_but(pipe: Pipe) -> None:
        """Close inherited descriptors, such as the pipes of sibling processes."""
        descriptors = {0, 1, 2, pipe.fileno()}
        for number in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
            if number not in descriptors:
                with suppress(OSError):  # the descriptor of the listing itself
                    os.close(number)

    def usual_children() -> Children:
        """The way of this system."""
        return ForkedChildren()

else:

    def usual_children() -> Children:
        """The way of this system."""
        return SpawnedChildren()
