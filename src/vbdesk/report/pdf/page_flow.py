"""Page breaks: text and tables that flow over pages."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal, Protocol

from vbdesk.report.drawing.shapes import Drawing, Paint, Path, Shape, TextLine
from vbdesk.report.drawing.style import style
from vbdesk.report.drawing.text_layout import wrapped

Align = Literal["left", "middle", "right"]

MARGIN = 48.0
HEAD_HEIGHT, FOOT_HEIGHT = 26.0, 30.0
LINE = 1.38
"""Line height over letter size."""
BODY, SMALL, CAPTION = 9.0, 8.0, 7.5
ROW_PADDING = 5.0
CELL_GAP = 8.0
_KEPT_WHOLE = 0.3  # a table of less than this share of a page stays on one page


class Pages(Protocol):
    """Pages to draw on; see `TaggedCanvas`."""

    width: float
    height: float

    def element(self, role: str) -> AbstractContextManager[None]:
        """An element that holds other elements."""

    def tagged(self, role: str, alternative: str = "", language: str = "") -> AbstractContextManager[None]:
        """An element with what is drawn now."""

    def decoration(self) -> AbstractContextManager[None]:
        """Decoration that screen readers skip."""

    def bookmark(self, title: str, level: int = 0) -> None:
        """An entry of the outline."""

    def next_page(self) -> None:
        """End this page and begin another."""

    def draw(self, drawing: Drawing, left: float, top: float) -> None:
        """Put a drawing on the page."""

    def put(self, shape: Shape, left: float = 0.0, top: float = 0.0) -> None:
        """Draw one shape."""


class PageCounter:
    """Counts pages without drawing: the footer shows the total."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.count = 1

    def element(self, role: str) -> AbstractContextManager[None]:
        """Nothing is kept."""
        return nullcontext()

    def tagged(self, role: str, alternative: str = "", language: str = "") -> AbstractContextManager[None]:
        """Nothing is kept."""
        return nullcontext()

    def decoration(self) -> AbstractContextManager[None]:
        """Nothing is kept."""
        return nullcontext()

    def bookmark(self, title: str, level: int = 0) -> None:
        """Nothing is kept."""

    def next_page(self) -> None:
        """Count one more."""
        self.count += 1

    def draw(self, drawing: Drawing, left: float, top: float) -> None:
        """Nothing is drawn."""

    def put(self, shape: Shape, left: float = 0.0, top: float = 0.0) -> None:
        """Nothing is drawn."""


class Cell(Protocol):
    """Content of a table cell; `spoken` is its text for screen readers."""

    @property
    def spoken(self) -> str:
        """Text for screen readers; empty if the cell is text."""

    def height(self, width: float) -> float:
        """Height in points at this `width`."""

    def draw(self, pages: Pages, left: float, top: float, width: float) -> None:
        """Draw the content inside the open tag."""


@dataclass(frozen=True, slots=True)
class TextCell:
    """A cell of text."""

    words: str
    size: float = SMALL
    strong: bool = False
    colour: str = ""
    align: Align = "left"
    spoken: str = ""

    def height(self, width: float) -> float:
        """As many lines as it takes."""
        return len(wrapped(self.words, self.size, width, self.strong)) * self.size * LINE

    def draw(self, pages: Pages, left: float, top: float, width: float) -> None:
        """Line under line."""
        colour = self.colour or style().colour.text
        for line in wrapped(self.words, self.size, width, self.strong):
            x = left + width * {"left": 0.0, "middle": 0.5, "right": 1.0}[self.align]
            pages.put(TextLine((x, top + self.size), line, self.size, colour, self.strong, self.align))
            top += self.size * LINE


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table; `share` of the width, `size` of the heading's letters."""

    heading: str
    share: float
    align: Align = "left"
    size: float = CAPTION


@dataclass(frozen=True, slots=True)
class _Heading:
    words: str
    role: str
    size: float
    about: str


