"""What the operating system knows of the network, so that nothing is tried where nothing can come of it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class NetworkState:
    """The network as the operating system sees it; None where it does not know.

    Attributes:
        reachable: whether there is any way out of this computer.
        behind_portal: a login page stands before everything else.
        metered: whether the way out costs by volume.
    """

    reachable: bool | None = None
    behind_portal: bool = False
    metered: bool | None = None


class Network(Protocol):
    """The network of this computer; asked from any thread, at every step of the courier."""

    def state(self) -> NetworkState:
        """As it is now. Cheap; never blocks."""
        ...


class UnknownNetwork:
    """A system that tells nothing, or a service on this computer, which needs no network: everything is tried."""

    def state(self) -> NetworkState:
        """Nothing is known."""
        return NetworkState()


class ManualNetwork:
    """A network that is as it was told to be."""

    def __init__(self, state: NetworkState | None = None) -> None:
        self.now = state or NetworkState(reachable=True, metered=False)

    def state(self) -> NetworkState:
        """As told."""
        return self.now
