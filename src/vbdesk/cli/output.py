"""How a command ends badly: one sentence on standard error, a status that is not zero, no traceback."""

from typing import NoReturn

import typer


def fail(sentence: str, status: int = 1) -> NoReturn:
    """Say why, in one line, and end."""
    typer.echo(" ".join(sentence.split()), err=True)
    raise typer.Exit(status)
