"""The `vbdesk` command: one subcommand a job."""

import typer

from vbdesk.cli.longitudinal import longitudinal

app = typer.Typer(no_args_is_help=True, add_completion=False, help="The voice biomarker desk.")


@app.callback()
def _root() -> None:
    """Record a voice, check it, send it for analysis, follow the person over time."""


app.command()(longitudinal)


def run() -> None:
    """Entry point of the console script."""
    app()
