"""Hebrew and Arabic in visual order, for drawing from left to right.

A small part of the Unicode bidirectional algorithm: the base direction is left to right; each run of right-to-left
letters is reversed, numbers within it are kept.
"""

import unicodedata
from collections.abc import Iterator
from functools import cache

_RIGHT = {"R", "AL"}
_LEFT = {"L", "EN", "AN"}
_LAM = "\u0644"
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")


def visual_order(line: str) -> str:
    """Reorder `line` for drawing from left to right."""
    if not any(unicodedata.bidirectional(letter) in _RIGHT for letter in line):
        return line
    return "".join(_turned(run) if turned else run for run, turned in _runs(_joined(line)))


def _runs(line: str) -> Iterator[tuple[str, bool]]:
    """Runs of one direction; neutrals between right-to-left letters belong to them."""
    start = 0
    while start < len(line):
        if unicodedata.bidirectional(line[start]) not in _RIGHT:
            end = start + 1
            while end < len(line) and unicodedata.bidirectional(line[end]) not in _RIGHT:
                end += 1
            yield line[start:end], False
        else:
            end = last = start + 1
            while end < len(line) and unicodedata.bidirectional(line[end]) != "L":
                end += 1
                if unicodedata.bidirectional(line[end - 1]) in _RIGHT | {"NSM"}:
                    last = end
            end = last
            yield line[start:end], True
        start = end


def _turned(run: str) -> str:
    clusters: list[str] = []
    for letter in run:
        kind = unicodedata.bidirectional(letter)
        number = kind in _LEFT and clusters and unicodedata.bidirectional(clusters[-1][0]) in _LEFT
        if clusters and (kind == "NSM" or number):
            clusters[-1] += letter
        else:
            clusters.append(letter)
    return "".join(cluster.translate(_MIRRORED) for cluster in reversed(clusters))


def _joined(line: str) -> str:
    """Replace Arabic letters by the form that fits their neighbours."""
    forms = _forms()
    letters = _ligated(line)
    joined = []
    for place, letter in enumerate(letters):
        own = forms.get(letter, {})
        before = _neighbour(letters, place, -1)
        after = _neighbour(letters, place, +1)
        to_before = "<final>" in own and "<initial>" in forms.get(before, {})
        to_after = "<initial>" in own and "<final>" in forms.get(after, {})
        wanted = {(True, True): "<medial>", (True, False): "<final>", (False, True): "<initial>"}
        joined.append(own.get(wanted.get((to_before, to_after), "<isolated>"), letter))
    return "".join(joined)


def _ligated(line: str) -> list[str]:
    """Letters, with lam and alef as one ligature."""
    letters: list[str] = []
    for letter in line:
        if letters and letters[-1] == _LAM and _LAM + letter in _forms():
            letters[-1] += letter
        else:
            letters.append(letter)
    return letters


def _neighbour(letters: list[str], place: int, step: int) -> str:
    """The next letter that is not a combining mark."""
    place += step
    while 0 <= place < len(letters) and unicodedata.combining(letters[place][0]):
        place += step
    return letters[place] if 0 <= place < len(letters) else ""


@cache
def _forms() -> dict[str, dict[str, str]]:
    """Letter (or lam and alef) to its joined forms, from the Unicode database."""
    forms: dict[str, dict[str, str]] = {}
    for code in range(0xFE80, 0xFEFD):
        kind, *base = unicodedata.decomposition(chr(code)).split()
        forms.setdefault("".join(chr(int(part, 16)) for part in base), {})[kind] = chr(code)
    return forms
