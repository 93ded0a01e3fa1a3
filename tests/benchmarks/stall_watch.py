"""Watches the thread of the real window: was it kept from its events, and how soon did a key show?

`tests/e2e/watched_desk.py` loads it when the environment names STALLS; `window_figures.py` reads what it finds.

A stall is the time by which a heartbeat of the thread came too late, less the time that the thread was ready to run and
the machine gave the processor to others, and less the share of samples in which it waited for others: that is the
machine's doing, not the desk's. A reaction is the time from a Space, as it reaches the window, to the end of the first
painting after the page went into its count-in or ended a take, less the time without a processor. Counting begins when
the file REPORT.json.begin appears.
"""

import sys
import threading
import time
import traceback
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication

from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.shell.main_window import MainWindow

BEAT_MS = 10
SUSPECT_S = 0.03
ANSWERING = {"ready", "recording", "paused"}  # where a Space begins or ends a take
LOOK_S = 0.01
NANO = 1e-9
ASLEEP = {"7", "271", "232", "281"}  # poll, ppoll and epoll: it waits for events, or for the X server, not for the desk


def waited_s() -> float:
    """How long this thread was ready to run without a processor, so far."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) * NANO


class StallWatch(QObject):
    """Lives on the window's thread; a second thread samples what keeps that one."""

    def __init__(self, report: Path) -> None:
        super().__init__()
        self._begin = report.with_name(f"{report.name}.begin")
        self._counting = False
        self._main = threading.get_ident()
        self._last, self._waited = time.perf_counter(), waited_s()
        self._key: tuple[float, float] | None = None
        self._phase = ""
        self._seen: list[tuple[str, str]] = []
        self._syscall = Path(f"/proc/self/task/{threading.get_native_id()}/syscall")
        self._stalls: list[dict[str, object]] = []
        self._reactions_ms: list[float] = []
        self._beats = 0
        self._beat = QTimer(self)
        self._beat.setTimerType(Qt.TimerType.PreciseTimer)
        self._beat.timeout.connect(self._on_beat)
        self._beat.start(BEAT_MS)
        self._windows = QTimer(self)
        self._windows.timeout.connect(self._find_windows)
        self._windows.start(500)
        self._ended = threading.Event()
        self._looker = threading.Thread(target=self._look, name="watch", daemon=True)
        self._looker.start()

    def stop(self) -> dict[str, object]:
        """What was found."""
        self._ended.set()
        self._looker.join()
        self._beat.stop()
        return {"beats": self._beats, "stalls": self._stalls, "reactions_ms": self._reactions_ms}

    def forget_now(self) -> None:
        """Whatever kept the thread since the last beat was not the desk."""
        self._last, self._waited, self._seen = time.perf_counter(), waited_s(), []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Of the window alone: a key that comes in, and a painting that goes out."""
        if event.type() in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):  # a button acts on the release
            phase = _page_phase()
            if event.key() == Qt.Key.Key_Space and phase in ANSWERING:  # type: ignore[attr-defined]
                self._key, self._phase = (time.perf_counter(), waited_s()), phase
        elif event.type() is QEvent.Type.Paint and self._key is not None:
            QTimer.singleShot(0, self._on_painted)
        return False

    @Slot()
    def _on_painted(self) -> None:
        if self._key is not None and _page_phase() != self._phase:
            begun, waited = self._key
            self._key = None
            self._reactions_ms.append(1000 * (time.perf_counter() - begun - (waited_s() - waited)))

    @Slot()
    def _on_beat(self) -> None:
        now, waited = time.perf_counter(), waited_s()
        late = now - self._last - BEAT_MS / 1000
        own = late - (waited - self._waited)
        self._last, self._waited = now, waited
        if self._counting:
            self._beats += 1
            if own > SUSPECT_S:
                excused = sum(_is_excused(doing, stack) for doing, stack in self._seen) / max(1, len(self._seen))
                desk_ms = 1000 * own * (1 - excused)
                told = {"desk_ms": desk_ms, "late_ms": 1000 * late, "phase": _page_phase(), "at_s": now}
                self._stalls.append({**told, "seen": self._seen})
        self._seen = []

    @Slot()
    def _find_windows(self) -> None:
        for widget in QApplication.topLevelWidgets():
            handle = widget.windowHandle()
            if handle is not None and widget.isVisible():
                handle.installEventFilter(self)  # once more does no harm
        page = _record_page()
        if page is not None:
            for face in (page.live, page.check):
                face.installEventFilter(self)

    def _look(self) -> None:
        while not self._ended.wait(LOOK_S):
            if not self._counting:
                self._counting = self._begin.exists()
            elif time.perf_counter() - self._last > 2 * BEAT_MS / 1000:
                frame = sys._current_frames().get(self._main)
                doing = self._syscall.read_text().split()[0]
                self._seen.append((doing, "".join(traceback.format_stack(frame)[-5:])))


def _record_page() -> RecordPage | None:
    windows = [window for window in QApplication.topLevelWidgets() if isinstance(window, MainWindow)]
    pages = [window.page() for window in windows]
    return next((page for page in pages if isinstance(page, RecordPage)), None)


def _page_phase() -> str:
    page = _record_page()
    return "" if page is None else str(page.model.phase)


def _is_excused(doing: str, stack: str) -> bool:
    """Whether the thread waited for others: in the system's poll, or for a new thread to be given a processor."""
    return doing in ASLEEP or "self._started.wait()" in stack
