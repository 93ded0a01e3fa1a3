"""Languages to choose from, by name."""

from functools import cache

from PySide6.QtCore import QLocale

from vbdesk.contract.spoken_language import primary_language


@cache
def language_names() -> tuple[tuple[str, str], ...]:
    """Tags and English names of the languages that this computer knows, by name."""
    locales = QLocale.matchingLocales(
        QLocale.Language.AnyLanguage, QLocale.Script.AnyScript, QLocale.Country.AnyCountry
    )
    names = {
        QLocale.languageToCode(locale.language()): QLocale.languageToString(locale.language())
        for locale in locales
        if locale.language() is not QLocale.Language.C
    }
    return tuple(sorted(names.items(), key=lambda entry: entry[1]))


def language_name(tag: str) -> str:
    """The English name of a tag's language, with the tag itself where it says more."""
    name = dict(language_names()).get(primary_language(tag))
    if name is None:
        return tag
    return name if tag == primary_language(tag) else f"{name} ({tag})"
