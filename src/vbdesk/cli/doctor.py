"""`vbdesk doctor`: check this computer, or a service, and list what needs fixing."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.connection import AsJson, DataDir
from vbdesk.cli.doctor_service import NOTE, OK, REPAIR, check_service, finding_lines
from vbdesk.cli.encryption_key import KeyStdin, read_keys
from vbdesk.cli.output import fail, print_json, say
from vbdesk.cli.paths import desk_paths
from vbdesk.language import _, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.outbox.diagnostics.diagnostics import Diagnosis

NEEDS_REPAIR = 1
_KEYRING_TIMEOUT_S = 60.0  # a person may have to type a password first
_MARKS = {"good": OK, "notice": NOTE, "mend": REPAIR}


def doctor(
    bundle: Annotated[
        Path | None, typer.Option(help="Write the result to this file, for support; it holds nothing personal.")
    ] = None,
    with_hosts: Annotated[
        bool, typer.Option("--with-hosts", help="Let the file name the hosts of your services.")
    ] = False,
    service: Annotated[
        bool, typer.Option("--service", help="Check the service in --data-dir: the operator's check.")
    ] = False,
    url: Annotated[str | None, typer.Option(help="With --service: the address at which callers reach it.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not read every recording; with --service, every job and file.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    key_stdin: KeyStdin = False,
) -> None:
    """Check this computer, its keyring, recordings and services; exits with 1 if something needs fixing."""
    if service:
        if data_dir is None:
            fail(_("Say which service: vbdesk doctor --service --data-dir DIR."))
        check_service(data_dir, url, quick=quick, as_json=as_json, keys=read_keys(key_stdin))
        return
    if url is not None:
        fail(_("--url belongs to --service."))
    if key_stdin:
        fail(_("--key-stdin belongs to --service."))
    from vbdesk.desk.ports import DeskPorts
    from vbdesk.outbox.diagnostics.diagnostics import diagnose, write_bundle
    from vbdesk.outbox.library.disk_faults import disk_fault
    from vbdesk.outbox.profiles.service_key import ServiceKeyMissing, ServiceKeyStore
    from vbdesk.outbox.profiles.vault import KeyringVault

    paths = desk_paths(data_dir)
    ports = DeskPorts(paths.data, paths.config, keyring=KeyringVault(_KEYRING_TIMEOUT_S))
    try:
        with suppress(ServiceKeyMissing, NotADirectoryError):  # the checklist names a file in place of a folder
            ports.passphrase_vault.replaces_keyring = ServiceKeyStore(paths.service).lock_state() is not None
        diagnosis = diagnose(ports, with_hosts=with_hosts, read_sounds=not quick)
    except OSError as error:
        if error.filename is None or disk_fault(error) is not None:  # a full disk is told by the program's entry
            raise
        fail(_("{file} cannot be read: {reason}.", file=error.filename, reason=system_reason(error)))
    if as_json:
        print_json(diagnosis.facts)
    else:
        _show(diagnosis)
    if bundle is not None:
        try:
            write_bundle(diagnosis, bundle)
        except OSError as error:
            fail(_("{file} cannot be written: {reason}.", file=bundle, reason=system_reason(error)))
        say(_("Written to {bundle}. You can read it before you send it; it names nobody.", bundle=bundle), err=True)
    if not diagnosis.ok:
        raise typer.Exit(NEEDS_REPAIR)


def _show(diagnosis: "Diagnosis") -> None:
    """Print the computer first, then profile by profile."""
    profile: str | None = None
    for finding in diagnosis.findings:
        if finding.profile != profile:
            profile = finding.profile
            say("", translated(str(profile)))
        say(*finding_lines(_MARKS[finding.health], finding.topic, finding.sentence))
    to_repair = sum(_MARKS[finding.health] == REPAIR for finding in diagnosis.findings)
    if to_repair:
        say("", _("To be fixed: {count}. Your recordings are kept.", count=to_repair))
    else:
        say("", _("Nothing needs to be fixed."))
