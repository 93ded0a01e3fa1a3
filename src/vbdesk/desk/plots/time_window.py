"""The stretch of time that all charts of a subject show, and how a person moves it."""

from PySide6.QtCore import QObject, Signal

from vbdesk.desk.plots.trajectory_data import DAY_S

SHORTEST_S = DAY_S
_MARGIN_SHARE = 0.012  # of what is shown, left of the first and right of the last moment


class TimeWindow(QObject):
    """From when to when; never shorter than a day, never beyond what there is to see.

    Signals:
        changed: it shows another stretch.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._least, self._most = 0.0, DAY_S
        self.start, self.end = self._least, self._most

    @property
    def seconds(self) -> float:
        """How long the stretch is."""
        return self.end - self.start

    def set_limits(self, first_s: float, last_s: float) -> None:
        """Say what there is to see."""
        margin = max(last_s - first_s, SHORTEST_S) * _MARGIN_SHARE
        self._least, self._most = first_s - margin, max(last_s, first_s + SHORTEST_S) + margin

    def show(self, start_s: float, end_s: float) -> None:
        """Show the time between two moments with a little room on both sides."""
        margin = (end_s - start_s) * _MARGIN_SHARE
        self._move(start_s - margin, end_s + margin)

    def pan(self, seconds: float) -> None:
        """Move towards later, or with a negative figure towards earlier."""
        room = min(max(seconds, self._least - self.start), max(self._most - self.end, 0.0))
        self._move(self.start + room, self.end + room)

    def zoom(self, factor: float, around_s: float) -> None:
        """Show `factor` times as much time; `around_s` stays where it is."""
        length = max(self.seconds * factor, SHORTEST_S)
        share = (around_s - self.start) / self.seconds
        start = around_s - share * length
        start = max(self._least, min(start, self._most - length))
        self._move(start, start + length)

    def bring_in(self, moment_s: float) -> None:
        """Move just as far as it takes to see a moment."""
        margin = self.seconds * _MARGIN_SHARE
        if moment_s < self.start + margin:
            self.pan(moment_s - margin - self.start)
        elif moment_s > self.end - margin:
            self.pan(moment_s + margin - self.end)

    def _move(self, start_s: float, end_s: float) -> None:
        start_s = max(start_s, self._least)
        end_s = min(max(end_s, start_s + SHORTEST_S), max(self._most, start_s + SHORTEST_S))
        if (start_s, end_s) != (self.start, self.end):
            self.start, self.end = start_s, end_s
            self.changed.emit()
