"""Cells of a heat map and stacked bars of levels."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.desk.ui.cells import HeatCell, LevelCountsCell
from vbdesk.desk.ui.icons import paint_icon
from vbdesk.desk.ui.painting import antialiased, mirrored, paint_level, rounded
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.report.reader_words import level_word

_LEGEND_GAP = 8
_GLYPH, _RADIUS, _INSET = 13, 4, 1.5
_BAR_HEIGHT, _LEAST_SHARE = 16, 20
_SAMPLE = 22


def glyph_colour(theme: Theme, level: Level) -> QColor:
    """Colour of a level's shape on its heat colour."""
    colours = theme.colours
    if level in (Level.NONE, Level.INCONCLUSIVE):
        return QColor(theme.level(level).shape)
    if level is Level.MODERATE:
        return QColor(colours.heat_glyph_moderate)
    return QColor(colours.heat_glyph_elevated if level is Level.ELEVATED else colours.text)


def paint_heat(theme: Theme, painter: QPainter, cell: HeatCell, rect: QRectF) -> None:
    """Paint a cell of a heat map into `rect`, with a gap to its neighbours."""
    box = rect.adjusted(_INSET, _INSET, -_INSET, -_INSET - 1)
    behind = _paint_ground(theme, painter, cell, box)
    ink = theme.colour("text2") if cell.level is None else glyph_colour(theme, cell.level)
    side = theme.px(_GLYPH)
    middle = QRectF(round(box.center().x() - side / 2), round(box.center().y() - side / 2), side, side)
    if cell.figure:
        painter.setFont(theme.font(Role.LABEL_MEDIUM))
        painter.setPen(ink if cell.level in (Level.MODERATE, Level.ELEVATED) else theme.colour("text"))
        text = box if cell.level is None else box.adjusted(side, 0, 0, 0)
        painter.drawText(text, Qt.AlignmentFlag.AlignCenter, cell.figure)
        if cell.level is not None:
            small = QRectF(box.left() + side / 2, box.center().y() - side * 0.4, side * 0.8, side * 0.8)
            paint_level(painter, cell.level, small, ink, behind)
    elif cell.icon:
        paint_icon(painter, cell.icon, middle, theme.colour("text" if cell.strong else "text2"))
    elif cell.level is not None:
        paint_level(painter, cell.level, middle, ink, behind)


def _paint_ground(theme: Theme, painter: QPainter, cell: HeatCell, box: QRectF) -> QColor:
    if cell.level is None:
        fill = theme.colour("accenttint" if cell.strong else "sunken" if cell.text else "surface")
        rounded(painter, box, _RADIUS, fill, theme.colour("accent") if cell.strong else None)
        return fill
    fill = QColor(theme.level(cell.level).heat)
    rounded(painter, box, _RADIUS, fill)
    if cell.level is Level.INCONCLUSIVE or cell.strong:
        pen = QPen(theme.colour("text" if cell.strong else "control"), 2.0 if cell.strong else 1.0)
        if not cell.strong:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)
    return fill


def paint_level_counts(theme: Theme, painter: QPainter, cell: LevelCountsCell, area: QRectF) -> None:
    """Paint a stacked bar of level counts; parts that are wide enough show the level's shape."""
    px = theme.px
    bar = QRectF(area.left(), area.center().y() - px(_BAR_HEIGHT) / 2, area.width(), px(_BAR_HEIGHT))
    rounded(painter, bar, 2, theme.colour("sunken"))
    x = bar.left()
    for level, count in cell.counts:
        width = bar.width() * count / max(1, cell.total)
        if width <= 0:
            continue
        part = mirrored(painter, QRectF(x, bar.top(), max(width - 1, 1), bar.height()), bar)
        paint_heat_ground(theme, painter, level, part)
        side = px(_GLYPH - 2)
        if width >= px(_LEAST_SHARE):
            middle = QRectF(round(part.center().x() - side / 2), round(part.center().y() - side / 2), side, side)
            paint_level(painter, level, middle, glyph_colour(theme, level), QColor(theme.level(level).heat))
        x += width


def paint_heat_ground(theme: Theme, painter: QPainter, level: Level, part: QRectF) -> None:
    """Paint the background of a level; dashed if inconclusive."""
    fill = QColor(theme.level(level).heat)
    painter.fillRect(part, fill)
    if level is Level.INCONCLUSIVE:
        pen = QPen(theme.colour("control"), 1.0, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(part.adjusted(0.5, 0.5, -0.5, -0.5))


class HeatLegend(QWidget):
    """Colour and shape of each level, in as many columns as fit."""

    def __init__(self, columns: int = 6) -> None:
        super().__init__()
        self._entries = [_LegendEntry(level) for level in (*LEVEL_ORDER, Level.INCONCLUSIVE)]
        self._most, self._columns = columns, 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(20, 10, 20, 12)
        self._grid.setHorizontalSpacing(_LEGEND_GAP)
        self._grid.setVerticalSpacing(6)
        self._arrange(columns)

    def minimumSizeHint(self) -> QSize:  # noqa: D102
        return QSize(self._width_of(1), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        fitting = (count for count in range(self._most, 0, -1) if self._width_of(count) <= self.width())
        self._arrange(next(fitting, 1))

    def _width_of(self, columns: int) -> int:
        """Width of the legend with so many columns."""
        widths: list[int] = [entry.sizeHint().width() for entry in self._entries]
        return 40 + sum(max(widths[start::columns]) + _LEGEND_GAP for start in range(columns)) - _LEGEND_GAP

    def _arrange(self, columns: int) -> None:
        if columns != self._columns:
            self._columns = columns
            for index, entry in enumerate(self._entries):
                self._grid.addWidget(entry, index // columns, index % columns)


class _LegendEntry(QWidget):
    """One level."""

    def __init__(self, level: Level) -> None:
        self._theme = app_theme()
        super().__init__()
        self._level = level
        self.setSizePolicy(QSizePolicy.Policy.MinimumExpanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(level_word(level))

    def sizeHint(self) -> QSize:
        px = self._theme.px
        text_width = QFontMetricsF(self._theme.font(Role.CAPTION)).horizontalAdvance(level_word(self._level))
        return QSize(round(px(_SAMPLE + 6) + text_width + 2), px(20))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = antialiased(QPainter(self))
        px = self._theme.px
        sample = mirrored(painter, QRectF(0, 0, px(_SAMPLE), px(20)), QRectF(self.rect()))
        paint_heat(self._theme, painter, HeatCell(level_word(self._level), self._level), sample)
        painter.setFont(self._theme.font(Role.CAPTION))
        painter.setPen(self._theme.colour("text2"))
        text = mirrored(
            painter, QRectF(px(_SAMPLE + 6), 0, self.width() - px(_SAMPLE + 6), self.height()), QRectF(self.rect())
        )
        painter.drawText(text, Qt.AlignmentFlag.AlignVCenter, level_word(self._level))
        painter.end()
