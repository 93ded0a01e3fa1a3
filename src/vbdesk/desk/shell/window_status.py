"""What the frame of the window says, in words."""

from dataclasses import dataclass

from vbdesk.client.local_service import Encryption
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.sync.connectivity import CourierStatus, Reach


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """The way to the service: words, icon and colour token."""

    words: str
    icon: str
    ink: str


def connection(status: CourierStatus) -> ConnectionStatus:
    """The connection as the status bar shows it."""
    if status.on_hold is not None:
        return ConnectionStatus(_HOLDS.get(status.on_hold, "Needs attention"), "warning", "warn")
    if status.connected:
        return ConnectionStatus("Connected", "check", "ok")
    if status.connected is None:
        return ConnectionStatus(status.sentence.rstrip(".") or "Connecting", "clock", "text2")
    return ConnectionStatus(_CUTS.get(status.reach, "Not connected, recordings wait here"), "cloud-off", "warn")


_HOLDS = {
    Fix.ENTER_KEY: "The API key is not accepted",
    Fix.ADD_CREDITS: "Out of credits",
    Fix.SET_CLOCK: "This computer's clock is wrong",
    Fix.UNLOCK_KEYRING: "No key from the keyring",
    Fix.MAKE_ROOM: "The disk takes no data",
}
_CUTS = {
    Reach.OFFLINE: "No network, recordings wait here",
    Reach.PORTAL: "The network asks for a login",
    Reach.NAME: "The service's name is not found",
    Reach.SERVICE_DOWN: "The service is down",
    Reach.SILENT: "The service does not answer",
    Reach.BROKEN_OFF: "The connection breaks off",
    Reach.TLS: "No secure connection",
    Reach.CLOCK: "No secure connection: check the clock",
    Reach.PROXY: "The network's proxy refuses",
    Reach.FOREIGN: "Something else answers there",
}


def moving_words(count: int, *, standing: bool = False) -> str:
    """How many recordings are on their way; where the line stands, how many wait."""
    if count == 0:
        return ""
    if standing:
        return "1 recording waits" if count == 1 else f"{count:,} recordings wait"
    return "1 recording on its way" if count == 1 else f"{count:,} recordings on their way"


def credits_words(credits_left: int | None, profile: Profile) -> str:
    """What is left to spend; nothing is bought on this computer's own service."""
    if credits_left is None or profile.kind == "local":
        return ""
    return "1 credit" if credits_left == 1 else f"{credits_left:,} credits"


def profile_icon(profile: Profile) -> str:
    """Icon of a kind of profile."""
    return "laptop" if profile.kind == "local" else "server"


def profile_below(profile: Profile) -> str:
    """What stands below a profile's name."""
    if profile.kind == "local":
        return "Analysed here"
    return profile.account_id


def encrypted_words(profile: Profile, encryption: Encryption | None) -> tuple[str, str]:
    """How recordings are kept on this computer, by the desk alone or by its own service too; words and icon.

    The desk encrypts from the first block on. Its service may still have data of an earlier release to encrypt, and
    until it says that nothing is left, no words claim it.

    Args:
        profile: whose recordings.
        encryption: what the service on this computer says; None for a service elsewhere.
    """
    if encryption not in (None, Encryption.COMPLETE):
        return _NOT_ENCRYPTED[encryption]
    if profile.secrets == "session":
        return "Encrypted, key for this session only", "lock"
    return "Recordings encrypted on this computer", "lock"


_NOT_ENCRYPTED = {
    Encryption.UNKNOWN: ("The service has not said yet how it keeps recordings.", "clock"),
    Encryption.UNDER_WAY: ("Encryption of the existing recordings is under way.", "clock"),
    Encryption.OFF: ("The service on this computer keeps recordings without encryption.", "warning"),
}
