"""Shapes of a drawing. Lengths in points, origin at the top left, y downwards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from vbdesk.report.drawing.style import DrawingStyle, Look, style

Point = tuple[float, float]
Side = Literal["left", "middle", "right"]


@dataclass(frozen=True, slots=True)
class Paint:
    """Fill and stroke of a shape; None for neither.

    Attributes:
        dash: lengths of strokes and gaps; empty for a solid edge.
        opacity: of the fill.
        round: round caps and joins.
        hatched: fill with hatching of the colour `fill`.
    """

    fill: str | None = None
    stroke: str | None = None
    width: float = 1.0
    dash: tuple[float, ...] = ()
    opacity: float = 1.0
    round: bool = False
    hatched: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """Straight lines through points."""

    points: tuple[Point, ...]
    paint: Paint
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle."""

    centre: Point
    radius: float
    paint: Paint


@dataclass(frozen=True, slots=True)
class Box:
    """An upright rectangle with rounded corners."""

    x: float
    y: float
    width: float
    height: float
    paint: Paint
    radius: float = 0.0


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of text; `at` is on its base line, at the side of `align`."""

    at: Point
    text: str
    size: float
    colour: str
    strong: bool = False
    align: Side = "left"


_OPPOSITE: Mapping[Side, Side] = {"left": "right", "middle": "middle", "right": "left"}

Shape = Path | Circle | Box | TextLine


def moved(shape: Shape, right: float, down: float) -> Shape:
    """The shape, moved."""
    match shape:
        case Path():
            return replace(shape, points=tuple((x + right, y + down) for x, y in shape.points))
        case Circle():
            return replace(shape, centre=(shape.centre[0] + right, shape.centre[1] + down))
        case Box():
            return replace(shape, x=shape.x + right, y=shape.y + down)
        case TextLine():
            return replace(shape, at=(shape.at[0] + right, shape.at[1] + down))


def mirrored(shape: Shape, width: float) -> Shape:
    """The shape in a drawing of this width, as seen in a mirror; text stays readable."""
    match shape:
        case Path():
            return replace(shape, points=tuple((width - x, y) for x, y in shape.points))
        case Circle():
            return replace(shape, centre=(width - shape.centre[0], shape.centre[1]))
        case Box():
            return replace(shape, x=width - shape.x - shape.width)
        case TextLine():
            return replace(shape, at=(width - shape.at[0], shape.at[1]), align=_OPPOSITE[shape.align])


@dataclass(slots=True)
class Drawing:
    """Shapes from back to front; `title` and `description` are for screen readers."""

    width: float
    height: float
    title: str
    description: str
    shapes: list[Shape] = field(default_factory=list)
    look: Look = Look.LIGHT

    @property
    def style(self) -> DrawingStyle:
        """Its colours and patterns."""
        return style(self.look)

    def add(self, *shapes: Shape) -> None:
        """Put shapes in front."""
        self.shapes.extend(shapes)

    def line(self, points: Sequence[Point], stroke: str, width: float = 1.0, dash: tuple[float, ...] = ()) -> None:
        """Draw a line through `points`."""
        self.add(Path(tuple(points), Paint(stroke=stroke, width=width, dash=dash, round=not dash)))

    def area(self, points: Sequence[Point], paint: Paint) -> None:
        """Paint the polygon through `points`."""
        self.add(Path(tuple(points), paint, closed=True))
