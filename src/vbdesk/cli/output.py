"""What commands print: long text in lines, and how they end badly: one sentence, no traceback."""

import textwrap
from typing import NoReturn

import typer

WIDTH = 100


def fail(sentence: str, status: int = 1) -> NoReturn:
    """Say why, in one line, and end."""
    typer.echo(" ".join(sentence.split()), err=True)
    raise typer.Exit(status)


def wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Break `text` into lines behind `first`, the others behind `rest` or as many blanks."""
    indent = " " * len(first) if rest is None else rest
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,  # a path is copied whole or not at all
    )
