"""The choice and the opening of profiles, of which one is open at a time."""

import threading
from dataclasses import dataclass, field

from vbdesk.client import RequestBudget
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.tasks import Stoppable, TaskContext
from vbdesk.desk.locking.service_keys import ServiceKeys
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.shell.workspace import open_budget, open_library
from vbdesk.language import formats
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """The profile to open, and all of them.

    Attributes:
        lost: its keys were kept for an earlier session only.
    """

    chosen: Profile | None
    profiles: list[Profile]
    lost: bool


@dataclass(frozen=True)
class ChooseProfile(Command):
    """Make the profile with this name or id the current one, if it can be opened. Finds a ProfileChoice."""

    name: str | None = None

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        formats.load()
        store, vault = ProfileStore(context.ports.config_dir), context.ports.session_vault
        current, profiles = store.current(), store.all()
        chosen = next((each for each in profiles if self.name in (each.name, each.profile_id)), current)
        lost = chosen is not None and chosen.secrets == "session" and vault.get(chosen.api_key_name) is None
        if chosen is not None and chosen != current and not lost:
            store.use(chosen.profile_id)
        return Done(found=ProfileChoice(chosen, profiles, lost))


@dataclass(frozen=True, slots=True)
class OpenedProfile:
    """An open profile.

    Attributes:
        service_key: encryption key of the local service; None for a remote service.
        recovery_key: to offer now; None if it was offered.
    """

    library: Library
    budget: RequestBudget
    service_key: bytes | None = field(repr=False)
    recovery_key: str | None = field(repr=False)


class LibrarySlot:
    """Holds the one open library, so that none stays open which no workspace shows.

    Attributes:
        retired: what was asked to stop and may still use the library.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._library: Library | None = None
        self.retired: list[Stoppable] = []

    def open(self, profile: Profile, ports: DeskPorts, task: TaskContext) -> OpenedProfile:
        """Open the library of a profile in place of the open one. Blocks; raises what `open_library` does."""
        with self._lock:
            task.wait_for(self.retired)
            self.retired = []
            self.close()
            keys = ServiceKeys(ports)
            service_key = keys.open() if keys.opens(profile) else None
            self._library = library = open_library(profile, ports)
            try:
                if service_key is not None and profile.kind != "service":
                    keys.store_copies(profile, service_key)
                recovery_key = None if service_key is None else keys.due_recovery_key()
                budget = open_budget(profile, library)
            except BaseException:
                self.close()
                raise
            return OpenedProfile(library, budget, service_key if profile.kind != "service" else None, recovery_key)

    def close(self) -> None:
        """Close the library, if one is open. Blocks on the disk."""
        library, self._library = self._library, None
        if library is not None:
            library.close()


@dataclass(frozen=True)
class OpenProfile(Command):
    """Open a profile in place of the open one, after a pause. Finds an OpenedProfile."""

    profile: Profile
    slot: LibrarySlot = field(repr=False)
    pause_s: float = 0.0
    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        task.wait(self.pause_s)
        return Done(found=self.slot.open(self.profile, context.ports, task))
