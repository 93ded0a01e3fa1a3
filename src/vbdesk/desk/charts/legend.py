"""Legend of the trajectory charts."""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStyle, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk.charts.marker_pixmaps import paint_unusual_marker
from vbdesk.desk.charts.sign_painting import change_pen, dashed, dotted, faded, paint_voice_marker
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.language import _
from vbdesk.report.reader_words import level_word

Paint = Callable[[Theme, QPainter, QRectF], None]

_SIDE, _TOP, _ENTRY_GAP, _LINE_GAP = 20, 10, 20, 4
_MARK_HEIGHT, _MARK_GAP = 18, 8


class Legend(QWidget):
    """Markers with texts, wrapped into lines."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self._entries: list[QWidget] = []
        for text, paint, width in (
            (_("Reading, larger is surer"), _readings, 20),
            (_("Quality issue"), _quality_issue, 12),
            (_("Smoothed, 90% interval"), _estimate, 24),
            (_("Own baseline, usual range"), _own_range, 24),
            (_("Unusual for this person"), _unusual, 18),
            (_("Voice differs: right person?"), _other_voice, 18),
            (level_word(Level.CONSIDER), _consider, 20),
            (_("No reading"), _no_reading, 6),
            (_("Other scale from here"), _change, 6),
        ):
            entry = QWidget(self)
            row = QHBoxLayout(entry)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(_MARK_GAP)
            row.addWidget(_Mark(paint, width))
            row.addWidget(Text(text, Role.CAPTION, "text2"))
            self._entries.append(entry)
        self._change = self._entries[-1]
        self.show_changes(shown=False)
        self._theme.changed.connect(self._place)

    def show_changes(self, *, shown: bool) -> None:
        """Explain the mark of a change of the analysis, or leave it out."""
        self._change.setVisible(shown)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap the entries again."""
        super().resizeEvent(event)
        self._place()

    @Slot()
    def _place(self) -> None:
        x, y, height = _SIDE, _TOP, max(entry.sizeHint().height() for entry in self._entries)
        for entry in self._entries:
            if entry.isHidden():
                continue
            width = entry.sizeHint().width()
            if x > _SIDE and x + width > self.width() - _SIDE:
                x, y = _SIDE, y + height + _LINE_GAP
            entry.setGeometry(QStyle.visualRect(self.layoutDirection(), self.rect(), QRect(x, y, width, height)))
            x += width + _ENTRY_GAP
        self.setFixedHeight(y + height + _TOP)


class _Mark(QWidget):
    """One marker, as the charts draw it."""

    def __init__(self, paint: Paint, width: int) -> None:
        self._theme = app_theme()
        super().__init__()
        self._paint = paint
        self._width = width
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(self._width), self._theme.px(_MARK_HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(self._theme.scale, self._theme.scale)
        self._paint(self._theme, painter, QRectF(0, 0, self._width, _MARK_HEIGHT))
        painter.end()


def _disc(painter: QPainter, centre: QPointF, radius: float, fill: QColor, pen: QPen | None = None) -> None:
    painter.setPen(pen or QPen(Qt.PenStyle.NoPen))
    painter.setBrush(fill)
    painter.drawEllipse(centre, radius, radius)


def _readings(theme: Theme, painter: QPainter, rect: QRectF) -> None:
    dot = faded(theme, "text2", 0.62)
    _disc(painter, QPointF(4, rect.center().y()), 2.2, dot)
    _disc(painter, QPointF(14, rect.center().y()), 4.2, dot)


def _quality_issue(theme: Theme, painter: QPainter, rect: QRectF) -> None:
    _disc(painter, rect.center(), 3.5, theme.colour("surface"), QPen(theme.colour("text2"), 1.4))


def _estimate(theme: Theme, painter: QPainter, rect: QRectF) -> None:
    accent = theme.colour("accent")
    painter.fillRect(rect.adjusted(0, 4, 0, -4), faded(theme, "accent", 0.16))
    painter.setPen(QPen(accent, 2))
    painter.drawLine(QPointF(rect.left(), rect.center().y()), QPointF(rect.right(), rect.center().y()))


def _own_range(theme: Theme, painter: QPainter, rect: QRectF) -> None:
    painter.fillRect(rect.adjusted(0, 3, 0, -3), theme.colour("base"))
    painter.setPen(dashed(theme.colours.control))
    painter.drawLine(QPointF(rect.left(), rect.center().y()), QPointF(rect.right(), rect.center().y()))


def _unusual(theme: Theme, painter: QPainter, rect: QRectF) -> None:
    paint_unusual_marker(theme, painter, rect.center(), Level.MODERATE)


def _other_voice(theme: Theme, painter: QPainter, rect: QRectF) -> None:
    paint_voice_marker(theme, painter, rect.center(), 7.0)


def _consider(theme: Theme, painter: QPainter, rect: QRectF) -> None:
    painter.setPen(dotted(theme.level(Level.CONSIDER).ink))
    painter.drawLine(QPointF(rect.left(), rect.center().y()), QPointF(rect.right(), rect.center().y()))


def _no_reading(theme: Theme, painter: QPainter, rect: QRectF) -> None:
    painter.setPen(QPen(theme.colour("control"), 1.25))
    painter.drawLine(
        QPointF(rect.center().x(), rect.center().y() - 3), QPointF(rect.center().x(), rect.center().y() + 3)
    )


def _change(theme: Theme, painter: QPainter, rect: QRectF) -> None:
    painter.setPen(change_pen(theme))
    painter.drawLine(QPointF(rect.center().x(), rect.top() + 1), QPointF(rect.center().x(), rect.bottom() - 1))
