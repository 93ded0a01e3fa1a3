"""What the window knows of the library and the sync worker, with a signal for each change."""

from dataclasses import replace
from enum import StrEnum

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.language import message
from vbdesk.outbox.library.settings import LibrarySettings, SendRule
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.sync.connectivity import SyncStatus
from vbdesk.outbox.sync.network import Network


class NextStep(StrEnum):
    """What a recording waits for that is queued now."""

    SENDING = "sending"  # nothing
    SERVICE = "service"  # the network or the service
    RESUME = "resume"  # sending is paused
    HAND = "hand"  # recordings are sent manually
    PERSON = "person"  # the queue is on hold: key, credits, clock, disk


class SyncState(QObject):
    """Counts, settings and status as last read. The workspace sets them; pages and view models read them.

    Attributes:
        network: what the operating system knows of the network.
        status: connection, credits, and what holds the queue.
        counts, settings: how many recordings are in each state, and the settings of the library.
        held_back: how many queued recordings the consent policy does not let go.

    Signals:
        library_changed: a recording changed; at most five times a second.
        results_changed: (str) a subject has a newer trajectory; its group id.
        counts_changed: (dict[OutboxState, int]) how many recordings are in each state.
        status_changed: (SyncStatus) `status` changed.
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
        self.status = SyncStatus(None, message("Connecting"), None, None)
        self.counts: dict[OutboxState, int] = dict.fromkeys(OutboxState, 0)
        self.settings = LibrarySettings()
        self.held_back = 0

    @property
    def on_their_way(self) -> int:
        """How many recordings are on their way to a result."""
        return sum(self.counts[state] for state in ON_THEIR_WAY) - self.held_back

    @property
    def need_attention(self) -> int:
        """How many recordings wait for a person."""
        return self.counts[OutboxState.NEEDS_ATTENTION] + self.held_back

    @property
    def stopped(self) -> bool:
        """Whether nothing is sent now: paused, on hold, or not connected."""
        return self.settings.paused or self.status.on_hold is not None or self.status.connected is False

    @property
    def next_step(self) -> NextStep:
        """What a recording waits for that is queued now."""
        if self.settings.paused:
            return NextStep.RESUME
        if self.status.on_hold is not None:
            return NextStep.PERSON
        if self.settings.send_rule is SendRule.BY_HAND:
            return NextStep.HAND
        return NextStep.SENDING if self.status.connected else NextStep.SERVICE

    def take_in_credits(self, balance: int) -> None:
        """Take over a balance that was read outside of the queue."""
        self.set_status(replace(self.status, credits=balance))

    def set_counts(self, counts: dict[OutboxState, int], settings: LibrarySettings, held_back: int = 0) -> None:
        """Take over what was read from the library."""
        self.counts, self.settings, self.held_back = counts, settings, held_back
        self.counts_changed.emit(counts)

    @Slot(object)
    def set_status(self, status: SyncStatus) -> None:
        """Take over what the sync worker says."""
        self.status = status
        self.status_changed.emit(status)
