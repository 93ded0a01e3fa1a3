"""The reads and commands of an open profile, and what makes reads old that no command changed."""

from PySide6.QtCore import QObject, Slot

from vbdesk.desk.flow.commands import Commands
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Reads
from vbdesk.desk.flow.screen import Screen
from vbdesk.desk.flow.tasks import TaskOwner
from vbdesk.desk.flow.topics import Changed, SubjectTopic
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.sync.connectivity import SyncStatus


class Flow(QObject):
    """Made once for each open profile. Every method belongs to the GUI thread, and none waits.

    Attributes:
        context: the ports.
        reads: shared by all pages.
        commands: the one writer.
    """

    def __init__(self, context: DeskContext, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.context = context
        self.reads = Reads(context, tasks, self)
        self.commands = Commands(context, tasks, self.reads, self)
        self._done: int | None = None  # finished recordings; not counted yet
        sync = context.sync
        sync.library_changed.connect(self._on_library)
        sync.results_changed.connect(self._on_results)
        sync.counts_changed.connect(self._on_counts)
        sync.status_changed.connect(self._on_status)
        sync.network_changed.connect(self._on_network)

    def screen(self, parent: QObject) -> Screen:
        """A screen of a page, which shows nothing yet."""
        return Screen(self.reads, self.commands, parent)

    @Slot()
    def _on_library(self) -> None:
        self.reads.refresh({Changed.LIBRARY})

    @Slot(str)
    def _on_results(self, group_id: str) -> None:
        self.reads.refresh({SubjectTopic(group_id), Changed.TRAJECTORIES})

    @Slot(object)
    def _on_counts(self, counts: dict[OutboxState, int]) -> None:
        before, self._done = self._done, counts[OutboxState.DONE]
        if before not in (None, self._done):
            self.reads.announce({Changed.ARRIVED})

    @Slot(object)
    def _on_status(self, status: SyncStatus) -> None:
        self.reads.refresh({Changed.STATUS})
        if status.connected:
            self.reads.ask_again()

    @Slot()
    def _on_network(self) -> None:
        self.reads.refresh({Changed.STATUS})
