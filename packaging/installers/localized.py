"""Texts of the installers in every language, from the catalogs of vbdesk.

The files hold the English text; `translations.py` takes it from there, and a build adds the translations. Languages
come from the installed package, which has the compiled catalogs.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from vbdesk.language import Language, _, available_languages, reading_in

_HERE = Path(__file__).parent
DESKTOP = _HERE / "linux" / "vbdesk.desktop"
FILE_TYPE = _HERE / "linux" / "vbdesk-mime.xml"
METADATA = _HERE / "linux" / "vbdesk.metainfo.xml"

_ENTRY = re.compile(r"^(GenericName|Comment|Keywords)=(.+)$", re.MULTILINE)
_ELEMENT = re.compile(r"^( *)<(summary|p|comment)>(.+?)</\2>\n", re.MULTILINE | re.DOTALL)


def english_texts() -> Iterator[tuple[Path, str, str]]:
    """File, name of the entry and text of everything that these files show to people."""
    for key, text in _ENTRY.findall(DESKTOP.read_text(encoding="utf-8")):
        yield DESKTOP, key, text
    for path in (FILE_TYPE, METADATA):
        for _indent, name, text in _ELEMENT.findall(path.read_text(encoding="utf-8")):
            yield path, name, _one_line(text)


def translations(text: str) -> dict[str, str]:
    """An English text in every other language, by the name of the catalog."""
    found = {}
    for name in available_languages()[1:]:
        with reading_in(Language(name, name)):
            found[name] = _(text)
    return found


def desktop_entry() -> str:
    """The desktop file with a line for each language: `Comment[pt_BR]=...`."""

    def in_all(match: re.Match[str]) -> str:
        lines = (f"{match[1]}[{name}]={text}" for name, text in translations(match[2]).items())
        return "\n".join([match[0], *lines])

    return _ENTRY.sub(in_all, DESKTOP.read_text(encoding="utf-8"))


def xml(path: Path) -> str:
    """An XML file with an element for each language. Desktops look for `xml:lang="pt_BR"`, not for `pt-BR`."""

    def in_all(match: re.Match[str]) -> str:
        indent, name, text = match.groups()
        lines = (
            f'{indent}<{name} xml:lang="{language}">{escape(translated)}</{name}>\n'
            for language, translated in translations(_one_line(text)).items()
        )
        return "".join([match[0], *lines])

    return _ELEMENT.sub(in_all, path.read_text(encoding="utf-8"))


def _one_line(text: str) -> str:
    """Text of an element, without its line breaks; it has no entities."""
    return " ".join(text.split())
