"""A thin progress bar; callers show the numbers as text."""

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from vbdesk.desk.ui.painting import antialiased, mirrored, rounded
from vbdesk.desk.ui.theme import Theme, app_theme

_HEIGHT = 6


class ProgressBar(QWidget):
    """A share from 0 to 1."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._name, self._share = name, 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_share(0.0)

    def show_share(self, share: float) -> None:
        """Show `share`, limited to 0..1."""
        self._share = min(1.0, max(0.0, share))
        self.setAccessibleName(f"{self._name}: {self._share:.0%}")
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(120, self._theme.px(_HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        paint_progress(self._theme, painter, QRectF(self.rect()), self._share)
        painter.end()


def paint_progress(theme: Theme, painter: QPainter, rect: QRectF, share: float) -> None:
    """Paint a progress bar into `rect`; for item delegates too."""
    radius = rect.height() / 2
    rounded(painter, rect, radius, theme.colour("sunken"))
    if share > 0.0:
        filled = QRectF(rect.left(), rect.top(), max(rect.height(), rect.width() * share), rect.height())
        filled = mirrored(painter, filled, rect)
        rounded(painter, filled, radius, theme.colour("accentfill"))
