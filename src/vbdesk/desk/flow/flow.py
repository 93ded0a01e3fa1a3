"""The reads and commands of the program and of an open profile, and what makes reads old that no command changed."""

from typing import cast

from PySide6.QtCore import QObject, Slot

from vbdesk.desk.flow.commands import Commands
from vbdesk.desk.flow.context import DeskContext, ProgramContext
from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.flow.reads import Reads
from vbdesk.desk.flow.screen import Screen
from vbdesk.desk.flow.service_erasures import ServiceErasures
from vbdesk.desk.flow.tasks import TaskOwner
from vbdesk.desk.flow.topics import Changed, SubjectTopic
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.sync.connectivity import SyncStatus


class ProgramFlow(QObject):
    """What needs no open profile. Every method belongs to the GUI thread, and none waits.

    Attributes:
        ports: everything beyond the process.
        reads: shared by all pages.
        commands: the one writer.
        tasks: the owner of all tasks; its own if none is given.
    """

    def __init__(self, context: ProgramContext, tasks: TaskOwner | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.ports, self.tasks = context.ports, tasks or TaskOwner(self)
        given = cast(DeskContext, context)  # what is read and done without a profile takes a ProgramContext
        self.reads = Reads(given, self.tasks, self)
        self.commands = Commands(given, self.tasks, self.reads, self)

    def screen(self, parent: QObject) -> Screen:
        """A screen of a page, which shows nothing yet."""
        return Screen(self.reads, self.commands, parent)


class Flow(ProgramFlow):
    """Made once for each open profile.

    Attributes:
        context: what is open.
        navigator: to ask for another page.
        erasures: erases at the service on this computer what was removed here; None for a service elsewhere.
    """

    def __init__(self, context: DeskContext, tasks: TaskOwner, parent: QObject | None = None) -> None:
        super().__init__(context, tasks, parent)
        self.context, self.navigator = context, Navigator(self)
        self.erasures = None if context.library.erasures is None else ServiceErasures(self.commands, self)
        self._done: int | None = None  # finished recordings; not counted yet
        self._cut = False
        sync = context.sync
        sync.library_changed.connect(self._on_library)
        sync.results_changed.connect(self._on_results)
        sync.counts_changed.connect(self._on_counts)
        sync.status_changed.connect(self._on_status)
        sync.network_changed.connect(self._on_network)

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
            if self._cut:
                self.reads.announce({Changed.CONNECTED})
        self._cut = status.connected is False

    @Slot()
    def _on_network(self) -> None:
        self.reads.refresh({Changed.STATUS})
