"""Playback of two recordings, one at a time; switching keeps the position."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Slot

from vbdesk.capture.playback import Player
from vbdesk.desk.flow.tasks import TaskOwner
from vbdesk.desk.models.playback import Loaded, Playback


class PairPlayback(QObject):
    """Two playbacks, left and right.

    Attributes:
        sides: the two playbacks, with their own signals.
    """

    def __init__(self, tasks: TaskOwner, make_player: Callable[[], Player], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sides = (Playback(tasks, make_player, self), Playback(tasks, make_player, self))
        self._seconds = [0.0, 0.0]
        self._at = 0
        for side in self.sides:
            side.loaded.connect(self._on_loaded)

    def toggle(self, side: int) -> None:
        """Play one from the other's position, or pause it."""
        other = self.sides[1 - side]
        if other.playing:
            other.toggle()
        if side != self._at and not self.sides[side].playing:
            self.seek(side, other.position_s)
        self.sides[side].toggle()

    def seek(self, side: int, seconds: float) -> None:
        """Seek in one."""
        self._at = side
        self.sides[side].seek(min(seconds, self._seconds[side]))

    @Slot()
    def change_over(self) -> None:
        """Switch to the same position of the other, and continue playing."""
        side, other = self._at, 1 - self._at
        if not self._seconds[other]:
            return
        if self.sides[side].playing:
            self.toggle(other)
        else:
            self.seek(other, self.sides[side].position_s)

    @Slot()
    def toggle_current(self) -> None:
        """Play or pause the current one."""
        self.toggle(self._at)

    @property
    def current(self) -> int:
        """The one that was played or sought last."""
        return self._at

    def close(self) -> None:
        """Stop both."""
        self._at, self._seconds = 0, [0.0, 0.0]
        for side in self.sides:
            side.close()

    @Slot(object)
    def _on_loaded(self, loaded: Loaded) -> None:
        for place, side in enumerate(self.sides):
            if self.sender() is side:
                self._seconds[place] = loaded.seconds
