"""Waveforms: live while recording, and of a finished take with cursor and trim handles."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from vbdesk.desk.charts.spectrogram import spectrogram_image
from vbdesk.desk.charts.take_layers import TakePicture, paint_frequencies, paint_marker, paint_pitch
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.ui.painting import antialiased, rounded
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import _

Envelope = NDArray[np.float32]
"""Shape (n, 2): lowest and highest sample of each step, -1..1."""

_STEP_PX = 3.0
_LOUDNESS_POWER = 0.6  # ordinary speech peaks at a fifth of full scale; enlarge it
_LIVE_SPAN_S = 26.0
_LIVE_CURSOR_SHARE = 0.7
_LIVE_TICK_S = 4
_ZOOM = 2.0
_SHORTEST_VIEW_S = 1.0


def resample_envelope(envelope: Envelope, bars: int) -> Envelope:
    """Resample an envelope to `bars` steps, keeping the minimum and maximum of each."""
    if bars <= 0 or len(envelope) == 0:
        return np.zeros((max(bars, 0), 2), np.float32)
    edges = np.linspace(0, len(envelope), bars + 1)
    starts = np.minimum(edges[:-1].astype(int), len(envelope) - 1)
    low = np.minimum.reduceat(envelope[:, 0], starts)
    high = np.maximum.reduceat(envelope[:, 1], starts)
    return np.column_stack([low, high]).astype(np.float32)


def paint_bars(painter: QPainter, area: QRectF, bars: Envelope, colour: QColor, first: int = 0) -> None:
    """Paint bars 2 px wide, 1 px apart, from the left of `area`; `first` shifts them by whole bars."""
    if len(bars) == 0:
        return
    middle, half = area.center().y(), area.height() / 2
    x = (area.left() + (first + np.arange(len(bars))) * _STEP_PX).astype(int).tolist()
    height = np.maximum(np.abs(bars).max(axis=1) ** _LOUDNESS_POWER, 0.02) * half
    reach = np.maximum(np.rint(height), 1).astype(int).tolist()
    top = round(middle)
    painter.save()
    painter.setRenderHint(
        QPainter.RenderHint.Antialiasing, False
    )  # on whole pixels: a tenth of the cost, the same look
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawRects([QRect(at, top - half_bar, 2, 2 * half_bar) for at, half_bar in zip(x, reach, strict=True)])
    painter.restore()


class LiveWaveform(QWidget):
    """The live waveform: grows from the left, then scrolls under a cursor at 70 % of the width."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # time runs so in every language
        self._envelope: Envelope = np.zeros((0, 2), np.float32)
        self._seconds = 0.0
        self._markers: tuple[float, ...] = ()
        self._moving = True
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(76)
        self.setAccessibleName(_("Live waveform"))

    def clear(self) -> None:
        """Show an empty take."""
        self.show_voice(np.zeros((0, 2), np.float32), 0.0)

    def show_voice(
        self, envelope: Envelope, seconds: float, markers: tuple[float, ...] = (), *, moving: bool = True
    ) -> None:
        """Show the envelope of the last seconds of the take, `LIVE_SPAN_S` at most, ending at `seconds`."""
        self._envelope, self._seconds, self._markers, self._moving = envelope, seconds, markers, moving
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        px = self._theme.px
        axis = px(40)
        area = QRectF(0, px(14), self.width(), self.height() - axis - px(14))
        per_s = self.width() / _LIVE_SPAN_S
        start_s = max(0.0, self._seconds - _LIVE_SPAN_S * _LIVE_CURSOR_SHARE)
        self._paint_axis(painter, start_s, per_s)
        cursor = (self._seconds - start_s) * per_s
        painter.setPen(QPen(self._theme.colour("border"), 1.0))
        painter.drawLine(QPointF(cursor, area.center().y()), QPointF(self.width(), area.center().y()))
        shown_s = min(self._seconds, self._seconds - start_s)
        bars = resample_envelope(self._envelope, int(shown_s * per_s / _STEP_PX))
        paint_bars(painter, area, bars, self._theme.colour("wave" if self._moving else "wavedim"))
        for marker in self._markers:
            if marker >= start_s:
                paint_marker(painter, self._theme, (marker - start_s) * per_s, area.adjusted(0, -8, 0, 0))
        self._paint_cursor(painter, cursor, area)
        painter.end()

    def sizeHint(self) -> QSize:  # noqa: D102
        return QSize(400, self._theme.px(184))

    def _paint_axis(self, painter: QPainter, start_s: float, per_s: float) -> None:
        px = self._theme.px
        painter.setFont(self._theme.font(Role.CAPTION))
        top = self.height() - px(28)
        tick = (int(start_s) // _LIVE_TICK_S + 1) * _LIVE_TICK_S
        while tick < start_s + _LIVE_SPAN_S:
            x = (tick - start_s) * per_s
            painter.setPen(QPen(self._theme.colour("border"), 1.0))
            painter.drawLine(QPointF(x, top), QPointF(x, top + px(14)))
            painter.setPen(self._theme.colour("text3"))
            painter.drawText(QRectF(x + 6, top, 60, px(14)), Qt.AlignmentFlag.AlignVCenter, clock_text(tick))
            tick += _LIVE_TICK_S

    def _paint_cursor(self, painter: QPainter, x: float, area: QRectF) -> None:
        painter.setPen(QPen(self._theme.colour("rec"), 1.5))
        painter.drawLine(QPointF(x, area.top() - 4), QPointF(x, area.bottom() + 4))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.colour("rec"))
        painter.drawEllipse(QPointF(x, area.top() - 4), 4, 4)


