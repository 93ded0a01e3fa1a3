"""A drawing as PNG, rendered larger and scaled down to smooth the edges."""

import io
import itertools
import math
from collections.abc import Iterator
from functools import cache

from PIL import Image, ImageColor, ImageDraw, ImageFont

from vbdesk.report.drawing.bidi_text import visual_order
from vbdesk.report.drawing.shapes import Box, Circle, Drawing, Paint, Path, Point, Shape, TextLine
from vbdesk.report.drawing.text_layout import font_runs, text_width
from vbdesk.resource_files import resource

POINTS_PER_INCH = 72.0
_OVERSAMPLED = 3
_MARGIN_POINTS = 8.0


def to_png(drawing: Drawing, dpi: float = 200.0, ground: str = "#FFFFFF") -> bytes:
    """Render a PNG with a plain background and a small margin; it records `dpi`."""
    scale = dpi / POINTS_PER_INCH * _OVERSAMPLED
    size = [math.ceil((side + 2 * _MARGIN_POINTS) * scale) for side in (drawing.width, drawing.height)]
    image = Image.new("RGB", (size[0], size[1]), ground)
    brush = _Brush(ImageDraw.Draw(image, "RGBA"), scale)
    for shape in drawing.shapes:
        brush.draw(shape)
    small = image.resize((size[0] // _OVERSAMPLED, size[1] // _OVERSAMPLED), Image.Resampling.BOX)
    content = io.BytesIO()
    small.save(content, "PNG", dpi=(dpi, dpi), optimize=False)
    return content.getvalue()


class _Brush:
    """Draws shapes on a picture with `scale` pixels per point."""

    def __init__(self, draw: ImageDraw.ImageDraw, scale: float) -> None:
        self._draw, self._scale = draw, scale

    def draw(self, shape: Shape) -> None:
        match shape:
            case Path():
                self._path(shape)
            case Circle():
                (x, y), radius = self._place(shape.centre), shape.radius * self._scale
                outline = [_on_circle(x, y, radius, step / 48) for step in range(48)]
                self._outline(outline, shape.paint)
            case Box():
                (left, top), (right, bottom) = (
                    self._place((shape.x, shape.y)),
                    self._place((shape.x + shape.width, shape.y + shape.height)),
                )
                radius = shape.radius * self._scale
                width = max(1, round(shape.paint.width * self._scale))
                self._draw.rounded_rectangle(
                    (left, top, right, bottom), radius, _fill(shape.paint), shape.paint.stroke, width
                )
            case TextLine():
                self._text(shape)

    def _place(self, point: Point) -> Point:
        x, y = point
        return (x + _MARGIN_POINTS) * self._scale, (y + _MARGIN_POINTS) * self._scale

    def _path(self, path: Path) -> None:
        points = [self._place(point) for point in path.points]
        if path.closed:
            self._outline(points, path.paint)
        elif path.paint.stroke and len(points) > 1:
            self._line(points, path.paint)

    def _outline(self, points: list[Point], paint: Paint) -> None:
        if paint.fill:
            self._draw.polygon(points, _fill(paint))
        if paint.stroke:
            self._line([*points, points[0]], paint)

    def _line(self, points: list[Point], paint: Paint) -> None:
        width = max(1, round(paint.width * self._scale))
        for part in _dashes(points, [length * self._scale for length in paint.dash]):
            self._draw.line(part, paint.stroke, width, joint="curve")

    def _text(self, text: TextLine) -> None:
        width = text_width(text.words, text.size, text.strong)
        x, y = text.at
        x -= width * {"left": 0.0, "middle": 0.5, "right": 1.0}[text.align]
        for font, part in font_runs(visual_order(text.words), text.strong):
            face = _face(font, round(text.size * self._scale))
            self._draw.text(self._place((x, y)), part, text.colour, face, anchor="ls")
            x += face.getlength(part) / self._scale


@cache
def _face(font: str, pixels: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(resource("fonts", f"{font}.ttf")), pixels, layout_engine=ImageFont.Layout.BASIC)


def _fill(paint: Paint) -> tuple[int, int, int, int] | None:
    if paint.fill is None:
        return None
    red, green, blue = ImageColor.getrgb(paint.fill)[:3]
    return red, green, blue, round(255 * paint.opacity)


def _on_circle(x: float, y: float, radius: float, turn: float) -> Point:
    return x + radius * math.cos(math.tau * turn), y + radius * math.sin(math.tau * turn)


def _dashes(points: list[Point], dash: list[float]) -> Iterator[list[Point]]:
    """The strokes of a dashed line; the line itself where it is solid."""
    if not dash:
        yield points
        return
    lengths = dash if len(dash) % 2 == 0 else dash * 2
    place, left, stroke = 0, lengths[0], [points[0]]
    for start, end in itertools.pairwise(points):
        x, y = start
        whole = math.dist(start, end)
        gone = 0.0
        while whole - gone > left:
            gone += left
            at = (x + (end[0] - x) * gone / whole, y + (end[1] - y) * gone / whole)
            if place % 2 == 0:
                yield [*stroke, at]
            place = (place + 1) % len(lengths)
            left, stroke = lengths[place], [at]
        left -= whole - gone
        stroke.append(end)
    if place % 2 == 0 and len(stroke) > 1:
        yield stroke
