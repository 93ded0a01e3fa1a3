"""Typst templates of `resources/report/templates` compiled to PDF, PNG or SVG. Nothing touches the disk."""

import json
import re
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

import typst

from vbdesk.resource_files import resource

STANDARDS = ("a-3a", "ua-1")
"""Archivable (ISO 19005-3, level A) and accessible (ISO 14289-1)."""
FONTS = ("Inter", "DejaVu Sans")
_NO_GLYPH = re.compile(r'the text `?"(.*?)"`? could not be displayed')
_ONE_AT_A_TIME = threading.Lock()  # a compiler keeps a document while it works


class UnprintableText(ValueError):
    """No font has a letter of the document; `str(error)` is a sentence for the user."""


def compile_pdf(template: str, data: Mapping[str, Any], made_at: datetime) -> bytes:
    """Make a PDF/A-3a that is PDF/UA-1 too.

    Args:
        template: file name in `resources/report/templates`.
        data: what the template shows; the same data and time give the same bytes.
        made_at: aware time of the document.

    Raises:
        UnprintableText: the text needs a font that neither vbdesk nor this system has.
    """
    return _compile(template, data, made_at, "pdf")


def compile_png(template: str, data: Mapping[str, Any], made_at: datetime, ppi: float) -> bytes:
    """Make a picture of a document of one page. Raises UnprintableText."""
    return _compile(template, data, made_at, "png", ppi)


def _compile(
    template: str, data: Mapping[str, Any], made_at: datetime, kind: Literal["pdf", "png"], ppi: float | None = None
) -> bytes:
    inputs = {"data": json.dumps(data, ensure_ascii=False)}
    standards = list(STANDARDS) if kind == "pdf" else []
    stamp = int(made_at.astimezone(UTC).timestamp())
    for fonts_of_system in (False, True):
        try:
            with _ONE_AT_A_TIME:
                made = _compiler(template, fonts_of_system).compile(
                    sys_inputs=inputs, format=kind, ppi=ppi, pdf_standards=standards, timestamp=stamp
                )
        except typst.TypstError as error:
            missing = _NO_GLYPH.search(str(error))
            if missing is None:
                raise
            if fonts_of_system:
                raise UnprintableText(
                    f"This computer has no font for the letters “{missing.group(1)}”. Install a font for this script, "
                    "for example Noto Sans CJK, and print again."
                ) from error
        else:
            if not isinstance(made, bytes):
                raise TypeError("The document has several pages where one was expected.")
            return made
    raise AssertionError("unreachable")


@cache
def _compiler(template: str, fonts_of_system: bool) -> typst.Compiler:
    folder = resource("report")
    return typst.Compiler(
        str(folder / "templates" / template),
        root=str(folder),
        font_paths=[str(resource("fonts"))],
        ignore_system_fonts=not fonts_of_system,
    )
