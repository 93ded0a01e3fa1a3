"""State of the list of profiles: switch to one, add one, remove one."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.language import _, translated
from vbdesk.outbox.library.managed_policy import ManagedPolicy, managed_words
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.outbox.profiles.vault import Vault


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """One profile in the list; `suggested_name` is a better name where the present one is an address.

    Attributes:
        here: its service is on this computer.
        managed: the organisation has set its name.
    """

    profile_id: str
    name: str
    where: str
    account: str
    in_use: bool
    suggested_name: str | None = None
    here: bool = False
    managed: bool = False


class ProfilesViewModel(QObject):
    """The profiles of this computer.

    Signals:
        changed: (tuple[ProfileLine, ...]) the list of profiles.
        renamed: (list[Profile]) all profiles, after one got another name.
        failed: (str) why the list was not read, or a profile not changed.
    """

    changed = Signal(object)
    renamed = Signal(object)
    failed = Signal(str)

    def __init__(
        self,
        profile: Profile,
        store: ProfileStore,
        vault_for: Callable[[str], Vault],
        tasks: TaskOwner,
        navigator: Navigator,
        policy: ManagedPolicy | None = None,
    ) -> None:
        """Make it; `profile` is in use, and `vault_for` gives the vault for a profile's way of keeping secrets."""
        super().__init__()
        self.policy = policy or ManagedPolicy()
        self._profile, self._store, self._vault_for = profile, store, vault_for
        self._navigator = navigator
        self._list = Lane(tasks, self)  # do not show an older list after a newer one

    def read(self) -> None:
        """Read the list."""
        self._list.run(self._read, self._on_read, self._on_failed, name="profiles")

    def switch(self, profile_id: str) -> None:
        """Switch to another profile."""
        self._navigator.open("profile", profile_id)

    def add(self) -> None:
        """Add a profile."""
        self._navigator.open("profile", None)

    def rename(self, profile_id: str, name: str) -> None:
        """Give a profile another name; nothing else of it changes."""

        def work(context: TaskContext) -> list[Profile]:
            if any(line.managed for line in self._read(context) if line.profile_id == profile_id):
                raise ValueError(managed_words())
            self._store.rename(profile_id, name)
            return self._store.all()

        self._list.run(work, self._on_renamed, self._on_failed, name="profile-rename")

    def remove(self, profile_id: str) -> None:
        """Remove a profile and its key; its recordings stay on this computer."""
        if profile_id == self._profile.profile_id:
            return

        def work(context: TaskContext) -> tuple[ProfileLine, ...]:
            profile = self._store.get(profile_id)
            if profile is not None:
                self._store.remove(profile_id, self._vault_for(profile.secrets))
            return self._read(context)

        self._list.run(work, self._on_read, self._on_failed, name="profile-remove")

    def _read(self, context: TaskContext) -> tuple[ProfileLine, ...]:
        return self._lines(self._store.all())

    def _lines(self, profiles: list[Profile]) -> tuple[ProfileLine, ...]:
        return tuple(
            ProfileLine(
                profile.profile_id,
                profile.shown_name,
                _("The service on this computer") if profile.kind == "local" else profile.base_url or "",
                profile.account_id,
                profile.profile_id == self._profile.profile_id,
                profile.suggested_name(other.name for other in profiles if other is not profile),
                profile.kind == "local",
                self.policy.name_for(profile.base_url) is not None,
            )
            for profile in profiles
        )

    @Slot(object)
    def _on_read(self, lines: tuple[ProfileLine, ...]) -> None:
        self.changed.emit(lines)

    @Slot(object)
    def _on_renamed(self, profiles: list[Profile]) -> None:
        self.changed.emit(self._lines(profiles))
        self.renamed.emit(profiles)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(translated(failure.error) if isinstance(failure.error, ValueError) else failure.sentence)
