"""Ten thousand recordings in the Outbox: time to show the window and the list, and stalls of the GUI thread.

    QT_QPA_PLATFORM=offscreen .venv/bin/python tests/benchmarks/outbox_page_figures.py [RECORDINGS]

Makes a library of that many recordings, most of them done and a few hundred in the queue, opens the desk on it with
simulated network and microphone, and measures: the time from making the window to its first paint, the time until the
list is shown, and the longest stall of the GUI thread while an upload reports progress, while a recording changes its
state, and while the list is scrolled.
"""

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

sys.path.append(str(Path(__file__).parent))

import httpx
from calibration import judgement, slowness, within
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.playback import SilentPlayer
from vbdesk.client import Client, RetryRule
from vbdesk.contract.jobs import Job
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.shell.app import Desk
from vbdesk.desk.shell.gc_on_main_thread import MainThreadCollector
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, write_result
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import SEND
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.network import ManualNetwork, NetworkState

RECORDINGS = 10_000
IN_LINE = 400
JOB = Path(__file__).parents[1] / "desk" / "data" / "job_pulse_moderate.json"
PROFILE = Profile("p1", "St. Anne clinic", "service", "https://voice.example", "acc-1")
FIRST_PAINT_S, LIST_S, LONGEST_MS = 1.5, 1.5, 50.0
BEAT_MS = 5
TO_DONE = (OutboxState.WAITING, OutboxState.UPLOADING, OutboxState.SUBMITTED, OutboxState.DONE)


def waited_s() -> float:
    """Time for which this thread waited for a processor so far: caused by the machine, not by the desk."""
    told = Path("/proc/thread-self/schedstat")
    return int(told.read_text().split()[1]) * 1e-9 if told.exists() else 0.0


class Beat:
    """A heartbeat of the GUI thread: its longest delay, less the time without a processor."""

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self._timer = QTimer()
        self._timer.timeout.connect(self._beat)
        self._timer.setInterval(BEAT_MS)

    def start(self) -> None:
        """Start measuring."""
        self.longest_ms, self._last = 0.0, time.perf_counter() - waited_s()
        self._timer.start()

    def stop(self) -> float:
        """The longest delay in milliseconds."""
        self._timer.stop()
        return self.longest_ms

    def _beat(self) -> None:
        now = time.perf_counter() - waited_s()
        self.longest_ms = max(self.longest_ms, 1000 * (now - self._last) - BEAT_MS)
        self._last = now


def fill(library: Library, count: int) -> list[str]:
    """Recordings of half a year, the newest still in the queue; returns the take ids of those."""
    result = write_result(Job.model_validate(json.loads(JOB.read_text())).result)
    now, waiting, store = datetime.now(UTC), [], library.store
    with store.changing():
        for number in range(count):
            take_id = f"take-{number:06d}"
            facts = TakeMetadata(f"ward{number % 40}-{number % 700:04d}", now - timedelta(minutes=25 * number), PULSE)
            store.insert(take_id, facts, 21.0, imported=False)
            if number < IN_LINE:
                store.add_event(take_id, SEND)
                store.move(take_id, OutboxState.WAITING)
                waiting.append(take_id)
                continue
            for state in TO_DONE:
                store.move(take_id, state)
            store.store_result(take_id, result, now)
    return waiting


PULSE = RecordingTarget("model", "pulse")


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Process the window's events until `condition` holds."""
    deadline = time.perf_counter() + seconds
    while not condition():
        QApplication.processEvents()
        time.sleep(0.001)
        if time.perf_counter() > deadline:
            raise TimeoutError


def live(seconds: float) -> None:
    """Process the window's events for a while."""
    end = time.perf_counter() + seconds
    until(lambda: time.perf_counter() >= end)


def no_network(request: httpx.Request) -> httpx.Response:
    """Offline, so that only this script changes anything."""
    raise httpx.ConnectError("no network", request=request)


