"""What an export reads from the recordings of this computer, and notes in their audit log."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.cli.connection import LATER
from vbdesk.cli.output import fail, say
from vbdesk.language import N_, _, translated

if TYPE_CHECKING:
    from vbdesk.outbox.library.opening import LockedLibrary
    from vbdesk.outbox.profiles.vault import Vault
    from vbdesk.report.letterhead import Letterhead
    from vbdesk.report.subject_record import SubjectRecord

_NOT_NOTED = N_("The export is written, and not in the audit log: {reason}")
_NO_DETAILS = N_("The columns that only the recordings of this computer fill stay empty: {reason}")
_NO_CORRECTIONS = N_("Corrections that the service has not done yet are not in the export: {reason}")
_NO_CONSENTS = N_("Consents, and corrections that the service has not done yet, are not in the export: {reason}")
_NO_LETTERHEAD = N_("The report has no letterhead: {reason}")
_UNREADABLE = N_(
    "The export has no consent of subject {group_id}: something other than vbdesk changed one, so it may have been "
    "withdrawn. Ask the subject again, and note the answer in the desk."
)


def as_library_knows(
    records: "list[SubjectRecord]",
    profile: str | None,
    data_dir: Path | None,
    vault: "Vault | None" = None,
    *,
    tables: bool,
    consents: bool = False,
) -> "list[SubjectRecord]":
    """The records as corrected in the profile's library, if it has one; reports if that cannot be read.

    With `tables`, also the details of its recordings and its consents; with `consents`, the consents as they are noted.
    """
    from vbdesk.outbox.results.recording_details import (
        with_consents,
        with_corrections,
        with_details,
        with_unreadable_consents,
    )

    otherwise = _NO_DETAILS if tables else _NO_CONSENTS if consents else _NO_CORRECTIONS
    with _library(profile, data_dir, vault, otherwise) as library:
        if library is None:
            return records
        known = with_corrections(library, records)
        if consents:
            known = with_consents(library, known)
            for group_id in with_unreadable_consents(library, [record.group_id for record in records]):
                say(_(_UNREADABLE, group_id=group_id), err=True)
        return with_details(library, known) if tables else known


def letterhead_of(profile: str | None, data_dir: Path | None, vault: "Vault | None" = None) -> "Letterhead | None":
    """The letterhead of the profile; None without one, or if its library cannot be read, which is reported."""
    with _library(profile, data_dir, vault, _NO_LETTERHEAD) as library:
        return None if library is None else library.letterhead.read()


def note_export(profile: str | None, data_dir: Path | None, detail: str, vault: "Vault | None" = None) -> None:
    """Record the export in the audit log of the profile's recordings, if any; report if that fails."""
    from vbdesk.outbox.library.audit import AuditAction
    from vbdesk.outbox.library.disk_faults import DiskFault, disk_fault, stopped_sentence

    with _library(profile, data_dir, vault, _NOT_NOTED) as library:
        if library is None:
            return
        try:
            library.note(AuditAction.EXPORTED, detail=detail)
        except (OSError, sqlite3.Error) as error:
            reason = stopped_sentence(disk_fault(error) or DiskFault.UNKNOWN)
            fail(_(_NOT_NOTED, reason=translated(reason)), LATER)


def refuse_beside_desk(profile: str | None, data_dir: Path | None) -> None:
    """End the command at once if the desk is open on a profile whose service it runs: nobody else can read it."""
    from vbdesk.cli.connection import named_profile
    from vbdesk.cli.paths import desk_paths
    from vbdesk.outbox.library.opening import LibraryInUse, lock_library
    from vbdesk.outbox.profiles.profiles import library_folder

    paths = desk_paths(data_dir)
    known = named_profile(profile, paths)
    folder = library_folder(paths.data, known.profile_id)
    if known.base_url is not None or not folder.exists():
        return
    try:
        lock_library(folder).release()
    except LibraryInUse as error:
        fail(translated(error), LATER)


@contextmanager
def _library(
    profile: str | None, data_dir: Path | None, vault: "Vault | None", otherwise: str
) -> "Iterator[LockedLibrary | None]":
    """The recordings of a profile; None if there are none, or, after the sentence `otherwise`, if they do not open."""
    from vbdesk.cli.connection import named_profile, vault_of
    from vbdesk.cli.paths import desk_paths
    from vbdesk.outbox.library.audit import AuditPart
    from vbdesk.outbox.library.database import LibraryKeyWrong, LibraryUnreadable
    from vbdesk.outbox.library.opening import LibraryInUse, LockedLibrary
    from vbdesk.outbox.profiles.profiles import LibraryKeyMissing, library_folder
    from vbdesk.outbox.profiles.vault import VaultError

    paths = desk_paths(data_dir)
    known = named_profile(profile, paths)
    folder = library_folder(paths.data, known.profile_id)
    if known.secrets == "session" or not (folder / "library.sqlite").exists():
        yield None
        return
    try:
        library = LockedLibrary(known, folder, vault or vault_of(known, paths), part=AuditPart.COMMAND_LINE)
    except (LibraryInUse, LibraryKeyMissing, LibraryKeyWrong, LibraryUnreadable, VaultError, OSError) as error:
        say(_(otherwise, reason=translated(error)), err=True)
        yield None
        return
    try:
        yield library
    finally:
        with suppress(OSError, sqlite3.Error):
            library.close()
