"""The glyph of each level, so that the level is visible without colour."""

import math
from collections.abc import Iterator

from vbdesk.contract.levels import Level
from vbdesk.report.drawing.shapes import Box, Circle, Paint, Path, Point, Shape
from vbdesk.report.drawing.style import DrawingStyle

_GRID = 16.0
_RING = (8.0, 8.0, 6.0)


def level_glyph(
    level: Level, left: float, top: float, side: float, behind: str, level_style: DrawingStyle
) -> list[Shape]:
    """The glyph in a square, in the colours of `level_style`; `behind` is the background colour, for cut-outs."""
    scale = side / _GRID

    def scaled(x: float, y: float) -> Point:
        return left + x * scale, top + y * scale

    shape = level_style.level[level].shape
    solid, line = Paint(fill=shape), Paint(stroke=shape, width=1.75 * scale, round=True)
    corners: tuple[Point, ...]
    match level:
        case Level.NONE:
            return [Circle(scaled(8, 8), _RING[2] * scale, line)]
        case Level.LOW:
            half = tuple(scaled(*point) for point in _lower_half())
            return [Path(half, solid, closed=True), Circle(scaled(8, 8), _RING[2] * scale, line)]
        case Level.CONSIDER:
            corners = ((8, 1.2), (14.8, 8), (8, 14.8), (1.2, 8))
        case Level.MODERATE:
            corners = ((8, 1.6), (15, 14), (1, 14))
        case Level.ELEVATED:
            octagon = Path(tuple(scaled(*point) for point in _octagon()), solid, closed=True)
            cut = Paint(fill=behind)
            bar = Box(*scaled(7.0, 3.6), 2.0 * scale, 5.4 * scale, cut, radius=1.0 * scale)
            return [octagon, bar, Circle(scaled(8, 11.4), 1.2 * scale, cut)]
        case Level.INCONCLUSIVE:
            dashed = Paint(stroke=shape, width=1.75 * scale, dash=(2.8 * scale, 1.91 * scale))
            return [Circle(scaled(8, 8), _RING[2] * scale, dashed), Path((scaled(5.6, 8), scaled(10.4, 8)), line)]
    return [Path(tuple(scaled(*corner) for corner in corners), solid, closed=True)]


def _lower_half() -> Iterator[Point]:
    x, y, radius = _RING
    for step in range(25):
        angle = math.pi * step / 24
        yield x + radius * math.cos(angle), y + radius * math.sin(angle)


def _octagon() -> Iterator[Point]:
    for corner in range(8):
        angle = math.pi / 8 + corner * math.pi / 4
        yield 8.0 + 7.3 * math.cos(angle), 8.0 + 7.3 * math.sin(angle)
