"""Texts in a window that are cut off, found in what the widgets paint.

Every visible widget paints into a recorder that keeps where each piece of text came to lie. A piece is cut if part of
it lies where nobody can see it: outside the area it was painted for, outside the widget, or outside a container that
does not scroll that way. So labels, buttons, charts, cells of tables, menus and tool tips are all found alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QFontMetricsF,
    QImage,
    QPaintDevice,
    QPaintEngine,
    QPaintEngineState,
    QPixmap,
    QRegion,
    QTextItem,
    QTransform,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QMenu,
    QScrollBar,
    QWidget,
)

ELLIPSIS = "…"
_SLACK = 2.0  # px: edges are smoothed
# blanks, and marks that tell direction or joining
_UNSEEN = " \t\n\xa0\u2009\u200b\u200c\u200d\u200e\u200f\u2028\u202a\u202b\u202c\u202f\u2066\u2067\u2068\u2069"
_TOUCH = 3.0  # px: letters of neighbouring lines may come close
_FAR = 1e6


@dataclass(frozen=True, slots=True)
class Painted:
    """A piece of text that a widget painted.

    Attributes:
        text: in the order of reading.
        line: height of the line on which it stands, in pixels of the widget.
        ink: where its letters lie, in pixels of the widget.
        clip: the area that it was painted for; None if there is no limit.
    """

    text: str
    line: float
    ink: QRectF
    clip: QRectF | None


def cut_words(window: QWidget) -> list[str]:
    """A line for every visible text in a window that is cut off, or that lies on another text of its widget."""
    parts = [window, *window.findChildren(QWidget)]
    return [fault for part in parts if part.isVisible() and part.window() is window for fault in _faults(part, window)]


def cut_popups(window: QWidget) -> list[str]:
    """The same of every menu of a window, whether it is open or not, and of the list of every choice that shows."""
    found = []
    for menu in window.findChildren(QMenu):
        menu.aboutToShow.emit()
        menu.resize(menu.sizeHint())
        found += _faults(menu, menu)
        if menu.width() > window.width():
            found.append(f"{_name(menu)} is {menu.width() - window.width()} px wider than the window")
    for choice in window.findChildren(QComboBox):
        if choice.isVisible() and choice.window() is window:
            choice.showPopup()
            found += cut_words(choice.view().window())
            choice.hidePopup()
    return found


def _faults(part: QWidget, window: QWidget) -> Iterator[str]:
    pieces, reach = painted_words(part), _reach(part, window)
    for piece in pieces:
        area = reach if piece.clip is None else reach.intersected(_beyond(piece.clip, QRectF(part.rect())))
        lost = _lost(piece.ink, area)
        if lost and not _is_typed(part):
            yield f"{_name(part)} {piece.text!r} lacks {lost}"
        elif ELLIPSIS in piece.text and not _is_told(part, piece):
            yield f"{_name(part)} {piece.text!r} is shortened and told nowhere"
    for one, other in _collisions(pieces):
        yield f"{_name(part)} {one.text!r} lies on {other.text!r}"


def painted_words(part: QWidget) -> list[Painted]:
    """What a widget itself paints, without its children."""
    recorder = _Recorder(part)
    QWidget.render(part, recorder, QPoint(), QRegion(), QWidget.RenderFlag(0))  # a QGraphicsView has another `render`
    return recorder.engine.pieces


class _Recorder(QPaintDevice):
    """A paper that keeps words instead of showing them."""

    def __init__(self, part: QWidget) -> None:
        super().__init__()
        self._part = part
        self.engine = _Engine(part)

    def paintEngine(self) -> QPaintEngine:
        return self.engine

    def metric(self, metric: QPaintDevice.PaintDeviceMetric) -> int:
        kinds = QPaintDevice.PaintDeviceMetric
        known = {
            kinds.PdmWidth: self._part.width(),
            kinds.PdmHeight: self._part.height(),
            kinds.PdmDepth: 32,
            kinds.PdmNumColors: 1 << 24,
            kinds.PdmDpiX: self._part.logicalDpiX(),
            kinds.PdmDpiY: self._part.logicalDpiY(),
            kinds.PdmPhysicalDpiX: self._part.logicalDpiX(),
            kinds.PdmPhysicalDpiY: self._part.logicalDpiY(),
            kinds.PdmDevicePixelRatio: 1,
            kinds.PdmDevicePixelRatioScaled: int(QPaintDevice.devicePixelRatioFScale()),
        }
        return known.get(metric, self._part.width())


class _Engine(QPaintEngine):
    """Keeps the pieces of text; ignores all else."""

    def __init__(self, part: QWidget) -> None:
        super().__init__(QPaintEngine.PaintEngineFeature.AllFeatures)
        self._part = part
        self._matrix = QTransform()
        self._clip: QRectF | None = None
        self._clips = False
        self.pieces: list[Painted] = []

    def begin(self, device: QPaintDevice) -> bool:
        self.setActive(True)
        return True

    def end(self) -> bool:
        self.setActive(False)
        return True

    def type(self) -> QPaintEngine.Type:
        return QPaintEngine.Type.User

    def updateState(self, state: QPaintEngineState) -> None:
        self._matrix = QTransform(state.transform())
        changed, flags = state.state(), QPaintEngine.DirtyFlag
        if changed & (flags.DirtyClipRegion | flags.DirtyClipPath):
            by_path = changed & flags.DirtyClipPath
            area = state.clipPath().boundingRect() if by_path else QRectF(state.clipRegion().boundingRect())
            area = self._matrix.mapRect(area)
            if state.clipOperation() is Qt.ClipOperation.NoClip:
                self._clip = None
            elif state.clipOperation() is Qt.ClipOperation.IntersectClip and self._clip is not None:
                self._clip = self._clip.intersected(area)
            else:
                self._clip = area
        if changed & flags.DirtyClipEnabled:
            self._clips = state.isClipEnabled()

    def drawTextItem(self, at: QPointF, item: QTextItem) -> None:
        text = item.text()
        if not text.strip(_UNSEEN):
            return
        metrics = QFontMetricsF(item.font(), self._part)
        before, after = text[: -len(text.lstrip(_UNSEEN))], text[len(text.rstrip(_UNSEEN)) :]
        if item.renderFlags() & QTextItem.RenderFlag.RightToLeft:
            before, after = after, before
        ink = metrics.tightBoundingRect(text.strip(_UNSEEN)).translated(at)
        ink.setLeft(at.x() + metrics.horizontalAdvance(before))  # letters may reach over their place a little
        ink.setRight(at.x() + item.width() - metrics.horizontalAdvance(after))
        clip = QRectF(self._clip) if self._clips and self._clip is not None else None
        self.pieces.append(Painted(text.strip(_UNSEEN), self._matrix.map(at).y(), self._matrix.mapRect(ink), clip))

    def drawPixmap(self, area: QRectF, picture: QPixmap, part: QRectF) -> None:
        pass

    def drawImage(self, area: QRectF, picture: QImage, part: QRectF, flags: Qt.ImageConversionFlag) -> None:
        pass

    def drawPath(self, path: object) -> None:
        pass

    def drawPolygon(self, *points: object) -> None:
        pass

    def drawRects(self, *areas: object) -> None:
        pass

    def drawLines(self, *lines: object) -> None:
        pass

    def drawEllipse(self, area: object) -> None:
        pass

    def drawPoints(self, *points: object) -> None:
        pass

    def drawTiledPixmap(self, area: QRectF, picture: QPixmap, start: QPointF) -> None:
        pass


def _reach(part: QWidget, window: QWidget) -> QRectF:
    """The area of a widget that can be seen, if need be after scrolling, in its own pixels."""
    area, inside = QRectF(part.rect()), part
    across = down = False  # whether a person can scroll there
    while True:
        limit = QRectF(inside.rect()).translated(-QPointF(part.mapTo(inside, QPoint())))
        if (scroller := _scroller(inside)) is not None:
            across |= _scrolls(scroller.horizontalScrollBar(), scroller.horizontalScrollBarPolicy())
            down |= _scrolls(scroller.verticalScrollBar(), scroller.verticalScrollBarPolicy())
            if inside is part:  # it moves what it paints
                area.adjust(-_FAR * across, -_FAR * down, _FAR * across, _FAR * down)
        area = area.intersected(limit.adjusted(-_FAR * across, -_FAR * down, _FAR * across, _FAR * down))
        if inside is window:
            return _grown(area, _SLACK)
        inside = inside.parentWidget()


def _scroller(viewport: QWidget) -> QAbstractScrollArea | None:
    """The area that scrolls what is in `viewport`."""
    area = viewport.parentWidget()
    if not isinstance(area, QAbstractScrollArea) or area.viewport() is not viewport:
        return None
    above = area.parentWidget()
    return above if isinstance(area, QHeaderView) and isinstance(above, QAbstractItemView) else area


def _scrolls(bar: QScrollBar, policy: Qt.ScrollBarPolicy) -> bool:
    return bar.maximum() > bar.minimum() and policy is not Qt.ScrollBarPolicy.ScrollBarAlwaysOff


def _grown(area: QRectF, by: float) -> QRectF:
    return area.adjusted(-by, -by, by, by)


def _beyond(clip: QRectF, whole: QRectF) -> QRectF:
    """`clip`, without an end where it ends with its widget `whole`: there the limit is what can be seen."""
    return QRectF(
        QPointF(
            -_FAR if clip.left() <= whole.left() else clip.left() - _SLACK,
            -_FAR if clip.top() <= whole.top() else clip.top() - _SLACK,
        ),
        QPointF(
            _FAR if clip.right() >= whole.right() else clip.right() + _SLACK,
            _FAR if clip.bottom() >= whole.bottom() else clip.bottom() + _SLACK,
        ),
    )


def _lost(ink: QRectF, area: QRectF) -> str:
    """What of `ink` is outside `area`, in words; empty for nothing."""
    sides = {
        "left": area.left() - ink.left(),
        "right": ink.right() - area.right(),
        "above": area.top() - ink.top(),
        "below": ink.bottom() - area.bottom(),
    }
    return ", ".join(f"{round(lack)} px {side}" for side, lack in sides.items() if lack > 0)


def _is_typed(part: QWidget) -> bool:
    """Whether the text is a person's own, which moves under the cursor."""
    return isinstance(part, QLineEdit) and bool(part.text())


