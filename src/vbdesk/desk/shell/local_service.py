"""Keeps the local service running without blocking the window."""

import threading

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.client.local_service import Endpoint, LocalEncryption
from vbdesk.desk.flow.tasks import Failure, LongLived, TaskContext, TaskOwner
from vbdesk.desk.ports import RunningService
from vbdesk.language import message, message_of

_CHECK_INTERVAL_MS = 1000
_RESTART_DELAYS_MS = (1000, 2000, 4000, 8000, 16000)
_STOP_S = 4.0
_ENCRYPTING_MS = 3000


class LocalServiceProcess(QObject):
    """Starts the child process, restarts it when it exits, and stops it with the window.

    Signals:
        ready: (str) its address; different after every start.
        failed: (Message) why it did not start; a retry follows.
        encryption_changed: (Encryption) the reported encryption of its data changed.
    """

    ready = Signal(str)
    failed = Signal(object)
    encryption_changed = Signal(object)

    def __init__(self, service: RunningService, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._service = service
        self._tasks = tasks
        self._failures = 0
        self._encryption = LocalEncryption.UNKNOWN
        self._ending: LongLived | None = None
        self._check_timer = QTimer(self)
        self._check_timer.setInterval(_CHECK_INTERVAL_MS)
        self._check_timer.timeout.connect(self._look_after)
        self._retry_timer = QTimer(self)
        self._retry_timer.setSingleShot(True)
        self._retry_timer.timeout.connect(self.start)
        self._encrypting = QTimer(self)
        self._encrypting.setSingleShot(True)
        self._encrypting.setInterval(_ENCRYPTING_MS)
        self._encrypting.timeout.connect(self._ask_of_encryption)

    @Slot()
    def start(self) -> None:
        """Start the child; `ready` follows."""
        if self._ending is None:
            self._tasks.start(self._start_child, self._on_ready, self._on_failed, name="local-service")

    def ask_to_stop(self) -> None:
        """Stop the child in the background."""
        self._check_timer.stop()
        self._retry_timer.stop()
        self._encrypting.stop()
        if self._ending is None:
            self._ending = LongLived(self._stop_child, _nothing, "local-service-end")
            self._ending.start()

    def alive(self) -> bool:
        """Whether the child is still stopping."""
        return self._ending is not None and self._ending.alive()

    def _start_child(self, context: TaskContext) -> Endpoint:
        return self._service.start()

    def _stop_child(self, stop: threading.Event) -> None:
        self._service.stop(_STOP_S)

    @Slot(object)
    def _on_ready(self, endpoint: Endpoint) -> None:
        if self._ending is not None:
            return  # stop was requested during the start
        self._failures = 0
        self._check_timer.start()
        self.ready.emit(endpoint.base_url)
        self._ask_of_encryption()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        if self._ending is not None:
            return
        self.failed.emit(message_of(failure.error))
        self._try_again()

    @Slot()
    def _look_after(self) -> None:
        if self._service.poll() is not None:
            self._check_timer.stop()
            self._encrypting.stop()
            self._tell_encryption(LocalEncryption.UNKNOWN)
            self.failed.emit(
                message("The service on this computer stopped. It is being started again; nothing is lost.")
            )
            self._try_again()

    @Slot()
    def _ask_of_encryption(self) -> None:
        """Ask the service until everything is encrypted, or until it is clear that nothing will be."""
        self._tasks.start(self._read_encryption, self._on_encryption, name="local-encryption")

    def _read_encryption(self, context: TaskContext) -> LocalEncryption:
        return self._service.encryption()

    @Slot(object)
    def _on_encryption(self, found: LocalEncryption) -> None:
        if self._ending is not None or not self._check_timer.isActive():
            return  # from a service that has exited
        self._tell_encryption(found)
        if found in (LocalEncryption.UNKNOWN, LocalEncryption.UNDER_WAY):
            self._encrypting.start()

    def _tell_encryption(self, found: LocalEncryption) -> None:
        if found is not self._encryption:
            self._encryption = found
            self.encryption_changed.emit(found)

    def _try_again(self) -> None:
        if self._ending is None:
            delay = _RESTART_DELAYS_MS[min(self._failures, len(_RESTART_DELAYS_MS) - 1)]
            self._failures += 1
            self._retry_timer.start(delay)


def _nothing() -> None:
    """Do nothing."""
