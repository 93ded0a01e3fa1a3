"""Templates with named fields, filled in the forms of a language."""

from collections.abc import Mapping
from string import Formatter
from typing import Any, Protocol, runtime_checkable

from vbdesk.language.reader import Language

_ISOLATE, _END = "\u2068", "\u2069"  # a name from left to right keeps its order inside a line from right to left


@runtime_checkable
class Translatable(Protocol):
    """A field that is a text for people itself."""

    def translated(self) -> str:
        """The text in the reader's language."""


def filled(template: str, fields: Mapping[str, object], language: Language) -> str:
    """A template with its fields, in the forms of a language."""
    if not fields:
        return template
    if language.name == "en":
        return template.format(**fields)
    return _LocalFormatter(language).vformat(template, (), fields)


class _LocalFormatter(Formatter):
    """Fields with the digits and signs of a region; texts isolated where lines run from right to left."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def format_field(self, value: Any, format_spec: str) -> str:
        from vbdesk.language.formats import formatted_number

        if isinstance(value, Translatable):
            return value.translated()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return formatted_number(value, format_spec, self._language.locale)
        text = str(format(value, format_spec))
        return f"{_ISOLATE}{text}{_END}" if self._language.right_to_left and text else text
