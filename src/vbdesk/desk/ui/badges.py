"""Level badges and state chips: each shows a word, a shape and a colour."""

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk.ui.icons import paint_icon
from vbdesk.desk.ui.painting import antialiased, mirrored, paint_level, rounded
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.language import N_, translated
from vbdesk.report.reader_words import level_word
from vbdesk.report.result_texts import overall_word

_HEIGHT, _GLYPH, _PAD, _GAP = 24, 13, 8, 6


class LevelBadge(QWidget):
    """A level as glyph and word on a tinted background; of a sign, or the `overall` one of a recording."""

    def __init__(self, level: Level = Level.NONE, parent: QWidget | None = None, *, overall: bool = False) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._word = overall_word if overall else level_word
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.show_level(level)

    @property
    def level(self) -> Level:
        """The level shown."""
        return self._level

    @property
    def word(self) -> str:
        """The word shown."""
        return self._word(self._level)

    def show_level(self, level: Level) -> None:
        """Show another level."""
        self._level = level
        self.setAccessibleName(self.word)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        return _badge_size(self._theme, self.word)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        paint_level_badge(self._theme, painter, self._level, self.word, QRectF(self.rect()))
        painter.end()


def paint_level_badge(theme: Theme, painter: QPainter, level: Level, word: str, rect: QRectF) -> None:
    """Paint the badge of a level into `rect`; for item delegates too."""
    colours = theme.level(level)
    rounded(painter, rect, 6, QColor(colours.tint))
    side = theme.px(_GLYPH)
    glyph = QRectF(rect.left() + theme.px(_PAD), rect.center().y() - side / 2, side, side)
    glyph = mirrored(painter, glyph, rect)
    paint_level(painter, level, glyph, QColor(colours.shape), QColor(colours.tint))
    _paint_word(theme, painter, word, rect, QColor(colours.ink))


def level_badge_size(theme: Theme, word: str) -> QSize:
    """Size of the badge of a level with this word."""
    return _badge_size(theme, word)


class LevelGlyph(QWidget):
    """The glyph of a level without its word; the caller shows the word next to it."""

    def __init__(self, level: Level = Level.NONE, *, size: int = 16, tinted: int = 0) -> None:
        """Make the glyph; `tinted` is the diameter of the disc behind it, 0 for none."""
        self._theme = app_theme()
        super().__init__()
        self._level, self._size, self._tinted = level, size, tinted
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_level(self, level: Level) -> None:
        """Show another level."""
        self._level = level
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        side = self._theme.px(max(self._size, self._tinted))
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        colours = self._theme.level(self._level)
        behind = QColor(colours.tint) if self._tinted else self._theme.colour("surface")
        if self._tinted:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(behind)
            painter.drawEllipse(self.rect())
        side = self._theme.px(self._size)
        glyph = QRectF((self.width() - side) / 2, (self.height() - side) / 2, side, side)
        paint_level(painter, self._level, glyph, QColor(colours.shape), behind)
        painter.end()


@dataclass(frozen=True, slots=True)
class ChipStyle:
    """Text, icon and colour tokens of a chip.

    Attributes:
        text: marked for translation, or a message.
    """

    text: str
    icon: str
    ink: str
    fill: str

    @property
    def shown(self) -> str:
        """The text in the reader's language."""
        return translated(self.text)


class Chip(QWidget):
    """A state as icon and word on a tinted background."""

    def __init__(self, style: ChipStyle, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self._style = style
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(style.shown)

    @property
    def text(self) -> str:
        """The word shown."""
        return self._style.shown

    def show_style(self, style: ChipStyle) -> None:
        """Show another state."""
        self._style = style
        self.setAccessibleName(style.shown)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        return _badge_size(self._theme, self._style.shown)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        paint_chip(self._theme, painter, self._style, QRectF(self.rect()))
        painter.end()


def paint_chip(theme: Theme, painter: QPainter, style: ChipStyle, rect: QRectF) -> None:
    """Paint a chip into `rect`; for item delegates too."""
    ink = theme.colour(style.ink)
    rounded(painter, rect, 6, theme.colour(style.fill))
    side = theme.px(14)
    icon = QRectF(round(rect.left() + theme.px(_PAD)), round(rect.center().y() - side / 2), side, side)
    paint_icon(painter, style.icon, mirrored(painter, icon, rect), ink)
    _paint_word(theme, painter, style.shown, rect, ink)


def chip_size(theme: Theme, style: ChipStyle) -> QSize:
    """Size of a chip."""
    return _badge_size(theme, style.shown)


PASS = ChipStyle(N_("Pass"), "check", "ok", "oktint")
WATCH = ChipStyle(N_("Watch"), "warning", "warn", "warntint")
FAIL = ChipStyle(N_("Fail"), "error", "fail", "failtint")


def _badge_size(theme: Theme, text: str) -> QSize:
    px = theme.px
    width = QFontMetricsF(theme.font(Role.LABEL_STRONG)).horizontalAdvance(text)
    return QSize(round(px(_PAD) + px(_GLYPH) + px(_GAP) + width + px(_PAD) + 1), px(_HEIGHT))


def _paint_word(theme: Theme, painter: QPainter, text: str, rect: QRectF, ink: QColor) -> None:
    px = theme.px
    painter.setFont(theme.font(Role.LABEL_STRONG))
    painter.setPen(ink)
    start = px(_PAD) + px(_GLYPH) + px(_GAP)
    painter.drawText(mirrored(painter, rect.adjusted(start, 0, 0, 0), rect), Qt.AlignmentFlag.AlignVCenter, text)
