"""Texts that are shown at once, in the reader's language."""

from vbdesk.language.catalogs import catalog
from vbdesk.language.fields import filled, isolated_in
from vbdesk.language.reader import current


def N_(text: str) -> str:
    """Mark a constant for translation; `_` translates it where it is shown."""
    return text


def _(text: str, /, **fields: object) -> str:
    """A text in the reader's language, with its fields.

    Fields may have formats (`{share:.1f}`, `{count:,}`): decimal signs and digits follow the region.
    """
    language = current()
    return filled(catalog(language.name).gettext(text) if text else text, fields, language)


def ngettext(one: str, many: str, count: int, /, **fields: object) -> str:
    """A text with a count, which is also the field `count`."""
    language = current()
    return filled(catalog(language.name).ngettext(one, many, count), {"count": count, **fields}, language)


def pgettext(context: str, text: str, /, **fields: object) -> str:
    """A text whose English is ambiguous; `context` shows translators which meaning it has."""
    language = current()
    return filled(catalog(language.name).pgettext(context, text), fields, language)


def npgettext(context: str, one: str, many: str, count: int, /, **fields: object) -> str:
    """As `ngettext`, with a context."""
    language = current()
    found = catalog(language.name).npgettext(context, one, many, count)
    return filled(found, {"count": count, **fields}, language)


def isolated(text: str) -> str:
    """A name, or another text as it was written, that stands alone where lines may run from right to left."""
    return isolated_in(current(), text)
