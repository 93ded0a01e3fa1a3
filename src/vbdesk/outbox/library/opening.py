"""Opening the recordings of a profile: one program at a time, with the key from the keyring."""

import sqlite3
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from vbdesk.capture.clock import Clock
from vbdesk.outbox.library.audit import Actor, Deed, Part
from vbdesk.outbox.library.examine import COPIED, is_from_elsewhere
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, computer_mark, library_key
from vbdesk.outbox.profiles.vault import Vault
from vbdesk.privacy import FILE_MODE, make_private, tighten

LOCK_NAME = "library.lock"


class LibraryInUse(Exception):
    """Another program has these recordings open; `str(error)` is one sentence for a person."""


class ProfileUnknown(Exception):
    """There is no such profile on this computer; `str(error)` is one sentence for a person."""


class HeldLibrary(Library):
    """A library that no other program can open before it is closed, or this program has ended.

    Two couriers at one library would send twice, and an opening puts away what another program has half done.
    """

    def __init__(
        self, profile: Profile, folder: Path, vault: Vault, clock: Clock | None = None, part: Part = Part.DESK
    ) -> None:
        """Open the recordings of `profile` in `folder`, made on first use. Blocks on the keyring and the disk.

        `part` says who opens it, for the audit log.

        Raises:
            LibraryInUse: another program has them open.
            VaultError, LibraryKeyMissing: the key does not come from the vault.
            LibraryLocked, LibraryUnreadable, OSError: as `Library` does.
        """
        make_private(folder)
        tighten([folder])  # an earlier release left its rights to the umask
        self._held = hold(folder)
        try:
            super().__init__(folder, library_key(vault, profile, folder), clock, Actor(part, profile.account_id))
        except BaseException:
            self._held.release()
            raise
        with suppress(sqlite3.Error):  # a full disk keeps nobody from the recordings
            self.note(Deed.OPENED)
            computer = None if profile.secrets == "session" else computer_mark(vault)
            if computer is not None and is_from_elsewhere(self.store, computer):
                self._warnings += (COPIED,)

    def close(self) -> None:
        """Let go of the database, and let others open it."""
        super().close()
        self._held.release()


def hold(folder: Path) -> FileLock:
    """Keep others from opening the library in `folder`; the system lets go of it when this program ends.

    Raises:
        LibraryInUse: another program has it open.
    """
    lock = FileLock(folder / LOCK_NAME, timeout=0, mode=FILE_MODE, thread_local=False, is_singleton=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise LibraryInUse(
            "These recordings are open in another window or command of vbdesk. Close it, or wait for its end."
        ) from error
    return lock


def find_profile(profiles: ProfileStore, wanted: str | None = None) -> Profile:
    """The profile with this name or id, the one in use if None.

    Raises:
        ProfileUnknown: there is none, or several have this name.
        ProfilesUnreadable: the file of profiles is damaged.
    """
    if wanted is None:
        current = profiles.current()
        if current is None:
            raise ProfileUnknown("No service is set up on this computer. Start the desk once with: vbdesk desk")
        return current
    known = profiles.all()
    found = [profile for profile in known if wanted == profile.profile_id]
    found = found or [profile for profile in known if wanted == profile.name]
    if not found:
        names = ", ".join(profile.name for profile in known) or "none"
        raise ProfileUnknown(f"There is no profile {wanted} on this computer. Known profiles: {names}.")
    if len(found) > 1:
        ids = ", ".join(profile.profile_id for profile in found)
        raise ProfileUnknown(f"Several profiles are called {wanted}. Give one of their ids: {ids}.")
    return found[0]
