"""Draw docs/architecture.svg: the way of a recording through the packages.

python packaging/architecture_picture.py
"""

from dataclasses import dataclass
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "docs" / "architecture.svg"
COLUMN, ROW = 176, 96
BOX_WIDTH, BOX_HEIGHT = 136, 58
MARGIN, HEAD = 28, 44


@dataclass(frozen=True)
class Box:
    """A package, or something outside vbdesk if `package` is empty; column and row of the grid."""

    column: int
    row: int
    title: str
    note: str
    package: str = ""


BOXES = {
    box.title: box
    for box in (
        Box(0, 0, "microphone", "or a file"),
        Box(1, 0, "capture", "encrypted take on disk", "capture"),
        Box(2, 0, "outbox", "library, queue, results", "outbox"),
        Box(3, 0, "client", "HTTP, retries", "client"),
        Box(1, 1, "desk", "record, subject, result", "desk"),
        Box(2, 1, "report", "PDF, FHIR, CSV, BIDS", "report"),
        Box(4, 0, "service", "guard, jobs, groups", "service"),
        Box(4, 1, "engine", "queue, child processes", "service/engine"),
        Box(5, 1, "voice", "samples to features", "voice"),
        Box(6, 1, "signs", "features to levels", "signs"),
        Box(6, 0, "longitudinal", "history to trajectory", "longitudinal"),
        Box(5, 0, "webhooks", "signed POST", "service/webhooks"),
    )
}
WAYS = (
    ("microphone", "capture"),
    ("capture", "outbox"),
    ("outbox", "client"),
    ("client", "service"),
    ("service", "engine"),
    ("engine", "voice"),
    ("voice", "signs"),
    ("signs", "longitudinal"),
    ("service", "webhooks"),
)
RESULTS = (("outbox", "desk"), ("outbox", "report"))
AREAS = ((0, 3, "On the person's computer"), (4, 6, "Service: the same computer, or a clinic's"))


def left(box: Box) -> int:
    """Return the left edge of a box."""
    return MARGIN + box.column * COLUMN


def top(box: Box) -> int:
    """Return the upper edge of a box."""
    return HEAD + MARGIN + box.row * ROW


def arrow(source: Box, target: Box, kind: str) -> str:
    """Draw an arrow between two neighbours."""
    x1, y1 = left(source) + BOX_WIDTH / 2, top(source) + BOX_HEIGHT / 2
    x2, y2 = left(target) + BOX_WIDTH / 2, top(target) + BOX_HEIGHT / 2
    length = max(abs(x2 - x1), abs(y2 - y1))
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    start = min(BOX_WIDTH / 2 / abs(ux) if ux else 9e9, BOX_HEIGHT / 2 / abs(uy) if uy else 9e9)
    x1, y1, x2, y2 = x1 + start * ux, y1 + start * uy, x2 - (start + 6) * ux, y2 - (start + 6) * uy
    return f'<path class="{kind}" d="M{x1:.0f} {y1:.0f} L{x2:.0f} {y2:.0f}" marker-end="url(#{kind}-head)"/>'


def draw() -> str:
    """Return the picture as SVG."""
    columns, rows = (1 + max(getattr(box, axis) for box in BOXES.values()) for axis in ("column", "row"))
    width, height = 2 * MARGIN + columns * COLUMN - (COLUMN - BOX_WIDTH), HEAD + 2 * MARGIN + rows * ROW - 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        "<title>The way of a recording through vbdesk</title>",
        "<style>.area{fill:#eef2f6}.box{fill:#fff;stroke:#5b6b7b}.outside{fill:none;stroke:#5b6b7b;stroke-dasharray:4}"
        ".way{stroke:#14507a;stroke-width:2.5;fill:none}.result{stroke:#2c7a4b;stroke-width:2.5;fill:none}"
        "text{fill:#1b2733;text-anchor:middle}.title{font-size:16px;font-weight:bold}.note{font-size:11px}"
        ".head{font-size:13px}</style>",
        *(
            f'<marker id="{kind}-head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="8" markerHeight="8" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{colour}"/></marker>'
            for kind, colour in (("way", "#14507a"), ("result", "#2c7a4b"))
        ),
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for first, last, title in AREAS:
        x, area_width = MARGIN / 2 + first * COLUMN, (last - first) * COLUMN + BOX_WIDTH + MARGIN
        parts.append(f'<rect class="area" x="{x:.0f}" y="8" width="{area_width}" height="{height - 16}" rx="8"/>')
        parts.append(f'<text class="head" x="{x + area_width / 2:.0f}" y="34">{title}</text>')
    parts += [arrow(BOXES[source], BOXES[target], "way") for source, target in WAYS]
    parts += [arrow(BOXES[source], BOXES[target], "result") for source, target in RESULTS]
    for box in BOXES.values():
        x, y = left(box), top(box)
        kind = "box" if box.package else "outside"
        parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>')
        parts.append(f'<text class="title" x="{x + BOX_WIDTH // 2}" y="{y + 25}">{box.title}</text>')
        parts.append(f'<text class="note" x="{x + BOX_WIDTH // 2}" y="{y + 44}">{box.note}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
