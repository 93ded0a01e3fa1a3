"""Which results have arrived since the profile was opened."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.outbox.library.items import ItemFilter, RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState

_NOTHING = 2**62  # no version is later


class ArrivedResults(QObject):
    """Follows recordings on their way until they are done.

    Signals:
        arrived: (tuple[RecordingItem]) recordings whose result has just come, the newest last.
    """

    arrived = Signal(object)

    def __init__(self, library: Library, sync: SyncState, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._library = library
        self._reads = Lane(tasks, self)  # one after the other: each goes on where the one before ended
        self._version: int | None = None
        self._moving: set[str] = set()
        sync.library_changed.connect(self.look)

    @Slot()
    def look(self) -> None:
        """Read what has changed."""
        self._reads.run(self._read, self._on_read, self._on_failed, name="arrived-results")

    def _read(self, context: TaskContext) -> tuple[RecordingItem, ...]:
        if self._version is None:
            self._version = self._library.changes_since(_NOTHING).version
            self._moving = {item.take_id for item in self._library.list(ItemFilter(states=ON_THEIR_WAY))}
            return ()
        changes = self._library.changes_since(self._version)
        self._version = changes.version
        came = [item for item in changes.items if item.state is OutboxState.DONE and item.take_id in self._moving]
        self._moving |= {item.take_id for item in changes.items if item.state in ON_THEIR_WAY}
        self._moving -= {item.take_id for item in changes.items if item.state not in ON_THEIR_WAY}
        return tuple(came)

    @Slot(object)
    def _on_read(self, came: tuple[RecordingItem, ...]) -> None:
        if came:
            self.arrived.emit(came)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        """Say nothing: a library that cannot be read is reported by the pages that show it."""