def main(count: int) -> int:
    """Measure, print, and report whether every figure is within its limit."""
    application = QApplication(sys.argv[:1])
    slowness()
    with tempfile.TemporaryDirectory() as here:
        ports = DeskPorts(
            data_dir=Path(here),
            config_dir=Path(here) / "config",
            microphone=FileMicrophone([0] * 48_000, 48_000),
            lister=FileMicrophone([0] * 48_000, 48_000),
            player=SilentPlayer,
            keyring=MemoryVault(),
            connect=lambda base_url, credentials, budget=None: Client(
                base_url, credentials, retries=RetryRule.NEVER, transport=httpx.MockTransport(no_network)
            ),
            network=lambda: ManualNetwork(NetworkState(reachable=False)),
        )
        ports.keyring.set(PROFILE.api_key_name, "a-key")
        ProfileStore(ports.config_dir).save(PROFILE)
        library = LockedLibrary(PROFILE, ports.library_dir(PROFILE.profile_id), ports.keyring)
        waiting = fill(library, count)
        library.close()
        Theme(Scheme.LIGHT).install()
        with MainThreadCollector():
            kept = measure(ports, waiting, count)
        application.processEvents()
    return 0 if kept else 1


def measure(ports: DeskPorts, waiting: list[str], count: int) -> bool:
    """Open the desk and do what a person does."""
    figures: list[tuple[str, float, float, str]] = []
    begun = time.perf_counter()
    desk = Desk(ports)
    beat = Beat()
    desk.start()
    QApplication.processEvents()
    until(lambda: desk.window.isVisible())
    QApplication.processEvents()
    figures.append(("window to its first paint", time.perf_counter() - begun, FIRST_PAINT_S, "s"))
    until(lambda: desk.workspace is not None)
    figures.append(("window to the library open", time.perf_counter() - begun, FIRST_PAINT_S, "s"))
    asked = time.perf_counter()
    beat.start()
    desk.workspace.navigator.open("outbox")
    page = desk.window.page()
    assert isinstance(page, OutboxPage)
    until(lambda: page.view_model.table.rowCount() == count)
    figures.append(("Outbox opened to its list", time.perf_counter() - asked, LIST_S, "s"))
    live(1.0)
    figures.append(("longest stall while it opens", beat.stop(), LONGEST_MS, "ms"))

    library = desk.workspace.library
    sending = waiting[-1]
    with library.store.changing():
        library.store.move(sending, OutboxState.UPLOADING)
    live(0.5)

    def report() -> None:
        for sent in range(0, 3_000_000, 60_000):
            library.store.report_progress(sending, sent, 3_000_000)
            time.sleep(0.04)

    figures.append(("longest stall, an upload reporting", watched(beat, report), LONGEST_MS, "ms"))

    def change() -> None:
        for take_id in waiting[:40]:
            library.cancel(take_id)
            time.sleep(0.05)

    figures.append(("longest stall, states changing", watched(beat, change), LONGEST_MS, "ms"))

    bar = page.list.verticalScrollBar()
    frames = []
    for step in range(200):
        at = time.perf_counter() - waited_s()
        bar.setValue(bar.maximum() * step // 200)
        page.list.viewport().repaint()
        frames.append(1000 * (time.perf_counter() - waited_s() - at))
    figures.append(("slowest frame while scrolling", max(frames), LONGEST_MS, "ms"))
    figures.append(("usual frame while scrolling", sorted(frames)[len(frames) // 2], 16.0, "ms"))
    at = time.perf_counter() - waited_s()
    page.list.selectAll()
    figures.append(("choose all", 1000 * (time.perf_counter() - waited_s() - at), 100.0, "ms"))

    ended: list[bool] = []
    desk.ended.connect(lambda: ended.append(True))
    desk.window.close()
    until(lambda: bool(ended))
    print(f"{count} recordings, {len(waiting)} of them in the line")
    for name, value, bar, unit in figures:
        print(f"  {name:36} {value:8.2f} {unit:2}  {judgement(value, bar)}")
    return all(within(value, bar) for _, value, bar, _ in figures)


def watched(beat: Beat, work: Callable[[], None]) -> float:
    """The longest stall while `work` runs in a thread, and for a moment after it."""
    thread = threading.Thread(target=work)
    beat.start()
    thread.start()
    until(lambda: not thread.is_alive())
    live(0.5)
    return beat.stop()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RECORDINGS))
