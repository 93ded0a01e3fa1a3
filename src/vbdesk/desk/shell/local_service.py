"""Keeps the local service running without blocking the window."""

from dataclasses import dataclass, field

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.client.local_service import Endpoint, LocalEncryption
from vbdesk.desk.flow.commands import Command, CommandOutcome, Done
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import LongLived, TaskContext
from vbdesk.desk.ports import RunningService
from vbdesk.language import message, message_of

_CHECK_INTERVAL_MS = 1000
_RESTART_DELAYS_MS = (1000, 2000, 4000, 8000, 16000)
_STOP_S = 4.0


@dataclass(frozen=True)
class _StartService(Command):
    """Start the child process. Finds its address."""

    service: RunningService
    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:
        return Done(found=self.service.start())


@dataclass(frozen=True)
class _EncryptionRead(Read[LocalEncryption]):
    """Whether a service that runs keeps its data encrypted; read until everything is, or nothing will be."""

    endpoint: Endpoint  # another one after each start
    service: RunningService = field(compare=False)
    topics = frozenset()
    cached = False
    refresh_every_s = 3.0

    def here(self, context: ProgramContext, before: object, task: TaskContext) -> LocalEncryption:
        return self.service.encryption()

    def moves(self, value: LocalEncryption) -> bool:
        return value in (LocalEncryption.UNKNOWN, LocalEncryption.UNDER_WAY)


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

    def __init__(self, service: RunningService, flow: ProgramFlow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._service = service
        self._screen = flow.screen(self)
        self._screen.ended.connect(self._on_ended)
        self._screen.changed.connect(self._on_encryption)
        self._failures = 0
        self._encryption = LocalEncryption.UNKNOWN
        self._ending: LongLived | None = None
        self._check_timer = QTimer(self)
        self._check_timer.setInterval(_CHECK_INTERVAL_MS)
        self._check_timer.timeout.connect(self._look_after)
        self._retry_timer = QTimer(self, singleShot=True)
        self._retry_timer.timeout.connect(self.start)

    @Slot()
    def start(self) -> None:
        """Start the child; `ready` follows."""
        self._screen.do(_StartService(self._service))

    def ask_to_stop(self) -> None:
        """Stop the child in the background."""
        self._check_timer.stop()
        self._retry_timer.stop()
        self._screen.clear()
        if self._ending is None:
            self._ending = LongLived(lambda stop: self._service.stop(_STOP_S), lambda: None, "local-service-end")
            self._ending.start()

    def alive(self) -> bool:
        """Whether the child is still stopping."""
        return self._ending is not None and self._ending.alive()

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.failure is not None:
            self.failed.emit(message_of(outcome.failure.error))
            self._try_again()
        elif isinstance(outcome.done.found, Endpoint):
            self._failures = 0
            self._check_timer.start()
            self.ready.emit(outcome.done.found.base_url)
            self._screen.show(_EncryptionRead(outcome.done.found, self._service))

    @Slot()
    def _look_after(self) -> None:
        if self._service.poll() is not None:
            self._check_timer.stop()
            self._screen.clear()
            self._tell_encryption(LocalEncryption.UNKNOWN)
            self.failed.emit(
                message("The service on this computer stopped. It is being started again; nothing is lost.")
            )
            self._try_again()

    @Slot()
    def _on_encryption(self) -> None:
        found = self._screen.of(_EncryptionRead).value
        if found is not None:
            self._tell_encryption(found)

    def _tell_encryption(self, found: LocalEncryption) -> None:
        if found is not self._encryption:
            self._encryption = found
            self.encryption_changed.emit(found)

    def _try_again(self) -> None:
        delay = _RESTART_DELAYS_MS[min(self._failures, len(_RESTART_DELAYS_MS) - 1)]
        self._failures += 1
        self._retry_timer.start(delay)
