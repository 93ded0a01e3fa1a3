"""`vbdesk desk`: the window."""

from pathlib import Path
from typing import Annotated

import typer


def desk(
    profile: Annotated[str | None, typer.Option(help="Open this profile, by its name or id.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Keep recordings and profiles here.")] = None,
    light: Annotated[bool, typer.Option("--light", help="Light colours, whatever the system has.")] = False,
    dark: Annotated[bool, typer.Option("--dark", help="Dark colours, whatever the system has.")] = False,
) -> None:
    """Open the desk: record, send, and read results."""
    import platformdirs

    from vbdesk.desk.app import run
    from vbdesk.desk.outside import Outside
    from vbdesk.desk.theme import Scheme

    if light and dark:
        raise typer.BadParameter("Choose --light or --dark, not both.")
    scheme = Scheme.LIGHT if light else Scheme.DARK if dark else Scheme.SYSTEM
    if data_dir is None:
        data, config = platformdirs.user_data_path("vbdesk", False), platformdirs.user_config_path("vbdesk", False)
    else:
        data = config = data_dir.expanduser().resolve()
    raise typer.Exit(run(Outside(data_dir=data, config_dir=config), scheme, profile))
