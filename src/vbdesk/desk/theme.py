"""Colour, type and measures of the desk. The only module that holds a colour value.

Style sheet, painted widgets and charts read the active theme; when it changes, `Theme.changed` is emitted and every
widget repaints.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from vbdesk.contract.levels import Level
from vbdesk.resource_files import resource

FAMILY = "Inter"
_FONT_CUTS = ("Regular", "Medium", "SemiBold", "Bold")
_BODY_PX = 14.0


class Scheme(StrEnum):
    """Which colours to use."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Colours:
    """Colour tokens; what each is for is said once, in the style sheet and the widget that uses it."""

    bg: str
    rail: str
    surface: str
    surface2: str
    sunken: str
    border: str
    control: str
    text: str
    text2: str
    text3: str
    accent: str
    accentfill: str
    accenttint: str
    ok: str
    oktint: str
    warn: str
    warntint: str
    fail: str
    failtint: str
    rec: str
    wave: str
    wavedim: str
    band: str
    base: str
    on_accent: str
    on_rec: str
    heat_glyph_moderate: str
    heat_glyph_elevated: str


@dataclass(frozen=True, slots=True)
class LevelColours:
    """Colours of one level: `ink` of the word, `shape` of the glyph, `tint` of the badge, `heat` of cells and bars."""

    ink: str
    shape: str
    tint: str
    heat: str


LIGHT: Final = Colours(
    bg="#F5F6F8",
    rail="#ECEEF2",
    surface="#FFFFFF",
    surface2="#F8F9FB",
    sunken="#EFF1F4",
    border="#E2E5EA",
    control="#868F9D",
    text="#151A21",
    text2="#465060",
    text3="#5E6878",
    accent="#3551C9",
    accentfill="#3551C9",
    accenttint="#EAEEFC",
    ok="#1B7A4B",
    oktint="#E4F3EA",
    warn="#8A5A00",
    warntint="#FBF1D9",
    fail="#B3261E",
    failtint="#FBE7E5",
    rec="#C62A35",
    wave="#4A5BB8",
    wavedim="#B9C0DC",
    band="#DDE3F6",
    base="#E7EAEE",
    on_accent="#FFFFFF",
    on_rec="#FFFFFF",
    heat_glyph_moderate="#151A21",
    heat_glyph_elevated="#FFFFFF",
)

DARK: Final = Colours(
    bg="#0F1216",
    rail="#0B0D11",
    surface="#171B21",
    surface2="#1C2128",
    sunken="#232933",
    border="#2A313B",
    control="#737E8E",
    text="#EDF0F4",
    text2="#B6BFCB",
    text3="#939EAD",
    accent="#9DB0FF",
    accentfill="#4A63DE",
    accenttint="#1E2647",
    ok="#5CCB8E",
    oktint="#143324",
    warn="#E8BB55",
    warntint="#352A10",
    fail="#FF8E85",
    failtint="#3D1B19",
    rec="#FF6B74",
    wave="#8EA2F5",
    wavedim="#3B4566",
    band="#26305A",
    base="#242A33",
    on_accent="#FFFFFF",
    on_rec="#1B0A0C",
    heat_glyph_moderate="#151A21",
    heat_glyph_elevated="#151A21",
)

LIGHT_LEVELS: Final[dict[Level, LevelColours]] = {
    Level.NONE: LevelColours("#4A5463", "#6B7686", "#EEF1F4", "#E6EAEF"),
    Level.LOW: LevelColours("#0B6580", "#157C9B", "#E2F1F6", "#93C9DA"),
    Level.CONSIDER: LevelColours("#7A5200", "#A97400", "#FBF1D9", "#EEC157"),
    Level.MODERATE: LevelColours("#A23C0B", "#C54E17", "#FCE9DF", "#DB7439"),
    Level.ELEVATED: LevelColours("#9D1747", "#9D1747", "#F9E1E9", "#8E1A45"),
    Level.INCONCLUSIVE: LevelColours("#4A5463", "#6B7686", "#F5F6F8", "#FFFFFF"),
}

