"""`vbdesk desk`: open the window."""

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.display import has_display
from vbdesk.cli.output import fail, say
from vbdesk.cli.paths import desk_paths
from vbdesk.cli.without_console import show_box
from vbdesk.language import _, translated

if TYPE_CHECKING:
    from vbdesk.desk.shell.one_desk import AlreadyOpen


def desk(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A transfer bundle to take in or a sound file to import, such as one that was double-clicked.",
        ),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Open this profile, by its name or id.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Keep recordings and profiles here.")] = None,
    light: Annotated[bool, typer.Option("--light", help="Light colours, regardless of the system.")] = False,
    dark: Annotated[bool, typer.Option("--dark", help="Dark colours, regardless of the system.")] = False,
    smoke: Annotated[
        bool,
        typer.Option("--smoke", help="Test this installation: open each page, record, analyse, close. Keeps nothing."),
    ] = False,
) -> None:
    """Open the desk: record, send, and read results."""
    if light and dark:
        fail(_("Choose --light or --dark, not both."), 2)
    if not has_display() and "QT_QPA_PLATFORM" not in os.environ:
        fail(_("There is no display here. Start the desk in a graphical session."))
    gc.disable()  # collecting during the imports adds 0.15 s; the window collects in its own time
    try:
        raise typer.Exit(_run(file, profile, data_dir, light=light, dark=dark, smoke=smoke))
    finally:
        gc.enable()


def _run(file: Path | None, profile: str | None, data_dir: Path | None, *, light: bool, dark: bool, smoke: bool) -> int:
    from vbdesk.desk.ports import DeskPorts
    from vbdesk.desk.shell.app import run
    from vbdesk.desk.shell.one_desk import AlreadyOpen
    from vbdesk.desk.ui.tokens import Scheme
    from vbdesk.outbox.diagnostics.log_file import start_log

    scheme = Scheme.LIGHT if light else Scheme.DARK if dark else Scheme.SYSTEM
    if smoke:
        from vbdesk.cli.desk_smoke import run_smoke_test

        return run_smoke_test(scheme)
    paths = desk_paths(data_dir)
    start_log(paths.data)
    ports = DeskPorts(data_dir=paths.data, config_dir=paths.config)
    try:
        return run(ports, scheme, profile, file=None if file is None else file.expanduser().absolute())
    except AlreadyOpen as open_already:
        return _tell(open_already)


def _tell(open_already: "AlreadyOpen") -> int:
    """Say that there is a desk already: in the terminal, or in a window of its own if there is none."""
    say(translated(open_already), err=True)
    if open_already.handed_over:
        return 0
    started_from_a_menu = sys.__stderr__ is not None and not sys.__stderr__.isatty()
    if started_from_a_menu:  # without any stream, as on Windows, `explaining_in_a_box` shows it
        show_box(translated(open_already))
    return 1
