"""State of the Account page: profiles, connection, credits, prices, plan and its use."""

import time
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.client.fhir import StoredLogin
from vbdesk.contract.limits import Bucket
from vbdesk.desk.account.desk_settings import DeskChoices
from vbdesk.desk.account.prices import Price, diarize_price, prices
from vbdesk.desk.account.profiles_model import ProfilesViewModel
from vbdesk.desk.account.update_notice_model import UpdateNoticeViewModel
from vbdesk.desk.account.webhook_model import WebhookViewModel
from vbdesk.desk.flow.commands import Command, CommandOutcome, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.models.app_lock import AppLock
from vbdesk.desk.models.unlocking import PassphraseViewModel
from vbdesk.language import _, translated
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import VaultMissing
from vbdesk.outbox.sync.connectivity import SyncStatus

_NOTICED_S = 0.1


@dataclass(frozen=True, slots=True)
class Use:
    """Use of the plan's limits in the last minute, by this program."""

    bucket: Bucket
    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices of analyses, and the additional price of separating speakers."""

    prices: tuple[Price, ...]
    diarize: int


@dataclass(frozen=True)
class PricesRead(Read[PriceList]):
    """The prices."""

    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> PriceList:  # noqa: D102
        return PriceList(prices(), diarize_price())


@dataclass(frozen=True)
class FhirLoginRead(Read[str]):
    """Which FHIR server the profile sends to, as a sentence; never its credentials."""

    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> str:  # noqa: D102
        profile = context.profile
        if profile.secrets == "session":
            return _("This profile forgets its keys when the window closes, so it keeps no login to a server.")
        try:
            secret = context.ports.vault(profile.secrets).get_without_prompt(profile.fhir_login_name)
            login = None if secret is None else StoredLogin.of_secret(secret)
        except VaultMissing:
            login = None
        except ValueError as error:
            return translated(error)
        if login is None:
            return _(
                "No server is configured. To send results to a hospital system, run this command: vbdesk fhir login"
            )
        match login.credentials.kind:
            case "basic":
                return _("{address}, with a user name and a password.", address=login.address)
            case "bearer":
                return _("{address}, with a token.", address=login.address)
        return _("{address}, as a SMART backend service.", address=login.address)


@dataclass(frozen=True)
class AskCredits(Command):
    """Ask for the balance, to see whether address, account and key are right; finds it."""

    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        start = time.monotonic()
        with context.connection.client() as client:
            balance = client.account.credits()
        seconds = time.monotonic() - start
        if seconds < _NOTICED_S:
            return Done(_("The service answered at once: address, account and key are right."), found=balance)
        text = _("The service answered in {seconds:.1f} s: address, account and key are right.", seconds=seconds)
        return Done(text, found=balance)


@dataclass(frozen=True)
class SaveKey(Command):
    """Store another API key."""

    key: str = field(repr=False)

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.ports.vault(context.profile.secrets).set(context.profile.api_key_name, self.key.strip())
        context.library.note(AuditAction.KEY_ENTERED)
        return Done()


class AccountViewModel(QObject):
    """Service, account and connection.

    Attributes:
        screen: shows the prices, the FHIR server and the letterhead.
        profiles: the profiles of this computer.
        webhook: receiver of finished jobs.
        choices: preferences of the desk.
        passphrase: changes the passphrase of this computer.
        app_lock: locks the window; None in a program without one.
        updates: reports new versions; None in a program that does not ask.

    Signals:
        status_changed: (SyncStatus) the way to the service.
        tested: (CommandOutcome) of a connection test, which finds the credits.
        key_saved: the new key is in the vault.
        failed: (str) why an action failed.
    """

    status_changed = Signal(object)
    tested = Signal(object)
    key_saved = Signal()
    failed = Signal(str)

    def __init__(
        self,
        flow: Flow,
        profile: Profile,
        profiles: ProfilesViewModel,
        webhook: WebhookViewModel,
        choices: DeskChoices,
        passphrase: PassphraseViewModel,
        app_lock: AppLock | None = None,
        updates: UpdateNoticeViewModel | None = None,
    ) -> None:
        super().__init__()
        self.flow, self._profile = flow, profile
        self.screen = flow.screen(self)
        self.profiles, self.webhook, self.choices = profiles, webhook, choices
        self.passphrase, self.app_lock, self.updates = passphrase, app_lock, updates
        for part in (profiles, webhook, choices, passphrase):
            part.setParent(self)
        if updates is not None:
            updates.setParent(self)
        flow.context.sync.status_changed.connect(self.status_changed)

    @property
    def profile(self) -> Profile:
        """The open profile."""
        return self._profile

    @property
    def status(self) -> SyncStatus:
        """The connection to the service."""
        return self.flow.context.sync.status

    def use(self) -> tuple[Use, ...]:
        """The plan's three counters."""
        context = self.flow.context
        budget, now = context.connection.budget, context.clock.monotonic()
        order = (Bucket.ANALYZE, Bucket.POLLING, Bucket.GENERAL)
        return tuple(Use(bucket, budget.used(bucket, now), budget.limit(bucket)) for bucket in order)

    def read(self) -> None:
        """Read profiles and prices again."""
        self.profiles.read()
        self.screen.add(PricesRead())
        self.screen.add(FhirLoginRead())
        self.choices.read()
        if self.updates is not None:
            self.updates.read()
        self.webhook.read()

    def try_again(self) -> None:
        """Try the keyring and the service again."""
        self.flow.context.connection.try_again()

    def test(self) -> None:
        """Test address, account and key by reading the balance."""
        self.flow.commands.do(AskCredits()).ended.connect(self._on_tested)

    def save_key(self, key: str) -> None:
        """Store another API key, and resume the queue."""
        self.flow.commands.do(SaveKey(key)).ended.connect(self._on_key_saved)

    @Slot(object)
    def _on_tested(self, outcome: CommandOutcome) -> None:
        if isinstance(outcome.done.found, int):
            self.flow.context.sync.take_in_credits(outcome.done.found)
        self.tested.emit(outcome)

    @Slot(object)
    def _on_key_saved(self, outcome: CommandOutcome) -> None:
        if outcome.failure is not None:
            self.failed.emit(outcome.sentence)
            return
        self.try_again()
        self.key_saved.emit()
