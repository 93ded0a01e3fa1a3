"""Letterhead of a report: name, address, and a logo that is checked before anything draws it."""

import math
import re
import zlib
from dataclasses import dataclass
from typing import Literal
from xml.parsers import expat

from vbdesk.language import message

MAX_LINE, MAX_LINES = 120, 6
MAX_LOGO_BYTES = 200_000
MAX_SIDE, MAX_PIXELS = 10_000.0, 4_000_000
MAX_ELEMENTS, MAX_DEPTH = 5_000, 40
_PNG = b"\x89PNG\r\n\x1a\n"
_SVG = "http://www.w3.org/2000/svg"
_SHAPES = frozenset(("path", "rect", "circle", "ellipse", "line", "polyline", "polygon"))
_DRAWN = _SHAPES | {"svg", "g", "defs", "style", "title", "desc", "metadata", "clipPath"}
_DRAWN |= {"linearGradient", "radialGradient", "stop"}
"""Elements of a logo: none that runs, refers to other files, repeats others, or needs a font."""
_OTHER_FILE = re.compile(r"""url\(\s*["']?(?!\s*["']?#)|@import""", re.IGNORECASE)
_LENGTH = re.compile(r"\s*([0-9.]+(?:e[0-9]+)?)\s*(?:px|pt|mm|cm|in|pc)?\s*", re.IGNORECASE)
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_NOT_A_LOGO = message("The logo is neither an SVG drawing nor a PNG picture. Choose another file.")
_DAMAGED = message("The logo is damaged. Save it again as SVG or PNG.")
_TOO_LARGE = message("The logo is too large. Save it with at most 200 kB and 4 million pixels.")
_NOT_PLAIN = message(
    "The logo has parts that a report does not draw, such as scripts, text, or links to other files. "
    "Convert its text to paths, or save it as PNG."
)


@dataclass(frozen=True, slots=True)
class Letterhead:
    """Who prints: a name, address lines, and a logo as SVG or PNG; empty parts are left out."""

    name: str
    address: tuple[str, ...] = ()
    logo: bytes = b""

    def __post_init__(self) -> None:
        """Refuse what does not fit, and a logo that is not safe to draw. Raises ValueError for the user."""
        if not self.name.strip():
            raise ValueError(message("A letterhead needs a name."))
        if len(self.address) > MAX_LINES or any(len(line) > MAX_LINE for line in (self.name, *self.address)):
            raise ValueError(
                message(
                    "A letterhead has at most {lines} address lines of {length} characters.",
                    lines=MAX_LINES,
                    length=MAX_LINE,
                )
            )
        if self.logo:
            check_logo(self.logo)

    @property
    def logo_format(self) -> Literal["svg", "png"]:
        """Format of the logo."""
        return "png" if self.logo.startswith(_PNG) else "svg"


def check_logo(content: bytes) -> None:
    """Raise ValueError, with a sentence for the user, unless `content` is a logo that is safe to draw."""
    if len(content) > MAX_LOGO_BYTES:
        raise ValueError(_TOO_LARGE)
    if content.startswith(_PNG):
        _check_png(content)
    elif b"<svg" in content:
        _SvgCheck().read(content)
    else:
        raise ValueError(_NOT_A_LOGO)


def _check_png(content: bytes) -> None:
    """Check size, checksums, and that the pixels are complete and no more than the header says."""
    chunks, offset = [], len(_PNG)
    while offset + 12 <= len(content):
        end = offset + 12 + int.from_bytes(content[offset : offset + 4])
        kind, body = content[offset + 4 : offset + 8], content[offset + 8 : end - 4]
        if end > len(content) or zlib.crc32(kind + body) != int.from_bytes(content[end - 4 : end]):
            raise ValueError(_DAMAGED)
        chunks.append((kind, body))
        offset = end
    if not chunks or chunks[0][0] != b"IHDR" or len(chunks[0][1]) != 13 or chunks[-1][0] != b"IEND":
        raise ValueError(_DAMAGED)
    header = chunks[0][1]
    width, height = int.from_bytes(header[:4]), int.from_bytes(header[4:8])
    depth, colour, interlaced = header[8], header[9], header[12]
    if not width or not height or colour not in _CHANNELS or interlaced:
        raise ValueError(_DAMAGED)
    if width * height > MAX_PIXELS or max(width, height) > MAX_SIDE:
        raise ValueError(_TOO_LARGE)
    expected = height * (1 + (width * depth * _CHANNELS[colour] + 7) // 8)
    try:
        stream = zlib.decompressobj()
        pixels = stream.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"), expected + 1)
    except zlib.error as error:
        raise ValueError(_DAMAGED) from error
    if len(pixels) != expected:
        raise ValueError(_DAMAGED)


class _SvgCheck:
    """Reads an SVG once, without building a tree."""

    def __init__(self) -> None:
        self._depth = self._elements = 0

    def read(self, content: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = self._on_doctype
        parser.StartElementHandler = self._on_start
        parser.EndElementHandler = self._on_end
        parser.CharacterDataHandler = self._check_text
        parser.buffer_text = True
        try:
            parser.Parse(content, True)
        except (expat.ExpatError, LookupError) as error:
            raise ValueError(_DAMAGED) from error

    def _on_doctype(self, *_: object) -> None:
        raise ValueError(_NOT_PLAIN)

    def _on_start(self, tag: str, attributes: dict[str, str]) -> None:
        space, _, name = tag.rpartition(" ")
        if self._depth == 0 and (space, name) != (_SVG, "svg"):
            raise ValueError(_NOT_A_LOGO)
        self._depth += 1
        self._elements += 1
        if self._depth > MAX_DEPTH or self._elements > MAX_ELEMENTS:
            raise ValueError(_TOO_LARGE)
        if space in ("", _SVG) and name not in _DRAWN:
            raise ValueError(_NOT_PLAIN)
        if self._depth == 1:
            _check_size(attributes)
        for key, value in attributes.items():
            local = key.rpartition(" ")[2].lower()
            if local.startswith("on") or (local == "href" and not value.startswith("#")) or _OTHER_FILE.search(value):
                raise ValueError(_NOT_PLAIN)

    def _on_end(self, tag: str) -> None:
        self._depth -= 1

    def _check_text(self, text: str) -> None:
        if _OTHER_FILE.search(text):
            raise ValueError(_NOT_PLAIN)


def _check_size(attributes: dict[str, str]) -> None:
    """Width and height of the drawing, from its box or its sides."""
    given = [attributes[side] for side in ("width", "height") if side in attributes]
    sides = [_length(side) for side in given if not side.strip().endswith("%")]
    if box := attributes.get("viewBox"):
        try:
            numbers = [float(part) for part in re.split(r"[\s,]+", box.strip())]
        except ValueError as error:
            raise ValueError(_DAMAGED) from error
        if len(numbers) != 4 or not all(math.isfinite(number) and abs(number) <= MAX_SIDE for number in numbers):
            raise ValueError(_TOO_LARGE)
        sides += numbers[2:]
    if len(sides) < 2 or not all(side > 0 for side in sides):
        raise ValueError(_DAMAGED)
    if max(sides) > MAX_SIDE or max(sides) > 50 * min(sides):
        raise ValueError(_TOO_LARGE)


def _length(written: str) -> float:
    found = _LENGTH.fullmatch(written)
    try:
        return float(found[1] if found else written)
    except ValueError as error:
        raise ValueError(_DAMAGED) from error
