"""Table cells with drawings: levels, changes, bands, scales."""

from dataclasses import dataclass

from vbdesk.contract.levels import Level
from vbdesk.contract.results import LongitudinalSignal, Signal, ValueInterpretation
from vbdesk.report.drawing.glyphs import level_glyph, level_word
from vbdesk.report.drawing.shapes import Box, Circle, Paint, Path, TextLine
from vbdesk.report.drawing.style import style
from vbdesk.report.drawing.text_layout import text_width, wrapped
from vbdesk.report.pdf.page_flow import LINE, SMALL, Pages
from vbdesk.report.report_texts import report_texts

OWN_RANGE_Z = 1.96
"""Up to this z-score a change is within the subject's own range."""
STRIP_Z = 3.2
BANDS = tuple(ValueInterpretation)
"""The five ordinal bands, from low to high."""


def change_text(signal: Signal) -> str:
    """Text of a sign's change from the subject's baseline."""
    words = report_texts().signals
    if not isinstance(signal, LongitudinalSignal) or signal.level is Level.INCONCLUSIVE:
        return words.not_compared
    if signal.z_score is None:
        return words.first if signal.baseline_score is None else words.not_compared
    if signal.anomaly or abs(signal.z_score) > OWN_RANGE_Z:
        return words.above if signal.z_score > 0 else words.below
    return words.within


@dataclass(frozen=True, slots=True)
class LevelBadgeCell:
    """A level as glyph and word on its tint."""

    level: Level

    @property
    def spoken(self) -> str:
        """What a screen reader says."""
        return ""

    def height(self, width: float) -> float:
        """That of the badge."""
        return 17.0

    def draw(self, pages: Pages, left: float, top: float, width: float) -> None:
        """Badge at the left."""
        look_of, word = style().level[self.level], level_word(self.level)
        size = SMALL
        side, high = size + 2.0, self.height(width)
        wide = 6 + side + 5 + text_width(word, size, strong=True) + 7
        pages.put(Box(left, top, wide, high, Paint(fill=look_of.tint), radius=4))
        for shape in level_glyph(self.level, left + 6, top + (high - side) / 2, side, look_of.tint):
            pages.put(shape)
        base = top + high / 2 + size * 0.36
        pages.put(TextLine((left + 6 + side + 5, base), word, size, look_of.ink, strong=True))


@dataclass(frozen=True, slots=True)
class LevelMarkCell:
    """Glyph of a level (None: no reading); screen readers get the name."""

    level: Level | None

    @property
    def spoken(self) -> str:
        """What a screen reader says."""
        return level_word(self.level) if self.level else ""

    def height(self, width: float) -> float:
        """That of the glyph."""
        return 10.0

    def draw(self, pages: Pages, left: float, top: float, width: float) -> None:
        """Glyph in the middle."""
        if self.level is None:
            pages.put(TextLine((left + width / 2, top + 8), "–", 8, style().colour.text3, align="middle"))
            return
        for shape in level_glyph(self.level, left + width / 2 - 5, top, 10, style().colour.surface):
            pages.put(shape)


@dataclass(frozen=True, slots=True)
class ChangeStripCell:
    """A sign's change in the subject's own variability; empty without history."""

    signal: Signal

    @property
    def spoken(self) -> str:
        """What a screen reader says."""
        return report_texts().signals.strip.format(words=change_text(self.signal))

    def height(self, width: float) -> float:
        """That of the strip."""
        return 8.0

    def draw(self, pages: Pages, left: float, top: float, width: float) -> None:
        """Own range as a band, baseline as a stroke, change as a line with a dot."""
        z = self.signal.z_score if isinstance(self.signal, LongitudinalSignal) else None
        if z is None or self.signal.level is Level.INCONCLUSIVE:
            return
        colours, middle, centre = style().colour, top + 4.0, left + width / 2
        scale = width / (2 * STRIP_Z)
        pages.put(Path(((left, middle), (left + width, middle)), Paint(stroke=colours.border, width=0.8)))
        half = OWN_RANGE_Z * scale
        pages.put(Box(centre - half, top, 2 * half, 8, Paint(fill=colours.sunken), radius=1.5))
        x = centre + max(-STRIP_Z, min(STRIP_Z, z)) * scale
        colour = colours.accent if abs(z) > OWN_RANGE_Z else colours.text2
        pages.put(Path(((centre, middle), (x, middle)), Paint(stroke=colour, width=1.3)))
        pages.put(Path(((centre, top - 1), (centre, top + 9)), Paint(stroke=colours.text3, width=0.8)))
        pages.put(Circle((x, middle), 2.6, Paint(fill=colour)))


@dataclass(frozen=True, slots=True)
class FiveBandsCell:
    """Ordinal band of a value: a diamond in one of five boxes."""

    band: ValueInterpretation

    @property
    def spoken(self) -> str:
        """What a screen reader says."""
        return self.band.value

    def height(self, width: float) -> float:
        """That of the diamond."""
        return 10.0

    def draw(self, pages: Pages, left: float, top: float, width: float) -> None:
        """Boxes, and the diamond in its box."""
        colours, part = style().colour, width / len(BANDS)
        for place, band in enumerate(BANDS):
            fill = colours.band if band is ValueInterpretation.WITHIN_RANGE else colours.sunken
            pages.put(Box(left + place * part, top + 2.5, part - 1.2, 5, Paint(fill=fill), radius=1))
        x, y = left + (BANDS.index(self.band) + 0.5) * part - 0.6, top + 5.0
        corners = ((x, y - 4.6), (x + 4.6, y), (x, y + 4.6), (x - 4.6, y))
        edge = Paint(fill=colours.text, stroke=colours.surface, width=0.8)
        pages.put(Path(corners, edge, closed=True))


@dataclass(frozen=True, slots=True)
class AnchoredScaleCell:
    """A mean with its spread between two anchor words."""

    low: str
    high: str
    mean: float
    spread: float

    @property
    def spoken(self) -> str:
        """What a screen reader says."""
        return report_texts().details.scale.format(percent=round(self.mean * 100), low=self.low, high=self.high)

    def height(self, width: float) -> float:
        """Scale, and as many lines as the longer word takes."""
        lines = max(len(wrapped(words, 7.0, width / 2 - 4)) for words in (self.low, self.high))
        return 9.0 + lines * 7.0 * LINE

    def draw(self, pages: Pages, left: float, top: float, width: float) -> None:
        """The scale with its dot, the words below its ends."""
        colours = style().colour
        pages.put(Box(left, top + 2, width, 4, Paint(fill=colours.sunken), radius=2))
        low, high = max(0.0, self.mean - self.spread), min(1.0, self.mean + self.spread)
        pages.put(Box(left + low * width, top + 2, (high - low) * width, 4, Paint(fill=colours.band), radius=2))
        pages.put(Circle((left + self.mean * width, top + 4), 2.8, Paint(fill=colours.text)))
        for words, right in ((self.low, False), (self.high, True)):
            y = top + 15.5
            for line in wrapped(words, 7.0, width / 2 - 4):
                at = (left + width, y) if right else (left, y)
                pages.put(TextLine(at, line, 7.0, colours.text3, align="right" if right else "left"))
                y += 7.0 * LINE
