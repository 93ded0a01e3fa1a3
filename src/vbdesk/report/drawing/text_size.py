"""Estimated width of text in a chart: enough for badges, ticks and legends, without reading a font.

The classes are the advance widths of Inter in steps of a twentieth of the font size.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

_REGULAR = {
    0.25: "Iijl'", 0.3: " !,.:;·", 0.35: "()/[]\\frt{|}", 0.45: "-^_\"²", 0.5: "*?`s–", 0.55: "JLackvxyz",
    0.65: "#$&+0123456789<=>BKPRSTXY~−", 0.7: "ADV", 0.75: "CGHNOQU", 0.8: "%w…", 0.85: "m", 0.95: "M@W",
}  # fmt: skip
_STRONG = {
    0.25: " Iijl'", 0.3: "!,.:;·", 0.4: "()/[]\\frt{|}\"²", 0.45: "-_", 0.5: "^`–", 0.55: "*?JLaksxz",
    0.65: "#$&+0123456789<=>BPRSTZbdg~−", 0.7: "ADKVXY", 0.75: "CGHNOU", 0.8: "Q…", 0.85: "%w", 0.9: "Mm", 1.0: "@W",
}  # fmt: skip
_OTHER = 0.6


def _by_letter(classes: Mapping[float, str]) -> Mapping[str, float]:
    return {letter: width for width, letters in classes.items() for letter in letters}


_WIDTHS = {False: _by_letter(_REGULAR), True: _by_letter(_STRONG)}


@lru_cache(maxsize=8192)
def _em_width(text: str, strong: bool) -> float:
    return sum(_letter_width(letter, strong) for letter in unicodedata.normalize("NFC", text))


def _letter_width(letter: str, strong: bool) -> float:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(letter) in ("W", "F"):
        return 1.0
    return _WIDTHS[strong].get(unicodedata.normalize("NFD", letter)[0], _OTHER)


def text_width(text: str, size: float, strong: bool = False) -> float:
    """Estimated width in points."""
    return _em_width(text, strong) * size


def wrapped(text: str, size: float, width: float, strong: bool = False) -> list[str]:
    """Break text between words into lines of about `width`, at least one; a longer word keeps a line of its own."""
    return list(_lines(text.split(), size, width, strong)) or [""]


def _lines(words: list[str], size: float, width: float, strong: bool) -> Iterator[str]:
    line = ""
    for word in words:
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size, strong) > width:
            yield line
            line = word
        else:
            line = longer
    if line:
        yield line
