"""The page of licences that comes with every artefact: each component, its licence, and the texts that it ships."""

import re
from collections.abc import Iterable
from html import escape
from importlib.metadata import Distribution
from pathlib import Path

from installers.native import Library

_STANDARD = Path(__file__).with_name("licence_texts")
_NAMED = (
    (r"\bLGPL-3", ("LGPL-3.0", "GPL-3.0")),  # the first refers to the second
    (r"\bLGPL-2", ("LGPL-2.1",)),
    (r"\bApache.2", ("Apache-2.0",)),
    (r"\bMPL-2", ("MPL-2.0",)),
    (r"\bGCC-exception-3", ("GCC-exception-3.1", "GPL-3.0")),
)
"""Long texts that belong to a licence. Where a component leaves a choice, the first of its licences is taken."""

_FILE = re.compile(
    r"(\w+_)?(LICEN[CS]E|COPYING|NOTICE|COPYRIGHT|AUTHORS|OFL)([-._ ].*)?|ThirdPartyNotices\.txt|license_notes\.md"
    r"|CC-BY license.*\.txt"
)
_CODE = (".py", ".pyc", ".pyi", ".so", ".html")
_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Licences of vbdesk</title>
<style>body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}pre{white-space:pre-wrap}</style>
</head><body><h1>Licences of vbdesk</h1>
"""


def licence_of(distribution: Distribution) -> str:
    """The licence as its metadata name it; empty if they do not."""
    meta = distribution.metadata
    named = meta.get("License-Expression") or meta.get("License") or ""
    if named and "\n" not in named:
        return str(named)
    classified = [line.rpartition(" :: ")[2] for line in meta.get_all("Classifier") or [] if line.startswith("License")]
    return ", ".join(classified) or str(named).partition("\n")[0] or _told_by_text(distribution)


def _told_by_text(distribution: Distribution) -> str:
    """MIT, if that is what the only licence file is."""
    texts = texts_of(distribution)
    return "MIT" if len(texts) == 1 and "Permission is hereby granted, free of charge" in texts[0][1] else ""


def texts_of(distribution: Distribution) -> list[tuple[str, str]]:
    """Names and contents of the licence files of a distribution."""
    found = []
    for file in sorted(distribution.files or [], key=str):
        if (_FILE.fullmatch(file.name) or ".dist-info/licenses/" in str(file)) and file.suffix not in _CODE:
            path = Path(str(file.locate()))
            if path.is_file():
                found.append((str(file), path.read_text(encoding="utf-8", errors="replace")))
    return found


def standard_names(licence: str) -> list[str]:
    """Names of the standard texts that belong to a licence: `LGPL-3.0`, `GPL-3.0`."""
    return list(dict.fromkeys(name for pattern, names in _NAMED if re.search(pattern, licence) for name in names))


def standard_text(name: str, holder: str = "") -> str:
    """A standard text, with the holder of the copyright if it has a place for one."""
    return (_STANDARD / f"{name}.txt").read_text(encoding="utf-8").replace("{holder}", holder)


def page(
    distributions: Iterable[Distribution], others: Iterable[tuple[str, str, str]], libraries: Iterable[Library]
) -> str:
    """The page as HTML.

    Args:
        distributions: Python packages.
        others: name, licence and text of each component that is neither a Python package nor a native library.
        libraries: native libraries.
    """
    entries = [(name, licence, "", [("", text)]) for name, licence, text in others]
    for library in libraries:
        notice = f"Copyright {library.holder}. " if library.holder and not library.texts else ""
        source = f" Source: {library.source}" if library.source else ""
        texts = [(name, standard_text(name, library.holder)) for name in library.texts]
        title = f"{library.name} {library.version}".strip()
        about = f"{notice}{library.note}{source}\nFiles: {', '.join(library.files)}"
        entries.append((title, library.licence, about.strip(), texts))
    for distribution in distributions:
        title = f"{distribution.metadata['Name']} {distribution.version}"
        entries.append((title, licence_of(distribution), "", texts_of(distribution)))
    linked = sorted({name for _title, licence, _about, _texts in entries for name in standard_names(licence)})
    standards = "".join(f'<h2 id="{name}">{name}</h2>\n{_text("", standard_text(name))}' for name in linked)
    return "".join([_HEAD, *(_entry(*entry) for entry in entries), standards, "</body></html>\n"])


def _entry(title: str, licence: str, about: str, texts: Iterable[tuple[str, str]]) -> str:
    links = "".join(f' <a href="#{name}">Text of {name}</a>' for name in standard_names(licence))
    said = "".join(f"<p>{escape(line)}</p>\n" for line in about.splitlines())
    shown = "".join(_text(file, text) for file, text in texts)
    return f"<h2>{escape(title)}</h2>\n<p>{escape(licence) or 'See the text.'}{links}</p>\n{said}{shown}"


def _text(file: str, text: str) -> str:
    return f"<details><summary>{escape(file) or 'Text'}</summary><pre>{escape(text)}</pre></details>\n"
