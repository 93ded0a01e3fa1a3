"""The input level meter: 60 cells of 1 dB, peak hold, noise floor, clipping."""

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from vbdesk.capture.meter import InputLevels
from vbdesk.desk.ui.painting import antialiased, rounded
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _, formats

_CELLS = 60
_COMPACT_WIDTH, _COMPACT_CELLS = 90, 30
_FLOOR_DBFS, _SILENT_DBFS = -60.0, -90.0
_WARN_DBFS, _FAIL_DBFS = -12.0, -3.0
_TICKS = (-60, -48, -36, -24, -12, 0)


class LevelMeterBar(QWidget):
    """Levels in dBFS; None where there is nothing to show."""

    def __init__(self, *, compact: bool = False) -> None:
        """Make it; `compact` shows level and peak only, without a scale."""
        self._theme = app_theme()
        super().__init__()
        self._compact = compact
        self._level: float | None = None
        self._peak: float | None = None
        self._floor: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(_("Input level"))

    def show_input(self, levels: InputLevels) -> None:
        """Show a reading of the microphone."""
        if levels.held_peak_dbfs < _SILENT_DBFS:
            self.show_levels(None, None, None)
        else:
            self.show_levels(levels.rms_dbfs, levels.held_peak_dbfs, levels.noise_floor_dbfs)

    def show_levels(self, level: float | None, peak: float | None, floor: float | None) -> None:
        """Show the level now, the held peak and the noise floor."""
        shown = tuple(_whole(value) for value in (level, peak, floor))
        if shown != (self._level, self._peak, self._floor):
            self._level, self._peak, self._floor = shown
            sentence = _("No sound") if shown[1] is None else _("Peak {peak} dBFS", peak=decibels(shown[1]))
            self.setAccessibleDescription(sentence)
            self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        px = self._theme.px
        return QSize(px(_COMPACT_WIDTH), px(24)) if self._compact else QSize(300, px(44))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        px = self._theme.px
        cells = QRectF(0, px(5 if self._compact else 10), self.width(), px(14))
        count = _COMPACT_CELLS if self._compact else _CELLS
        step = cells.width() / count
        for cell in range(count):
            dbfs = _FLOOR_DBFS * (1 - cell / count)
            lit = self._level is not None and dbfs < self._level
            box = QRectF(cells.left() + cell * step, cells.top(), max(2.0, step - 2), cells.height())
            rounded(painter, box, 1.5, self._theme.colour(_token(dbfs) if lit else "border"))
        if self._peak is not None:
            x = self._x(self._peak)
            painter.fillRect(QRectF(x - 1, cells.top() - 3, 2, cells.height() + 6), self._theme.colour("text"))
        if self._floor is not None and not self._compact:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.colour("text2"))
            x, side = self._x(self._floor), px(6)
            corners = [(x - side, 1.0), (x + side, 1.0), (x, 1.0 + side)]
            painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
        if not self._compact:
            self._paint_ticks(painter, cells.bottom() + px(4))
        painter.end()

    def _paint_ticks(self, painter: QPainter, top: float) -> None:
        painter.setFont(self._theme.font(Role.CAPTION))
        painter.setPen(self._theme.colour("text3"))
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as the scale
        height = self._theme.line_height(Role.CAPTION)
        for dbfs in _TICKS:
            x = self._x(dbfs)
            where = QRectF(x - 30, top, 60, height)
            align = Qt.AlignmentFlag.AlignHCenter
            if dbfs == _TICKS[0]:
                where, align = QRectF(0, top, 60, height), Qt.AlignmentFlag.AlignLeft
            elif dbfs == _TICKS[-1]:
                where, align = QRectF(self.width() - 60, top, 60, height), Qt.AlignmentFlag.AlignRight
            painter.drawText(where, align, decibels(dbfs))

    def _x(self, dbfs: float) -> float:
        share = (dbfs - _FLOOR_DBFS) / -_FLOOR_DBFS
        return self.width() * min(1.0, max(0.0, share))


def decibels(dbfs: float) -> str:
    """Whole decibels with a typographic minus: `−12`."""
    return formats.number(round(dbfs), "d").replace("-", "−")


def _whole(dbfs: float | None) -> int | None:
    """Round to whole dB; digital silence is None."""
    return None if dbfs is None or not math.isfinite(dbfs) else round(dbfs)


def _token(dbfs: float) -> str:
    if dbfs >= _FAIL_DBFS:
        return "fail"
    return "warn" if dbfs >= _WARN_DBFS else "ok"


class MeterLegend(QWidget):
    """Legend of the meter."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(300, self._theme.line_height(Role.CAPTION))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        px = self._theme.px
        painter.setFont(self._theme.font(Role.CAPTION))
        middle, x = self.height() / 2, float(px(4))
        for sign, text in enumerate((_("Peak hold"), _("Noise floor"), _("Clipping"))):
            width = painter.fontMetrics().horizontalAdvance(text)
            mark = self._placed(QRectF(x, middle - 6, 12, 12))
            painter.setPen(Qt.PenStyle.NoPen)
            if sign == 0:
                painter.fillRect(QRectF(mark.center().x() - 1, mark.top(), 2, 12), self._theme.colour("text"))
            elif sign == 1:
                painter.setBrush(self._theme.colour("text2"))
                corners = [(mark.left(), middle - 3), (mark.right(), middle - 3), (mark.center().x(), middle + 4)]
                painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
            else:
                rounded(painter, mark.adjusted(1, 1, -1, -1), 2, self._theme.colour("fail"))
            x += px(18)
            painter.setPen(self._theme.colour("text3"))
            painter.drawText(self._placed(QRectF(x, 0, width + 2, self.height())), Qt.AlignmentFlag.AlignVCenter, text)
            x += width + px(20)
        painter.end()

    def _placed(self, area: QRectF) -> QRectF:
        """An area in the reading direction."""
        if self.layoutDirection() is Qt.LayoutDirection.LeftToRight:
            return area
        return QRectF(self.width() - area.right(), area.top(), area.width(), area.height())
