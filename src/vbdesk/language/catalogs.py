"""Translation catalogs: compiled gettext files in `resources/translations`."""

import gettext
from functools import cache
from pathlib import Path

from vbdesk.language.pseudo import PSEUDO, PseudoTranslations
from vbdesk.resource_files import resource

SOURCE = "en"
"""The language of the texts in the code."""

READ_BY_CLINICIANS: frozenset[str] = frozenset()
"""Catalogs that a native clinician has read from beginning to end. The help and the guide name them."""


class LanguageMissing(ValueError):
    """No catalog has this language."""


def _folder() -> Path:
    return resource("translations")


@cache
def available_languages() -> tuple[str, ...]:
    """Languages that have a compiled catalog, English first."""
    return (SOURCE, *sorted(path.stem for path in _folder().glob("*.mo")))


@cache
def catalog(name: str) -> gettext.NullTranslations:
    """The catalog of one language; English is the source itself.

    Raises:
        LanguageMissing: it does not exist.
    """
    if name == SOURCE:
        return gettext.NullTranslations()
    if name == PSEUDO:
        return PseudoTranslations()
    path = _folder() / f"{name}.mo"
    try:
        with path.open("rb") as file:
            return gettext.GNUTranslations(file)
    except OSError as error:
        raise LanguageMissing(f"There is no translation into {name!r}.") from error
