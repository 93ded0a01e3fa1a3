"""What commands print: long text in lines, and how they end badly: one sentence, no traceback."""

import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NoReturn

import typer

WIDTH = 100


def fail(sentence: str, status: int = 1) -> NoReturn:
    """Say why, in one line, and end."""
    typer.echo(_printable(" ".join(sentence.split())), err=True)
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


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows in columns; None is a dash. One sentence where there are no rows."""
    texts = [["-" if cell is None else _printable(str(cell)) for cell in row] for row in rows]
    if not texts:
        return "There are none."
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in [list(heads), *texts])


def local_time(moment: datetime | None) -> str | None:
    """A moment as this computer's clock shows it, to the minute."""
    return None if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def number(value: float | None, form: str = ".2f") -> str | None:
    """A number in the given form; None stays None."""
    return None if value is None else format(value, form)


def _printable(text: str) -> str:
    """What a service wrote, without signs that would steer the terminal."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
