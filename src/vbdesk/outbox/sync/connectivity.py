"""How far the way to the service reaches, and in which words it is said."""

from dataclasses import dataclass
from enum import StrEnum

from vbdesk.client.errors import CaptivePortal, ClientError, ConnectionFailed, FailureCause, UnexpectedAnswer
from vbdesk.outbox.library.states import Fix


class ConnectivityState(StrEnum):
    """Where the way to the service ends."""

    UNKNOWN = "unknown"  # not tried yet
    CONNECTED = "connected"
    OFFLINE = "offline"  # this computer has no network
    PORTAL = "portal"  # a login page of the network is in between
    NAME = "name"  # the service's name is not found
    SERVICE_DOWN = "service_down"  # its computer refuses, or it says itself that it cannot
    SILENT = "silent"  # connected, and no answer in time
    BROKEN_OFF = "broken_off"  # the connection ended in the middle
    TLS = "tls"  # no secure connection
    CLOCK = "clock"  # no secure connection, because of this computer's clock
    PROXY = "proxy"  # the proxy of the network does not let it through
    FOREIGN = "foreign"  # something else answers at the address


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """How the line as a whole is.

    Attributes:
        connected: whether the service answered last; None before the first try.
        sentence: for the status bar.
        on_hold: what a person must do before anything moves; None when nothing.
        credits: the account's balance as last heard; None if never.
        reach: where the way to the service ends.
    """

    connected: bool | None
    sentence: str
    on_hold: Fix | None
    credits: int | None
    reach: ConnectivityState = ConnectivityState.UNKNOWN


@dataclass(frozen=True, slots=True)
class Connectivity:
    """The way to the service as it was found last, with its sentence for a person."""

    reach: ConnectivityState
    sentence: str

    @property
    def connected(self) -> bool | None:
        """Whether the service answers; None before the first try."""
        return None if self.reach is ConnectivityState.UNKNOWN else self.reach is ConnectivityState.CONNECTED


UNTRIED = Connectivity(ConnectivityState.UNKNOWN, "Not connected yet.")
CONNECTED = Connectivity(ConnectivityState.CONNECTED, "Connected.")
NO_NETWORK = Connectivity(
    ConnectivityState.OFFLINE,
    "This computer has no network. Recordings wait here and go on by themselves when it is back.",
)
PORTAL = Connectivity(
    ConnectivityState.PORTAL,
    "The network asks you to log in first. Open a web page and log in; recordings wait and go on by themselves.",
)

_REACHES = {
    FailureCause.OFFLINE: ConnectivityState.OFFLINE,
    FailureCause.NAME: ConnectivityState.NAME,
    FailureCause.REFUSED: ConnectivityState.SERVICE_DOWN,
    FailureCause.TIMED_OUT: ConnectivityState.SILENT,
    FailureCause.BROKEN_OFF: ConnectivityState.BROKEN_OFF,
    FailureCause.TLS: ConnectivityState.TLS,
    FailureCause.TLS_CLOCK: ConnectivityState.CLOCK,
    FailureCause.PROXY: ConnectivityState.PROXY,
}


def connectivity_after(error: ClientError) -> Connectivity:
    """Where the way to the service ended when a request met `error`."""
    match error:
        case CaptivePortal():
            return PORTAL
        case ConnectionFailed():
            reach = _REACHES[error.cause]
        case UnexpectedAnswer():
            reach = ConnectivityState.FOREIGN
        case _:
            reach = ConnectivityState.SERVICE_DOWN
    return Connectivity(reach, f"{error.sentence} Recordings wait and go on by themselves.")
