"""`vbdesk signs check`: check whether signs of your own can be used."""

from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.output import fail, say


def check(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of NAME.toml files; entry points are always checked.")
    ] = None,
    allow_pickled_signs: Annotated[
        bool, typer.Option("--allow-pickled-signs", help="Open signs that are pickles, which can run code.")
    ] = False,
) -> None:
    """Load signs of your own as the service would; exits with 1 if one of them cannot be used."""
    from vbdesk.signs.plugins.discovery import load_plugins
    from vbdesk.signs.plugins.source import PluginSource

    if folder is not None and not folder.is_dir():
        fail(f"There is no folder {folder}.", 2)
    signs = load_plugins(PluginSource(folder, allow_pickled_signs))
    for name, sign in signs.available.items():
        file = sign.file
        features = "1 feature" if len(file.features) == 1 else f"{len(file.features)} features"
        say(
            f"{name}  version {file.version}, {file.model.kind}, {features}, evidence {file.evidence_grade}, "
            f"at most {file.max_level}"
        )
    for item in signs.unavailable:
        say(f"{item.name}  not offered ({item.place}): {item.reason}", err=True)
    if not signs.available and not signs.unavailable:
        say("There are no signs of your own.")
    if signs.unavailable:
        raise typer.Exit(1)
