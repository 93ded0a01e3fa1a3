"""Cells of a table in a document: words, or the glyph of a level with its word for screen readers."""

from vbdesk.contract.levels import Level
from vbdesk.report.reader_words import level_word

Cell = dict[str, str | None]


def cell(text: str) -> Cell:
    """A cell of words."""
    return {"words": text, "level": None}


def cell_of_level(level: Level | None) -> Cell:
    """A cell with a glyph; a dash where there is no reading."""
    return cell("–") if level is None else {"words": level_word(level), "level": level}
