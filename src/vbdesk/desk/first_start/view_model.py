"""State of the first start: two choices, and fallbacks without a keyring."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.first_start.profile_creation import ConnectionTest, Secrets, ServiceAddress, Setup
from vbdesk.desk.flow.tasks import Failure, TaskContext, TaskOwner
from vbdesk.desk.models.unlocking import passphrase_fault
from vbdesk.language import N_, _, translated
from vbdesk.outbox.library.managed_policy import ManagedPolicy
from vbdesk.outbox.profiles.profiles import Profile
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

    def __init__(
        self, setup: Setup, tasks: TaskOwner, parent: QObject | None = None, policy: ManagedPolicy | None = None
    ) -> None:
        super().__init__(parent)
        self.managed_address = policy.service_url if policy is not None else None
        self._setup, self._tasks = setup, tasks
        self._secrets: Secrets = "keyring"
        self._passphrase: str | None = None
        self._address = ServiceAddress("", "", "")
        self._again: Callable[[], None] | None = None
        self._busy = False

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

    def look_for_keyring(self) -> None:
        """Say at once if this computer has no keyring, rather than when the choice was made."""
        self._tasks.start(lambda context: self._setup.lacks_keyring(), self._on_looked, name="keyring-look")

    @Slot(object)
    def _on_looked(self, lacks_keyring: bool) -> None:
        if lacks_keyring:
            self.keyring_missing.emit(_(NO_KEYRING_HERE))

    def use_this_computer(self) -> None:
        """Make a profile for this computer."""
        self._make(self.use_this_computer, _("Setting up the service on this computer …"), self._make_local)

    def use_passphrase(self, passphrase: str, repeated: str) -> None:
        """Make a profile for this computer, without a keyring."""
        fault = passphrase_fault(passphrase, repeated)
        self.passphrase_faulty.emit(fault or "")
        if fault is None:
            self._passphrase = passphrase
            self.use_this_computer()

    def use_service(self) -> None:
        """Make a profile for a service."""
        self._make(self.use_service, _("Saving the key …"), self._make_service)

    def use_session_only(self) -> None:
        """Keep keys until the program ends, and make the profile that failed."""
        self._secrets = "session"
        if self._again is not None:
            self._again()

    def test_connection(self) -> None:
        """Try the address, account and key."""
        if self._busy:
            return
        self._set_busy(_("Asking the service …"))
        self._tasks.start(self._test, self._on_tested, self._on_test_failed, name="connection-test")

    def _make(self, again: Callable[[], None], words: str, work: Callable[[TaskContext], Profile]) -> None:
        if self._busy:
            return
        self._again = again
        self._set_busy(words)
        self._tasks.start(work, self._on_made, self._on_not_made, name="first-start")

    def _make_local(self, context: TaskContext) -> Profile:
        return self._setup.make_local(self._passphrase)

    def _make_service(self, context: TaskContext) -> Profile:
        return self._setup.make_service(self._address, self._secrets)

    def _test(self, context: TaskContext) -> ConnectionTest:
        return self._setup.test(self._address)

    def _set_busy(self, words: str) -> None:
        self._busy = bool(words)
        self.busy_changed.emit(words)

    @Slot(object)
    def _on_made(self, profile: Profile) -> None:
        self._set_busy("")
        self._passphrase = None
        self.opened.emit(profile)

    @Slot(object)
    def _on_not_made(self, failure: Failure) -> None:
        self._set_busy("")
        if isinstance(failure.error, VaultMissing) and self._again == self.use_this_computer:
            self.passphrase_wanted.emit(_(NO_KEYRING_HERE))
        elif isinstance(failure.error, VaultMissing):
            self.session_offered.emit(_(NO_KEYRING))
        elif isinstance(failure.error, VaultError):
            only_there = _("Keys are kept in the keyring and nowhere else.")
            self.failed.emit(f"{failure.sentence} {only_there}")
        else:
            self.failed.emit(_sentence(failure))

    @Slot(object)
    def _on_tested(self, test: ConnectionTest) -> None:
        self._set_busy("")
        self.tested.emit(True, _("Connected. The service answered in {time:.0f} ms.", time=1000 * test.answered_in_s))

    @Slot(object)
    def _on_test_failed(self, failure: Failure) -> None:
        self._set_busy("")
        self.tested.emit(False, _sentence(failure))


def _sentence(failure: Failure) -> str:
    """Text of an error; a ValueError has the client's sentence about the address."""
    return translated(failure.error) if isinstance(failure.error, ValueError) else failure.sentence
