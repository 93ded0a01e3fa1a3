"""Tagged PDF pages: all drawing is in a structure element or an artifact.

reportlab has no tags, attachments or XMP. They are built here from its objects (ISO 32000-1, 14.7 to 14.9 and 7.11.4;
the relationship of an attached file as in PDF/A-3).
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reportlab.lib.utils import TimeStamp
from reportlab.pdfbase.pdfdoc import PDFArray, PDFDictionary, PDFName, PDFObjectReference, PDFString
from reportlab.pdfgen.canvas import Canvas

from vbdesk.contract.timestamps import in_zone
from vbdesk.report.drawing.bidi_text import visual_order
from vbdesk.report.drawing.shapes import Box, Circle, Drawing, Paint, Path, Shape, TextLine
from vbdesk.report.drawing.text_layout import first_font, font_runs, text_width
from vbdesk.report.pdf.attachments import Attachment, attach, xmp_stream
from vbdesk.report.safe_text import safe_text


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """Metadata of the document; `made_at` is aware."""

    title: str
    subject: str
    producer: str
    language: str
    made_at: datetime


@dataclass(slots=True)
class _Element:
    """Structure element: PDF role (P, H1, ...), children or marked content."""

    role: str
    alternative: str = ""
    language: str = ""
    children: list["_Element | tuple[int, int]"] = field(default_factory=list)  # (page, mark)


class TaggedCanvas:
    """Canvas in points from the top left; draw in `tagged` or `decoration`."""

    def __init__(self, width: float, height: float, info: DocumentInfo) -> None:
        self.width, self.height = width, height
        self._info = info
        self._bytes = io.BytesIO()
        self._canvas = Canvas(
            self._bytes,
            pagesize=(width, height),
            pageCompression=1,
            invariant=1,
            pdfVersion=(1, 7),
            lang=info.language,
            initialFontName=first_font(),
        )
        self._document_element = _Element("Document")
        self._open = [self._document_element]
        self._marks: list[list[_Element]] = [[]]  # per page: which element each mark belongs to

    @contextmanager
    def element(self, role: str) -> Iterator[None]:
        """An element that holds other elements: Table, TR, L, Sect."""
        element = _Element(role)
        self._open[-1].children.append(element)
        self._open.append(element)
        yield
        self._open.pop()

    @contextmanager
    def tagged(self, role: str, alternative: str = "", language: str = "") -> Iterator[None]:
        """An element with what is drawn now.

        Args:
            role: of PDF: P, H1, TD, ...
            alternative: text alternative of a figure.
            language: BCP 47 tag of its text, where it is not the document's.
        """
        element = _Element(role, safe_text(alternative), language)
        self._open[-1].children.append(element)
        marks = self._marks[-1]
        element.children.append((len(self._marks) - 1, len(marks)))
        self._code(f"/{role} <</MCID {len(marks)}>> BDC")
        marks.append(element)
        yield
        self._code("EMC")

    @contextmanager
    def decoration(self) -> Iterator[None]:
        """Artifacts, which screen readers skip: borders, tints, running headers."""
        self._code("/Artifact BMC")
        yield
        self._code("EMC")

    def bookmark(self, title: str, level: int = 0) -> None:
        """Add an outline entry for this page."""
        key = f"{len(self._marks)}-{len(self._marks[-1])}"
        self._canvas.bookmarkPage(key)
        self._canvas.addOutlineEntry(safe_text(title), key, level=level)

    def next_page(self) -> None:
        """End this page and begin another."""
        self._end_page()
        self._marks.append([])

    def draw(self, drawing: Drawing, left: float, top: float) -> None:
        """Put a drawing on the page."""
        for shape in drawing.shapes:
            self.put(shape, left, top)

    def put(self, shape: Shape, left: float = 0.0, top: float = 0.0) -> None:
        """Draw one shape, moved by `left` and `top`."""
        match shape:
            case Path():
                self._path(shape, left, top)
            case Circle():
                x, y = shape.centre
                self._painted(shape.paint)
                self._canvas.circle(left + x, self._y(top + y), shape.radius, **_ways(shape.paint))
            case Box():
                y = self._y(top + shape.y + shape.height)
                self._painted(shape.paint)
                self._canvas.roundRect(left + shape.x, y, shape.width, shape.height, shape.radius, **_ways(shape.paint))
            case TextLine():
                self._text(shape, left, top)

    def finish(self, attachments: Sequence[Attachment]) -> bytes:
        """Finish the document with structure, metadata and attachments."""
        self._end_page()
        canvas, info, document = self._canvas, self._info, self._canvas._doc
        canvas.setTitle(info.title)
        canvas.setSubject(info.subject)
        canvas.setAuthor(info.producer)
        canvas.setCreator(info.producer)
        canvas.showOutline()
        document._timeStamp = _stamp(info.made_at)
        catalog = document.Catalog
        catalog.__NoDefault__ = [*catalog.__NoDefault__, "AF"]
        catalog.MarkInfo = PDFDictionary({"Marked": "true"})
        catalog.ViewerPreferences = PDFDictionary({"DisplayDocTitle": "true"})
        catalog.Metadata = xmp_stream(info.title, info.subject, info.producer, info.language, info.made_at)
        self._write_structure()
        attach(document, attachments, info.made_at)
        canvas.save()
        return self._bytes.getvalue()

    def _code(self, operator: str) -> None:
        self._canvas._code.append(operator)

    def _y(self, y: float) -> float:
        return self.height - y

    def _end_page(self) -> None:
        self._canvas.showPage()
        page = self._canvas._doc.Pages.pages[-1]
        page.__NoDefault__ = [*page.__NoDefault__, "StructParents", "Tabs"]
        page.StructParents = len(self._marks) - 1
        page.Tabs = PDFName("S")

    def _painted(self, paint: Paint) -> None:
        canvas = self._canvas
        if paint.fill:
            canvas.setFillColor(paint.fill)
            canvas.setFillAlpha(paint.opacity)
        if paint.stroke:
            canvas.setStrokeColor(paint.stroke)
            canvas.setLineWidth(paint.width)
            canvas.setDash(*((list(paint.dash),) if paint.dash else ()))
            canvas.setLineCap(1 if paint.round else 0)
            canvas.setLineJoin(1 if paint.round else 0)

    def _path(self, shape: Path, left: float, top: float) -> None:
        if not shape.points:
            return
        self._painted(shape.paint)
        path = self._canvas.beginPath()
        (x, y), *others = shape.points
        path.moveTo(left + x, self._y(top + y))
        for x, y in others:
            path.lineTo(left + x, self._y(top + y))
        if shape.closed:
            path.close()
        self._canvas.drawPath(path, **_ways(shape.paint))

    def _text(self, shape: TextLine, left: float, top: float) -> None:
        width = text_width(shape.words, shape.size, shape.strong)
        x = left + shape.at[0] - width * {"left": 0.0, "middle": 0.5, "right": 1.0}[shape.align]
        canvas = self._canvas
        canvas.setFillColor(shape.colour)
        canvas.setFillAlpha(1.0)
        for font, part in font_runs(visual_order(shape.words), shape.strong):
            canvas.setFont(font, shape.size)
            canvas.drawString(x, self._y(top + shape.at[1]), part)
            x += canvas.stringWidth(part, font, shape.size)

    def _write_structure(self) -> None:
        document = self._canvas._doc
        pages = [PDFObjectReference(f"Page{number + 1}") for number in range(len(self._marks))]
        names: dict[int, str] = {}

        def number(element: _Element) -> None:
            names[id(element)] = f"structure.{len(names)}"
            for child in element.children:
                if isinstance(child, _Element):
                    number(child)

        def write(element: _Element, parent: str) -> None:
            entries = {
                "Type": PDFName("StructElem"),
                "S": PDFName(element.role),
                "P": PDFObjectReference(parent),
                "K": PDFArray([_child(child, names) for child in element.children]),
            }
            marked = [child[0] for child in element.children if not isinstance(child, _Element)]
            if marked:
                entries["Pg"] = pages[marked[0]]
            if element.alternative:
                entries["Alt"] = PDFString(element.alternative)
            if element.language:
                entries["Lang"] = PDFString(element.language)
            if element.role == "TH":
                entries["A"] = PDFDictionary({"O": PDFName("Table"), "Scope": PDFName("Column")})
            document.Reference(PDFDictionary(entries), names[id(element)])
            for child in element.children:
                if isinstance(child, _Element):
                    write(child, names[id(element)])

        number(self._document_element)
        write(self._document_element, "structure.root")
        tree = []
        for place, marks in enumerate(self._marks):
            tree += [place, PDFArray([PDFObjectReference(names[id(element)]) for element in marks])]
        root = PDFDictionary(
            {
                "Type": PDFName("StructTreeRoot"),
                "K": PDFArray([PDFObjectReference(names[id(self._document_element)])]),
                "ParentTree": PDFDictionary({"Nums": PDFArray(tree)}),
                "ParentTreeNextKey": len(self._marks),
            }
        )
        document.Catalog.StructTreeRoot = document.Reference(root, "structure.root")


def _child(child: "_Element | tuple[int, int]", names: dict[int, str]) -> object:
    return PDFObjectReference(names[id(child)]) if isinstance(child, _Element) else child[1]


def _ways(paint: Paint) -> dict[str, int]:
    return {"fill": int(paint.fill is not None), "stroke": int(paint.stroke is not None)}


def _stamp(moment: datetime) -> TimeStamp:
    """The moment as reportlab's time stamp, which would otherwise be the current time."""
    stamp = TimeStamp(invariant=1)
    stamp.YMDhms = in_zone(moment, UTC).timetuple()[:6]
    stamp.dhh = stamp.dmm = 0
    return stamp
