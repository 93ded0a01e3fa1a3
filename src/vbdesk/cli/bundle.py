"""`vbdesk bundle`: transfer recordings from a computer without network to one that sends them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.connection import (
    ACT_FIRST,
    LATER,
    REFUSED,
    STATUSES,
    AsJson,
    DataDir,
    named_profile,
    report_disk_faults,
    report_errors,
    vault_of,
)
from vbdesk.cli.locked_library import locked_library
from vbdesk.cli.output import fail, local_time, print_json, say
from vbdesk.language import _, formats, ngettext, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.outbox.bundles.bundle_export import Bundle

OwnProfile = Annotated[
    str | None, typer.Option("--profile", help="A profile of the desk, by name or id. Default: the one in use.")
]

bundle = typer.Typer(
    no_args_is_help=True, help="Hand recordings to another computer that sends them: encrypted, and each sent once."
)


@bundle.command()
def key(profile: OwnProfile = None, data_dir: DataDir = None) -> None:
    """Print this computer's public key: with it, others can make bundles that only this computer opens."""
    from vbdesk.cli.paths import desk_paths
    from vbdesk.outbox.bundles.bundle_keys import public_key
    from vbdesk.outbox.profiles.vault import retry_while_waiting

    with _bundle_errors_reported(), report_errors():  # the desk may be open
        paths = desk_paths(data_dir)
        known = named_profile(profile, paths)
        if known.secrets == "session":
            fail(
                _(
                    "The keys of {name} are kept by the open desk alone, as you chose: no bundle can be for it.",
                    name=known.name,
                ),
                4,
            )
        vault = vault_of(known, paths)
        say(retry_while_waiting(lambda: public_key(vault, known), lambda sentence: say(translated(sentence), err=True)))


@bundle.command(epilog=STATUSES)
def export(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of the bundle, such as a USB stick.", file_okay=False)
    ],
    for_key: Annotated[
        str | None,
        typer.Option("--for", help="Public key of the computer that sends. Default: ask for a passphrase."),
    ] = None,
    group: Annotated[list[str] | None, typer.Option("--group", help="Only recordings of this subject.")] = None,
    profile: OwnProfile = None,
    data_dir: DataDir = None,
) -> None:
    """Hand over the waiting recordings in one encrypted file; this computer keeps them but does not send them."""
    from vbdesk.outbox.bundles.bundle_export import export_bundle, exportable_recordings, owner_of
    from vbdesk.outbox.bundles.bundle_keys import KeyLock, PassphraseLock
    from vbdesk.outbox.library.disk_faults import disk_fault, stopped_sentence

    with _bundle_errors_reported(), locked_library(profile, data_dir) as held:
        if held.library.store.sending_blocked:  # `locked_library` has printed why
            refusal = _("Nothing was handed over, because it is not sure that this is the newest list of recordings.")
            fail(refusal, ACT_FIRST)
        chosen = None
        if group:
            waiting = exportable_recordings(held.library)
            items = [*waiting.items, *(left.item for left in waiting.left_out)]
            chosen = [item.take_id for item in items if item.group_id in group]
        lock = PassphraseLock(_new_passphrase()) if for_key is None else KeyLock(for_key)
        with _progress(_("Writing and reading back")) as progress:
            try:
                done = export_bundle(
                    held.library, owner_of(held.profile), folder, lock, take_ids=chosen, progress=progress
                )
            except OSError as error:
                fault = disk_fault(error)
                if fault is None:
                    raise
                fail(
                    _(
                        "The bundle could not be written to {folder}. {advice}",
                        folder=folder,
                        advice=stopped_sentence(fault),
                    ),
                    LATER,
                )
    say(str(done.path))
    say(
        ngettext("{count} recording was handed over.", "{count} recordings were handed over.", len(done.take_ids)),
        err=True,
    )
    for left in done.left_out:
        say(
            _(
                "Not handed over: {group_id}, {moment}. {reason}",
                group_id=left.item.group_id,
                moment=local_time(left.item.recorded_at),
                reason=left.reason,
            ),
            err=True,
        )
    if done.left_out:
        raise typer.Exit(ACT_FIRST if any(left.needs_person for left in done.left_out) else REFUSED)


