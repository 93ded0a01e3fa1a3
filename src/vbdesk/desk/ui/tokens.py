"""Design tokens: colours of both themes, levels, type, corners. The only module with colour values."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from vbdesk.contract.levels import Level

FAMILY: Final = "Inter"
ARABIC_FAMILY: Final = "Noto Sans Arabic"
BODY_PX: Final = 14.0
LEAST_SCALE, LARGEST_SCALE = 0.9, 2.0  # limits of the user's choice; 1.0 is the design's


class Scheme(StrEnum):
    """Which colours to use."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Palette:
    """Colour tokens; the style sheet and the widgets show what each is used for."""

    bg: str
    sidebar: str
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
class LevelPalette:
    """Colours of one level: `ink` of the word, `shape` of the glyph, `tint` of the badge, `heat` of cells and bars."""

    ink: str
    shape: str
    tint: str
    heat: str


LIGHT: Final = Palette(
    bg="#F5F6F8",
    sidebar="#ECEEF2",
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

DARK: Final = Palette(
    bg="#0F1216",
    sidebar="#0B0D11",
    surface="#171B21",
    surface2="#1C2128",
    sunken="#232933",
    border="#2A313B",
    control="#737E8E",
    text="#EDF0F4",
    text2="#B6BFCB",
    text3="#939EAD",
    accent="#9DB0FF",
    accentfill="#435CD6",
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

LIGHT_LEVELS: Final[dict[Level, LevelPalette]] = {
    Level.NONE: LevelPalette("#4A5463", "#6B7686", "#EEF1F4", "#E6EAEF"),
    Level.LOW: LevelPalette("#0B6580", "#157C9B", "#E2F1F6", "#93C9DA"),
    Level.CONSIDER: LevelPalette("#7A5200", "#B37D00", "#FBF1D9", "#EEC157"),
    Level.MODERATE: LevelPalette("#A23C0B", "#BD4913", "#FCE9DF", "#DB7439"),
    Level.ELEVATED: LevelPalette("#9D1747", "#9D1747", "#F9E1E9", "#8E1A45"),
    Level.INCONCLUSIVE: LevelPalette("#4A5463", "#6B7686", "#F5F6F8", "#FFFFFF"),
}

DARK_LEVELS: Final[dict[Level, LevelPalette]] = {
    Level.NONE: LevelPalette("#B6BFCB", "#7C8797", "#232933", "#262D37"),
    Level.LOW: LevelPalette("#7FCDE2", "#4FB3CE", "#12303A", "#22637A"),
    Level.CONSIDER: LevelPalette("#EBC163", "#E0AE3C", "#352A10", "#886512"),
    Level.MODERATE: LevelPalette("#F7A277", "#F08A55", "#3A2117", "#EB854E"),
    Level.ELEVATED: LevelPalette("#FFA0BD", "#FF86AA", "#43182B", "#FFB6CB"),
    Level.INCONCLUSIVE: LevelPalette("#B6BFCB", "#7C8797", "#171B21", "#171B21"),
}


@dataclass(frozen=True, slots=True)
class TypeStyle:
    """A type role: size and line in pixels at 100 % text, weight, tracking in percent of the size."""

    size: float
    line: float
    weight: int = 400
    tracking: float = 0.0


class Role(StrEnum):
    """Purpose of a text; determines its type style."""

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


TYPE_SCALE: Final[dict[Role, TypeStyle]] = {
    Role.PROMPT: TypeStyle(32, 52, 400, -1.2),
    Role.PROMPT_SPEAKER: TypeStyle(44, 70, 400, -1.4),
    Role.PROMPT_SMALL: TypeStyle(24, 40, 400, -0.8),
    Role.PROMPT_COMPACT: TypeStyle(20, 33, 400, -0.6),
    Role.PROMPT_LEAST: TypeStyle(15, 25, 400, -0.4),
    Role.PROMPT_PREVIEW: TypeStyle(23, 38, 400, -0.6),
    Role.TIMER: TypeStyle(44, 48, 600, -3.0),
    Role.FIRST_TITLE: TypeStyle(28, 36, 600, -1.4),
    Role.OVERALL: TypeStyle(26, 32, 600, -1.8),
    Role.FIGURE: TypeStyle(24, 30, 600, -1.4),
    Role.PAGE_TITLE: TypeStyle(22, 28, 600, -1.4),
    Role.VERDICT: TypeStyle(20, 26, 600, -1.2),
    Role.DOOR_TITLE: TypeStyle(18, 24, 600, -1.0),
    Role.CARD_TITLE: TypeStyle(15, 20, 600, -0.5),
    Role.BODY: TypeStyle(14, 20, 400),
    Role.BODY_MEDIUM: TypeStyle(14, 20, 500),
    Role.BODY_STRONG: TypeStyle(14, 20, 600),
    Role.LABEL: TypeStyle(13, 18, 400),
    Role.LABEL_MEDIUM: TypeStyle(13, 18, 500),
    Role.LABEL_STRONG: TypeStyle(13, 18, 600),
    Role.CAPTION: TypeStyle(12, 16, 400),
    Role.CAPTION_MEDIUM: TypeStyle(12, 16, 500),
}


RADIUS: Final = {"row": 6, "control": 8, "large": 10, "card": 12}  # corners in pixels, at any text size
WITHIN_A_CONTROL: Final = 12  # smaller distances are free
SPACING: Final = (14, 16, 18, 20, 22, 24, 28, 32, 36, 40)  # pixels between controls, cards and the edges of a page
