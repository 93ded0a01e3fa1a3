"""Texts of HTML templates in the reader's language: translations and values are escaped, markup in fields stays.

Templates call these functions by the names in `FUNCTIONS`, which are those of the package, so that the extraction of
texts finds them.
"""

from collections.abc import Callable, Mapping
from numbers import Real

from markupsafe import Markup, escape

from vbdesk.language.catalogs import catalog
from vbdesk.language.fields import filled
from vbdesk.language.reader import current
from vbdesk.language.text import N_


def text(sentence: str, /, **fields: object) -> Markup:
    """A sentence of the catalogs; a field may be markup, such as a `<code>` that a macro has made."""
    return _filled(catalog(current().name).gettext(sentence), fields)


def text_with_count(one: str, many: str, count: int, /, **fields: object) -> Markup:
    """A sentence with a count, which is also the field `count`."""
    return _filled(catalog(current().name).ngettext(one, many, count), {"count": count, **fields})


def _filled(template: str, fields: Mapping[str, object]) -> Markup:
    safe = {name: value if isinstance(value, Real) else escape(value) for name, value in fields.items()}
    return Markup(filled(str(escape(template)), safe, current()))  # noqa: S704  (all parts are escaped)


FUNCTIONS: Mapping[str, Callable[..., str]] = {"_": text, "ngettext": text_with_count, "N_": N_}
