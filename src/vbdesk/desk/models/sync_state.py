"""What the window knows of the library and the sync worker, with a signal for each change."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.outbox.library.settings import LibrarySettings
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.sync.connectivity import CourierStatus
from vbdesk.outbox.sync.network import Network


class SyncState(QObject):
    """Counts, settings and status as last read. The workspace sets them; pages and view models read them.

    Attributes:
        network: what the operating system knows of the network.
        status: connection, credits, and what holds the queue.
        counts, settings: how many recordings are in each state, and the settings of the library.

    Signals:
        library_changed: a recording changed; at most five times a second.
        results_changed: (str) a subject has a newer trajectory; its group id.
        counts_changed: (dict[OutboxState, int]) how many recordings are in each state.
        status_changed: (CourierStatus) `status` changed.
        network_changed: the network changed.
    """

    library_changed = Signal()
    results_changed = Signal(str)
    counts_changed = Signal(object)
    status_changed = Signal(object)
    network_changed = Signal()

    def __init__(self, network: Network, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.network = network
        self.status = CourierStatus(None, "Connecting", None, None)
        self.counts: dict[OutboxState, int] = dict.fromkeys(OutboxState, 0)
        self.settings = LibrarySettings()

    @property
    def on_their_way(self) -> int:
        """How many recordings are on their way to a result."""
        return sum(self.counts[state] for state in ON_THEIR_WAY)

    @property
    def need_attention(self) -> int:
        """How many recordings wait for a person."""
        return self.counts[OutboxState.NEEDS_ATTENTION]

    @property
    def stopped(self) -> bool:
        """Whether nothing is sent now: paused, on hold, or not connected."""
        return self.settings.paused or self.status.on_hold is not None or self.status.connected is False

    def set_counts(self, counts: dict[OutboxState, int], settings: LibrarySettings) -> None:
        """Take over what was read from the library."""
        self.counts, self.settings = counts, settings
        self.counts_changed.emit(counts)

    @Slot(object)
    def set_status(self, status: CourierStatus) -> None:
        """Take over what the sync worker says."""
        self.status = status
        self.status_changed.emit(status)
