"""Python's cyclic garbage is collected on the window's thread alone.

Qt objects that are part of a reference cycle are destroyed by whichever thread the collector happens to run in; a timer
or a widget destroyed in a worker brings the program down.
"""

import gc
from types import TracebackType
from typing import Self

from PySide6.QtCore import QObject, QTimer, Slot

_LOOK_MS = 1000


class MainThreadCollector(QObject):
    """While it is entered, the collector runs from a timer, one generation at a time as Python's own thresholds ask."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self.look)

    def __enter__(self) -> Self:
        gc.disable()
        gc.freeze()  # what start-up made stays; looking through it again would stall the window
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    @Slot()
    def look(self) -> None:
        """Collect the oldest generation that is due, if any is."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > thresholds[generation]:
                gc.collect(generation)
                return
