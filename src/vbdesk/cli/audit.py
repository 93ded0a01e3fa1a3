"""`vbdesk audit`: show and verify the log of a profile's recordings; accept a restored copy."""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.connection import ACT_FIRST, AsJson, DataDir, named_profile, report_errors, vault_of
from vbdesk.cli.output import fail, print_json, say
from vbdesk.cli.paths import desk_paths
from vbdesk.language import _, system_reason, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from vbdesk.outbox.library.audit import AuditEntry
    from vbdesk.outbox.library.audit_reader import AuditReader

CHANGED = 1

app = typer.Typer(no_args_is_help=True, help="The log of what was done with recordings on this computer.")

ProfileName = Annotated[
    str | None, typer.Option("--profile", help="A profile of the desk, by name or id. Default: the one in use.")
]


@app.command()
def verify(profile: ProfileName = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Verify the whole log; exits with 1 if it or the list was changed."""
    with _log(profile, data_dir) as log:
        found = log.reader.verify()
        findings = log.findings()
    if as_json:
        ok = found.ok and not findings
        print_json({"ok": ok, "entries": found.count, "broken_at": found.broken_at, "findings": findings})
    elif found.ok and findings:
        say(
            _(
                "The entries of the audit log that are here, {count} in all, are as vbdesk wrote them.",
                count=found.count,
            ),
            *map(translated, findings),
        )
    else:
        say(translated(found.sentence), *map(translated, findings))
    if findings or not found.ok:
        raise typer.Exit(CHANGED)


@app.command()
def show(profile: ProfileName = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List who did what with which recording and when, oldest first; exits with 1 if it or the list was changed."""
    with _log(profile, data_dir) as log:
        entries, found = log.reader.entries(), log.reader.verify()
        findings = log.findings()
    if as_json:
        print_json([_plain(entry) for entry in entries])
    else:
        say(*(_lines(entries) or [_("Nothing was done yet.")]))
    if findings or not found.ok:
        fail("\n".join(map(translated, [*([] if found.ok else [found.sentence]), *findings])), CHANGED)


@app.command()
def accept_copy(profile: ProfileName = None, data_dir: DataDir = None) -> None:
    """Accept a list of recordings that was changed or replaced by an older copy, so that sending continues.

    Missing recordings stay missing. Each waiting recording is searched for at the service before it is sent. The desk
    must be closed.
    """
    from vbdesk.cli.locked_library import locked_library
    from vbdesk.outbox.library.library import NotAllowed

    with locked_library(profile, data_dir) as held:
        accepted = held.library.store.findings
        try:
            held.library.accept_copy()
        except NotAllowed as error:
            fail(translated(error), ACT_FIRST)
        say(*map(translated, accepted), _("You accepted the list as it is. Recordings are sent again."))


@dataclass(frozen=True, slots=True)
class _Log:
    """The audit log of a list of recordings, and a check of that list.

    Attributes:
        reader: of the log.
        findings: checks the list; call it last, since it repairs the copy that is read.
    """

    reader: "AuditReader"
    findings: "Callable[[], list[str]]"


@contextmanager
def _log(wanted: str | None, data_dir: "Path | None") -> "Iterator[_Log]":
    """Read the log of a profile; any error ends the command with one sentence."""
    from vbdesk.clock import SystemClock
    from vbdesk.outbox.diagnostics.list_check import check_list, copied_list
    from vbdesk.outbox.library.audit_reader import AuditReader, AuditUnreadable
    from vbdesk.outbox.library.database import LibraryKeyWrong, LibraryUnreadable
    from vbdesk.outbox.library.integrity_check import NOT_KNOWN
    from vbdesk.outbox.library.rollback_detection import read_keyring
    from vbdesk.outbox.profiles.profiles import known_library_key, library_folder
    from vbdesk.outbox.profiles.vault import retry_while_waiting

    paths = desk_paths(data_dir)
    with report_errors():
        profile = named_profile(wanted, paths)
        if profile.secrets == "session":
            fail(
                _("The key of these recordings is kept by the open desk alone, so their log cannot be read."), ACT_FIRST
            )
        vault = vault_of(profile, paths)
        key = retry_while_waiting(
            lambda: known_library_key(vault, profile), lambda said: say(translated(said), err=True)
        )
    if key is None:
        fail(_("The key to these recordings is not in the keyring, so their log cannot be read."), ACT_FIRST)
    known_key, mark = key, read_keyring(vault, profile.high_water_name, may_ask=False)
    folder = library_folder(paths.data, profile.profile_id)
    try:
        with copied_list(folder, known_key) as copy:

            def findings() -> list[str]:
                found = check_list(copy, known_key, SystemClock(), mark)
                unknown = [] if found.unknown is None else [f"{found.unknown} {NOT_KNOWN}"]
                return [*found.findings, *unknown]

            if not copy.exists:
                fail("\n".join(map(translated, findings())) or _("There are no recordings here yet."), CHANGED)
            yield _Log(AuditReader(copy.folder, known_key), findings)
    except (AuditUnreadable, LibraryKeyWrong, LibraryUnreadable) as error:
        fail(translated(error), CHANGED)
    except OSError as error:
        fail(
            _(
                "The recordings in {folder} cannot be read: {reason}. Nothing was changed.",
                folder=folder,
                reason=system_reason(error),
            )
        )


def _plain(entry: "AuditEntry") -> dict[str, object]:
    return {
        "seq": entry.seq,
        "at": entry.at,
        "part": entry.part,
        "account_id": entry.account_id,
        "what": entry.what,
        "take_id": entry.take_id,
        "detail": entry.detail,
    }


def _lines(entries: "list[AuditEntry]") -> list[str]:
    widest = max((len(entry.what) for entry in entries), default=0)
    return [
        f"{entry.seq:6}  {entry.at[:19].replace('T', ' ')}  {entry.part:12}  {entry.what:{widest}}  "
        f"{entry.take_id or '':36}  {entry.detail}".rstrip()
        for entry in entries
    ]
