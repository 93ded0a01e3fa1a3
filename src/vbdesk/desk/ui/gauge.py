"""A value against its limits on a short track."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from vbdesk.desk.ui.painting import antialiased, flipped, rounded
from vbdesk.desk.ui.theme import app_theme


class Gauge(QWidget):
    """A track with the passing range, limits as ticks and the value as a dot; positions are 0..1."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self._value: float | None = None
        self._good = (0.0, 1.0)
        self._limits: tuple[float, ...] = ()
        self._width = 180
        self._token = "ok"  # noqa: S105  (a colour token)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_value(self, value: float | None, good: tuple[float, float], token: str) -> None:
        """Show the value and the range that passes; an end at 0 or 1 has no limit."""
        self._value, self._good, self._token = value, good, token
        self._limits = tuple(end for end in good if 0.0 < end < 1.0)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(self._theme.px(self._width), self._theme.px(20))

    def set_short(self, short: bool) -> None:
        """Take less width."""
        self._width = 110 if short else 180
        self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = flipped(antialiased(QPainter(self)), self.width())
        middle, width = self.height() / 2, self.width()
        track = QRectF(0, middle - 3, width, 6)
        rounded(painter, track, 3, self._theme.colour("sunken"))
        low, high = self._good
        rounded(painter, QRectF(low * width, middle - 3, (high - low) * width, 6), 3, self._theme.colour("oktint"))
        for limit in self._limits:
            painter.fillRect(QRectF(limit * width - 0.75, middle - 7, 1.5, 14), self._theme.colour("text2"))
        if self._value is not None:
            x = 5 + min(1.0, max(0.0, self._value)) * (width - 10)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.colour("surface"))
            painter.drawEllipse(QPointF(x, middle), 6.5, 6.5)
            painter.setBrush(self._theme.colour(self._token))
            painter.drawEllipse(QPointF(x, middle), 4.75, 4.75)
        painter.end()
