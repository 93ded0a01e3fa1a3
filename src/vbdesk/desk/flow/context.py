"""The ports of an open profile: what reads and commands may use on a worker."""

from dataclasses import dataclass

from vbdesk.clock import Clock
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.ports import AccountConnection, DeskPorts
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.results.repository import ResultRepository


@dataclass(frozen=True, eq=False)
class DeskContext:
    """What is open. Tests make it from in-memory ports.

    Attributes:
        profile: which service and account.
        library: its recordings.
        results: jobs, results and trajectories of the service.
        connection: the way to the account.
        sync: what the window knows of the queue.
        ports: everything beyond the process.
    """

    profile: Profile
    library: Library
    results: ResultRepository
    connection: AccountConnection
    sync: SyncState
    ports: DeskPorts

    @property
    def clock(self) -> Clock:
        """The clock."""
        return self.ports.clock

    def erased(self) -> int:
        """How often something was erased for good: what was read before must not be shown. Never blocks."""
        return self.library.erased
