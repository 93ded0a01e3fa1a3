"""A subject with 1,000 recordings of 6 signs: how soon the charts stand, and how smoothly they move.

    QT_QPA_PLATFORM=offscreen .venv/bin/python tests/benchmarks/trajectory_figures.py [RECORDINGS]

Measures, each several times: what becomes of an answer before it is drawn (on a worker), all data of all charts
replaced by others and painted, a frame of panning and of zooming, and the first paint of a subject that this computer
kept, from the call that opens the page's subject to its painted charts. Times are of the window's thread, less the time
it was ready to run without a processor: the machine's doing, not the desk's.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import httpx
import numpy as np
from calibration import judgement, slowness, within
from outbox_page_figures import Beat, live, waited_s
from PySide6.QtWidgets import QApplication

from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.playback import SilentPlayer
from vbdesk.client import Client, RetryRule
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.charts.trajectory_data import DAY_S, TrajectoryChart
from vbdesk.desk.charts.trajectory_view import TrajectoryView
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import TaskOwner
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.shell.gc_on_main_thread import MainThreadCollector
from vbdesk.desk.shell.workspace import Workspace, open_budget
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subject.trajectory_text import subject_of
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.trajectory import trajectory
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.network import ManualNetwork

RECORDINGS = 1_000
SIGNS = ("mood-disruption", "anxiety", "stress", "fatigue", "dehydration", "elevated-blood-pressure")
LEVELS = ("none", "low", "consider", "moderate")
AS_OF = datetime(2026, 6, 1, 9, tzinfo=UTC)
SIZE = (1008, 640)
REPLACED_MS, FRAME_MS, FIRST_PAINT_MS, LONGEST_MS = 100.0, 1000 / 30, 100.0, 50.0


def read_of(recordings: int, seed: int) -> TrajectoryRead:
    """As the service computes it: recordings over 269 days with two lasting changes."""
    generator = np.random.default_rng(seed)
    days = np.sort(generator.uniform(0.01, 269, recordings))[::-1]
    scores = 0.3 + 0.07 * generator.normal(size=(recordings, len(SIGNS)))
    scores[days < 60, :2] += 0.3
    entries = []
    for number in range(recordings):
        signs = {
            name: SignReading(float(score), LEVELS[min(3, int(score * 6))], flagged=False)
            for name, score in zip(SIGNS, np.clip(scores[number], 0.02, 0.98), strict=True)
        }
        issues = ("high_background_noise",) if number % 9 == 0 else ()
        moment = AS_OF - timedelta(days=float(days[number]))
        seconds = float(generator.uniform(15, 90))
        entries.append(HistoryEntry(f"job-{number:04d}", moment, "done", seconds, 65.0, 80.0, issues, "monitor", signs))
    return trajectory("ward4-0172", entries, AS_OF, labels={})


def took_ms(work: Callable[[], object]) -> float:
    """Milliseconds of the window's thread, less those without a processor."""
    start, waited = time.perf_counter(), waited_s()
    work()
    return 1000 * (time.perf_counter() - start - (waited_s() - waited))


def tell(what: str, times_ms: list[float], bound_ms: float | None = None) -> bool:
    """Print median and longest; whether the median keeps the bound."""
    median = statistics.median(times_ms)
    bar = "" if bound_ms is None else f"   {judgement(median, bound_ms)}"
    print(f"{what:46s} median {median:6.1f} ms   longest {max(times_ms):6.1f} ms{bar}")
    return bound_ms is None or within(median, bound_ms)