def _is_told(part: QWidget, piece: Painted) -> bool:
    """Whether a text with an ellipsis is meant so, or a tool tip tells all of it."""
    words = [word.strip() for word in piece.text.split(ELLIPSIS)]
    whole = part.text() if hasattr(part, "text") else ""
    if isinstance(whole, str) and ELLIPSIS in whole and piece.text in whole:
        return True
    tips = [tip for tip in _tips(part, piece.ink.center().toPoint()) if tip and ELLIPSIS not in tip]
    return any(all(word in tip for word in words) for tip in tips)


def _tips(part: QWidget, at: QPoint) -> Iterator[str]:
    """The tool tips that appear at a place of a widget."""
    view = part.parentWidget()
    role = Qt.ItemDataRole.ToolTipRole
    if isinstance(view, QHeaderView) and view.viewport() is part:
        place = at.x() if view.orientation() is Qt.Orientation.Horizontal else at.y()
        yield view.model().headerData(view.logicalIndexAt(place), view.orientation(), role) or ""
    elif isinstance(view, QAbstractItemView) and view.viewport() is part:
        yield view.indexAt(at).data(role) or ""
    around: QWidget | None = part
    while around is not None:
        yield around.toolTip()
        around = around.parentWidget()


def _collisions(pieces: list[Painted]) -> Iterator[tuple[Painted, Painted]]:
    """Pairs of texts that lie on each other."""
    for place, one in enumerate(pieces):
        for other in pieces[place + 1 :]:
            both = _shown(one).intersected(_shown(other))
            if both.width() > _TOUCH and both.height() > _TOUCH:
                yield one, other


def _shown(piece: Painted) -> QRectF:
    return piece.ink if piece.clip is None else piece.ink.intersected(piece.clip)


def _name(part: QWidget) -> str:
    """Class and object name."""
    named = part.objectName()
    kind = type(part.parentWidget() if type(part) is QWidget and part.parentWidget() else part).__name__
    return f"{kind} {named}" if named else kind
