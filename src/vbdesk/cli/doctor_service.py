"""`vbdesk doctor --service`: check a service, and list what needs fixing."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vbdesk.cli.output import print_json, say, wrapped
from vbdesk.language import N_, _, translated

if TYPE_CHECKING:
    from vbdesk.service.encryption.keys import EncryptionKeys

NEEDS_REPAIR = 1
OK, NOTE, REPAIR = N_("ok"), N_("note"), N_("MEND")
"""The state of a finding, as it is printed."""


def check_service(data_dir: Path, address: str | None, *, quick: bool, as_json: bool, keys: "EncryptionKeys") -> None:
    """Print the findings; exits with 1 if something needs fixing."""
    from vbdesk.service.health.doctor import run_checks
    from vbdesk.service.health.findings import Health

    findings = run_checks(data_dir, address, whole=not quick, keys=keys)
    to_repair = sum(finding.health is Health.REPAIR for finding in findings)
    if as_json:
        print_json({"to_mend": to_repair, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            say(*finding_lines(finding.health, finding.topic, finding.sentence))
        say("", _("To be fixed: {count}.", count=to_repair) if to_repair else _("Nothing needs to be fixed."))
    if to_repair:
        raise typer.Exit(NEEDS_REPAIR)


def finding_lines(mark: str, topic: str, sentence: str) -> list[str]:
    """A finding in the reader's language: its state (`OK`, `NOTE` or `REPAIR`), what was checked, and the result."""
    width = max(len(_(each)) for each in (OK, NOTE, REPAIR))
    checked = _("{topic}:", topic=translated(topic))
    return wrapped(translated(sentence), f"{_(mark):{width}}  {checked} ", " " * (width + 2))
