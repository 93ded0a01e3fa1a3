"""The theme: colours, fonts and sizes of the desk, from its tokens.

The application owns one `Theme`. A widget reads it once, at construction; painting functions take it as an argument.
When the theme changes, it emits `changed` and every widget repaints.
"""

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QComboBox, QMenu

from vbdesk.contract.levels import Level
from vbdesk.desk.ui.style_sheet import style_sheet
from vbdesk.desk.ui.tokens import (
    ARABIC_FAMILY,
    BODY_PX,
    DARK,
    DARK_LEVELS,
    FAMILY,
    LARGEST_SCALE,
    LEAST_SCALE,
    LIGHT,
    LIGHT_LEVELS,
    TYPE_SCALE,
    LevelPalette,
    Palette,
    Role,
    Scheme,
)
from vbdesk.resource_files import resource

__all__ = ["Role", "Scheme", "Theme", "app_theme", "contrast", "mixed"]

_FONT_CUTS = ("Regular", "Medium", "SemiBold", "Bold")
_DIRECT = Qt.FindChildOption.FindDirectChildrenOnly


class Theme(QObject):
    """Colours and fonts of the application.

    Signals:
        changed: colours or text size changed.
        resized: the text size changed; `changed` follows.
    """

    changed = Signal()
    resized = Signal()

    def __init__(self, scheme: Scheme = Scheme.SYSTEM, text_size: float | None = None) -> None:
        """Make a theme; `text_size` 1.0 is the design's, None follows the system's font."""
        super().__init__()
        self._scheme = scheme
        self._text_size = text_size
        self._scale = self._wanted_scale()
        self._fonts: dict[Role, QFont] = {}
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._follow_system)
        self._dark = self._wanted_dark()

    @property
    def scheme(self) -> Scheme:
        """The chosen scheme: light, dark or the system's."""
        return self._scheme

    @property
    def dark(self) -> bool:
        """Whether the dark colours are in use."""
        return self._dark

    @property
    def colours(self) -> Palette:
        """The colour tokens in use."""
        return DARK if self._dark else LIGHT

    @property
    def scale(self) -> float:
        """Text size; 1.0 is 100 %."""
        return self._scale

    @property
    def text_size(self) -> float | None:
        """The chosen text size; None for the system's."""
        return self._text_size

    def colour(self, token: str) -> QColor:
        """A colour token by its name."""
        return QColor(getattr(self.colours, token))

    def level(self, level: Level) -> LevelPalette:
        """Colours of a level."""
        return (DARK_LEVELS if self._dark else LIGHT_LEVELS)[level]

    def px(self, measure: float) -> int:
        """A length of the design in pixels at the current text size."""
        return round(measure * self._scale)

    def font(self, role: Role) -> QFont:
        """Font of a type role, with tabular figures; cached, since a page uses hundreds."""
        if role in self._fonts:
            return QFont(self._fonts[role])
        entry = TYPE_SCALE[role]
        font = _base_font()
        font.setPixelSize(max(1, self.px(entry.size)))
        font.setWeight(QFont.Weight(entry.weight))
        if entry.tracking:
            font.setLetterSpacing(QFont.SpacingType.PercentageSpacing, 100.0 + entry.tracking)
        self._fonts[role] = font
        return QFont(font)

    def line_height(self, role: Role) -> int:
        """Line height of a type role in pixels."""
        return self.px(TYPE_SCALE[role].line)

    def set_scheme(self, scheme: Scheme) -> None:
        """Choose light, dark or the system's."""
        self._scheme = scheme
        self._refresh()

    def set_text_size(self, text_size: float | None) -> None:
        """Choose a text size from 0.9 to 2.0, or None for the system's."""
        self._text_size = text_size
        self._refresh()

    def follow_system(self) -> None:
        """Apply the system's current scheme and text size, unless others were chosen."""
        self._refresh()

    def follow_direction(self) -> None:
        """Apply the application's direction of lines to the widgets that have rules for each direction."""
        for widget in QApplication.allWidgets():
            if isinstance(widget, QComboBox | QMenu) or widget.objectName() == "sidebar":
                widget.style().unpolish(widget)
                widget.style().polish(widget)

    def install(self) -> None:
        """Become the theme of the application: set its font, palette and style sheet."""
        application = QApplication.instance()
        for earlier in application.findChildren(Theme, options=_DIRECT) if application else ():
            earlier.setParent(None)
        self.setParent(application)
        _load_fonts()
        self._apply()

    @Slot()
    def _follow_system(self) -> None:
        self._refresh()

    def _refresh(self) -> None:
        before = self._dark, self._scale
        self._dark, self._scale = self._wanted_dark(), self._wanted_scale()
        if self._scale != before[1]:
            self.resized.emit()
        if (self._dark, self._scale) != before:
            self._apply()

    def _wanted_dark(self) -> bool:
        if self._scheme is Scheme.SYSTEM:
            return QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return self._scheme is Scheme.DARK

    def _wanted_scale(self) -> float:
        if self._text_size is None:
            return _system_scale()
        return min(max(self._text_size, LEAST_SCALE), LARGEST_SCALE)

    def _apply(self) -> None:
        self._fonts.clear()
        application = QApplication.instance()
        if isinstance(application, QApplication):
            sheet = style_sheet(self.colours, self.px)
            _set(application, self.font(Role.BODY), _qt_palette(self.colours), sheet)
        self.changed.emit()


