"""What commands print: long text in lines, and how they end badly: one sentence, no traceback.

What a service, a bundle, a file name or a person wrote may steer a terminal, or show words in another order than they
are in. So commands print through `say` and `print_json` alone, which escape such signs.
"""

import json
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NoReturn

import typer

WIDTH = 100


def fail(sentence: str, status: int = 1) -> NoReturn:
    """Say why, in one line, and end."""
    say(" ".join(sentence.split()), err=True)
    raise typer.Exit(status)


def say(*lines: str, err: bool = False) -> None:
    """Print lines, with whatever would steer the terminal escaped: line breaks within a line too."""
    typer.echo("\n".join(map(printable, lines)), err=err)


def print_json(document: object, indent: int | None = None) -> None:
    """Print plain values, or a model of the interface, as JSON in ASCII without control characters."""
    from pydantic import BaseModel

    if isinstance(document, BaseModel):
        text = document.model_dump_json(indent=indent, by_alias=True, ensure_ascii=True)
    else:
        text = json.dumps(document, indent=indent)
    typer.echo(text.replace("\x7f", "\\u007f"))


def printable(text: str) -> str:
    r"""`text` with every sign that is not shown as itself as an escape, such as `\x1b` or `\u202e`.

    Those are control characters, line breaks, marks of direction, and what is no character at all.
    """
    if text.isprintable():
        return text
    return "".join(sign if _is_shown(sign) else sign.encode("unicode_escape").decode() for sign in text)


def _is_shown(sign: str) -> bool:
    return sign.isprintable() or unicodedata.category(sign) == "Zs"


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
    texts = [["-" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    if not texts:
        return "There are none."
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in [list(heads), *texts])


def local_time(moment: datetime | None) -> str | None:
    """A moment as this computer's clock shows it, to the minute."""
    from vbdesk.contract.timestamps import local_minute

    return None if moment is None else local_minute(moment)


def number(value: float | None, form: str = ".2f") -> str | None:
    """A number in the given form; None stays None."""
    return None if value is None else format(value, form)
