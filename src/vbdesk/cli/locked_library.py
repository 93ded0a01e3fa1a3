"""The recordings of a profile, for commands that work on them; the desk must not have them open meanwhile."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.cli.connection import ACT_FIRST, LATER, REFUSED, disk_faults_told, named_profile, told, vault_of
from vbdesk.cli.output import fail, say

if TYPE_CHECKING:
    from vbdesk.outbox.library.opening import HeldLibrary
    from vbdesk.outbox.profiles.profiles import Profile
    from vbdesk.outbox.profiles.vault import Vault


@dataclass(frozen=True, slots=True)
class Held:
    """A profile and its open library, with the vault that its keys are in."""

    profile: "Profile"
    library: "HeldLibrary"
    vault: "Vault"


@contextmanager
def held_library(wanted: str | None, data_dir: Path | None, vault: "Vault | None" = None) -> Iterator[Held]:
    """Open the recordings of a profile; whatever goes wrong in the block ends the command with one sentence.

    Args:
        wanted: name or id of the profile, as given; None for the one in use.
        data_dir: the desk's folder, as given.
        vault: where keys of profiles are; the system's keyring if None.
    """
    from vbdesk.cli.paths import places
    from vbdesk.outbox.library.audit import Part
    from vbdesk.outbox.library.disk_faults import DiskFault, disk_fault
    from vbdesk.outbox.library.opening import HeldLibrary, LibraryInUse
    from vbdesk.outbox.library.schema import LibraryLocked, LibraryUnreadable
    from vbdesk.outbox.profiles.profiles import library_folder
    from vbdesk.outbox.profiles.vault import patiently

    place = places(data_dir)
    with told():
        profile = named_profile(wanted, place)
        if profile.secrets == "session":
            fail(f"The key to the recordings of {profile.name} is only in the desk, while it is open.", ACT_FIRST)
        known = vault or vault_of(profile, place)
        folder = library_folder(place.data, profile.profile_id)
        try:
            library = patiently(
                lambda: HeldLibrary(profile, folder, known, part=Part.COMMAND_LINE),
                lambda sentence: say(sentence, err=True),
            )
        except LibraryInUse as error:
            fail(str(error), LATER)
        except (LibraryLocked, LibraryUnreadable) as error:
            fail(str(error), LATER if disk_fault(error.__cause__) not in (None, DiskFault.UNKNOWN) else REFUSED)
        except OSError as error:
            sentence = f"The recordings in {folder} cannot be opened: {error.strerror or error}. Nothing was changed."
            fail(sentence, LATER if disk_fault(error) else REFUSED)
        try:
            with disk_faults_told():
                yield Held(profile, library, known)
        finally:
            with suppress(OSError, sqlite3.Error):  # what cannot be tidied now is tidied at the next opening
                library.close()
            for sentence in library.warnings:
                say(sentence, err=True)
