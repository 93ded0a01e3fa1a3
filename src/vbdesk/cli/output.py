"""Print text of commands, and end a command with one sentence instead of a traceback.

Text from a service, a bundle, a file name or a person may contain terminal control sequences, or reorder words. So
commands print only through `say` and `print_json`, which escape such characters.
"""

import json
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NoReturn

import typer

from vbdesk.language import Message, _, current, formats, translated

WIDTH = 100


def fail(sentence: str, status: int = 1) -> NoReturn:
    """Print the reason in one line, a message in the reader's language, and exit."""
    say(" ".join(_in_words(sentence).split()), err=True)
    raise typer.Exit(status)


def fail_without_target(status: int) -> NoReturn:
    """Print that either a model or a sign must be named, and the models that there are; exit with `status`."""
    from vbdesk.contract.catalog import ModelName

    models = ", ".join(ModelName)
    fail(
        _("Say what to analyse for: either --model NAME or --sign NAME. The models are: {models}.", models=models),
        status,
    )


def say(*lines: str, err: bool = False) -> None:
    """Print lines, messages in the reader's language; escapes control characters, including line breaks in a line."""
    typer.echo("\n".join(printable(_in_words(line)) for line in lines), err=err)


def _in_words(value: object) -> str:
    """The text of a value. A plain text stands as it is: it may be a name that a catalog has as a word."""
    return translated(value) if isinstance(value, Message) else str(value)


def print_json(document: object, indent: int | None = None) -> None:
    """Print plain values, or a model of the interface, as JSON in ASCII without control characters."""
    from pydantic import BaseModel

    if isinstance(document, BaseModel):
        text = document.model_dump_json(indent=indent, by_alias=True, ensure_ascii=True)
    else:
        text = json.dumps(document, indent=indent)
    typer.echo(text.replace("\x7f", "\\u007f"))


def printable(text: str) -> str:
    r"""`text` with every invisible or steering character escaped, such as `\x1b` or `\u202e`.

    Those are control characters, line breaks, direction marks, and unassigned code points. In a language that runs from
    right to left, the marks with which its own texts keep names apart are shown as they are.
    """
    if text.isprintable():
        return text
    allowed = _OF_RIGHT_TO_LEFT if current().right_to_left else ""
    return "".join(
        sign if sign in allowed or _is_shown(sign) else sign.encode("unicode_escape").decode() for sign in text
    )


_OF_RIGHT_TO_LEFT = "\u2068\u2069\u200e\u200f\u061c"
"""Isolates around names, and marks of CLDR in numbers and dates; none of them turns letters around."""


def _is_shown(sign: str) -> bool:
    return sign.isprintable() or unicodedata.category(sign) == "Zs"


def wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Wrap `text`: the first line starts with `first`, the others with `rest` or as many blanks."""
    indent = " " * len(first) if rest is None else rest
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,  # so that a path can be copied
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows in columns; None is a dash. One sentence if there are no rows."""
    texts = [["-" if cell is None else printable(_in_words(cell)) for cell in row] for row in rows]
    if not texts:
        return _("There are none.")
    return "\n".join(columns(heads, *texts))


def local_time(moment: datetime | None) -> str | None:
    """A moment in local time, to the minute."""
    from vbdesk.contract.timestamps import local_minute

    return None if moment is None else local_minute(moment)


def number(value: float | None, form: str = ".2f") -> str | None:
    """A number in the given form, with the signs of the reader's region; None stays None."""
    return None if value is None else formats.number(value, form)


def interval_words(ends: tuple[float, float] | None) -> str | None:
    """An interval of scores; None stays None."""
    return None if ends is None else _("{low:.2f} to {high:.2f}", low=ends[0], high=ends[1])


def share_interval_words(ends: tuple[float, float] | None) -> str | None:
    """An interval of shares; None stays None."""
    return None if ends is None else _("{low:.0%} to {high:.0%}", low=ends[0], high=ends[1])


def columns(*rows: Sequence[str]) -> list[str]:
    """Rows as lines, their cells one below the other."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _width(text: str) -> int:
    """Letters that a terminal shows: marks of direction have no width."""
    return sum(sign not in _OF_RIGHT_TO_LEFT for sign in text)


def confirm(question: str) -> None:
    """Ask a question of yes or no; no, or no answer, ends the command. `y` and `n` are understood in every language."""
    # Translators: the letters for yes and no that a person types, without a blank: "y/n"
    yes, _slash, no = _("y/n").strip("[]").partition("/")
    answer: str = typer.prompt(f"{question} [{yes}/{no.upper()}]", default="", show_default=False, err=True)
    if not is_yes(answer, yes, _("yes")):
        raise typer.Abort


def is_yes(answer: str, *words: str) -> bool:
    """Whether an answer means yes, in English or by one of `words`."""
    return answer.strip().casefold() in {"y", "yes", *(word.casefold() for word in words)}
