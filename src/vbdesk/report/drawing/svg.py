"""A drawing as SVG."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from vbdesk.report.drawing.shapes import Box, Circle, Drawing, Paint, Path, Shape, TextLine
from vbdesk.report.safe_text import safe_text

MARGIN = 8.0
_HATCH = 2.4
"""Distance of hatching lines, in points."""
_FAMILY = "Inter, 'DejaVu Sans', sans-serif"
_ANCHOR = {"left": "start", "middle": "middle", "right": "end"}


def to_svg(drawing: Drawing, margin: float = MARGIN) -> bytes:
    """An SVG 1.1 document, its margin in points, with title and description for screen readers."""
    width, height = _number(drawing.width + 2 * margin), _number(drawing.height + 2 * margin)
    corner = _number(-margin)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="{height}pt" '
        f'viewBox="{corner} {corner} {width} {height}" role="img" aria-labelledby="title description" '
        f"font-family={quoteattr(_FAMILY)}>",
        f'<title id="title">{_text(drawing.title)}</title>',
        f'<desc id="description">{_text(drawing.description)}</desc>',
        *_hatches(drawing.shapes),
        *(_element(shape) for shape in drawing.shapes),
        "</svg>\n",
    ]
    return "\n".join(lines).encode("utf-8")


def _element(shape: Shape) -> str:
    match shape:
        case Path():
            points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
            tag = "polygon" if shape.closed else "polyline"
            return f'<{tag} points="{points}"{_paint(shape.paint)}/>'
        case Circle():
            x, y = shape.centre
            return f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(shape.radius)}"{_paint(shape.paint)}/>'
        case Box():
            corner = f' rx="{_number(shape.radius)}"' if shape.radius else ""
            return (
                f'<rect x="{_number(shape.x)}" y="{_number(shape.y)}" width="{_number(shape.width)}" '
                f'height="{_number(shape.height)}"{corner}{_paint(shape.paint)}/>'
            )
        case TextLine():
            weight = ' font-weight="600"' if shape.strong else ""
            x, y = shape.at
            return (
                f'<text x="{_number(x)}" y="{_number(y)}" font-size="{_number(shape.size)}" fill="{shape.colour}" '
                f'text-anchor="{_ANCHOR[shape.align]}"{weight}>{_text(shape.text)}</text>'
            )


def _hatches(shapes: Sequence[Shape]) -> Iterator[str]:
    """Definitions of hatching, one for each colour; the lines rise to the right."""
    paints = (shape.paint for shape in shapes if not isinstance(shape, TextLine))
    for colour in sorted({paint.fill for paint in paints if paint.hatched and paint.fill}):
        yield (
            f'<defs><pattern id="hatch-{colour[1:]}" width="{_HATCH}" height="{_HATCH}" '
            'patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">'
            f'<line x1="0" y1="0.6" x2="{_HATCH}" y2="0.6" stroke="{colour}" stroke-width="0.5"/></pattern></defs>'
        )


def _paint(paint: Paint) -> str:
    return "".join(_attributes(paint))


def _attributes(paint: Paint) -> Iterator[str]:
    hatched = paint.hatched and paint.fill
    yield f' fill="{f"url(#hatch-{hatched[1:]})" if hatched else paint.fill or "none"}"'
    if paint.fill and paint.opacity < 1.0:
        yield f' fill-opacity="{_number(paint.opacity)}"'
    if paint.stroke:
        yield f' stroke="{paint.stroke}" stroke-width="{_number(paint.width)}"'
        if paint.dash:
            yield f' stroke-dasharray="{" ".join(_number(part) for part in paint.dash)}"'
        if paint.round:
            yield ' stroke-linecap="round" stroke-linejoin="round"'


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(text: str) -> str:
    return escape(safe_text(text))
