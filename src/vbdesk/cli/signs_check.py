"""`vbdesk signs check`: check whether signs of your own can be used."""

from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.output import fail, say
from vbdesk.language import _


def check(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="Folder of NAME.toml files; entry points are always checked."),
    ] = None,
    allow_pickled_signs: Annotated[
        bool, typer.Option("--allow-pickled-signs", help="Open signs that are pickles, which can run code.")
    ] = False,
) -> None:
    """Load signs of your own as the service would; exits with 1 if one of them cannot be used."""
    from vbdesk.contract.levels import Level
    from vbdesk.report.reader_words import level_in_sentence
    from vbdesk.signs.plugins.discovery import load_plugins
    from vbdesk.signs.plugins.source import PluginSource

    if folder is not None and not folder.is_dir():
        fail(_("There is no folder {folder}.", folder=folder), 2)
    signs = load_plugins(PluginSource(folder, allow_pickled_signs))
    for name, sign in signs.available.items():
        file = sign.file
        say(
            _(
                "{name}: version {version}, {kind}, {features} features. Evidence grade: {evidence_grade}."
                " Highest level: {max_level}.",
                name=name,
                version=file.version,
                kind=file.model.kind,
                features=len(file.features),
                evidence_grade=file.evidence_grade,
                max_level=level_in_sentence(Level(file.max_level)),
            )
        )
    for item in signs.unavailable:
        say(
            _("{name} is not offered ({place}): {reason}", name=item.name, place=item.place, reason=item.reason),
            err=True,
        )
    if not signs.available and not signs.unavailable:
        say(_("There are no signs of your own."))
    if signs.unavailable:
        raise typer.Exit(1)
