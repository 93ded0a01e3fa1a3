"""One desk at a time in a data folder: a later start hands its file to the open desk, and ends."""

import getpass
import hashlib
import logging
import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from vbdesk.language import message
from vbdesk.privacy import FILE_MODE, make_private

_LOCK, _SOCKET = "desk.lock", "desk.socket"
_LONGEST_PATH = 8192  # bytes of UTF-8
_MOST_CALLERS = 8
_CALL_MS = 2000
_END_OF_OTHER_S = 3.0
_UNDERSTOOD = b"1"

log = logging.getLogger(__name__)


class AlreadyOpen(Exception):
    """Another desk has the data folder; `str(error)` is one sentence for a person.

    Attributes:
        handed_over: whether that desk opens the file that this start was given.
    """

    def __init__(self, sentence: str, *, handed_over: bool = False) -> None:
        super().__init__(sentence)
        self.handed_over = handed_over


@contextmanager
def claimed(folder: Path, file: Path | None = None) -> Iterator["LaterStarts"]:
    """Claim a data folder as its only desk, and listen to later starts until the block ends.

    If another desk has the folder, hand `file` over; that takes some seconds if it does not answer. A lock decides
    which desk is the first. The system releases it when a process ends, so a socket that a crash left behind blocks
    nothing. Where files cannot be locked, each desk is the first.

    Raises:
        AlreadyOpen: another desk has the folder.
    """
    later_starts, lock = LaterStarts(), _locked(folder, file)
    if lock is not None:
        later_starts.listen(folder)
    try:
        yield later_starts
    finally:
        later_starts.stop_listening()
        if lock is not None:
            lock.release()


def _locked(folder: Path, file: Path | None) -> FileLock | None:
    lock = FileLock(folder / _LOCK, mode=FILE_MODE, thread_local=False, is_singleton=False)
    try:
        make_private(folder)
        with suppress(Timeout):
            return lock.acquire(timeout=0).lock
        if _call(_address(folder), file):
            raise _already_open(folder, file)
        return lock.acquire(timeout=_END_OF_OTHER_S).lock  # the other desk may be closing
    except Timeout:
        raise _already_open(folder, None) from None
    except (OSError, NotImplementedError) as error:
        log.warning("desk_lock_failed: %s", type(error).__name__)
        return None


class LaterStarts(QObject):
    """The socket on which later starts reach this desk. It belongs to this user, and takes nothing but a path.

    Signals:
        asked: (str) vbdesk was started again, with this file; empty without one.
    """

    asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._callers: list[_Caller] = []
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)

    def listen(self, folder: Path) -> None:
        """Listen, in place of a desk that has ended."""
        address = _address(folder)
        QLocalServer.removeServer(address)
        if not self._server.listen(address):
            log.warning("desk_socket_failed: %s", self._server.serverError())

    @Slot()
    def stop_listening(self) -> None:
        """Answer no later start any more: this desk closes."""
        self._server.close()

    @Slot()
    def _on_connection(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            if len(self._callers) >= _MOST_CALLERS:
                socket.abort()
                socket.deleteLater()
                continue
            caller = _Caller(socket, self)
            caller.asked.connect(self.asked)
            caller.ended.connect(self._on_ended)
            self._callers.append(caller)
            caller.read()

    @Slot(object)
    def _on_ended(self, caller: "_Caller") -> None:
        if caller in self._callers:
            self._callers.remove(caller)
            caller.deleteLater()


class _Caller(QObject):
    """A later start. Anything but one path is refused, and nothing is waited for.

    Signals:
        asked: (str) the path, or nothing.
        ended: (_Caller) it is gone.
    """

    asked = Signal(str)
    ended = Signal(object)

    def __init__(self, socket: QLocalSocket, parent: QObject) -> None:
        super().__init__(parent)
        self._socket, self._done = socket, False
        socket.setParent(self)
        socket.setReadBufferSize(_LONGEST_PATH + 1)
        socket.readyRead.connect(self.read)
        socket.disconnected.connect(self._on_disconnected)
        deadline = QTimer(self)
        deadline.setSingleShot(True)
        deadline.timeout.connect(self._drop)
        deadline.start(_CALL_MS)

    @Slot()
    def read(self) -> None:
        """Read what has arrived."""
        arrived = bytes(self._socket.peek(_LONGEST_PATH + 1).data())
        request, end, _rest = arrived.partition(b"\0")
        if self._done or (not end and len(arrived) <= _LONGEST_PATH):
            return
        path = _path_in(request) if end else None
        if path is None:
            self._drop()
            return
        self._done = True
        self._socket.write(_UNDERSTOOD)
        self._socket.flush()
        self.asked.emit(path)

    @Slot()
    def _drop(self) -> None:
        self._socket.abort()

    @Slot()
    def _on_disconnected(self) -> None:
        self.ended.emit(self)


def _path_in(request: bytes) -> str | None:
    """An absolute path, or an empty text; None if it is neither."""
    try:
        path = request.decode()
    except UnicodeDecodeError:
        return None
    if any(unicodedata.category(sign) == "Cc" for sign in path):
        return None
    return path if not path or Path(path).is_absolute() else None


def _call(address: str, file: Path | None) -> bool:
    """Hand a file to the open desk, or ask it to come to the front; whether it answered."""
    socket = QLocalSocket()
    socket.connectToServer(address)
    try:
        if not socket.waitForConnected(_CALL_MS):
            return False
        socket.write(b"" if file is None else str(file).encode(errors="surrogateescape"))
        socket.write(b"\0")
        return socket.waitForReadyRead(_CALL_MS) and bytes(socket.readAll().data()) == _UNDERSTOOD
    finally:
        socket.abort()


def _address(folder: Path) -> str:
    """The name of the socket: in the folder, which only its owner may read; on Windows that of a pipe."""
    if sys.platform == "win32":
        owned = f"{os.path.normcase(folder.resolve())}\0{getpass.getuser()}"
        return f"vbdesk-{hashlib.sha256(owned.encode()).hexdigest()}"
    return str(folder / _SOCKET)


def _already_open(folder: Path, file: Path | None) -> AlreadyOpen:
    if file is None:
        return AlreadyOpen(message("vbdesk is already open with the recordings in {folder}.", folder=folder))
    return AlreadyOpen(
        message("{file} is opened in the window of vbdesk that was open already.", file=file), handed_over=True
    )
