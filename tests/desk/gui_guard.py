"""A guard that reports every call on the GUI thread that may block.

`GuiGuard` listens to Python's audit events (files, folders, sockets, processes), to every statement of an SQLite
connection, and to what has no audit event: `os.stat`, waiting for another thread, `time.sleep`, HTTP requests, the
keyring and the sound devices. What Qt itself reads, in C++, is not seen.

A call counts when a method of a QObject of `vbdesk.desk` is on the stack of the thread that made the guard: a test may
make blocking calls itself. The guard collects and does not raise, since an `except` in the desk would hide that.
"""

import functools
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
from PySide6.QtCore import QObject

import vbdesk.desk
from vbdesk.capture.devices import PortAudioLister
from vbdesk.capture.microphone import FileMicrophone, FileStream, PortAudioMicrophone, PortAudioStream
from vbdesk.capture.playback import PortAudioPlayer, SilentPlayer
from vbdesk.client.local_service import LocalService
from vbdesk.outbox.library import encrypted_sqlite
from vbdesk.outbox.profiles.encrypted_vault import EncryptedVault
from vbdesk.outbox.profiles.service_key import ServiceKeyStore
from vbdesk.outbox.profiles.vault import KeyringVault, MemoryVault

DESK = f"{Path(vbdesk.desk.__file__).parent}/"
EVENTS = (
    "open",
    "os.",
    "pathlib.",
    "shutil.",
    "tempfile.",
    "glob.",
    "fcntl.",
    "ftplib.",
    "socket.",
    "sqlite3.",
    "subprocess.",
)
ADAPTERS: dict[type, tuple[str, ...]] = {
    KeyringVault: ("get", "set", "delete"),
    MemoryVault: ("get", "set", "delete"),
    PortAudioLister: ("devices", "close"),
    PortAudioMicrophone: ("open",),
    PortAudioStream: ("close",),
    PortAudioPlayer: ("load", "play", "close"),
    FileMicrophone: ("open", "devices"),
    FileStream: ("close",),
    SilentPlayer: ("load", "play", "close"),
    LocalService: ("start", "stop", "encryption"),
    ServiceKeyStore: ("open", "create", "unlock", "recover", "change_passphrase", "recovery_was_offered"),
    EncryptedVault: ("get", "set", "delete"),
}
"""The keyring, the sound devices and the service on this computer, real ones and those of the tests."""
NO_INPUT_OR_OUTPUT = {
    "os.putenv",
    "os.unsetenv",
    "socket.__new__",  # the call that connects or binds it is reported
    "sqlite3.enable_load_extension",
    "sqlite3.load_extension",
}
ALLOWED = {
    ("threading.py", "start"): "waits until the new thread runs, which needs no device",
    ("feature.py", "feature_imported"): "a part of an import: PySide looks at the source of every module",
    ("desk/flow/tasks.py", "join"): "called when the work of the task has ended and only the end of its thread is left",
    ("desk/shell/shipped_files.py", "load_shipped_files"): "called before the window is made",
    ("desk/shell/app.py", "_on_all_ended"): "the desk ends; nobody uses its window any more",
}
"""Calls that may be made on the GUI thread: file and function of a frame on the stack, and why."""
IMPORTING = "<frozen importlib"  # a page is imported when it is first opened; Python reads its files once


class GuiGuard:
    """Collects the blocking calls of the thread that makes it, from `arm` to `disarm`.

    Attributes:
        calls: what was called, and the end of the stack that called it.
        statements: how many SQL statements ran so far, on any thread.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._thread = threading.get_ident()
        self.statements = 0
        self._armed = False
        self._looking = False
        sys.addaudithook(self._on_event)
        self._wrap(threading.Condition, "wait", "wait for another thread")
        self._wrap(threading.Thread, "join", "wait for the end of a thread")
        self._wrap(time, "sleep", "sleep")
        self._wrap(httpx.Client, "send", "HTTP request")
        self._wrap(os, "stat", "os.stat")
        for adapter, names in ADAPTERS.items():
            for name in names:
                self._wrap(adapter, name, f"{adapter.__name__}.{name}")
        self._trace_statements()

    def arm(self) -> None:
        """Begin to collect."""
        self.calls = []
        self._armed = True

    def disarm(self) -> list[str]:
        """Stop; returns what was collected, as text."""
        self._armed = False
        calls, self.calls = self.calls, []
        return [f"{call}\n{stack}" for call, stack in calls]

    def note(self, call: str) -> None:
        """Report a call of this thread, unless it is allowed or not the desk's."""
        if not self._armed or self._looking or threading.get_ident() != self._thread:
            return
        self._looking = True
        try:
            frame = sys._getframe(1)
            if _is_the_desks(frame):
                self.calls.append((call, "".join(traceback.format_stack(frame)[-12:])))
        finally:
            self._looking = False

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._armed and event.startswith(EVENTS) and event not in NO_INPUT_OR_OUTPUT:
            self.note(f"{event} {arguments[:1]}")

    def _on_statement(self, statement: str) -> None:
        self.statements += 1
        self.note(f"SQL {statement[:80]}")

    def _trace_statements(self) -> None:
        run = encrypted_sqlite.Connection.execute

        @functools.wraps(run)
        def traced(connection: encrypted_sqlite.Connection, statement: str, *values: Any) -> Any:
            self._on_statement(statement)
            return run(connection, statement, *values)

        encrypted_sqlite.Connection.execute = traced  # type: ignore[method-assign]
        self._wrap(encrypted_sqlite.Connection, "__init__", "open a database")

    def _wrap(self, owner: Any, name: str, call: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(original)
        def guarded(*arguments: Any, **options: Any) -> Any:
            self.note(call)
            return original(*arguments, **options)

        setattr(owner, name, guarded)


def _is_the_desks(frame: FrameType | None) -> bool:
    desk = False
    while frame is not None:
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        if file.startswith(IMPORTING) or any(
            function == allowed and file.endswith(f"/{name}") for name, allowed in ALLOWED
        ):
            return False
        desk = desk or (file.startswith(DESK) and isinstance(frame.f_locals.get("self"), QObject))
        frame = frame.f_back
    return desk
