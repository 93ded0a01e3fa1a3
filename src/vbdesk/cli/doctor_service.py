"""`vbdesk doctor --service`: check a service, and list what needs fixing."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vbdesk.cli.output import print_json, say, wrapped
from vbdesk.language import _, translated

if TYPE_CHECKING:
    from vbdesk.service.encryption.keys import EncryptionKeys

NEEDS_MENDING = 1


def check_service(data_dir: Path, address: str | None, *, quick: bool, as_json: bool, keys: "EncryptionKeys") -> None:
    """Print the findings; exits with 1 if something needs fixing."""
    from vbdesk.service.health.doctor import run_checks
    from vbdesk.service.health.findings import Health

    findings = run_checks(data_dir, address, whole=not quick, keys=keys)
    mend = sum(finding.health is Health.MEND for finding in findings)
    if as_json:
        print_json({"to_mend": mend, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            say(*wrapped(translated(finding.sentence), f"{finding.health:4}  {finding.topic}: ", " " * 6))
        say("", _("To be fixed: {count}.", count=mend) if mend else _("Nothing needs to be fixed."))
    if mend:
        raise typer.Exit(NEEDS_MENDING)
