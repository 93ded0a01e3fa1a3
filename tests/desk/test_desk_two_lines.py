"""A name over a caption: where a column is too narrow for the caption, it goes on in the next line."""

import pytest
from cut_words import painted_words
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from vbdesk.desk.ui.cell_view import _paint_two_lines
from vbdesk.desk.ui.cells import TwoLineCell
from vbdesk.desk.ui.theme import app_theme

ROW_HEIGHT, COLUMN_WIDTH = 55, 120  # of the Outbox


class Shown(QWidget):
    """One cell."""

    def __init__(self, cell: TwoLineCell) -> None:
        super().__init__()
        self.cell = cell
        self.resize(COLUMN_WIDTH, ROW_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        _paint_two_lines(app_theme(), painter, self.cell, QRectF(0, 0, COLUMN_WIDTH, ROW_HEIGHT))
        painter.end()


@pytest.mark.parametrize(
    ("caption", "lines"),
    [
        ("19.10.2025 18:00", ["19.10.2025 18:00"]),
        ("19 de out. de 2025, 18:00", ["19 de out. de 2025,", "18:00"]),
        ("19 Oct 2025 18:00 · ward4.wav", ["19 Oct 2025 18:00 ·", "ward4.wav"]),
    ],
)
def test_a_caption_is_whole_in_the_narrowest_column_of_the_outbox(qtbot, caption, lines):
    shown = Shown(TwoLineCell("ward-4", caption))
    qtbot.addWidget(shown)
    pieces = painted_words(shown)
    assert [piece.text for piece in pieces] == ["ward-4", *lines]
    assert all(piece.ink.top() >= 0 and piece.ink.bottom() <= ROW_HEIGHT for piece in pieces)


def test_what_does_not_fit_in_two_lines_is_cut_at_its_end(qtbot):
    shown = Shown(TwoLineCell("ward-4", "19 Oct 2025 18:00 · " + "a long name of a file " * 5))
    qtbot.addWidget(shown)
    _name, *rest = [piece.text for piece in painted_words(shown)]
    assert len(rest) == 2
    assert rest[-1].endswith("…")
