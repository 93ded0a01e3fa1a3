"""Open the recordings of a profile: one program at a time, with the key from the keyring."""

import logging
import sqlite3
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from vbdesk.clock import Clock
from vbdesk.language import message
from vbdesk.outbox.library.audit import AuditAction, AuditActor, AuditPart
from vbdesk.outbox.library.integrity_check import (
    COPIED,
    KEYRING_REFUSED,
    compare_with_keyring,
    is_from_elsewhere,
    keyring_was_written,
)
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.managed_policy import ManagedPolicy, read_policy
from vbdesk.outbox.library.rollback_detection import KeyringMarkThread, KeyringReading, read_keyring
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, computer_mark, library_key
from vbdesk.outbox.profiles.vault import READ_TIMEOUT_S, Vault, VaultError
from vbdesk.privacy import FILE_MODE, make_private, restrict_to_owner

LOCK_NAME = "library.lock"

log = logging.getLogger(__name__)


class LibraryInUse(Exception):
    """Another program has these recordings open; `str(error)` is one sentence for a person."""


class ProfileUnknown(Exception):
    """There is no such profile on this computer; `str(error)` is one sentence for a person."""


class LockedLibrary(Library):
    """A library that no other program can open before it is closed, or this program has ended.

    Two sync workers at one library would send twice, and an opening removes what another program has half done.
    """

    def __init__(
        self,
        profile: Profile,
        folder: Path,
        vault: Vault,
        clock: Clock | None = None,
        part: AuditPart = AuditPart.DESK,
        policy: ManagedPolicy | None = None,
    ) -> None:
        """Open the recordings of `profile` in `folder`, made on first use. Blocks on the keyring and the disk.

        `part` is named in the audit log. `policy` is that of this computer if None; it changes the settings here.

        Raises:
            LibraryInUse: another program has them open.
            VaultError, LibraryKeyMissing: the vault does not give the key.
            LibraryKeyWrong, LibraryUnreadable, OSError: as `Library` does.
        """
        make_private(folder)
        restrict_to_owner([folder])  # an earlier release left its permissions to the umask
        self._held = lock_library(folder)
        self._keyring_refused = False
        try:
            key = library_key(vault, profile, folder)
            keyring = None if profile.secrets == "session" else read_keyring(vault, profile.high_water_name)
            local = profile.kind == "local"
            actor = AuditActor(part, profile.account_id)
            policy = read_policy() if policy is None else policy
            super().__init__(folder, key, clock, actor, keyring, erases_at_service=local, policy=policy)
            self.days_of_use.service_is_here = profile.on_this_computer  # also if another program runs it
        except BaseException:
            self._held.release()
            raise
        with suppress(sqlite3.Error):  # a full disk must not block the recordings
            self.note(AuditAction.OPENED)
            known = self.settings()
            if self.policy.applied_to(known) != known:
                self.change_settings()
            computer = None if profile.secrets == "session" else computer_mark(vault)
            if computer is not None and is_from_elsewhere(self.store, computer):
                self._warnings += (COPIED,)
        self._mark_thread: KeyringMarkThread | None = None
        if keyring is not None:
            self._mark_thread = KeyringMarkThread(
                vault,
                profile.high_water_name,
                due=self._version_to_keep,
                written=self._on_mark_written,
                refused=self._on_mark_refused,
                read=None if keyring.fault is None else self._on_mark_read,
            )
            self._mark_thread.start()

    @property
    def mark_thread(self) -> KeyringMarkThread | None:
        """The thread that writes the mark into the keyring; stop it before closing. None without a keyring."""
        return self._mark_thread

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on faults, for a banner; usually empty."""
        return super().warnings + ((KEYRING_REFUSED,) if self._keyring_refused else ())

    def accept_copy(self) -> None:
        """Accept a restored copy; see `Library.accept_copy`."""
        super().accept_copy()
        if self._mark_thread is not None:
            self._mark_thread.write_now()

    def close(self) -> None:
        """Close the database and release the lock. Waits some seconds for the keyring, unless it was stopped."""
        if self._mark_thread is not None:
            self._mark_thread.ask_to_stop()
            self._mark_thread.wait(READ_TIMEOUT_S + 1)
        try:
            super().close()
        finally:
            self._held.release()

    # In the mark thread

    def _version_to_keep(self) -> int | None:
        try:
            return None if self.store.sending_blocked else self.store.version()
        except sqlite3.Error:
            return None

    def _on_mark_written(self, version: int) -> None:
        self._keyring_refused = False
        with suppress(sqlite3.Error):  # disk full: the next write reports it
            keyring_was_written(self.store)

    def _on_mark_refused(self, error: VaultError) -> None:
        log.warning("The keyring refused the mark of the list: %s", error)
        self._keyring_refused = True

    def _on_mark_read(self, keyring: KeyringReading) -> None:
        with suppress(sqlite3.Error):
            compare_with_keyring(self.store, keyring)
        self.store.notify()


def lock_library(folder: Path) -> FileLock:
    """Lock the library in `folder` against other programs; the system releases the lock when this program ends.

    Raises:
        LibraryInUse: another program has it open.
    """
    lock = FileLock(folder / LOCK_NAME, timeout=0, mode=FILE_MODE, thread_local=False, is_singleton=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise LibraryInUse(
            message("These recordings are open in another window or command of vbdesk. Close it, or wait for its end.")
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
            raise ProfileUnknown(
                message("No service is set up on this computer. Start the desk once with: vbdesk desk")
            )
        return current
    known = profiles.all()
    found = [profile for profile in known if wanted == profile.profile_id]
    found = found or [profile for profile in known if wanted == profile.name]
    if not found:
        names = ", ".join(profile.name for profile in known) or "none"
        raise ProfileUnknown(
            message(
                "There is no profile {wanted} on this computer. Known profiles: {names}.", wanted=wanted, names=names
            )
        )
    if len(found) > 1:
        ids = ", ".join(profile.profile_id for profile in found)
        raise ProfileUnknown(
            message("Several profiles are called {wanted}. Give one of their ids: {ids}.", wanted=wanted, ids=ids)
        )
    return found[0]