class PageFlow:
    """Text and tables that flow over pages with header and footer.

    Attributes:
        y: top of the next item, from the top of the page.
    """

    def __init__(self, pages: Pages, header_and_footer: Callable[[Pages, int], None]) -> None:
        """`header_and_footer` draws header and footer of a page, given its number from 1."""
        self.pages = pages
        self._header_and_footer = header_and_footer
        self._page = 1
        self._heading: _Heading | None = None  # drawn together with what follows it
        self.y = MARGIN
        header_and_footer(pages, 1)

    @property
    def width(self) -> float:
        """Width between the margins."""
        return self.pages.width - 2 * MARGIN

    @property
    def bottom(self) -> float:
        """Top of the footer."""
        return self.pages.height - MARGIN - FOOT_HEIGHT + 12

    def break_page(self) -> None:
        """Break the page."""
        self.pages.next_page()
        self._page += 1
        self.y = MARGIN + HEAD_HEIGHT
        self._header_and_footer(self.pages, self._page)

    def ensure_room(self, height: float) -> None:
        """Break the page if less than `height` is left, unless the page is empty."""
        if self.y + height > self.bottom and self.y > MARGIN + HEAD_HEIGHT:
            self.break_page()

    def space(self, height: float) -> None:
        """Leave vertical space."""
        self.y += height

    def heading(self, words: str, about: str = "", *, role: str = "H2", size: float = 11.0) -> None:
        """Add a heading, its bookmark and explanation; they stay with the next item."""
        self._heading = _Heading(words, role, size, about)

    def paragraph(
        self,
        words: str,
        *,
        size: float = BODY,
        colour: str = "",
        strong: bool = False,
        after: float = 6.0,
        language: str = "",
    ) -> None:
        """Add text over the whole width; `language` if not the document's."""
        lines = wrapped(words, size, self.width, strong)
        self._start_item(min(len(lines), 2) * size * LINE)
        while lines:
            room = max(1, int((self.bottom - self.y) / (size * LINE)))
            with self.pages.tagged("P", language=language):
                for line in lines[:room]:
                    self._line(line, size, colour or style().colour.text2, strong=strong)
            lines = lines[room:]
            if lines:
                self.break_page()
        self.space(after)

    def table(
        self,
        columns: Sequence[TableColumn],
        rows: Sequence[Sequence[Cell]],
        *,
        padding: float = ROW_PADDING,
        gap: float = CELL_GAP,
        at_top: bool = False,
    ) -> None:
        """Add a table; its header row repeats on every page, and rows do not split.

        Args:
            columns: from left to right.
            rows: one cell per column.
            padding: above and below the cells of a row.
            gap: between columns.
            at_top: align cells to the top of their row instead of the middle.
        """
        if not rows:
            return
        positions = list(self._column_positions(columns, gap))
        heights = [_heights(row, positions) for row in rows]
        tall = [max(of_row) + 2 * padding for of_row in heights]
        head = max(_heights(_head_cells(columns), positions)) + 4
        whole = head + sum(tall)
        self._start_item(whole if whole < _KEPT_WHOLE * self.pages.height else head + tall[0])
        with self.pages.element("Table"):
            self._table_head(columns, positions)
            for number, (row, of_row, height) in enumerate(zip(rows, heights, tall, strict=True)):
                if number and self.y + height > self.bottom:
                    self.break_page()
                    self._table_head(columns, positions)
                with self.pages.element("TR"):
                    for cell, own, (left, width) in zip(row, of_row, positions, strict=True):
                        top = self.y + (padding if at_top else (height - own) / 2)
                        with self.pages.tagged("TD", cell.spoken):
                            cell.draw(self.pages, left, top, width)
                self.space(height)
                self.rule()
        self.space(10)

    def rule(self, colour: str = "") -> None:
        """A thin line over the whole width."""
        with self.pages.decoration():
            ends = ((MARGIN, self.y), (MARGIN + self.width, self.y))
            self.pages.put(Path(ends, Paint(stroke=colour or style().colour.border, width=0.5)))

    @contextmanager
    def reserve(self, height: float) -> Iterator[float]:
        """Reserve `height` on one page and yield its top."""
        self._start_item(height)
        yield self.y
        self.space(height)

    def _start_item(self, height: float) -> None:
        """Make room for an item and its pending heading, and draw the heading."""
        heading, self._heading = self._heading, None
        if heading is None:
            self.ensure_room(height)
            return
        about = wrapped(heading.about, SMALL, self.width) if heading.about else []
        self.ensure_room(heading.size * LINE + 3 + len(about) * SMALL * LINE + 6 + height)
        self.pages.bookmark(heading.words, 0 if heading.role == "H1" else 1)
        with self.pages.tagged(heading.role):
            self._line(heading.words, heading.size, style().colour.text, strong=True)
        self.space(3)
        if about:
            with self.pages.tagged("P"):
                for line in about:
                    self._line(line, SMALL, style().colour.text2)
            self.space(6)

    def _line(self, words: str, size: float, colour: str, *, strong: bool = False) -> None:
        self.pages.put(TextLine((MARGIN, self.y + size), words, size, colour, strong))
        self.space(size * LINE)

    def _column_positions(self, columns: Sequence[TableColumn], gap: float) -> Iterator[tuple[float, float]]:
        room = self.width - gap * (len(columns) - 1)
        whole = sum(column.share for column in columns)
        left = MARGIN
        for column in columns:
            width = room * column.share / whole
            yield left, width
            left += width + gap

    def _table_head(self, columns: Sequence[TableColumn], positions: Sequence[tuple[float, float]]) -> None:
        cells = _head_cells(columns)
        height = max(_heights(cells, positions))
        with self.pages.element("TR"):
            for cell, (left, width) in zip(cells, positions, strict=True):
                with self.pages.tagged("TH"):
                    cell.draw(self.pages, left, self.y + height - cell.height(width), width)
        self.space(height + 4)
        self.rule(style().colour.control)


def _head_cells(columns: Sequence[TableColumn]) -> list[TextCell]:
    colour = style().colour.text3
    return [TextCell(column.heading, column.size, colour=colour, align=column.align) for column in columns]


def _heights(row: Sequence[Cell], positions: Sequence[tuple[float, float]]) -> list[float]:
    return [cell.height(width) for cell, (_, width) in zip(row, positions, strict=True)]
