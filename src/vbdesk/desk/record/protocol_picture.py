"""A drawing of a protocol, in the colours of the theme."""

from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QSizePolicy, QWidget

from vbdesk.desk.ui.theme import app_theme
from vbdesk.language import _


@cache
def drawing(path: Path) -> bytes:
    """The drawing in `path`; the file is read once."""
    return path.read_bytes()


class Picture(QWidget):
    """A drawing, scaled to the available space."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self._source = b""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(_("Picture to describe"))
        self.setVisible(False)

    def show_picture(self, path: Path | None) -> None:
        """Show the drawing in `path`; None hides it."""
        self._source = b"" if path is None else drawing(path)
        self.setVisible(path is not None)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(320, 180)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        if not self._source:
            return
        painter = QPainter(self)
        renderer = QSvgRenderer(QByteArray(self._source.replace(b"currentColor", self._theme.colours.text.encode())))
        size = renderer.defaultSize().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        area = QRectF(
            (self.width() - size.width()) / 2, (self.height() - size.height()) / 2, size.width(), size.height()
        )
        renderer.render(painter, area)
        painter.end()
