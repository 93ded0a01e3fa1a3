"""The versions of a recording, side by side."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QBoxLayout, QSizePolicy, QWidget

from vbdesk.desk.record.check_text import Version
from vbdesk.desk.ui.icons import paint_icon
from vbdesk.desk.ui.painting import antialiased, rounded
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.desk.ui.time_text import clock_text, local_time_of_day
from vbdesk.language import _

_LEAST_WIDTH = 290
_PAD = 14
_ICONS = {True: ("check", "ok"), False: ("error", "fail"), None: ("minus", "text3")}


class VersionTile(QAbstractButton):
    """One version; a click reviews it.

    Signals:
        chosen: (str) take id of the version to review.
    """

    chosen = Signal(str)

    def __init__(self, version: Version, parent: QWidget) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self.version = version
        self._figures = " · ".join(_("{name}: {figure}", name=name, figure=value) for name, value in version.figures)
        time, length = local_time_of_day(version.recorded_at), clock_text(version.seconds)
        self._when = _("{time}, {length}", time=time, length=length)
        self.setText(_("Version {number}", number=version.number))
        self.setAccessibleName(_("Version {number}: {result}", number=version.number, result=version.check_text))
        shown = _("Shown here.") if version.shown else ""
        sentence = _("{state}. Recorded at {time}, {length} long.", state=version.state_text, time=time, length=length)
        self.setAccessibleDescription(f"{shown} {sentence} {self._figures}".strip())
        self.setToolTip(self._figures)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setProperty("ringRadius", 12)
        self.clicked.connect(self._on_clicked)

    @Slot()
    def _on_clicked(self) -> None:
        if not self.version.shown:
            self.chosen.emit(self.version.take_id)

    def sizeHint(self) -> QSize:  # noqa: D102
        theme = self._theme
        lines = theme.line_height(Role.BODY_STRONG) + theme.line_height(Role.LABEL) + theme.line_height(Role.CAPTION)
        return QSize(theme.px(_LEAST_WIDTH), lines + 2 * theme.px(10) + 4)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        theme, px = self._theme, self._theme.px
        fill = self._theme.colour("surface2" if self.underMouse() and not self.version.shown else "surface")
        rounded(
            painter, QRectF(self.rect()), 12, fill, self._theme.colour("accent" if self.version.shown else "control")
        )
        if self.version.shown:
            rounded(painter, QRectF(1, px(12), 3, self.height() - 2 * px(12)), 1.5, self._theme.colour("accent"))
        area = QRectF(self.rect()).adjusted(px(_PAD), px(10), -px(_PAD), -px(10))
        first = theme.line_height(Role.BODY_STRONG)
        self._write(
            painter, Role.BODY_STRONG, "text", QRectF(area.left(), area.top(), area.width(), first), self.text()
        )
        right = QRectF(area.left(), area.top(), area.width(), first)
        self._write(painter, Role.CAPTION, "text2", right, self._when, right=True)
        self._paint_check_text(
            painter, QRectF(area.left(), area.top() + first + 2, area.width(), theme.line_height(Role.LABEL))
        )
        foot = theme.line_height(Role.CAPTION)
        below = QRectF(area.left(), area.bottom() - foot, area.width(), foot)
        self._write(painter, Role.CAPTION, "text2", below, self._figures)
        painter.end()

    def _paint_check_text(self, painter: QPainter, area: QRectF) -> None:
        icon, ink = _ICONS[self.version.good]
        side = self._theme.px(14)
        mirrored = self.layoutDirection() is Qt.LayoutDirection.RightToLeft
        left = area.right() - side if mirrored else area.left()
        paint_icon(painter, icon, QRectF(left, area.center().y() - side / 2, side, side), self._theme.colour(ink))
        text = _("{result} · {state}", result=self.version.check_text, state=self.version.state_text)
        beside = area.adjusted(0, 0, -side - 8, 0) if mirrored else area.adjusted(side + 8, 0, 0, 0)
        self._write(painter, Role.LABEL_MEDIUM, ink if self.version.good is not None else "text2", beside, text)

    def _write(self, painter: QPainter, role: Role, ink: str, area: QRectF, text: str, *, right: bool = False) -> None:
        font = self._theme.font(role)
        painter.setFont(font)
        painter.setPen(self._theme.colour(ink))
        fitted = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, area.width())
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(area, side | Qt.AlignmentFlag.AlignVCenter, fitted)


class VersionStrip(QWidget):
    """Tiles in a row, or in a column in narrow windows. Hidden if there is one version only.

    Signals:
        chosen: (str) take id of the version to review.
    """

    chosen = Signal(str)

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self.setAccessibleName(_("Versions of this recording"))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._box = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(12)
        self.tiles: list[VersionTile] = []
        self.hide()

    @Slot(object)
    def show_versions(self, versions: tuple[Version, ...]) -> None:
        """Show versions, oldest first."""
        for tile in self.tiles:
            self._box.removeWidget(tile)
            tile.hide()
            tile.deleteLater()
        self.tiles = [VersionTile(version, self) for version in versions]
        for tile in self.tiles:
            tile.chosen.connect(self.chosen)
            self._box.addWidget(tile, 1)
        self.setVisible(bool(versions))
        self._arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        narrow = self.width() < self._theme.px(_LEAST_WIDTH) * len(self.tiles)
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        if self._box.direction() is not direction:
            self._box.setDirection(direction)
            self.updateGeometry()
