"""State of the Account page: profiles, the connection, credits, the desk's look."""

import time
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.contract.limits import REQUESTS_PER_WINDOW, Bucket
from vbdesk.desk import theme
from vbdesk.desk.preferences import PreferenceStore
from vbdesk.desk.tasks import Failure, TaskContext
from vbdesk.desk.theme import Scheme
from vbdesk.desk.viewmodels.rules import RulesViewModel
from vbdesk.desk.viewmodels.time_words import counted
from vbdesk.desk.workspace import Workspace
from vbdesk.outbox.audit import Deed
from vbdesk.outbox.profiles import Profile, ProfileStore
from vbdesk.outbox.reach import CourierStatus


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One profile as it is listed."""

    profile_id: str
    name: str
    where: str
    account: str
    in_use: bool


@dataclass(frozen=True, slots=True)
class Tested:
    """What a test of the connection brought; `credits` None when there was no answer."""

    credits: int | None
    sentence: str


class AccountViewModel(QObject):
    """Which service and account, and whether it answers.

    Attributes:
        rules: what is set for its recordings.

    Signals:
        profiles_changed: (tuple[ProfileLine, ...]) the list of profiles.
        status_changed: (CourierStatus) the way to the service.
        tested: (Tested) whether the service answered.
        key_saved: the new key is in the vault.
        failed: (str) why what was asked was not done.
    """

    profiles_changed = Signal(object)
    status_changed = Signal(object)
    tested = Signal(object)
    key_saved = Signal()
    failed = Signal(str)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._store = ProfileStore(workspace.outside.config_dir)
        self._preferences = PreferenceStore(workspace.outside.config_dir)
        self.rules = RulesViewModel(workspace, self)
        workspace.status_changed.connect(self.status_changed)

    @property
    def profile(self) -> Profile:
        """The profile in use."""
        return self._workspace.profile

    @property
    def status(self) -> CourierStatus:
        """The way to the service."""
        return self._workspace.status

    @property
    def limits(self) -> str:
        """The plan's limits in words."""
        requests = REQUESTS_PER_WINDOW[self.profile.plan]
        return (
            f"{self.profile.plan.value.capitalize()} plan: {counted(requests[Bucket.ANALYZE], 'analysis request')}, "
            f"{requests[Bucket.POLLING]:,} status reads and {requests[Bucket.GENERAL]:,} other requests a minute."
        )

    def read(self) -> None:
        """Read the profiles again."""
        self._workspace.tasks.start(self._read_profiles, self._on_profiles, self._on_failed, name="profiles")

    def switch(self, profile_id: str) -> None:
        """Use another profile."""
        self._workspace.navigator.open("profile", profile_id)

    def add(self) -> None:
        """Add a profile."""
        self._workspace.navigator.open("profile", None)

    def remove(self, profile_id: str) -> None:
        """Forget a profile and its key; its recordings stay on this computer."""
        if profile_id == self.profile.profile_id:
            return
        outside = self._workspace.outside

        def work(context: TaskContext) -> tuple[ProfileLine, ...]:
            profile = self._store.get(profile_id)
            if profile is not None:
                self._store.remove(profile_id, outside.vault(profile.secrets))
            return self._read_profiles(context)

        self._workspace.tasks.start(work, self._on_profiles, self._on_failed, name="profile-remove")

    def try_again(self) -> None:
        """Ask the keyring, and the service, once more."""
        self._workspace.try_again()

    def test(self) -> None:
        """Ask the service for the balance: address, account and key must be right for an answer."""
        self._workspace.tasks.start(self._ask, self._on_answer, self._on_no_answer, name="connection-test")

    def save_key(self, key: str) -> None:
        """Put another API key in the vault, and let the line go on."""
        profile, outside, library = self.profile, self._workspace.outside, self._workspace.library

        def work(context: TaskContext) -> None:
            outside.vault(profile.secrets).set(profile.api_key_name, key.strip())
            library.note(Deed.KEY_ENTERED)

        self._workspace.tasks.start(work, self._on_key_saved, self._on_failed, name="key")

    def choose_scheme(self, scheme: Scheme) -> None:
        """Light, dark, or as the system has it; kept for the next start."""
        theme.active().set_scheme(scheme)

        def work(context: TaskContext) -> None:
            self._preferences.save(replace(self._preferences.load(), scheme=scheme))

        self._workspace.tasks.start(work, failed=self._on_failed, name="preferences")

    def _read_profiles(self, context: TaskContext) -> tuple[ProfileLine, ...]:
        return tuple(
            ProfileLine(
                profile.profile_id,
                profile.name,
                "The service on this computer" if profile.kind == "local" else profile.base_url or "",
                profile.account_id,
                profile.profile_id == self.profile.profile_id,
            )
            for profile in self._store.all()
        )

    def _ask(self, context: TaskContext) -> tuple[int, float]:
        start = time.monotonic()
        with self._workspace.client() as client:
            balance = client.account.credits()
        return balance, time.monotonic() - start

    @Slot(object)
    def _on_profiles(self, lines: tuple[ProfileLine, ...]) -> None:
        self.profiles_changed.emit(lines)

    @Slot(object)
    def _on_answer(self, answer: tuple[int, float]) -> None:
        balance, seconds = answer
        took = f"in {seconds:.1f} s" if seconds >= 0.1 else "at once"
        self.tested.emit(Tested(balance, f"The service answered {took}: address, account and key are right."))

    @Slot(object)
    def _on_no_answer(self, failure: Failure) -> None:
        self.tested.emit(Tested(None, failure.sentence))

    @Slot(object)
    def _on_key_saved(self, _: None) -> None:
        self._workspace.try_again()
        self.key_saved.emit()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)
