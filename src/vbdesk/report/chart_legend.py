"""The legend of a trajectory chart: each mark with its words, in as many lines as they need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vbdesk.contract.levels import Level
from vbdesk.language import _, pgettext
from vbdesk.report.drawing.shapes import Box, Circle, Paint, Path, Shape, TextLine, moved
from vbdesk.report.drawing.style import DrawingStyle
from vbdesk.report.drawing.text_size import text_width
from vbdesk.report.reader_words import level_word

LINE_HEIGHT = 12.0
CHANGE_DASHES = (4.0, 2.0)
CONSIDER_DASHES = (3.4, 2.0)  # not like the dots across a gap, also in grey
_SIZE, _TO_TEXT, _BETWEEN = 7.0, 3.5, 12.0


@dataclass(frozen=True, slots=True)
class LegendMark:
    """A mark of the chart, around the height 0, and what it means."""

    text: str
    width: float
    shapes: tuple[Shape, ...]

    @property
    def whole_width(self) -> float:
        """Width with its words."""
        return self.width + _TO_TEXT + text_width(self.text, _SIZE)


def interval_paint(style: DrawingStyle) -> Paint:
    """The interval of the estimate."""
    accent, pattern = style.colour.accent, style.pattern
    edge = accent if pattern.interval_edged else None
    return Paint(fill=accent, opacity=pattern.interval_opacity, stroke=edge, width=0.3)


def own_range_paint(style: DrawingStyle) -> Paint:
    """The subject's own range."""
    return Paint(fill=style.colour.base, hatched=style.pattern.own_range_hatched)


def legend_lines(style: DrawingStyle, width: float, *, changed: bool) -> list[list[LegendMark]]:
    """The marks in lines of at most `width`; that of a change of the analysis if `changed`."""
    lines: list[list[LegendMark]] = [[]]
    x = 0.0
    for mark in _marks(style, changed):
        if lines[-1] and x + mark.whole_width > width:
            lines.append([])
            x = 0.0
        lines[-1].append(mark)
        x += mark.whole_width + _BETWEEN
    return lines


def legend_shapes(lines: Sequence[Sequence[LegendMark]], y: float, style: DrawingStyle) -> Iterator[Shape]:
    """The legend from the left edge, its first base line at `y`."""
    for number, line in enumerate(lines):
        x, base = 0.0, y + number * LINE_HEIGHT
        for mark in line:
            yield from (moved(shape, x, base - 2.4) for shape in mark.shapes)
            yield TextLine((x + mark.width + _TO_TEXT, base), mark.text, _SIZE, style.colour.text2)
            x += mark.whole_width + _BETWEEN


def _marks(style: DrawingStyle, changed: bool) -> Iterator[LegendMark]:
    colours = style.colour
    reading = Paint(fill=colours.text2, opacity=style.pattern.reading_opacity[0])
    yield LegendMark(pgettext("mark of a chart", "Reading"), 6, (Circle((3, 0), 1.6, reading),))
    ring = Paint(fill=colours.surface, stroke=colours.text2, width=0.7)
    yield LegendMark(_("Quality issue"), 6, (Circle((3, 0), 1.6, ring),))
    estimate = (
        Box(0, -3, 14, 6, interval_paint(style)),
        Path(((0, 0), (14, 0)), Paint(stroke=colours.accent, width=1.1)),
    )
    yield LegendMark(_("Estimate with interval"), 14, estimate)
    yield LegendMark(_("Own usual range"), 12, (Box(0, -3, 12, 6, own_range_paint(style)),))
    unusual = Circle((3.5, 0), 3.2, Paint(fill=colours.surface, stroke=colours.text, width=0.9))
    dot = Circle((3.5, 0), 1.7, Paint(fill=colours.text2))
    yield LegendMark(pgettext("mark of a chart", "Unusual"), 7, (unusual, dot))
    dots = Paint(stroke=style.level[Level.CONSIDER].shape, width=0.8, dash=CONSIDER_DASHES)
    yield LegendMark(level_word(Level.CONSIDER), 12, (Path(((0, 0), (12, 0)), dots),))
    if changed:
        seam = Paint(stroke=colours.text2, width=0.8, dash=CHANGE_DASHES)
        yield LegendMark(_("Other scale from here"), 2, (Path(((1, -4), (1, 4)), seam),))
