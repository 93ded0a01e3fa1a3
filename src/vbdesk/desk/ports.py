"""What the desk reaches beyond its own process, each as a Protocol; tests pass in-memory implementations."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from vbdesk.capture.devices import DeviceLister, PortAudioLister
from vbdesk.capture.microphone import Microphone, PortAudioMicrophone
from vbdesk.capture.playback import Player, PortAudioPlayer
from vbdesk.client import Client, Credentials, RequestBudget, RetryRule
from vbdesk.client.fhir import FhirServer, StoredLogin
from vbdesk.client.local_service import Endpoint, LocalEncryption, LocalService, erase_recordings, make_account
from vbdesk.client.trial_delivery import send_trial_delivery
from vbdesk.client.update_notice import NoticeSource, VersionNotice, ask_for_notice
from vbdesk.clock import Clock, SystemClock
from vbdesk.desk.system_network import SystemNetwork
from vbdesk.desk.system_notification import notify_system
from vbdesk.desk.system_printer import PrintJob, SystemPrinters
from vbdesk.outbox.library.managed_policy import ManagedPolicy, read_policy
from vbdesk.outbox.library.pending_erasures import PendingErasure
from vbdesk.outbox.profiles.app_lock import LockableVault
from vbdesk.outbox.profiles.encrypted_vault import UnlockableVault
from vbdesk.outbox.profiles.vault import KeyringVault, MemoryVault, Vault
from vbdesk.outbox.sync.forecast import Forecast
from vbdesk.outbox.sync.network import Network


class AccountConnection(Protocol):
    """The way to one account of a service."""

    @property
    def budget(self) -> RequestBudget:
        """What may still be asked of the service; shared by everything that asks."""

    def client(self) -> Client:
        """A client within the budget. Blocks on the keyring; raises ConnectionFailed and VaultError."""

    def forecast(self) -> Forecast | None:
        """How long the queue will take; None where nothing can be said. From any thread."""

    def try_again(self) -> None:
        """Continue a queue on hold, and ask the keyring again."""

    def check_now(self) -> None:
        """Ask the service at once for everything that waits for it. From any thread."""

    def erase_at_service(self, erasure: PendingErasure) -> None:
        """Erase a recording at the service on this computer. Blocks; raises LocalServiceFailed."""

    def open_login_page(self) -> None:
        """Open the network's login page in the browser."""


class RunningService(Protocol):
    """The service on this computer, as a child. `start` and `stop` block."""

    def start(self, timeout_s: float = 60.0) -> Endpoint:
        """Start it and wait until it answers. Raises LocalServiceFailed."""

    def poll(self) -> int | None:
        """Exit status; None while it runs. Cheap."""

    def encryption(self) -> LocalEncryption:
        """Whether what it keeps is encrypted, as it says itself. Blocks."""

    def stop(self, timeout_s: float = 10.0) -> None:
        """End it."""


class Printers(Protocol):
    """The printers of this computer."""

    def job(self) -> PrintJob | None:
        """A job for a print dialog to set up; None without a printer. Blocks on the print service."""


class EraseRecordings(Protocol):
    """Erases recordings of the service in a folder."""

    def __call__(
        self,
        data_dir: Path,
        key: bytes,
        account_id: str,
        job_ids: Collection[str],
        upload_refs: Collection[str] = (),
        *,
        sound_only: bool,
    ) -> None:
        """Blocks; raises LocalServiceFailed if something is not erased yet."""


class MakeAccount(Protocol):
    """Makes an account on the service in a folder."""

    def __call__(self, data_dir: Path, name: str) -> "LocalAccount":
        """Blocks; raises LocalServiceFailed."""


class LocalAccount(Protocol):
    """An account that was just made."""

    @property
    def account_id(self) -> str:
        """Its public id."""

    @property
    def api_key(self) -> str:
        """A key for it."""


class Connect(Protocol):
    """Makes a client."""

    def __call__(self, base_url: str, credentials: Credentials, budget: RequestBudget | None = None) -> Client:
        """Make a client without automatic retries; with a budget it waits for room in it."""


def _client(base_url: str, credentials: Credentials, budget: RequestBudget | None = None) -> Client:
    return Client(base_url, credentials, retries=RetryRule.NEVER, budget=budget)


def _fhir_server(login: StoredLogin) -> FhirServer:
    return FhirServer(login.address, login.credentials)


def _open_in_browser(address: str) -> None:
    QDesktopServices.openUrl(QUrl(address))


@dataclass(frozen=True)
class DeskPorts:
    """What the desk reaches beyond its own process: folders, keyrings, devices, the network.

    Attributes:
        data_dir: recordings, and the service on this computer.
        config_dir: profiles, without secrets.
        keyring: secrets that last.
        session_vault: secrets until the program ends.
        passphrase_vault: secrets that a passphrase opens, on a computer without a keyring.
        local_service: makes the service on this computer, of its folder and the key that it encrypts its data with.
        network: makes what the operating system knows of the network; on the window's thread.
        open_page: shows an address in the browser.
        notify: shows a sentence in the system's notifications; it names no person.
        printers: the printers of this computer.
        fhir_server: the FHIR server of a login.
        policy: what the organisation has set for this computer.
        ask_for_notice: asks whether there is a newer version.
        send_trial: posts a signed trial to a webhook's address with its secret; the receiver's HTTP status.
    """

    data_dir: Path
    config_dir: Path
    clock: Clock = field(default_factory=SystemClock)
    microphone: Microphone = field(default_factory=PortAudioMicrophone)
    lister: DeviceLister = field(default_factory=PortAudioLister)
    player: Callable[[], Player] = PortAudioPlayer
    keyring: Vault = field(default_factory=KeyringVault)
    session_vault: Vault = field(default_factory=MemoryVault)
    passphrase_vault: UnlockableVault = field(default_factory=UnlockableVault)
    local_service: Callable[[Path, bytes], RunningService] = LocalService
    make_account: MakeAccount = make_account
    erase_recordings: EraseRecordings = erase_recordings
    connect: Connect = _client
    network: Callable[[], Network] = SystemNetwork
    open_page: Callable[[str], None] = _open_in_browser
    notify: Callable[[str], None] = notify_system
    send_trial: Callable[[str, str], int] = send_trial_delivery
    printers: Printers = field(default_factory=SystemPrinters)
    fhir_server: Callable[[StoredLogin], FhirServer] = _fhir_server
    policy: ManagedPolicy = field(default_factory=read_policy)
    ask_for_notice: Callable[[NoticeSource, datetime, str], VersionNotice] = ask_for_notice

    @property
    def service_dir(self) -> Path:
        """Where the service on this computer keeps its data."""
        return self.data_dir / "service"

    def library_dir(self, profile_id: str) -> Path:
        """Where the recordings of a profile are."""
        return self.data_dir / "profiles" / profile_id

    def vault(self, secrets: str) -> Vault:
        """The vault for a profile's way of keeping secrets."""
        if secrets == "passphrase":
            return self.passphrase_vault
        return self.session_vault if secrets == "session" else LockableVault(self.keyring, self.passphrase_vault)