def charts(recordings: int) -> bool:
    """Replacing, panning, zooming, pointing."""
    reads = [read_of(recordings, seed) for seed in (1, 2)]
    body = reads[0].model_dump_json(by_alias=True).encode()
    print(f"{recordings} recordings by {len(SIGNS)} signs; the answer has {len(body) / 1e6:.1f} MB")
    tell("read and arranged (on a worker)", [took_ms(lambda: arranged(body)) for _ in range(5)])
    views = [subject_of(read, AS_OF).chart for read in reads]
    view = TrajectoryView()
    view.resize(*SIZE)
    view.show_chart(views[0])
    view.show()
    QApplication.processEvents()

    def replaced(chart: TrajectoryChart) -> None:
        view.show_chart(chart)
        view.grab()

    def moved(move: Callable[[], None]) -> Callable[[], None]:
        def frame() -> None:
            move()
            view.grab()

        return frame

    kept = tell(
        "all data replaced and painted", [took_ms(lambda n=n: replaced(views[n % 2])) for n in range(12)], REPLACED_MS
    )
    view.show_last(90)
    step = view.time.seconds / 60
    pans = [took_ms(moved(lambda: view.time.pan(-step))) for _ in range(40)]
    kept &= tell("a frame of panning, 90 days", pans, FRAME_MS)
    view.show_last(None)
    middle = AS_OF.timestamp() - 100 * DAY_S
    zooms = [took_ms(moved(lambda n=n: view.time.zoom(0.94 if n % 40 < 20 else 1 / 0.94, middle))) for n in range(40)]
    kept &= tell("a frame of zooming, 270 days and less", zooms, FRAME_MS)
    moments = view._moments[-60:]
    points = [took_ms(moved(lambda m=m: view._move_cursor(float(m)))) for m in moments]
    kept &= tell("a frame of the cursor", points, FRAME_MS)
    view.deleteLater()
    return kept


def arranged(body: bytes) -> None:
    """What a worker does with an answer."""
    subject_of(TrajectoryRead.model_validate_json(body), AS_OF)


def nobody(request: httpx.Request) -> httpx.Response:
    """A service that is away."""
    raise httpx.ConnectError("away", request=request)


def connect(base_url: str, credentials: object, budget: object = None) -> Client:
    """A client of it."""
    return Client(base_url, credentials, retries=RetryRule.NEVER, budget=budget, transport=httpx.MockTransport(nobody))


def first_paint(recordings: int, folder: Path) -> bool:
    """Open a subject that is kept here, again and again, each with a page and a subject of its own."""
    vault = MemoryVault()
    ports = DeskPorts(
        data_dir=folder / "data",
        config_dir=folder / "config",
        microphone=FileMicrophone(np.zeros(48_000, np.int16), 48_000),
        player=SilentPlayer,
        keyring=vault,
        connect=connect,
        network=ManualNetwork,
    )
    profile = Profile("p1", "St. Anne clinic", "service", "https://voice.example", "acc-1")
    vault.set(profile.api_key_name, "key")
    tasks, library = TaskOwner(), Library(folder / "library", bytes(range(32)))
    workspace = Workspace(profile, library, open_budget(profile, library), ProgramFlow(ProgramContext(ports), tasks))
    body = read_of(recordings, 1).model_dump_json(by_alias=True)
    page = SubjectPage(workspace.flow)
    page.resize(1080, 768)
    page.show()
    QApplication.processEvents()
    paints = []
    for number in range(6):
        group_id = f"ward4-{number:04d}"
        with library.store.changing():
            library.store.store_trajectory(group_id, body.replace("ward4-0172", group_id).encode())
        paints.append(took_ms(lambda group_id=group_id: opened(page, group_id)))
        page.closed()
        while tasks.busy:
            QApplication.processEvents()
    kept = tell("first paint of a kept subject, page made anew", paints[:1])
    kept &= tell("first paint of a kept subject", paints[1:], FIRST_PAINT_MS)
    beat = Beat()
    stalls = []
    for number in range(6):
        beat.start()
        page.opened(f"ward4-{number:04d}")
        live(0.5)
        stalls.append(beat.stop())
        page.closed()
    kept &= tell("longest that the window waited meanwhile", stalls, LONGEST_MS)
    while tasks.busy:
        QApplication.processEvents()
    page.deleteLater()
    workspace.close()
    return kept


def opened(page: object, group_id: str) -> None:
    """From the call that opens it to the first painted chart."""
    page.opened(group_id)
    while page.view_model.reading is None or page.charts._shown < 1:
        QApplication.processEvents()
        time.sleep(0.0002)
    page.grab()


def main() -> int:
    """Measure and say whether every bound is kept."""
    recordings = int(sys.argv[1]) if len(sys.argv) > 1 else RECORDINGS
    _application = QApplication.instance() or QApplication([])
    slowness()
    Theme(Scheme.LIGHT, 1.0).install()
    with MainThreadCollector(), tempfile.TemporaryDirectory() as folder:
        kept = charts(recordings)
        kept &= first_paint(recordings, Path(folder))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
