"""Python's cyclic garbage collection, on the GUI thread only.

The collector destroys Qt objects of a reference cycle in the thread in which it runs. A timer or a widget that is
destroyed in a worker thread crashes the program.
"""

import gc
from types import TracebackType
from typing import Self

from PySide6.QtCore import QObject, QTimer, Slot

_CHECK_INTERVAL_MS = 1000


class MainThreadCollector(QObject):
    """Context manager that runs the collector from a timer, by Python's own thresholds."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self)
        self._timer.setInterval(_CHECK_INTERVAL_MS)
        self._timer.timeout.connect(self.check)

    def __enter__(self) -> Self:
        gc.disable()
        gc.freeze()  # objects of start-up stay; scanning them again would stall the window
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.stop()
        gc.unfreeze()
        gc.enable()

    @Slot()
    def check(self) -> None:
        """Collect the oldest generation that is due, if any."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > thresholds[generation]:
                gc.collect(generation)
                return
