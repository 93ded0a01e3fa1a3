"""The page of licences that comes with every artefact: each component, its licence, and the texts that it ships."""

from collections.abc import Iterable
from html import escape
from importlib.metadata import Distribution
from pathlib import Path

_TEXTS = ("licen", "copying", "notice", "copyright", "authors")
_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Licences of vbdesk</title>
<style>body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}pre{white-space:pre-wrap}</style>
</head><body><h1>Licences of vbdesk</h1>
"""
_DECODER = (
    "FFmpeg, in the package av",
    "LGPL-3.0-or-later",
    "vbdesk decodes MP3 and M4A files with the libraries of FFmpeg that the wheel of PyAV brings. They are files of "
    "their own, which you can replace. The wheel also brings the encoders x264 and x265 (GPL-2.0-or-later). They are "
    "not here: files of their names hold empty functions. Sources: https://ffmpeg.org",
)


def licence_of(distribution: Distribution) -> str:
    """The licence as its metadata name it; empty if they do not."""
    meta = distribution.metadata
    named = meta.get("License-Expression") or meta.get("License") or ""
    if named and "\n" not in named:
        return str(named)
    classified = [line.rpartition(" :: ")[2] for line in meta.get_all("Classifier") or [] if line.startswith("License")]
    return ", ".join(classified) or str(named).partition("\n")[0]


def texts_of(distribution: Distribution) -> list[tuple[str, str]]:
    """Names and contents of the licence files of a distribution."""
    found = []
    for file in sorted(distribution.files or [], key=str):
        if any(word in file.name.lower() for word in _TEXTS) and file.suffix not in (".py", ".pyc", ".pyi", ".so"):
            path = Path(str(file.locate()))
            if path.is_file():
                found.append((str(file), path.read_text(encoding="utf-8", errors="replace")))
    return found


def page(distributions: Iterable[Distribution], others: Iterable[tuple[str, str, str]]) -> str:
    """The page as HTML.

    Args:
        distributions: Python packages.
        others: name, licence and text of each component that is not a Python package.
    """
    parts = [_HEAD]
    for name, licence, text in (*others, _DECODER):
        parts.append(_entry(name, licence, [("", text)]))
    for distribution in distributions:
        name = f"{distribution.metadata['Name']} {distribution.version}"
        parts.append(_entry(name, licence_of(distribution), texts_of(distribution)))
    return "".join([*parts, "</body></html>\n"])


def _entry(name: str, licence: str, texts: Iterable[tuple[str, str]]) -> str:
    shown = "".join(
        f"<details><summary>{escape(file) or 'Text'}</summary><pre>{escape(text)}</pre></details>\n"
        for file, text in texts
    )
    return f"<h2>{escape(name)}</h2>\n<p>{escape(licence) or 'See the text.'}</p>\n{shown}"
