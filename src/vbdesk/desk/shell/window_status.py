"""Texts of status bar and sidebar."""

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from vbdesk.client.local_service import LocalEncryption
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.sync.connectivity import ConnectivityState, SyncStatus


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """The connection to the service: text, icon and colour token."""

    words: str
    icon: str
    ink: str


def connection(status: SyncStatus) -> ConnectionStatus:
    """The connection as the status bar shows it."""
    if status.on_hold is not None:
        return ConnectionStatus(_HOLDS.get(status.on_hold, "Needs attention"), "warning", "warn")
    if status.connected:
        return ConnectionStatus("Connected", "check", "ok")
    if status.connected is None:
        return ConnectionStatus(status.sentence.rstrip(".") or "Connecting", "clock", "text2")
    return ConnectionStatus(_CUTS.get(status.connectivity, "Not connected, recordings wait here"), "cloud-off", "warn")


_HOLDS = {
    Fix.ENTER_KEY: "The API key is not accepted",
    Fix.ADD_CREDITS: "Out of credits",
    Fix.SET_CLOCK: "This computer's clock is wrong",
    Fix.UNLOCK_KEYRING: "No key from the keyring",
    Fix.MAKE_ROOM: "The disk takes no data",
}
_CUTS = {
    ConnectivityState.OFFLINE: "No network, recordings wait here",
    ConnectivityState.PORTAL: "The network asks for a login",
    ConnectivityState.NAME: "The service's name is not found",
    ConnectivityState.SERVICE_DOWN: "The service is down",
    ConnectivityState.SILENT: "The service does not answer",
    ConnectivityState.BROKEN_OFF: "The connection breaks off",
    ConnectivityState.TLS: "No secure connection",
    ConnectivityState.CLOCK: "No secure connection: check the clock",
    ConnectivityState.PROXY: "The network's proxy refuses",
    ConnectivityState.FOREIGN: "Something else answers there",
}


def moving_words(count: int, *, standing: bool = False) -> str:
    """Number of recordings in progress or, if the queue is stopped, waiting."""
    if count == 0:
        return ""
    if standing:
        return "1 recording waits" if count == 1 else f"{count:,} recordings wait"
    return "1 recording on its way" if count == 1 else f"{count:,} recordings on their way"


def credits_words(status: SyncStatus, profile: Profile) -> str:
    """The credit balance, with a word where it may be old; empty for the service on this computer, which is free."""
    if status.credits is None or profile.on_this_computer:
        return ""
    translate = QCoreApplication.translate
    if status.connected is False:
        one, several = translate("status", "Last known: 1 credit"), translate("status", "Last known: {count} credits")
    else:
        one, several = translate("status", "1 credit"), translate("status", "{count} credits")
    return one if status.credits == 1 else several.format(count=f"{status.credits:,}")


def profile_icon(profile: Profile) -> str:
    """Icon of a kind of profile."""
    return "laptop" if profile.kind == "local" else "server"


def profile_below(profile: Profile) -> str:
    """Text below a profile's name."""
    if profile.kind == "local":
        return "Analysed here"
    return profile.account_id


def encrypted_words(profile: Profile, encryption: LocalEncryption | None) -> tuple[str, str]:
    """How recordings are encrypted by the desk and the local service; text and icon.

    The desk encrypts from the first block on. Its service may still have unencrypted data of an earlier release; the
    text claims encryption only when the service reports that none is left.

    Args:
        profile: whose recordings.
        encryption: as the local service reports it; None for a remote service.
    """
    if encryption not in (None, LocalEncryption.COMPLETE):
        return _NOT_ENCRYPTED[encryption]
    if profile.secrets == "session":
        return "Encrypted, key for this session only", "lock"
    return "Recordings encrypted on this computer", "lock"


_NOT_ENCRYPTED = {
    LocalEncryption.UNKNOWN: ("The service has not said yet how it keeps recordings.", "clock"),
    LocalEncryption.UNDER_WAY: ("Encryption of the existing recordings is under way.", "clock"),
    LocalEncryption.OFF: ("The service on this computer keeps recordings without encryption.", "warning"),
}
