"""The signs that can be requested individually: the service's list, cached for offline use."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.contract.catalog import Sign
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.flow.tasks import Failure, TaskContext, TaskOwner
from vbdesk.desk.ports import AccountConnection
from vbdesk.outbox.imports.offered_signs import OfferedSigns, every_service_has
from vbdesk.outbox.sync.connectivity import SyncStatus


class OfferedSignsViewModel(QObject):
    """The signs that the profile's service offers; read again when it becomes reachable.

    Attributes:
        signs: name and label of each, in the service's order.

    Signals:
        signs_changed: (tuple[Sign]) the signs changed.
    """

    signs_changed = Signal(object)

    def __init__(self, offered: OfferedSigns, sync: SyncState, connection: AccountConnection, tasks: TaskOwner) -> None:
        super().__init__()
        self.signs: tuple[Sign, ...] = every_service_has()
        self._offered, self._sync, self._connection, self._tasks = offered, sync, connection, tasks
        self._answered = False
        self._asking = False
        sync.status_changed.connect(self._on_status)

    def start(self) -> None:
        """Show the cached list, and read the current one if the service is reachable."""
        self._tasks.start(self._read, self._on_known, name="known-signs")
        self._on_status(self._sync.status)

    @Slot(object)
    def _on_status(self, status: SyncStatus) -> None:
        if not status.connected:
            self._answered = False
        elif not self._answered and not self._asking:
            self._asking = True
            self._tasks.start(self._ask, self._on_answer, self._on_failed, name="offered-signs")

    def _read(self, context: TaskContext) -> tuple[Sign, ...]:
        return self._offered.known()

    def _ask(self, context: TaskContext) -> tuple[Sign, ...]:
        with self._connection.client() as client:
            return self._offered.ask(client.signs)

    @Slot(object)
    def _on_known(self, signs: tuple[Sign, ...]) -> None:
        if not self._answered:
            self._show(signs)

    @Slot(object)
    def _on_answer(self, signs: tuple[Sign, ...]) -> None:
        self._answered, self._asking = True, False
        self._show(signs)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._asking = False  # keep the cached list; the status bar shows the service's error

    def _show(self, signs: tuple[Sign, ...]) -> None:
        if signs != self.signs:
            self.signs = signs
            self.signs_changed.emit(signs)
