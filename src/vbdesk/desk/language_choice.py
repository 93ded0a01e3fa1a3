"""Languages to choose from, by name."""

from functools import cache

from PySide6.QtCore import QLocale

from vbdesk.contract.spoken_language import primary_language
from vbdesk.language import Language, current

_OWN_NAMES = {"en": "English", "es": "Español"}
"""Languages whose name in Qt includes a region, which our texts do not have."""


def own_language_name(tag: str) -> str:
    """The name of a language in itself, such as `Deutsch`; the person who chooses may know no other language."""
    return _OWN_NAMES.get(tag) or _titled(QLocale(tag).nativeLanguageName())


def language_names() -> tuple[tuple[str, str], ...]:
    """Tags and names of the languages that this computer knows, by name, in the reader's language."""
    return _names(current())


@cache
def _names(reader: Language) -> tuple[tuple[str, str], ...]:
    known, locale = _tags(), reader.locale
    names = ((tag, _titled(str(locale.languages.get(tag, name)))) for tag, name in known)
    return tuple(sorted(names, key=lambda entry: entry[1].casefold()))


@cache
def _tags() -> tuple[tuple[str, str], ...]:
    """Tags with their English names."""
    locales = QLocale.matchingLocales(
        QLocale.Language.AnyLanguage, QLocale.Script.AnyScript, QLocale.Country.AnyCountry
    )
    named = {
        QLocale.languageToCode(locale.language()): QLocale.languageToString(locale.language())
        for locale in locales
        if locale.language() is not QLocale.Language.C
    }
    return tuple(named.items())


def _titled(name: str) -> str:
    return name[:1].upper() + name[1:]


def language_name(tag: str) -> str:
    """The name of a tag's language in the reader's language, with the tag itself where it says more."""
    name = dict(language_names()).get(primary_language(tag))
    if name is None:
        return tag
    return name if tag == primary_language(tag) else f"{name} ({tag})"
