"""State of the Account page: profiles, connection, credits, prices, plan and its use."""

import time
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.clock import Clock
from vbdesk.contract.limits import Bucket
from vbdesk.desk.account.desk_settings import DeskChoices
from vbdesk.desk.account.fhir_model import FhirServerViewModel
from vbdesk.desk.account.letterhead_model import LetterheadViewModel
from vbdesk.desk.account.prices import Price, diarize_price, prices
from vbdesk.desk.account.profiles_model import ProfilesViewModel
from vbdesk.desk.account.recording_rules import RulesViewModel
from vbdesk.desk.account.update_notice_model import UpdateNoticeViewModel
from vbdesk.desk.account.webhook_model import WebhookViewModel
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.models.app_lock import AppLock
from vbdesk.desk.models.unlocking import PassphraseViewModel
from vbdesk.desk.ports import AccountConnection
from vbdesk.language import _
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import Vault
from vbdesk.outbox.sync.connectivity import SyncStatus

_NOTICED_S = 0.1


@dataclass(frozen=True, slots=True)
class Tested:
    """Outcome of a connection test; `credits` None without an answer."""

    credits: int | None
    sentence: str


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


class AccountViewModel(QObject):
    """Service, account and connection.

    Attributes:
        profiles: the profiles of this computer.
        rules: for its recordings.
        letterhead: of its reports.
        fhir: the FHIR server that subjects are sent to.
        webhook: receiver of finished jobs.
        choices: preferences of the desk.
        passphrase: changes the passphrase of this computer.
        app_lock: locks the window; None in a program without one.
        updates: reports new versions; None in a program that does not ask.

    Signals:
        status_changed: (SyncStatus) the way to the service.
        priced: (PriceList) the prices.
        tested: (Tested) outcome of a connection test.
        key_saved: the new key is in the vault.
        failed: (str) why an action failed.
    """

    status_changed = Signal(object)
    priced = Signal(object)
    tested = Signal(object)
    key_saved = Signal()
    failed = Signal(str)

    def __init__(
        self,
        profile: Profile,
        vault: Vault,
        library: Library,
        sync: SyncState,
        connection: AccountConnection,
        tasks: TaskOwner,
        clock: Clock,
        profiles: ProfilesViewModel,
        rules: RulesViewModel,
        webhook: WebhookViewModel,
        choices: DeskChoices,
        passphrase: PassphraseViewModel,
        app_lock: AppLock | None = None,
        updates: UpdateNoticeViewModel | None = None,
    ) -> None:
        """Make it; `vault` keeps the key of the profile."""
        super().__init__()
        self._profile, self._vault, self._library = profile, vault, library
        self._sync, self._connection = sync, connection
        self._tasks, self._clock = tasks, clock
        self._keys = Lane(tasks, self)  # in order, so that the last key is the one that stays
        self.profiles, self.rules, self.webhook, self.choices = profiles, rules, webhook, choices
        self.passphrase, self.app_lock, self.updates = passphrase, app_lock, updates
        self.letterhead = LetterheadViewModel(library, tasks)
        self.fhir = FhirServerViewModel(profile, vault, tasks)
        for part in (profiles, rules, webhook, choices, passphrase, self.letterhead, self.fhir):
            part.setParent(self)
        if updates is not None:
            updates.setParent(self)
        sync.status_changed.connect(self.status_changed)

    @property
    def profile(self) -> Profile:
        """The open profile."""
        return self._profile

    @property
    def status(self) -> SyncStatus:
        """The connection to the service."""
        return self._sync.status

    def use(self) -> tuple[Use, ...]:
        """The plan's three counters."""
        budget, now = self._connection.budget, self._clock.monotonic()
        order = (Bucket.ANALYZE, Bucket.POLLING, Bucket.GENERAL)
        return tuple(Use(bucket, budget.used(bucket, now), budget.limit(bucket)) for bucket in order)

    def read(self) -> None:
        """Read profiles and prices again."""
        self.profiles.read()
        self._tasks.start(self._read_prices, self._on_prices, self._on_failed, name="prices")
        self.choices.read()
        if self.updates is not None:
            self.updates.read()
        self.webhook.read()
        self.fhir.read()

    def try_again(self) -> None:
        """Try the keyring and the service again."""
        self._connection.try_again()

    def test(self) -> None:
        """Test address, account and key by reading the balance."""
        self._tasks.start(self._ask, self._on_answer, self._on_no_answer, name="connection-test")

    def save_key(self, key: str) -> None:
        """Store another API key, and resume the queue."""
        profile, vault, library = self.profile, self._vault, self._library

        def work(context: TaskContext) -> None:
            vault.set(profile.api_key_name, key.strip())
            library.note(AuditAction.KEY_ENTERED)

        self._keys.run(work, self._on_key_saved, self._on_failed, name="key")

    def _read_prices(self, context: TaskContext) -> PriceList:
        return PriceList(prices(), diarize_price())

    def _ask(self, context: TaskContext) -> tuple[int, float]:
        start = time.monotonic()
        with self._connection.client() as client:
            balance = client.account.credits()
        return balance, time.monotonic() - start

    @Slot(object)
    def _on_prices(self, found: PriceList) -> None:
        self.priced.emit(found)

    @Slot(object)
    def _on_answer(self, answer: tuple[int, float]) -> None:
        balance, seconds = answer
        self._sync.take_in_credits(balance)
        if seconds >= _NOTICED_S:
            text = _("The service answered in {seconds:.1f} s: address, account and key are right.", seconds=seconds)
        else:
            text = _("The service answered at once: address, account and key are right.")
        self.tested.emit(Tested(balance, text))

    @Slot(object)
    def _on_no_answer(self, failure: Failure) -> None:
        self.tested.emit(Tested(None, failure.sentence))

    @Slot(object)
    def _on_key_saved(self, nothing: None) -> None:
        self._connection.try_again()
        self.key_saved.emit()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)
