"""Whether the service is reachable, and the sentence that says so."""

from dataclasses import dataclass
from enum import StrEnum

from vbdesk.client.errors import CaptivePortal, ClientError, ConnectionFailed, FailureCause, UnexpectedAnswer
from vbdesk.language import N_, joined, message
from vbdesk.outbox.library.states import Fix


class ConnectivityState(StrEnum):
    """Why the service is reachable or not."""

    UNKNOWN = "unknown"  # not tried yet
    CONNECTED = "connected"
    OFFLINE = "offline"  # this computer has no network
    PORTAL = "portal"  # a login page of the network answers instead
    NAME = "name"  # the service's name is not found
    SERVICE_DOWN = "service_down"  # the host refuses, or the service reports an outage
    SILENT = "silent"  # connected, and no answer in time
    BROKEN_OFF = "broken_off"  # the connection ended in the middle
    TLS = "tls"  # no secure connection
    CLOCK = "clock"  # no secure connection, because of this computer's clock
    PROXY = "proxy"  # the proxy of the network does not let it through
    FOREIGN = "foreign"  # something else answers at the address


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """State of the upload queue as a whole.

    Attributes:
        connected: whether the service answered last; None before the first try.
        sentence: for the status bar.
        on_hold: what a person must do before sending continues; None if nothing.
        credits: the account's last known balance; None if never read.
        connectivity: whether the service is reachable, and if not, why.
    """

    connected: bool | None
    sentence: str
    on_hold: Fix | None
    credits: int | None
    connectivity: ConnectivityState = ConnectivityState.UNKNOWN


@dataclass(frozen=True, slots=True)
class Connectivity:
    """The last known connectivity, with a sentence for a person."""

    state: ConnectivityState
    sentence: str

    @property
    def connected(self) -> bool | None:
        """Whether the service answers; None before the first try."""
        return None if self.state is ConnectivityState.UNKNOWN else self.state is ConnectivityState.CONNECTED


UNTRIED = Connectivity(ConnectivityState.UNKNOWN, N_("Not connected yet."))
CONNECTED = Connectivity(ConnectivityState.CONNECTED, N_("Connected."))
NO_NETWORK = Connectivity(
    ConnectivityState.OFFLINE,
    N_("This computer has no network. Recordings wait here and continue automatically when it is back."),
)
PORTAL = Connectivity(
    ConnectivityState.PORTAL,
    N_("The network asks you to log in first. Open a web page and log in; recordings wait and continue automatically."),
)

_STATES = {
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
    """Connectivity after a request failed with `error`."""
    match error:
        case CaptivePortal():
            return PORTAL
        case ConnectionFailed():
            state = _STATES[error.cause]
        case UnexpectedAnswer():
            state = ConnectivityState.FOREIGN
        case _:
            state = ConnectivityState.SERVICE_DOWN
    return Connectivity(state, joined(error.reason, message("Recordings wait and continue automatically.")))
