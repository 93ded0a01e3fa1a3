"""Which results have arrived since the profile was opened."""

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.outbox.library.items import ItemFilter, RecordingItem
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState

_NOTHING = 2**62  # no version is later


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What has come between two readings.

    Attributes:
        version: of the library.
        moving: recordings on their way.
        came: recordings whose result has come since the reading before, the newest last.
    """

    version: int
    moving: frozenset[str]
    came: tuple[RecordingItem, ...] = ()


@dataclass(frozen=True)
class ArrivalsRead(Read[Arrivals]):
    """Recordings on their way, until they are done. Each reading goes on where the one before ended."""

    topics = frozenset({Changed.LIBRARY})

    def here(self, context: DeskContext, before: Arrivals | None, task: TaskContext) -> Arrivals:  # noqa: D102
        library = context.library
        if before is None:
            version = library.changes_since(_NOTHING).version
            return Arrivals(version, frozenset(item.take_id for item in library.list(ItemFilter(states=ON_THEIR_WAY))))
        changes = library.changes_since(before.version)
        came = [item for item in changes.items if item.state is OutboxState.DONE and item.take_id in before.moving]
        on_their_way = {item.take_id for item in changes.items if item.state in ON_THEIR_WAY}
        ended = {item.take_id for item in changes.items} - on_their_way
        return Arrivals(changes.version, (before.moving | on_their_way) - ended, tuple(came))


class ArrivedResults(QObject):
    """Announces results that have come. A library that cannot be read is reported by the pages that show it.

    Signals:
        arrived: (tuple[RecordingItem]) recordings whose result has just come, the newest last.
    """

    arrived = Signal(object)

    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self._announced = 0
        self._screen = flow.screen(self)
        self._screen.changed.connect(self._on_changed)
        self._screen.add(ArrivalsRead())

    @Slot()
    def _on_changed(self) -> None:
        found = self._screen.of(ArrivalsRead)
        if found.value is not None and found.version != self._announced:
            self._announced = found.version
            if found.value.came:
                self.arrived.emit(found.value.came)
