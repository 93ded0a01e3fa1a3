"""The recordings of a profile, for commands that work on them; the desk must not have them open meanwhile."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.cli.connection import ACT_FIRST, LATER, named_profile, told
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
    from vbdesk.cli.places import places
    from vbdesk.outbox.library.audit import Part
    from vbdesk.outbox.library.opening import HeldLibrary, LibraryInUse
    from vbdesk.outbox.library.schema import LibraryLocked, LibraryUnreadable
    from vbdesk.outbox.profiles.profiles import library_folder
    from vbdesk.outbox.profiles.vault import KeyringVault, patiently

    place = places(data_dir)
    with told():
        profile = named_profile(wanted, place)
        if profile.secrets == "session":
            fail(f"The key to the recordings of {profile.name} is only in the desk, while it is open.", ACT_FIRST)
        known = vault or KeyringVault()
        folder = library_folder(place.data, profile.profile_id)
        try:
            library = patiently(
                lambda: HeldLibrary(profile, folder, known, part=Part.COMMAND_LINE),
                lambda sentence: say(sentence, err=True),
            )
        except LibraryInUse as error:
            fail(str(error), LATER)
        except (LibraryLocked, LibraryUnreadable) as error:
            fail(str(error))
        except OSError as error:
            fail(f"The recordings in {folder} cannot be opened: {error.strerror or error}. Nothing was changed.")
        try:
            yield Held(profile, library, known)
        except sqlite3.Error:
            fail("The disk with the recordings is full or gone. Nothing is lost; make room and begin again.")
        finally:
            library.close()
            for sentence in library.warnings:
                say(sentence, err=True)
