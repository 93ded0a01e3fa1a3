"""Texts of status bar and sidebar."""

from dataclasses import dataclass

from vbdesk.client.local_service import LocalEncryption
from vbdesk.language import N_, _, ngettext, translated
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.sync.connectivity import ConnectivityState, SyncStatus


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """The connection to the service: text, icon and colour token."""

    text: str
    icon: str
    ink: str


def connection(status: SyncStatus) -> ConnectionStatus:
    """The connection as the status bar shows it."""
    if status.on_hold is not None:
        return ConnectionStatus(_(_HOLDS.get(status.on_hold, N_("Needs attention"))), "warning", "warn")
    if status.connected:
        return ConnectionStatus(_("Connected"), "check", "ok")
    if status.connected is None:
        return ConnectionStatus(translated(status.sentence).rstrip(".") or _("Connecting"), "clock", "text2")
    cut = _CUTS.get(status.connectivity, N_("Not connected, recordings wait here"))
    return ConnectionStatus(_(cut), "cloud-off", "warn")


_HOLDS = {
    Fix.ENTER_KEY: N_("The API key is not accepted"),
    Fix.ADD_CREDITS: N_("Out of credits"),
    Fix.SET_CLOCK: N_("This computer's clock is wrong"),
    Fix.UNLOCK_KEYRING: N_("No key from the keyring"),
    Fix.MAKE_ROOM: N_("The disk takes no data"),
}
_CUTS = {
    ConnectivityState.OFFLINE: N_("No network, recordings wait here"),
    ConnectivityState.PORTAL: N_("The network asks for a login"),
    ConnectivityState.NAME: N_("The service's name is not found"),
    ConnectivityState.SERVICE_DOWN: N_("The service is down"),
    ConnectivityState.SILENT: N_("The service does not answer"),
    ConnectivityState.BROKEN_OFF: N_("The connection breaks off"),
    ConnectivityState.TLS: N_("No secure connection"),
    ConnectivityState.CLOCK: N_("No secure connection: check the clock"),
    ConnectivityState.PROXY: N_("The network's proxy refuses"),
    ConnectivityState.FOREIGN: N_("Something else answers there"),
}


def moving_text(count: int, *, stopped: bool = False) -> str:
    """Number of recordings in progress or, if the queue is stopped, waiting."""
    if count == 0:
        return ""
    if stopped:
        return ngettext("{count:,} recording waits", "{count:,} recordings wait", count)
    return ngettext("{count:,} recording on its way", "{count:,} recordings on their way", count)


def credits_text(status: SyncStatus, profile: Profile) -> str:
    """The credit balance, with a word where it may be old; empty for the service on this computer, which is free."""
    if status.credits is None or profile.on_this_computer:
        return ""
    if status.connected is False:
        return ngettext("Last known: {count:,} credit", "Last known: {count:,} credits", status.credits)
    return ngettext("{count:,} credit", "{count:,} credits", status.credits)


def profile_icon(profile: Profile) -> str:
    """Icon of a kind of profile."""
    return "laptop" if profile.kind == "local" else "server"


def profile_below(profile: Profile) -> str:
    """Text below a profile's name."""
    if profile.kind == "local":
        return _("Analysed here")
    return profile.account_id


def encrypted_text(profile: Profile, encryption: LocalEncryption | None) -> tuple[str, str]:
    """How recordings are encrypted by the desk and the local service; text and icon.

    The desk encrypts from the first block on. Its service may still have unencrypted data of an earlier release; the
    text claims encryption only when the service reports that none is left.

    Args:
        profile: whose recordings.
        encryption: as the local service reports it; None for a remote service.
    """
    if encryption not in (None, LocalEncryption.COMPLETE):
        text, icon = _NOT_ENCRYPTED[encryption]
        return _(text), icon
    if profile.secrets == "session":
        return _("Encrypted, key for this session only"), "lock"
    return _("Recordings encrypted on this computer"), "lock"


_NOT_ENCRYPTED = {
    LocalEncryption.UNKNOWN: (N_("The service has not said yet how it keeps recordings."), "clock"),
    LocalEncryption.UNDER_WAY: (N_("Encryption of the existing recordings is under way."), "clock"),
    LocalEncryption.OFF: (N_("The service on this computer keeps recordings without encryption."), "warning"),
}
