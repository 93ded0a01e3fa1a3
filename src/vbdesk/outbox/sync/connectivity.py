"""How far the way to the service reaches, and in which words it is said."""

from dataclasses import dataclass
from enum import StrEnum

from vbdesk.client.errors import CaptivePortal, Cause, ClientError, ConnectionFailed, UnexpectedAnswer
from vbdesk.outbox.library.states import Fix


class Reach(StrEnum):
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
class CourierStatus:
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
    reach: Reach = Reach.UNKNOWN


@dataclass(frozen=True, slots=True)
class Way:
    """The way to the service as it was found last, with its sentence for a person."""

    reach: Reach
    sentence: str

    @property
    def connected(self) -> bool | None:
        """Whether the service answers; None before the first try."""
        return None if self.reach is Reach.UNKNOWN else self.reach is Reach.CONNECTED


UNTRIED = Way(Reach.UNKNOWN, "Not connected yet.")
CONNECTED = Way(Reach.CONNECTED, "Connected.")
NO_NETWORK = Way(
    Reach.OFFLINE, "This computer has no network. Recordings wait here and go on by themselves when it is back."
)
PORTAL = Way(
    Reach.PORTAL,
    "The network asks you to log in first. Open a web page and log in; recordings wait and go on by themselves.",
)

_REACHES = {
    Cause.OFFLINE: Reach.OFFLINE,
    Cause.NAME: Reach.NAME,
    Cause.REFUSED: Reach.SERVICE_DOWN,
    Cause.TIMED_OUT: Reach.SILENT,
    Cause.BROKEN_OFF: Reach.BROKEN_OFF,
    Cause.TLS: Reach.TLS,
    Cause.TLS_CLOCK: Reach.CLOCK,
    Cause.PROXY: Reach.PROXY,
}


def way_of(error: ClientError) -> Way:
    """Where the way to the service ended when a request met `error`."""
    match error:
        case CaptivePortal():
            return PORTAL
        case ConnectionFailed():
            reach = _REACHES[error.cause]
        case UnexpectedAnswer():
            reach = Reach.FOREIGN
        case _:
            reach = Reach.SERVICE_DOWN
    return Way(reach, f"{error.sentence} Recordings wait and go on by themselves.")
