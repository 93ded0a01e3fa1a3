"""What reads and commands may use on a worker: the ports of the program, and those of an open profile."""

from collections.abc import Callable
from dataclasses import dataclass

from vbdesk.capture.recorder import Recorder, Take
from vbdesk.clock import Clock
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.ports import AccountConnection, DeskPorts
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.results.repository import ResultRepository


@dataclass(frozen=True, eq=False)
class ProgramContext:
    """What there is without an open profile, too. Tests make it from in-memory ports.

    Attributes:
        ports: everything beyond the process.
    """

    ports: DeskPorts

    @property
    def clock(self) -> Clock:
        """The clock."""
        return self.ports.clock

    def erased(self) -> int:
        """How often something was erased for good: what was read before must not be shown. Never blocks."""
        return 0


@dataclass(frozen=True, eq=False)
class DeskContext(ProgramContext):
    """What is open.

    Attributes:
        profile: which service and account.
        library: its recordings.
        results: jobs, results and trajectories of the service.
        connection: the way to the account.
        sync: what the window knows of the queue.
        new_recorder: makes a recorder that calls its argument with every finished take.
    """

    profile: Profile
    library: Library
    results: ResultRepository
    connection: AccountConnection
    sync: SyncState
    new_recorder: Callable[[Callable[[Take], None]], Recorder]

    def erased(self) -> int:  # noqa: D102
        return self.library.erased
