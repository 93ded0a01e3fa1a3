"""Embedded fonts: font of each letter, width of text, line breaks."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont

from vbdesk.resource_files import resource

MISSING = "\u25a1"  # an empty square for a letter that no font has
ELLIPSIS = "…"
_FACES = {False: ("Inter-Regular", "DejaVuSans-Regular"), True: ("Inter-SemiBold", "DejaVuSans-Bold")}
_UNSEEN = frozenset("\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufe0e\ufe0f")
_HARD_BREAKS = ("\r\n", "\r", "\u2028", "\u2029", "\x0b", "\x0c", "\x85")


@cache
def _fonts(strong: bool) -> tuple[tuple[str, frozenset[int]], ...]:
    """Names and letters of the fonts of a weight; registers them with reportlab."""
    fonts = []
    for name in _FACES[strong]:
        font = TTFont(name, str(resource("fonts", f"{name}.ttf")))
        pdfmetrics.registerFont(font)
        fonts.append((name, frozenset(font.face.charToGlyph)))
    return tuple(fonts)


def first_font() -> str:
    """Name of the default font."""
    return _fonts(False)[0][0]


@lru_cache(maxsize=4096)
def font_runs(words: str, strong: bool) -> tuple[tuple[str, str], ...]:
    """Split `words` into runs of one font, each with the font's name."""
    runs: list[tuple[str, str]] = []
    for font, letter in filter(None, (_set_in(letter, strong) for letter in words)):
        if runs and runs[-1][0] == font:
            runs[-1] = (font, runs[-1][1] + letter)
        else:
            runs.append((font, letter))
    return tuple(runs)


def _set_in(letter: str, strong: bool) -> tuple[str, str] | None:
    """Font and character to draw for a letter; None for invisible layout characters."""
    if letter in _UNSEEN:
        return None
    seen = " " if letter < " " else letter
    for font, letters in _fonts(strong):
        if ord(seen) in letters:
            return font, seen
    return _fonts(strong)[-1][0], MISSING


def missing_letters(words: str) -> str:
    """Letters of `words` that no font has, each once; printed as squares."""
    fonts = [letters for _, letters in _fonts(False)]
    seen = (letter for letter in dict.fromkeys(words) if letter >= " " and letter not in _UNSEEN)
    return "".join(letter for letter in seen if not any(ord(letter) in letters for letters in fonts))


@lru_cache(maxsize=8192)
def _em_width(words: str, strong: bool) -> float:
    return float(sum(pdfmetrics.stringWidth(part, font, 1.0) for font, part in font_runs(words, strong)))


def text_width(words: str, size: float, strong: bool = False) -> float:
    """Width in points."""
    return _em_width(words, strong) * size


def wrapped(words: str, size: float, width: float, strong: bool = False) -> list[str]:
    """Break text into lines of at most `width`, at least one."""
    for separator in _HARD_BREAKS:
        words = words.replace(separator, "\n")
    lines = [line for paragraph in words.split("\n") for line in _wrapped(paragraph, size, width, strong)]
    return lines or [""]


def _wrapped(words: str, size: float, width: float, strong: bool) -> Iterator[str]:
    line = ""
    for word in filter(None, re.split(r"[ \t]+", words)):  # other spaces do not break
        longer = f"{line} {word}" if line else word
        if text_width(longer, size, strong) <= width:
            line = longer
            continue
        if line:
            yield line
        *whole, line = _broken(word, size, width, strong)
        yield from whole
    if line:
        yield line


def _broken(word: str, size: float, width: float, strong: bool) -> Iterator[str]:
    """Split a word into pieces that fit, at least one letter each."""
    piece = ""
    for letter in word:
        if piece and text_width(piece + letter, size, strong) > width:
            yield piece
            piece = ""
        piece += letter
    yield piece


def shortened(words: str, size: float, width: float, strong: bool = False) -> str:
    """`words` on one line; its middle is replaced by an ellipsis if it does not fit."""
    words = " ".join(words.split())
    if text_width(words, size, strong) <= width:
        return words
    kept = len(words)
    while kept > 2:
        kept -= 1
        short = words[: (kept + 1) // 2] + ELLIPSIS + words[len(words) - kept // 2 :]
        if text_width(short, size, strong) <= width:
            return short
    return ELLIPSIS
