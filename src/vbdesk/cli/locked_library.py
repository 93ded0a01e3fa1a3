"""Open the recordings of a profile for a command; the desk must not have them open."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.cli.connection import ACT_FIRST, LATER, REFUSED, named_profile, report_disk_faults, report_errors, vault_of
from vbdesk.cli.output import fail, say
from vbdesk.language import _, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.outbox.library.opening import LockedLibrary
    from vbdesk.outbox.profiles.profiles import Profile
    from vbdesk.outbox.profiles.vault import Vault


@dataclass(frozen=True, slots=True)
class LockedProfile:
    """A profile, its open library, and the vault of its keys."""

    profile: "Profile"
    library: "LockedLibrary"
    vault: "Vault"


@contextmanager
def locked_library(wanted: str | None, data_dir: Path | None, vault: "Vault | None" = None) -> Iterator[LockedProfile]:
    """Open the recordings of a profile; any error in the block ends the command with one sentence.

    Args:
        wanted: name or id of the profile, as given; None for the one in use.
        data_dir: the desk's folder, as given.
        vault: the keys of profiles; the system's keyring if None.
    """
    from vbdesk.cli.paths import desk_paths
    from vbdesk.outbox.library.audit import AuditPart
    from vbdesk.outbox.library.database import LibraryKeyWrong, LibraryUnreadable
    from vbdesk.outbox.library.disk_faults import DiskFault, disk_fault
    from vbdesk.outbox.library.opening import LibraryInUse, LockedLibrary
    from vbdesk.outbox.profiles.profiles import library_folder
    from vbdesk.outbox.profiles.vault import retry_while_waiting

    paths = desk_paths(data_dir)
    with report_errors():
        profile = named_profile(wanted, paths)
        if profile.secrets == "session":
            fail(
                _("The key to the recordings of {name} is only in the desk, while it is open.", name=profile.name),
                ACT_FIRST,
            )
        known = vault or vault_of(profile, paths)
        folder = library_folder(paths.data, profile.profile_id)
        try:
            library = retry_while_waiting(
                lambda: LockedLibrary(profile, folder, known, part=AuditPart.COMMAND_LINE),
                lambda sentence: say(translated(sentence), err=True),
            )
        except LibraryInUse as error:
            fail(translated(error), LATER)
        except (LibraryKeyWrong, LibraryUnreadable) as error:
            fail(translated(error), LATER if disk_fault(error.__cause__) not in (None, DiskFault.UNKNOWN) else REFUSED)
        except OSError as error:
            sentence = _(
                "The recordings in {folder} cannot be opened: {reason}. Nothing was changed.",
                folder=folder,
                reason=system_reason(error),
            )
            fail(sentence, LATER if disk_fault(error) else REFUSED)
        try:
            with report_disk_faults():
                yield LockedProfile(profile, library, known)
        finally:
            with suppress(OSError, sqlite3.Error):  # the next opening cleans up what fails now
                library.close()
            for sentence in library.warnings:
                say(sentence, err=True)
