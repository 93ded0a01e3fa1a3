"""Typst templates of `resources/report` compiled to PDF and PNG. Nothing touches the disk."""

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from vbdesk.report.safe_text import safe_text
from vbdesk.resource_files import resource

if TYPE_CHECKING:
    import typst

STANDARDS: tuple[Literal["a-3a"], Literal["ua-1"]] = ("a-3a", "ua-1")
"""Archivable (ISO 19005-3, level A) and accessible (ISO 14289-1)."""
FONTS = ("Inter", "Noto Sans Arabic", "Noto Sans Hebrew", "DejaVu Sans")
MISSING = "\u25a1"
"""Printed for a letter that no font has."""
_NO_GLYPH = re.compile(r'the text `"(.*?)"` could not be displayed', re.DOTALL)
_PRIVATE_USE = re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
_NOTED = "missing_letters"
_CJK = range(0x2E80, 0xD7FF)
_ONE_AT_A_TIME = threading.Lock()  # a compiler keeps its document while it works

Kind = Literal["pdf", "png"]


def compile_pdf(template: str, data: Mapping[str, Any], made_at: datetime) -> bytes:
    """Make a PDF/A-3a that is PDF/UA-1 too.

    Letters that neither our fonts nor those of this system have are printed as squares; the template gets them as
    `missing_letters`.

    Args:
        template: file name in `resources/report`.
        data: what the template shows; the same data and time give the same bytes.
        made_at: aware time of the document.
    """
    return _compile_printable(template, data, made_at).pdf


def compile_pages(template: str, data: Mapping[str, Any], made_at: datetime, ppi: float) -> list[bytes]:
    """The pages of the same document as PNG, for a printer.

    The PDF is made first, because only there Typst names letters that no font has.
    """
    made = _compile_printable(template, data, made_at)
    return _compile(template, made.document, "png", fonts_of_system=made.fonts_of_system, made_at=made_at, ppi=ppi)


def compile_picture(svg: str, title: str, ppi: float) -> bytes:
    """Make a PNG of an SVG, with our fonts and those of this system."""
    document = json.dumps({"svg": svg, "alternative": title, "fonts": FONTS})
    [picture] = _compile("picture.typ", document, "png", fonts_of_system=True, ppi=ppi)
    return picture


def missing_letters(text: str) -> str:
    """Letters of `text` that no font has; a report prints squares for them."""
    made = _compile_printable("letters.typ", {"words": text, "fonts": FONTS}, datetime(2026, 1, 1, tzinfo=UTC))
    missing = {_group(each) for each in made.missing}
    return "".join(letter for letter in dict.fromkeys(text) if _group(letter) in missing)


@dataclass(frozen=True, slots=True)
class _Made:
    """A PDF, the data that it was made of, and the letters that no font has."""

    pdf: bytes
    document: str
    missing: str
    fonts_of_system: bool


def _compile_printable(template: str, data: Mapping[str, Any], made_at: datetime) -> _Made:
    """Compile a PDF, with squares for what has no font."""
    from typst import TypstError  # slow to load: never in the thread of a window

    missing, fonts_of_system = "", False
    while True:
        document = json.dumps(_printable({**data, _NOTED: missing}, missing), ensure_ascii=False)
        try:
            [pdf] = _compile(template, document, "pdf", fonts_of_system=fonts_of_system, made_at=made_at)
        except TypstError as error:
            found = _NO_GLYPH.search(str(error))
            unknown = (
                "" if found is None else "".join(each for each in _unescaped(found.group(1)) if not each.isascii())
            )
            if not unknown:
                raise
            if fonts_of_system:
                missing += unknown
            fonts_of_system = True
        else:
            return _Made(pdf, document, missing, fonts_of_system)


def _compile(
    template: str,
    document: str,
    kind: Kind,
    *,
    fonts_of_system: bool,
    made_at: datetime | None = None,
    ppi: float | None = None,
) -> list[bytes]:
    with _ONE_AT_A_TIME:
        made = _compiler(template, fonts_of_system).compile(
            sys_inputs={"data": document},
            format=kind,
            ppi=ppi,
            pdf_standards=list(STANDARDS) if kind == "pdf" else [],
            timestamp=None if made_at is None else int(made_at.timestamp()),
        )
    if made is None:
        raise TypeError("Typst returned no document: it writes a file only if it gets a path.")
    return [made] if isinstance(made, bytes) else made


@cache
def _compiler(template: str, fonts_of_system: bool) -> "typst.Compiler":
    import typst

    folder = resource("report")
    return typst.Compiler(
        str(folder / template),
        root=str(folder),
        font_paths=[str(resource("fonts"))],
        ignore_system_fonts=not fonts_of_system,
    )


def _printable(value: Any, missing: str) -> Any:
    """The data with safe text, and with squares for the groups of missing letters."""
    groups = {_group(letter) for letter in missing}

    def cleaned(part: Any) -> Any:
        match part:
            case str():
                text = _PRIVATE_USE.sub(MISSING, safe_text(part))  # which PDF/A does not allow
                return "".join(MISSING if _group(each) in groups else each for each in text) if groups else text
            case Mapping():
                return {key: each if key in ("content", _NOTED) else cleaned(each) for key, each in part.items()}
            case list() | tuple():
                return [cleaned(each) for each in part]
        return part

    return cleaned(value)


def _unescaped(text: str) -> str:
    """Letters that an error message writes as `\\u{1f399}`."""
    return re.sub(r"\\u\{([0-9a-f]+)\}", lambda code: chr(int(code[1], 16)), text)


def _group(letter: str) -> int:
    """Letters that fonts usually have or lack together."""
    code = ord(letter)
    return _CJK.start if code in _CJK else code >> 7 if code >= 0x250 else -code
