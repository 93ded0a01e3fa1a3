"""Print text of commands, and end a command with one sentence instead of a traceback.

Text from a service, a bundle, a file name or a person may contain terminal control sequences, or reorder words. So
commands print only through `say` and `print_json`, which escape such characters.
"""

import json
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise, zip_longest
from typing import NoReturn

import typer

from vbdesk.language import Message, _, current, formats, translated

WIDTH = 100


def fail(sentence: str, status: int = 1) -> NoReturn:
    """Print the reason in one line, a message in the reader's language, and exit."""
    say(" ".join(_as_text(sentence).split()), err=True)
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
    typer.echo("\n".join(printable(_as_text(line)) for line in lines), err=err)


def _as_text(value: object) -> str:
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
        max(_NARROWEST, min(WIDTH, terminal_width() or WIDTH)),
        initial_indent=first,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,  # so that a path can be copied
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows in columns below their heads, as lines; None is a dash. One sentence if there are no rows.

    In a terminal that is too narrow, words are wrapped. Where that is not enough, each row becomes a paragraph.
    """
    texts = [["-" if cell is None else printable(_as_text(cell)) for cell in row] for row in rows]
    if not texts:
        return [_("There are none.")]
    room = terminal_width()
    if room is None or _line_width(_least_widths(heads, *texts)) <= room:
        return columns(heads, *texts)
    return [line for row in texts for line in _paragraph(heads, row, room)]


def _paragraph(heads: Sequence[str], row: Sequence[str], room: int) -> list[str]:
    """A row as lines: each cell after its head, all but the first indented."""
    widest = max(map(_width, heads)) + 2
    lines: list[str] = []
    for head, cell in zip(heads, row, strict=True):
        indent = "  " if lines else ""
        first, *rest = _broken(cell, max(_NARROWEST, room - widest - 4))
        lines.append(indent + head + " " * (widest + 2 - len(indent) - _width(head)) + first)
        lines += [" " * (widest + 2) + part for part in rest]
    return lines


def local_time(moment: datetime | None) -> str | None:
    """A moment in local time, to the minute."""
    from vbdesk.contract.timestamps import local_minute

    return None if moment is None else local_minute(moment)


def number(value: float | None, form: str = ".2f") -> str | None:
    """A number in the given form, with the signs of the reader's region; None stays None."""
    return None if value is None else formats.number(value, form)


def interval_text(ends: tuple[float, float] | None) -> str | None:
    """An interval of scores; None stays None."""
    return None if ends is None else _("{low:.2f} to {high:.2f}", low=ends[0], high=ends[1])


def share_interval_text(ends: tuple[float, float] | None) -> str | None:
    """An interval of shares; None stays None."""
    return None if ends is None else _("{low:.0%} to {high:.0%}", low=ends[0], high=ends[1])


def columns(*rows: Sequence[str]) -> list[str]:
    """Rows as lines, their cells one below the other; in a narrow terminal, words of long cells are wrapped."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    room = terminal_width()
    if room is not None:
        least = _least_widths(*rows)
        while _line_width(widths) > room and widths != least:
            widest = max(
                (column for column in range(len(widths)) if widths[column] > least[column]), key=widths.__getitem__
            )
            widths[widest] -= 1
    return [line for row in rows for line in _row_lines(row, widths)]


def _row_lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    parts = [_broken(cell, width) for cell, width in zip(row, widths, strict=True)]
    for line in zip_longest(*parts, fillvalue=""):
        yield "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)).rstrip()


def _least_widths(*rows: Sequence[str]) -> list[int]:
    """How narrow each column can be."""
    return [max(_width(part) for cell in column for part in _broken(cell, 1)) for column in zip(*rows, strict=True)]


def _line_width(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _broken(cell: str, width: int) -> list[str]:
    """A cell as lines of at most `width`, broken between words only; a number stays with the words next to it."""
    if _width(cell) <= width or " " not in cell.strip():
        return [cell]
    words = cell.split(" ")
    unbroken = words[0] + "".join(
        (_NO_BREAK_SPACE if _has_digit(before) or _has_digit(word) else " ") + word for before, word in pairwise(words)
    )
    lines = textwrap.wrap(unbroken, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_NO_BREAK_SPACE, " ") for line in lines] or [""]


def _has_digit(word: str) -> bool:
    return any(sign.isdigit() for sign in word)


_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_NARROWEST = 20


def terminal_width() -> int | None:
    """Letters in a line of the terminal; None if a file or another program reads what is printed."""
    if "COLUMNS" not in os.environ and not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def _width(text: str) -> int:
    """Letters that a terminal shows: marks of direction, and those above and below letters, have no width."""
    return sum(unicodedata.category(sign) not in {"Cf", "Mn"} for sign in text)


def confirm(question: str) -> None:
    """Ask a question of yes or no; no, or no answer, ends the command. `y` and `n` are understood in every language."""
    # Translators: the letters for yes and no that a person types, without a blank: "y/n"
    yes, _slash, no = _("y/n").strip("[]").partition("/")
    answer: str = typer.prompt(f"{question} [{yes}/{no.upper()}]", default="", show_default=False, err=True)
    if not is_yes(answer, yes, _("yes")):
        raise typer.Abort


def is_yes(answer: str, *text: str) -> bool:
    """Whether an answer means yes, in English or by one of `text`."""
    return answer.strip().casefold() in {"y", "yes", *(word.casefold() for word in text)}
