"""The speech recorded so far, as a ring."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from vbdesk.contract.rounding import whole
from vbdesk.desk.ui.painting import antialiased
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, formats, ngettext, npgettext

_DIAMETER = 112
_FULL_TURN = 2.0  # share of the minimum


class SpeechRing(QWidget):
    """A full turn is twice the minimum, which has a tick; beyond it the arc has the `ok` colour."""

    def __init__(self, minimum_s: float) -> None:
        self._theme = app_theme()
        super().__init__()
        self._minimum_s, self._seconds = minimum_s, 0.0
        self._diameter = _DIAMETER
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(_("Speech so far"))

    def set_minimum(self, minimum_s: float) -> None:
        """Set the minimum."""
        self._minimum_s = minimum_s
        self.update()

    def set_diameter(self, diameter: int) -> None:
        """Set the diameter at 100 % text."""
        self._diameter = diameter
        self.updateGeometry()

    def show_seconds(self, seconds: float) -> None:
        """Show `seconds` of speech."""
        if whole(seconds) != whole(self._seconds):
            self.setAccessibleDescription(ngettext("{count} second", "{count} seconds", whole(seconds)))
        if round(seconds, 1) != round(self._seconds, 1):
            self.update()
        self._seconds = seconds

    def sizeHint(self) -> QSize:  # noqa: D102
        side = self._theme.px(self._diameter)
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        px = self._theme.px
        stroke = px(9 if self._diameter == _DIAMETER else 6)
        circle = QRectF(self.rect()).adjusted(stroke, stroke, -stroke, -stroke)
        painter.setPen(QPen(self._theme.colour("sunken"), stroke))
        painter.drawEllipse(circle)
        token = "ok" if self._seconds >= self._minimum_s else "accent"
        painter.setPen(QPen(self._theme.colour(token), stroke, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        turn = min(1.0, self._seconds / (_FULL_TURN * self._minimum_s))
        if turn > 0.0:
            painter.drawArc(circle, 90 * 16, -round(turn * 360 * 16))
        painter.setPen(QPen(self._theme.colour("text"), 2.5))
        foot = QPointF(circle.center().x(), circle.bottom())
        painter.drawLine(foot - QPointF(0, stroke * 0.8), foot + QPointF(0, stroke * 0.8))
        self._paint_text(painter)
        painter.end()

    def _paint_text(self, painter: QPainter) -> None:
        px = self._theme.px
        painter.setPen(self._theme.colour("text"))
        painter.setFont(self._theme.font(Role.OVERALL if self._diameter == _DIAMETER else Role.CARD_TITLE))
        upper = QRectF(0, self.height() / 2 - px(26), self.width(), px(32))
        if self._diameter < _DIAMETER:
            upper = QRectF(self.rect())
        painter.drawText(upper, Qt.AlignmentFlag.AlignCenter, formats.number(whole(self._seconds)))
        if self._diameter < _DIAMETER:
            return
        painter.setPen(self._theme.colour("text2"))
        painter.setFont(self._theme.font(Role.CAPTION))
        lower = QRectF(0, self.height() / 2 + px(4), self.width(), px(16))
        # Translators: below a number, inside a ring; at most 10 letters.
        painter.drawText(
            lower, Qt.AlignmentFlag.AlignCenter, npgettext("below a number", "second", "seconds", whole(self._seconds))
        )