class TakeWaveform(QWidget):
    """A finished recording: click or arrow keys move the cursor, handles trim it if allowed.

    Signals:
        sought: (float) position of the cursor that the user chose, in seconds.
        trimmed: (TrimRange) the part between the handles.
        viewed: (TrimRange) another part is shown, after a zoom or a move.
    """

    sought = Signal(float)
    trimmed = Signal(object)
    viewed = Signal(object)

    def __init__(self, *, trimmable: bool = False, name: str = "") -> None:
        self._theme = app_theme()
        super().__init__()
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # time runs so in every language
        self._trimmable = self._handles = trimmable
        self._envelope: Envelope = np.zeros((0, 2), np.float32)
        self._seconds = self._across_s = 0.0
        self._position = 0.0
        self._span = TrimRange(0.0, 0.0)
        self._segments: tuple[tuple[float, float], ...] = ()
        self._held: str | None = None
        self._markers: tuple[float, ...] = ()
        self._start_s = 0.0
        self._shades: NDArray[np.uint8] | None = None
        self._taken: TakePicture | None = None
        self._picture = QImage()
        self._low = False
        self._theme.changed.connect(self._draw_spectrogram)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name or _("Waveform of the recording"))
        self.setMouseTracking(trimmable)

    def show_spectrogram(self, shades: NDArray[np.uint8] | None) -> None:
        """Show the spectrogram in place of the waveform; None for the waveform again."""
        self._shades, self._taken = shades, None
        self._draw_spectrogram()

    def show_picture(self, picture: TakePicture) -> None:
        """Show the spectrogram of a part, with the pitch and the frequencies."""
        self._shades, self._taken = picture.shades, picture
        self._draw_spectrogram()

    def show_markers(self, markers: Sequence[float]) -> None:
        """Show the moments that were marked while recording, in seconds."""
        self._markers = tuple(markers)
        self.update()

    @property
    def seconds(self) -> float:
        """Length of the recording."""
        return self._seconds

    @property
    def view(self) -> TrimRange:
        """The visible part, in seconds."""
        return TrimRange(self._start_s, min(self._seconds, self._start_s + self._across_s))

    def zoom(self, factor: float) -> None:
        """Show `factor` times as much, with the cursor at its place; at least a second, at most the recording."""
        if not self._seconds:
            return
        length = min(self._seconds, max(_SHORTEST_VIEW_S, self._across_s * factor))
        at = min(max(self._position, self._start_s), self._start_s + self._across_s)
        self._look_at(at - (at - self._start_s) / self._across_s * length, length)

    def _look_at(self, start_s: float, length_s: float) -> None:
        start_s = max(0.0, min(start_s, self._seconds - length_s))
        if (start_s, length_s) != (self._start_s, self._across_s):
            self._start_s, self._across_s = start_s, length_s
            self.update()
            self.viewed.emit(self.view)

    def set_trimmable(self, trimmable: bool) -> None:
        """Show or hide the handles."""
        self._handles = trimmable
        self.update()

    @property
    def span(self) -> TrimRange:
        """The part between the handles."""
        return self._span

    def show_take(
        self, envelope: Envelope, seconds: float, span: TrimRange | None = None, across_s: float | None = None
    ) -> None:
        """Show a recording of `seconds`; the width is `across_s` long, by default the recording's length."""
        self._envelope, self._seconds = envelope, seconds
        self._across_s = seconds if across_s is None else max(across_s, seconds)
        self._start_s, self._markers = 0.0, ()
        self._span = span or TrimRange(0.0, seconds)
        self.show_position(self._span.start)

    def show_span(self, span: TrimRange) -> None:
        """Move the handles."""
        self._span = span
        self.update()

    @property
    def segments(self) -> tuple[tuple[float, float], ...]:
        """Speech segments of the selected speaker, in seconds."""
        return self._segments

    def show_segments(self, segments: Sequence[tuple[float, float]]) -> None:
        """Underline the speech segments of one speaker, in seconds."""
        self._segments = tuple(segments)
        self.update()

    def show_position(self, seconds: float) -> None:
        """Move the cursor."""
        self._position = seconds
        if self._across_s < self._seconds and not self._start_s <= seconds <= self._start_s + self._across_s:
            self._look_at(seconds - self._across_s / 4, self._across_s)
        sentences = [
            _("At {position} of {length}.", position=clock_text(seconds), length=clock_text(self._seconds)),
            _("Arrow keys move by a second, page keys by ten."),
            _("Plus and minus zoom. [ and ] trim before and after.") if self._handles else "",
        ]
        description = " ".join(filter(None, sentences))
        if description != self.accessibleDescription():
            self.setAccessibleDescription(description)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: D102
        height = (84 if self._low else 108) if self._trimmable else 28
        return QSize(300, self._theme.px(height))

    def set_low(self, low: bool) -> None:
        """Take less height, in a low window."""
        if low != self._low:
            self._low = low
            self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: D102
        painter = antialiased(QPainter(self))
        area = QRectF(self.rect()).adjusted(0, 6, 0, -6) if self._trimmable else QRectF(self.rect())
        inner = area.adjusted(0, 6, 0, -6) if self._trimmable else area
        if not self._picture.isNull():
            self._paint_spectrogram(painter, area)
        else:
            self._paint_span(painter, area)
            self._paint_voice(painter, inner)
        if self._handles and self._seconds:
            self._paint_handle(painter, self._x(self._span.start), area)
            self._paint_handle(painter, self._x(self._span.end), area)
        for marker in self._markers:
            if self._start_s <= marker <= self._start_s + self._across_s:
                paint_marker(painter, self._theme, self._x(marker), QRectF(self.rect()))
        self._paint_segments(painter)
        if self._seconds and (self._trimmable or self._position > 0 or self.hasFocus()):
            self._paint_cursor(painter, self._x(self._position), QRectF(self.rect()))
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: D102
        self._held = self._handle_at(event.position().x())
        if self._held is None:
            self.sought.emit(self._at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: D102
        x = event.position().x()
        if not event.buttons() & Qt.MouseButton.LeftButton:
            over = self._handles and self._handle_at(x) is not None
            self.setCursor(Qt.CursorShape.SizeHorCursor if over else Qt.CursorShape.IBeamCursor)
            return
        if self._held is None:
            self.sought.emit(self._at(x))
        else:
            self._move_handle(self._held, self._at(x))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: D102
        if self._held is not None:
            self._held = None
            self.trimmed.emit(self._span)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom with Ctrl; without it the page scrolls."""
        if self._trimmable and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1 / _ZOOM if event.angleDelta().y() > 0 else _ZOOM)
        else:
            event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        zooms = {Qt.Key.Key_Plus: 1 / _ZOOM, Qt.Key.Key_Equal: 1 / _ZOOM, Qt.Key.Key_Minus: _ZOOM}
        if self._trimmable and event.key() in zooms:
            self.zoom(zooms[Qt.Key(event.key())])
            return
        steps = {Qt.Key.Key_Left: -1.0, Qt.Key.Key_Right: 1.0, Qt.Key.Key_PageUp: -10.0, Qt.Key.Key_PageDown: 10.0}
        steps |= {Qt.Key.Key_Home: -self._seconds, Qt.Key.Key_End: self._seconds}
        edges = {Qt.Key.Key_BracketLeft: "start", Qt.Key.Key_BracketRight: "end"}
        if event.key() in steps:
            position = self._position + steps[Qt.Key(event.key())]
            self.sought.emit(min(self._seconds, max(0.0, position)))
        elif event.key() in edges and self._handles:
            self._move_handle(edges[Qt.Key(event.key())], self._position)
            self.trimmed.emit(self._span)
        else:
            super().keyPressEvent(event)

    @Slot()
    def _draw_spectrogram(self) -> None:
        self._picture = QImage() if self._shades is None else spectrogram_image(self._theme, self._shades)
        self.update()

    def _paint_span(self, painter: QPainter, area: QRectF) -> None:
        if self._handles and self._seconds:
            tint = self._theme.colour("accenttint")
            tint.setAlphaF(0.45)
            left, right = self._x(self._span.start), self._x(self._span.end)
            painter.fillRect(QRectF(left, area.top(), right - left, area.height()), tint)

    def _paint_spectrogram(self, painter: QPainter, area: QRectF) -> None:
        """Paint the spectrogram, with trimmed parts faded."""
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        if self._taken is None:
            painter.drawImage(self._filled(area), self._picture)
        else:
            left, right = self._x(self._taken.part.start), self._x(self._taken.part.end)
            painter.save()
            painter.setClipRect(area)
            painter.drawImage(QRectF(left, area.top(), right - left, area.height()), self._picture)
            x = 1 + (self.width() - 2) * (self._taken.pitch_s - self._start_s) / self._across_s
            paint_pitch(painter, self._theme, area, self._taken, x)
            paint_frequencies(painter, self._theme, area, self._taken.highest_hz)
            painter.restore()
        veil = self._theme.colour("surface")
        veil.setAlphaF(0.7)
        if self._seconds:
            left, right = self._x(self._span.start), self._x(self._span.end)
            painter.fillRect(QRectF(area.left(), area.top(), left - area.left(), area.height()), veil)
            painter.fillRect(QRectF(right, area.top(), area.right() - right, area.height()), veil)

    def _paint_voice(self, painter: QPainter, area: QRectF) -> None:
        view = self.view
        per_s = len(self._envelope) / self._seconds if self._seconds else 0.0
        seen = self._envelope[int(view.start * per_s) : max(int(view.start * per_s) + 1, int(view.end * per_s))]
        bars = resample_envelope(seen, int(self._filled(area).width() / _STEP_PX))
        count, shown_s = len(bars), view.end - view.start
        if not count or shown_s <= 0:
            return

        def pixel(seconds: float) -> int:
            return min(count, max(0, round(count * (seconds - view.start) / shown_s)))

        lit = (
            slice(pixel(self._span.start), pixel(self._span.end))
            if self._trimmable
            else slice(0, pixel(self._position))
        )
        dim, wave = self._theme.colour("wavedim"), self._theme.colour("wave")
        paint_bars(painter, area, bars[: lit.start], dim)
        paint_bars(painter, area, bars[lit], wave, first=lit.start)
        paint_bars(painter, area, bars[lit.stop :], dim, first=lit.stop)

    def _paint_segments(self, painter: QPainter) -> None:
        for start, end in self._segments:
            left, right = self._x(start), self._x(end)
            rounded(
                painter, QRectF(left, self.height() - 3, max(2.0, right - left), 3), 1.5, self._theme.colour("accent")
            )

    def _paint_handle(self, painter: QPainter, x: float, area: QRectF) -> None:
        painter.setPen(QPen(self._theme.colour("accent"), 2.0))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        grip = QRectF(x - 5, area.center().y() - 12, 10, 24)
        rounded(painter, grip, 3, self._theme.colour("accent"))

    def _paint_cursor(self, painter: QPainter, x: float, area: QRectF) -> None:
        ink = self._theme.colour("text")
        painter.setPen(QPen(ink, 1.5))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        if not self._trimmable:  # no space for a flag
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        top = area.top()
        corners = [(x - 5, top), (x + 5, top), (x + 5, top + 6), (x, top + 10), (x - 5, top + 6)]
        painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))

    def _x(self, seconds: float) -> float:
        width = self.width() - 2
        return 1 + (width * (seconds - self._start_s) / self._across_s if self._across_s else 0.0)

    def _filled(self, area: QRectF) -> QRectF:
        """The part of `area` that the recording covers."""
        share = min(1.0, self._seconds / self._across_s) if self._across_s else 1.0
        return QRectF(area.left(), area.top(), area.width() * share, area.height())

    def _at(self, x: float) -> float:
        return min(self._seconds, max(0.0, self._start_s + (x - 1) / max(1, self.width() - 2) * self._across_s))

    def _handle_at(self, x: float) -> str | None:
        if not self._handles:
            return None
        near = {"start": abs(self._x(self._span.start) - x), "end": abs(self._x(self._span.end) - x)}
        closest = min(near, key=lambda edge: near[edge])
        return closest if near[closest] <= 8 else None

    def _move_handle(self, edge: str, seconds: float) -> None:
        if edge == "start":
            self.show_span(TrimRange(min(seconds, self._span.end), self._span.end))
        else:
            self.show_span(TrimRange(self._span.start, max(seconds, self._span.start)))
