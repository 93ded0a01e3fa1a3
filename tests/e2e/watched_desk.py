"""The real desk with a guard of its GUI thread: which calls did the desk make there that may block?

    python watched_desk.py REPORT.json TEXT desk --light

TEXT is the system's text size, 1 for 100 %. The guard is armed when the event loop begins, with the window shown.
Whenever a file REPORT.json.words appears, which names the page that shows, the words that are cut off are looked for.
Where the environment names STALLS, stalls and reactions are measured as well (`tests/benchmarks/stall_watch.py`).
"""

import json
import os
import sys
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication

from vbdesk.desk.shell.main_window import MainWindow

sys.path.append(str(Path(__file__).parents[1] / "desk"))
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from cut_words import cut_words
from gui_guard import GuiGuard

TEXT_PX, POINTS_PER_INCH = 14, 72
SYSTEM_POINTS = 9  # Qt's own font where no desktop names one; the desk takes its text size from the system's font
LOOK_MS = 200


class Watch(QObject):
    """Holds the guard, and looks for cut words when it is asked to."""

    def __init__(self, report: Path) -> None:
        super().__init__()
        self._report = report
        self._words = report.with_name(f"{report.name}.words")
        self._cut: list[str] = []
        self._guard = GuiGuard()
        self._stalls = None
        if "STALLS" in os.environ:
            from stall_watch import StallWatch

            self._stalls = StallWatch(report)
        QTimer.singleShot(0, self._guard.arm)
        self._look = QTimer(self)
        self._look.timeout.connect(self._look_for_question)
        self._look.start(LOOK_MS)

    @Slot()
    def write(self) -> None:
        """Leave the findings."""
        found = {"blocking": self._guard.disarm(), "cut": self._cut}
        if self._stalls is not None:
            found |= self._stalls.stop()
        self._report.write_text(json.dumps(found, indent=2))

    @Slot()
    def _look_for_question(self) -> None:
        if self._words.exists():
            page = self._words.read_text()
            for window in QApplication.topLevelWidgets():
                if isinstance(window, MainWindow):
                    self._cut += [f"{page}: {fault}" for fault in cut_words(window)]
            if self._stalls is not None:
                self._stalls.forget_now()
            self._words.unlink()


def main() -> None:
    """Run vbdesk with the watch in it."""
    report = Path(sys.argv[1])
    text = float(sys.argv[2])
    sys.argv = ["vbdesk", *sys.argv[3:]]
    os.environ["QT_ENABLE_HIGHDPI_SCALING"] = "0"  # larger text, not a larger window
    os.environ["QT_FONT_DPI"] = str(round(TEXT_PX * text * POINTS_PER_INCH / SYSTEM_POINTS))
    application = QApplication(sys.argv[:1])
    watch = Watch(report)
    application.aboutToQuit.connect(watch.write)

    from vbdesk.cli.main import run

    run()


if __name__ == "__main__":
    main()