DARK_LEVELS: Final[dict[Level, LevelColours]] = {
    Level.NONE: LevelColours("#B6BFCB", "#7C8797", "#232933", "#262D37"),
    Level.LOW: LevelColours("#7FCDE2", "#4FB3CE", "#12303A", "#22637A"),
    Level.CONSIDER: LevelColours("#EBC163", "#E0AE3C", "#352A10", "#8F6B14"),
    Level.MODERATE: LevelColours("#F7A277", "#F08A55", "#3A2117", "#EB854E"),
    Level.ELEVATED: LevelColours("#FFA0BD", "#FF86AA", "#43182B", "#FFB6CB"),
    Level.INCONCLUSIVE: LevelColours("#B6BFCB", "#7C8797", "#171B21", "#171B21"),
}


@dataclass(frozen=True, slots=True)
class Type:
    """A type role: size and line in pixels at 100 % text, weight, tracking in percent of the size."""

    size: float
    line: float
    weight: int = 400
    tracking: float = 0.0


class Role(StrEnum):
    """What a piece of text is for."""

    PROMPT = "prompt"
    PROMPT_SPEAKER = "prompt_speaker"
    PROMPT_SMALL = "prompt_small"
    PROMPT_COMPACT = "prompt_compact"
    PROMPT_LEAST = "prompt_least"
    PROMPT_PREVIEW = "prompt_preview"
    TIMER = "timer"
    FIRST_TITLE = "first_title"
    OVERALL = "overall"
    FIGURE = "figure"
    PAGE_TITLE = "page_title"
    VERDICT = "verdict"
    DOOR_TITLE = "door_title"
    CARD_TITLE = "card_title"
    BODY = "body"
    BODY_MEDIUM = "body_medium"
    BODY_STRONG = "body_strong"
    LABEL = "label"
    LABEL_MEDIUM = "label_medium"
    LABEL_STRONG = "label_strong"
    CAPTION = "caption"
    CAPTION_MEDIUM = "caption_medium"


TYPE_SCALE: Final[dict[Role, Type]] = {
    Role.PROMPT: Type(32, 52, 400, -1.2),
    Role.PROMPT_SPEAKER: Type(44, 70, 400, -1.4),
    Role.PROMPT_SMALL: Type(24, 40, 400, -0.8),
    Role.PROMPT_COMPACT: Type(20, 33, 400, -0.6),
    Role.PROMPT_LEAST: Type(15, 25, 400, -0.4),
    Role.PROMPT_PREVIEW: Type(23, 38, 400, -0.6),
    Role.TIMER: Type(44, 48, 600, -3.0),
    Role.FIRST_TITLE: Type(28, 36, 600, -1.4),
    Role.OVERALL: Type(26, 32, 600, -1.8),
    Role.FIGURE: Type(24, 30, 600, -1.4),
    Role.PAGE_TITLE: Type(22, 28, 600, -1.4),
    Role.VERDICT: Type(20, 26, 600, -1.2),
    Role.DOOR_TITLE: Type(18, 24, 600, -1.0),
    Role.CARD_TITLE: Type(15, 20, 600, -0.5),
    Role.BODY: Type(14, 20, 400),
    Role.BODY_MEDIUM: Type(14, 20, 500),
    Role.BODY_STRONG: Type(14, 20, 600),
    Role.LABEL: Type(13, 18, 400),
    Role.LABEL_MEDIUM: Type(13, 18, 500),
    Role.LABEL_STRONG: Type(13, 18, 600),
    Role.CAPTION: Type(12, 16, 400),
    Role.CAPTION_MEDIUM: Type(12, 16, 500),
}


