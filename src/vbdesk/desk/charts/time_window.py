"""The visible time range that all charts of a subject share."""

import pyqtgraph as pg
from PySide6.QtCore import QObject, QRectF, Signal

from vbdesk.desk.charts.trajectory_data import DAY_S

SHORTEST_S = DAY_S
_MARGIN_SHARE = 0.012  # share of the visible range, at both ends


class TimeViewBox(pg.ViewBox):  # type: ignore[misc]
    """A view box with a linked time range; its score range is its own."""

    def __init__(self, *, mouse: bool) -> None:
        super().__init__(enableMenu=False, enableMouse=mouse, defaultPadding=0.0)
        self.setMouseEnabled(x=mouse, y=False)

    def screenGeometry(self) -> QRectF:
        """Return a constant: pyqtgraph would shift linked ranges by wrong widget positions."""
        return QRectF(0.0, 0.0, 1.0, 1.0)


class TimeWindow(QObject):
    """The visible range: at least a day, within the limits of the data.

    The view box of the time axis holds the range; those of the charts are linked to it.

    Signals:
        changed: the range changed.
        moved: the user moved it with the pointer.
    """

    changed = Signal()
    moved = Signal()

    def __init__(self, master: TimeViewBox, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._master = master
        self._boxes = [master]
        self._limits = (0.0, DAY_S)
        master.sigXRangeChanged.connect(self.changed)
        self._prepare(master)

    @property
    def start(self) -> float:
        """Start in epoch seconds."""
        return float(self._master.viewRange()[0][0])

    @property
    def end(self) -> float:
        """End in epoch seconds."""
        return float(self._master.viewRange()[0][1])

    @property
    def seconds(self) -> float:
        """Length of the range."""
        return self.end - self.start

    def link(self, box: TimeViewBox) -> None:
        """Link a chart's view box to the range."""
        self._boxes.append(box)
        self._prepare(box)
        box.sigRangeChangedManually.connect(self.moved)
        box.setXLink(self._master)

    def detach(self, box: TimeViewBox) -> None:
        """Unlink a chart's view box."""
        self._boxes.remove(box)
        box.setXLink(None)

    def set_limits(self, first_s: float, last_s: float) -> None:
        """Set the limits of the range."""
        first_s, last_s = at_least_a_day(first_s, last_s)
        margin = (last_s - first_s) * _MARGIN_SHARE
        self._limits = (first_s - margin, last_s + margin)
        for box in self._boxes:
            self._prepare(box)

    def show(self, start_s: float, end_s: float) -> None:
        """Show the time between two moments, with a margin at both ends; a single moment is in the middle."""
        start_s, end_s = at_least_a_day(start_s, end_s)
        margin = (end_s - start_s) * _MARGIN_SHARE
        self._master.setXRange(start_s - margin, end_s + margin, padding=0.0)

    def pan(self, seconds: float) -> None:
        """Move later, or earlier if negative, within the limits."""
        least, most = self._limits
        room = min(max(seconds, least - self.start), max(most - self.end, 0.0))
        self._master.setXRange(self.start + room, self.end + room, padding=0.0)

    def zoom(self, factor: float, centre_s: float) -> None:
        """Show `factor` times as much time; `centre_s` stays where it is."""
        length = max(self.seconds * factor, SHORTEST_S)
        start = centre_s - (centre_s - self.start) / self.seconds * length
        least, most = self._limits
        start = max(least, min(start, most - length))
        self._master.setXRange(start, min(start + length, most), padding=0.0)

    def scroll_to(self, moment_s: float) -> None:
        """Move as little as needed to show a moment."""
        margin = self.seconds * _MARGIN_SHARE
        if moment_s < self.start + margin:
            self.pan(moment_s - margin - self.start)
        elif moment_s > self.end - margin:
            self.pan(moment_s + margin - self.end)

    def _prepare(self, box: TimeViewBox) -> None:
        least, most = self._limits
        box.disableAutoRange()
        box.setLimits(xMin=least, xMax=most, minXRange=SHORTEST_S)


def at_least_a_day(first_s: float, last_s: float) -> tuple[float, float]:
    """The range, widened equally at both ends if it is shorter than a day."""
    missing = max(0.0, SHORTEST_S - (last_s - first_s)) / 2
    return first_s - missing, last_s + missing
