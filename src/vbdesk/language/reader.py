"""The language in use: one for the process, and another one inside `reading_in`."""

import locale
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vbdesk.language.catalogs import SOURCE, available_languages, catalog
from vbdesk.language.pseudo import PSEUDO

if TYPE_CHECKING:
    from babel import Locale

_RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})
_REGION_OF_SOURCE = "en_GB"  # day before month, 24 hours, where the system names no region


@dataclass(frozen=True, slots=True)
class Language:
    """A reader's language.

    Attributes:
        name: of the catalog, such as `de` or `pt_BR`.
        region: locale of numbers and dates, such as `de_AT`.
    """

    name: str
    region: str

    @property
    def tag(self) -> str:
        """As BCP 47, such as `pt-BR`."""
        return self.name.replace("_", "-")

    @property
    def own_name(self) -> str:
        """What it calls itself, such as `Deutsch`: who looks for it may know no other."""
        from babel import Locale

        name = str(Locale.parse(self.name).get_display_name())
        return name[:1].upper() + name[1:]

    @property
    def right_to_left(self) -> bool:
        """Whether its lines begin at the right."""
        return self.name.partition("_")[0] in _RIGHT_TO_LEFT

    @property
    def locale(self) -> "Locale":
        """The CLDR data of its region. The first call reads files."""
        from babel import Locale, UnknownLocaleError

        if self.name == PSEUDO:
            return Locale.parse(_REGION_OF_SOURCE)
        try:
            return Locale.parse(self.region)
        except (UnknownLocaleError, ValueError):
            return Locale.parse(self.name)


ENGLISH = Language(SOURCE, _REGION_OF_SOURCE)

_default = ENGLISH
_named = False
_inside: ContextVar[Language | None] = ContextVar("language", default=None)


def current() -> Language:
    """The language that texts are shown in now."""
    return _inside.get() or _default


def use(language: Language, *, named: bool = False) -> None:
    """Show all texts of this process in `language`, in every thread.

    Args:
        language: for all texts.
        named: a person named it for this process, so that a stored preference does not count.
    """
    global _default, _named
    _default, _named = language, named


def is_named() -> bool:
    """Whether a person named the language for this process, as on the command line."""
    return _named


@contextmanager
def reading_in(language: Language) -> Iterator[None]:
    """Show texts in `language` inside the block: in this thread, or in this task of asyncio and the threads it asks."""
    token = _inside.set(language)
    try:
        yield
    finally:
        _inside.reset(token)


def language_of(tag: str) -> Language | None:
    """The best catalog for a tag such as `de`, `de-AT`, `pt_PT.UTF-8`; None if there is none.

    The region stays for numbers and dates. A language with one catalog for another region gets that one.
    """
    language, _, region = tag.partition(".")[0].partition("@")[0].replace("-", "_").partition("_")
    wanted = f"{language.lower()}_{region}" if region else language.lower()
    if wanted == PSEUDO:
        return Language(PSEUDO, _REGION_OF_SOURCE)
    known = available_languages()
    same = [name for name in known if name.partition("_")[0] == language.lower()]
    if not same:
        return None
    name = wanted if wanted in same else language.lower() if language.lower() in same else same[0]
    return Language(name, wanted if region else _REGION_OF_SOURCE if name == SOURCE else name)


def load_language(tag: str) -> None:
    """Read the catalog for a tag, if there is one, so that nobody has to wait for it later."""
    found = language_of(tag)
    if found is not None:
        catalog(found.name)


def use_system_language() -> Language:
    """Use the first language of the system that has a catalog, else English; returns it."""
    found = system_language()
    use(found)
    return found


def system_language() -> Language:
    """The first language of the system that has a catalog, else English."""
    found = (language for tag in _system_tags() if (language := language_of(tag)) is not None)
    return next(found, ENGLISH)


def _system_tags() -> Iterator[str]:
    """The languages that the environment or the system names, best first."""
    variables = [os.environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG")]
    first = next((value for value in variables if value), "")
    if first.partition(".")[0] in ("C", "POSIX"):
        return
    if first:
        yield from filter(None, os.environ.get("LANGUAGE", "").split(":"))
        yield first
        return
    try:
        named = locale.getlocale()[0]
    except ValueError:
        return
    if named:
        yield named
