"""What the operating system knows about the network, so that hopeless requests are not tried."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class NetworkState:
    """The network as the operating system sees it; None where it does not know.

    Attributes:
        reachable: whether this computer has any network.
        behind_portal: whether a login page blocks the network.
        metered: whether traffic costs by volume.
    """

    reachable: bool | None = None
    behind_portal: bool = False
    metered: bool | None = None


class Network(Protocol):
    """The network of this computer; read from any thread at every step of the sync worker."""

    def state(self) -> NetworkState:
        """The present state. Cheap; never blocks."""
        ...


class UnknownNetwork:
    """Knows nothing, so everything is tried: an unsupported system, or a service on this computer."""

    def state(self) -> NetworkState:
        """All unknown."""
        return NetworkState()


class ManualNetwork:
    """A network for tests: `now` sets its state."""

    def __init__(self, state: NetworkState | None = None) -> None:
        self.now = state or NetworkState(reachable=True, metered=False)

    def state(self) -> NetworkState:
        """The state in `now`."""
        return self.now
