"""State of the first start: two choices, and fallbacks without a keyring."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.first_start.profile_creation import (
    FindKeyring,
    MakeLocalProfile,
    MakeServiceProfile,
    Secrets,
    ServiceAddress,
    TryConnection,
)
from vbdesk.desk.flow.commands import Command, CommandOutcome, Work
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import Failure
from vbdesk.desk.locking.unlocking import passphrase_fault
from vbdesk.language import N_, _, translated
from vbdesk.outbox.profiles.vault import VaultError, VaultMissing

NO_KEYRING = N_(
    "Keys can be kept until vbdesk closes instead: you would set this up again next time, and recordings that have not "
    "been sent by then could not be opened any more."
)


NO_KEYRING_HERE = N_(
    "This computer has no keyring that could keep the key to your recordings and results. Choose a passphrase: "
    "it opens that key, and vbdesk asks for it at every start."
)


class FirstStartViewModel(QObject):
    """The choice between this computer and a service.

    Attributes:
        managed_address: of the service that the organisation has set; None if there is none.

    Signals:
        busy_changed: (str) what is being done; empty for nothing.
        tested: (bool, str) success of the connection test, and a sentence.
        failed: (str) why no profile was made.
        session_offered: (str) there is no keyring: explanation of the session-only choice.
        keyring_missing: (str) why this computer, without a keyring, needs a passphrase.
        passphrase_wanted: (str) the same, when this computer was chosen.
        passphrase_faulty: (str) what is wrong with the passphrase.
        opened: (Profile) a profile was made and is the current one.
        can_go_on_changed: (bool) whether address, account and key are filled in.
    """

    busy_changed = Signal(str)
    tested = Signal(bool, str)
    failed = Signal(str)
    session_offered = Signal(str)
    keyring_missing = Signal(str)
    passphrase_wanted = Signal(str)
    passphrase_faulty = Signal(str)
    opened = Signal(object)
    can_go_on_changed = Signal(bool)

    def __init__(self, flow: ProgramFlow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.managed_address = flow.ports.policy.service_url
        self._screen = flow.screen(self)
        self._screen.ended.connect(self._on_looked)
        self._work = Work(flow.commands, self)
        self._work.ended.connect(self._on_ended)
        self._secrets: Secrets = "keyring"
        self._passphrase: str | None = None
        self._address = ServiceAddress("", "", "")

    @property
    def can_go_on(self) -> bool:
        """Whether everything that a service needs is filled in."""
        address = self._address
        return all(part.strip() for part in (address.base_url, address.account_id, address.api_key))

    @property
    def fault(self) -> str | None:
        """Error of the address; None if it is valid."""
        url = self._address.base_url.strip()
        if url and not url.startswith(("http://", "https://")):
            return _("Begin with https:// (or http:// inside a closed network).")
        return None

    def set_address(self, base_url: str, account_id: str, api_key: str) -> None:
        """Set the address as typed."""
        self._address = ServiceAddress(self.managed_address or base_url, account_id, api_key)
        self.can_go_on_changed.emit(self.can_go_on and self.fault is None)

    def check_keyring(self) -> None:
        """Say at once if this computer has no keyring, rather than when the choice was made."""
        self._screen.do(FindKeyring())

    @Slot(object)
    def _on_looked(self, outcome: CommandOutcome) -> None:
        if outcome.done.found is False:
            self.keyring_missing.emit(_(NO_KEYRING_HERE))

    def use_this_computer(self) -> None:
        """Make a profile for this computer."""
        self._start(MakeLocalProfile(self._passphrase), _("Setting up the service on this computer …"))

    def use_passphrase(self, passphrase: str, repeated: str) -> None:
        """Make a profile for this computer, without a keyring."""
        fault = passphrase_fault(passphrase, repeated)
        self.passphrase_faulty.emit(fault or "")
        if fault is None:
            self._passphrase = passphrase
            self.use_this_computer()

    def use_service(self) -> None:
        """Make a profile for a service."""
        self._start(MakeServiceProfile(self._address, self._secrets), _("Asking the service …"))

    def use_session_only(self) -> None:
        """Keep keys until the program ends, and make the profile of a service."""
        self._secrets = "session"
        self.use_service()

    def test_connection(self) -> None:
        """Try the address, account and key."""
        self._start(TryConnection(self._address), _("Asking the service …"))

    def _start(self, command: Command, text: str) -> None:
        if not self._work.busy:
            self.busy_changed.emit(text)
            self._work.start(command)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        self.busy_changed.emit("")
        if isinstance(outcome.command, TryConnection):
            self.tested.emit(
                outcome.failure is None, _sentence(outcome.failure) if outcome.failure else outcome.sentence
            )
        elif outcome.failure is None:
            self._passphrase = None
            self.opened.emit(outcome.done.found)
        else:
            self._show_failure(outcome.failure, local=isinstance(outcome.command, MakeLocalProfile))

    def _show_failure(self, failure: Failure, *, local: bool) -> None:
        if isinstance(failure.error, VaultMissing):
            (self.passphrase_wanted if local else self.session_offered).emit(
                _(NO_KEYRING_HERE if local else NO_KEYRING)
            )
        elif isinstance(failure.error, VaultError):
            only_there = _("Keys are kept in the keyring and nowhere else.")
            self.failed.emit(f"{failure.sentence} {only_there}")
        else:
            self.failed.emit(_sentence(failure))


def _sentence(failure: Failure) -> str:
    """Text of an error; a ValueError has the client's sentence about the address."""
    return translated(failure.error) if isinstance(failure.error, ValueError) else failure.sentence
