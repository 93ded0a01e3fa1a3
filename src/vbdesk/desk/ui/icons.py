"""Line icons, drawn on a grid of 20 and coloured when painted."""

from functools import cache, lru_cache

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap, QTransform
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QSizePolicy, QWidget

from vbdesk.desk.ui.theme import Theme, app_theme
from vbdesk.resource_files import resource

_DIRECTED = frozenset({"arrow-left", "arrow-right", "chevron-left", "chevron-right", "talk"})
"""Icons that point along the line of text."""


def load_icons() -> None:
    """Read every icon file, so that painting reads none."""
    for path in resource("icons").glob("*.svg"):
        _source(path.stem)


def paint_icon(painter: QPainter, name: str, rect: QRectF, colour: QColor) -> None:
    """Paint the icon `name` into `rect` (logical pixels) in `colour`."""
    device = painter.device()
    ratio = device.devicePixelRatio() if device is not None else 1.0
    picture = pixmap(name, round(rect.width()), colour, ratio)
    if name in _DIRECTED and painter.layoutDirection() is Qt.LayoutDirection.RightToLeft:
        picture = picture.transformed(QTransform.fromScale(-1, 1))
    painter.drawPixmap(rect.topLeft(), picture)


def pixmap(name: str, size: int, colour: QColor, ratio: float = 1.0) -> QPixmap:
    """The icon as a pixmap of `size` logical pixels.

    Raises:
        FileNotFoundError: there is no icon of that name.
    """
    return _pixmap(name, size, colour.name(QColor.NameFormat.HexRgb), ratio)


def application_icon(theme: Theme) -> QIcon:
    """The mark of the application, for the window system."""
    icon = QIcon()
    for size in (16, 24, 32, 48, 64, 128, 256):
        icon.addPixmap(mark(theme, size))
    return icon


def mark(theme: Theme, size: int, ratio: float = 1.0) -> QPixmap:
    """The mark of the application: bars of a voice on the accent, in its own colours."""
    colours = theme.colours
    svg = (
        _source("mark")
        .replace(b"currentColor", colours.accentfill.encode())
        .replace(b"inkColor", colours.on_accent.encode())
    )
    return _render(svg, size, ratio)


class IconView(QWidget):
    """An icon next to text; decoration, so hidden from assistive technology."""

    def __init__(self, name: str, token: str = "text2", size: int = 16, parent: QWidget | None = None) -> None:  # noqa: S107
        self._theme = app_theme()
        super().__init__(parent)
        self._name, self._token, self._size = name, token, size
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    @property
    def name(self) -> str:
        """Name of the icon shown."""
        return self._name

    def show_icon(self, name: str, token: str | None = None) -> None:
        """Show another icon, or the same in another colour token."""
        self._name = name
        self._token = token or self._token
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        side = self._theme.px(self._size)
        return QSize(side, side)

    def paintEvent(self, event: object) -> None:  # noqa: D102
        if not self._name:
            return
        painter = QPainter(self)
        painter.setLayoutDirection(self.layoutDirection())
        side = self._theme.px(self._size)
        rect = QRectF((self.width() - side) / 2, (self.height() - side) / 2, side, side)
        token = self._token if self.isEnabled() else "text3"
        paint_icon(painter, self._name, rect, self._theme.colour(token))
        painter.end()


@lru_cache(maxsize=512)
def _pixmap(name: str, size: int, hex_colour: str, ratio: float) -> QPixmap:
    return _render(_source(name).replace(b"currentColor", hex_colour.encode()), size, ratio)


@cache
def _source(name: str) -> bytes:
    return resource("icons", f"{name}.svg").read_bytes()


def _render(svg: bytes, size: int, ratio: float) -> QPixmap:
    picture = QPixmap(round(size * ratio), round(size * ratio))
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(QByteArray(svg)).render(painter)
    painter.end()
    picture.setDevicePixelRatio(ratio)
    return picture