@bundle.command("import", epilog=STATUSES)
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The bundle.", exists=True, dir_okay=False)],
    profile: OwnProfile = None,
    data_dir: DataDir = None,
) -> None:
    """Import the recordings of a bundle; the desk, or `vbdesk sync`, sends them."""
    from vbdesk.outbox.bundles.bundle_export import owner_of
    from vbdesk.outbox.bundles.bundle_file import check_whole, read_head
    from vbdesk.outbox.bundles.bundle_import import import_bundle
    from vbdesk.outbox.bundles.bundle_keys import secret_of
    from vbdesk.outbox.bundles.bundle_stream import ByteProgress

    with _bundle_errors_reported(), locked_library(profile, data_dir) as held:
        passphrase = None
        if read_head(file).needs_passphrase:
            check_whole(file, ByteProgress())  # nobody types a passphrase for a damaged file
            passphrase = typer.prompt(_("Passphrase of the bundle"), hide_input=True, err=True)
        secret = secret_of(held.vault, held.profile, passphrase)
        with _progress(_("Taking over")) as progress:
            taken = import_bundle(held.library, owner_of(held.profile), file, secret, progress=progress)
    if taken.added or not (taken.known or taken.deleted or taken.clashing or taken.without_consent):
        say(
            ngettext(
                "{count} recording was imported and is in the queue now.",
                "{count} recordings were imported and are in the queue now.",
                len(taken.added),
            )
        )
    if taken.known:
        say(
            ngettext(
                "{count} recording was here before, and stays as it is.",
                "{count} recordings were here before, and stay as they are.",
                len(taken.known),
            )
        )
    if taken.deleted:
        say(
            ngettext(
                "{count} recording had been deleted here, and stays deleted.",
                "{count} recordings had been deleted here, and stay deleted.",
                len(taken.deleted),
            )
        )
    for take in taken.clashing:
        say(
            _(
                "Not imported: {group_id}, {moment}. Another recording here has this subject and moment. Take it"
                " back on the computer that made the bundle.",
                group_id=take.group_id,
                moment=local_time(take.recorded_at),
            ),
            err=True,
        )
    for take in taken.without_consent:
        say(
            _(
                "Not imported: {group_id}, {moment}. No consent of this subject is noted, or it was withdrawn. Note"
                " the consent and import the bundle again, or take the recording back on the computer that made the"
                " bundle.",
                group_id=take.group_id,
                moment=local_time(take.recorded_at),
            ),
            err=True,
        )
    if taken.without_consent or taken.clashing:
        raise typer.Exit(ACT_FIRST if taken.without_consent else REFUSED)


@bundle.command("list")
def list_(profile: OwnProfile = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the bundles made here, with the state of their recordings; finish unfinished ones."""
    from vbdesk.outbox.bundles.bundle_export import bundles, settle
    from vbdesk.outbox.library.states import STATE_TEXTS

    with _bundle_errors_reported(), locked_library(profile, data_dir) as held:
        settle(held.library)
        known = bundles(held.library)
    if as_json:
        print_json([_document(each) for each in known], indent=1)
        return
    if not known:
        say(_("No bundle was made here."))
    for each in known:
        states = formats.list_of(
            [f"{_(STATE_TEXTS[state])} {formats.number(count)}" for state, count in sorted(each.states.items())]
        )
        to = each.public_key or _("a passphrase")
        say(_("{name}: {moment}, for {to}", name=each.path.name, moment=local_time(each.made_at), to=to))
        counted = ngettext("{count} recording", "{count} recordings", each.recordings)
        if states:
            say("  " + _("{recordings}: {states}", recordings=counted, states=states))
        else:
            say("  " + _("{recordings}: none here any more, or all in a later bundle", recordings=counted))
        if not each.settled:
            say(
                "  "
                + _(
                    "Its file is not finished. Put the stick of {path} back and list again, or take it back.",
                    path=each.path,
                )
            )


@bundle.command("take-back")
def take_back(
    name: Annotated[str, typer.Argument(metavar="BUNDLE", help="The bundle's file name or id; see `list`.")],
    profile: OwnProfile = None,
    data_dir: DataDir = None,
) -> None:
    """Let this computer send what is still handed over in a bundle, for example if the USB stick is lost."""
    from vbdesk.outbox.bundles import bundle_export as outbox

    with _bundle_errors_reported(), locked_library(profile, data_dir) as held:
        wanted = [
            each for each in outbox.bundles(held.library) if name in (each.bundle_id, each.path.name, str(each.path))
        ]
        if not wanted:
            fail(_("No bundle {name} was made here. `vbdesk bundle list` shows those that were.", name=name), 2)
        handed_over = outbox.still_handed_over(held.library, wanted[0].bundle_id)
        back = outbox.take_back(held.library, handed_over)
    if not back:
        fail(_("Nothing of this bundle is left to take back: its recordings were sent, or are back already."))
    say(
        ngettext(
            "{count} recording is back in the queue. It is searched for at the service before it is sent.",
            "{count} recordings are back in the queue. Each is searched for at the service before it is sent.",
            len(back),
        )
    )


@contextmanager
def _bundle_errors_reported() -> Iterator[None]:
    """End the command with the sentence of a bundle error."""
    from vbdesk.capture.encrypted_take import EncryptedFileError
    from vbdesk.outbox.bundles.bundle_errors import BundleDiskFull, BundleError

    try:
        with report_disk_faults():
            yield
    except BundleDiskFull as error:
        fail(translated(error), LATER)
    except (BundleError, EncryptedFileError) as error:
        fail(translated(error))
    except OSError as error:
        fail(
            _(
                "The file {file} cannot be used: {reason}. Nothing was changed.",
                file=error.filename or "-",
                reason=system_reason(error),
            )
        )


@contextmanager
def _progress(label: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn(label), BarColumn(), DownloadColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _new_passphrase() -> str:
    text: str = typer.prompt(
        _("Passphrase for the bundle (do not send it with the stick)"),
        hide_input=True,
        confirmation_prompt=_("The same again"),
        err=True,
    )
    return text


def _document(each: "Bundle") -> dict[str, object]:
    return {
        "bundle_id": each.bundle_id,
        "file": str(each.path),
        "made_at": each.made_at.isoformat(),
        "public_key": each.public_key,
        "finished": each.settled,
        "recordings": each.recordings,
        "states": each.states,
    }