def app_theme() -> Theme:
    """Return the theme that the application owns; call it at construction, not while painting.

    Raises:
        RuntimeError: no theme is installed.
    """
    application = QApplication.instance()
    theme = application.findChild(Theme, options=_DIRECT) if application else None
    if theme is None:
        raise RuntimeError("app_theme() called before Theme.install()")
    return theme


def mixed(fill: str, towards: str, share: float) -> QColor:
    """Return `fill` moved by `share` (0..1) towards another colour."""
    a, b = QColor(fill), QColor(towards)
    return QColor.fromRgbF(
        a.redF() + (b.redF() - a.redF()) * share,
        a.greenF() + (b.greenF() - a.greenF()) * share,
        a.blueF() + (b.blueF() - a.blueF()) * share,
    )


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours as WCAG 2 defines it, 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(hex_colour: str) -> float:
    colour = QColor(hex_colour)
    channels = (colour.redF(), colour.greenF(), colour.blueF())
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _set(application: QApplication, font: QFont, palette: QPalette, sheet: str) -> None:
    """Set what differs only: each of the three updates every widget."""
    if application.font() != font:
        application.setFont(font)
    if application.palette() != palette:
        application.setPalette(palette)
    if application.styleSheet() != sheet:
        application.setStyleSheet(sheet)


def _system_scale() -> float:
    """The system's text size; at least 100 %, since captions of 12 px are the smallest text."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    return max(1.0, QFontInfo(font).pixelSize() / BODY_PX)


def _load_fonts() -> None:
    if QFontDatabase.hasFamily(FAMILY):
        return
    for cut in _FONT_CUTS:
        QFontDatabase.addApplicationFont(str(resource("fonts", f"{FAMILY}-{cut}.otf")))
    for cut in ("Regular", "Bold"):  # a computer may have no Arabic font
        QFontDatabase.addApplicationFont(str(resource("fonts", f"NotoSansArabic-{cut}.ttf")))


def _base_font() -> QFont:
    font = QFont([FAMILY, ARABIC_FAMILY])
    font.setStyleHint(QFont.StyleHint.SansSerif)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def _qt_palette(colours: Palette) -> QPalette:
    """Palette for what Qt paints: menus, selections, disabled text."""
    roles = {
        QPalette.ColorRole.Window: colours.bg,
        QPalette.ColorRole.WindowText: colours.text,
        QPalette.ColorRole.Base: colours.surface,
        QPalette.ColorRole.AlternateBase: colours.surface2,
        QPalette.ColorRole.Text: colours.text,
        QPalette.ColorRole.Button: colours.surface,
        QPalette.ColorRole.ButtonText: colours.text,
        QPalette.ColorRole.PlaceholderText: colours.text3,
        QPalette.ColorRole.Highlight: colours.accentfill,
        QPalette.ColorRole.HighlightedText: colours.on_accent,
        QPalette.ColorRole.Link: colours.accent,
        QPalette.ColorRole.ToolTipBase: colours.surface,
        QPalette.ColorRole.ToolTipText: colours.text,
    }
    palette = QPalette()
    for role, value in roles.items():
        palette.setColor(role, QColor(value))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(colours.text3))
    return palette