class Theme(QObject):
    """The active colours and type; one for the application.

    Signals:
        changed: colours or text size differ from before.
    """

    changed = Signal()

    def __init__(self, scheme: Scheme = Scheme.SYSTEM, text_scale: float | None = None) -> None:
        super().__init__()
        self._scheme = scheme
        self._scale = text_scale or _system_scale()
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._follow_system)
        self._dark = self._wanted_dark()

    @property
    def scheme(self) -> Scheme:
        """What was chosen: light, dark, or whatever the system has."""
        return self._scheme

    @property
    def dark(self) -> bool:
        """Whether the dark colours are in use."""
        return self._dark

    @property
    def colours(self) -> Colours:
        """The colour tokens in use."""
        return DARK if self._dark else LIGHT

    @property
    def scale(self) -> float:
        """Text size against 100 %."""
        return self._scale

    def level(self, level: Level) -> LevelColours:
        """Colours of a level."""
        return (DARK_LEVELS if self._dark else LIGHT_LEVELS)[level]

    def px(self, measure: float) -> int:
        """A measure of the design in pixels at the present text size."""
        return round(measure * self._scale)

    def font(self, role: Role) -> QFont:
        """Font of a type role, with tabular figures."""
        entry = TYPE_SCALE[role]
        font = _base_font()
        font.setPixelSize(max(1, self.px(entry.size)))
        font.setWeight(QFont.Weight(entry.weight))
        if entry.tracking:
            font.setLetterSpacing(QFont.SpacingType.PercentageSpacing, 100.0 + entry.tracking)
        return font

    def line_height(self, role: Role) -> int:
        """Line height of a type role in pixels."""
        return self.px(TYPE_SCALE[role].line)

    def set_scheme(self, scheme: Scheme) -> None:
        """Choose light, dark or the system's."""
        self._scheme = scheme
        self._refresh()

    def apply(self) -> None:
        """Give the application its font, palette and style sheet."""
        _load_fonts()
        self._apply()

    @Slot()
    def _follow_system(self) -> None:
        self._refresh()

    def _refresh(self) -> None:
        dark = self._wanted_dark()
        if dark != self._dark:
            self._dark = dark
            self._apply()

    def _wanted_dark(self) -> bool:
        if self._scheme is Scheme.SYSTEM:
            return QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return self._scheme is Scheme.DARK

    def _apply(self) -> None:
        from vbdesk.desk.style_sheet import style_sheet

        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.setFont(self.font(Role.BODY))
            application.setPalette(_qt_palette(self.colours))
            application.setStyleSheet(style_sheet(self))
        self.changed.emit()


_active: Theme | None = None


def install(theme: Theme) -> None:
    """Make `theme` the one that widgets read, and apply it."""
    global _active
    _active = theme
    theme.apply()


def active() -> Theme:
    """The theme in use."""
    if _active is None:
        raise RuntimeError("theme.install() has not been called")
    return _active


def colour(token: str) -> QColor:
    """A colour token of the active theme by its name."""
    return QColor(getattr(active().colours, token))


def mixed(fill: str, towards: str, share: float) -> QColor:
    """`fill` moved by `share` (0..1) towards another colour: hover is 6 %, pressed 12 % towards the text."""
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


def _system_scale() -> float:
    """Text size that the system asks for; never below 100 %, since 12 px captions are the smallest we show."""
    application_font = QGuiApplication.font()
    return max(1.0, QFontInfo(application_font).pixelSize() / _BODY_PX)


def _load_fonts() -> None:
    if QFontDatabase.hasFamily(FAMILY):
        return
    for cut in _FONT_CUTS:
        QFontDatabase.addApplicationFont(str(resource("fonts", f"{FAMILY}-{cut}.otf")))


def _base_font() -> QFont:
    font = QFont(FAMILY)
    font.setStyleHint(QFont.StyleHint.SansSerif)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def _qt_palette(colours: Colours) -> QPalette:
    """What Qt itself paints with: menus, selections, disabled text."""
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
