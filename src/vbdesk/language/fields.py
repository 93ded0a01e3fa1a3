"""Templates with named fields, filled in the forms of a language.

A template may come from a catalog or from stored data, so it is data: a field is a plain name, never an attribute or
an index, and its format is one of numbers. A field that does not fit is left in the text as it is; nothing is
raised.
"""

import string
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from numbers import Integral, Real
from typing import Protocol, runtime_checkable

from vbdesk.language.formats import formatted_number, is_number_format, unsigned_zero
from vbdesk.language.reader import Language

_ISOLATE, _END = "\u2068", "\u2069"  # a name from left to right keeps its order inside a line from right to left
_CONVERSIONS: Mapping[str, Callable[[object], object]] = {"": lambda value: value, "r": repr, "s": str}


@runtime_checkable
class Translatable(Protocol):
    """A value of a field that is itself a text for people."""

    def translated(self) -> str:
        """The text in the reader's language."""


def filled(template: str, fields: Mapping[str, object], language: Language) -> str:
    """A template with its fields, in the forms of a language."""
    if not fields:
        return template
    pieces = []
    for text, name, conversion, spec in _parsed(template):
        pieces.append(text)
        if name in fields:
            value = _CONVERSIONS[conversion](fields[name])
            pieces.append(_english(value, spec) if language.name == "en" else _local(value, spec, language))
        elif name:
            pieces.append(_written(name, conversion, spec))
    return "".join(pieces)


@lru_cache(maxsize=1024)
def _parsed(template: str) -> tuple[tuple[str, str, str, str], ...]:
    """Text, then name, conversion and format of the field after it; a field that we do not allow is text."""
    pieces = []
    try:
        for text, name, spec, conversion in string.Formatter().parse(template):
            how = conversion or ""
            if name is None:
                pieces.append((text, "", "", ""))
            elif name.isidentifier() and how in _CONVERSIONS:
                pieces.append((text, name, how, spec or ""))
            else:
                pieces.append((text + _written(name, how, spec or ""), "", "", ""))
    except ValueError:  # a wrong bracket
        return ((template, "", "", ""),)
    return tuple(pieces)


def _written(name: str, conversion: str, spec: str) -> str:
    return "{" + name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"


def _english(value: object, spec: str) -> str:
    if isinstance(value, str):  # the usual field
        return str(value)
    if isinstance(value, Real) and not isinstance(value, bool) and is_number_format(spec):
        with suppress(ValueError, ArithmeticError):
            return format(unsigned_zero(_plain(value), spec), spec)
    return str(value)


def _local(value: object, spec: str, language: Language) -> str:
    """Numbers with the digits and signs of a region; texts isolated where lines run from right to left."""
    if isinstance(value, Translatable):
        return value.translated()
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(ValueError, ArithmeticError):
            return formatted_number(_plain(value), spec, language.locale)
    return isolated_in(language, str(value))


def isolated_in(language: Language, text: str) -> str:
    """A text with its own direction inside a line of a language; unchanged where lines run from left to right."""
    return f"{_ISOLATE}{text}{_END}" if language.right_to_left and text else text


def _plain(value: Real) -> float:
    """A number of Python, of one of NumPy as well."""
    return int(value) if isinstance(value, Integral) else float(value)
