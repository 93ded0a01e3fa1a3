"""Ten thousand subjects: time to show Subjects and Cohort, and stalls while scrolling, searching and sorting.

    QT_QPA_PLATFORM=offscreen .venv/bin/python tests/benchmarks/subjects_figures.py [SUBJECTS]

Opens each page on a library with cached lists, as after a start, with the service unreachable. Measures the time until
the rows are shown, the longest stall of the GUI thread meanwhile and during the update, and the time of a frame while
scrolling.
"""

import json
import os
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parent))

from calibration import judgement, slowness, within
from outbox_page_figures import JOB, PROFILE, PULSE, TO_DONE, Beat, live, no_network, until, waited_s
from PySide6.QtWidgets import QApplication

from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.playback import SilentPlayer
from vbdesk.client import Client, RetryRule
from vbdesk.contract.jobs import Job
from vbdesk.contract.levels import Level
from vbdesk.desk.cohort.cohort_cache import STORED_COHORT
from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.cohort.subject_summary import SignState, SubjectSummary, to_json
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import TaskOwner
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.shell.gc_on_main_thread import MainThreadCollector
from vbdesk.desk.shell.workspace import Workspace, open_budget
from vbdesk.desk.subject_data.subject_list import STORED_AS, AtService, StoredList, merged
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.library.items import TakeMetadata, write_result
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.response_cache import ResponseCache
from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.network import ManualNetwork, NetworkState

SUBJECTS = 10_000
HERE = 2000
OPEN_MS, STALL_MS, FRAME_MS, COHORT_MS = 200.0, 50.0, 33.0, 500.0

Figure = tuple[str, float, float]


def fill(library: Library, count: int) -> None:
    """Subjects at the service; some recorded here, with results, notes and tags."""
    result = write_result(Job.model_validate(json.loads(JOB.read_text())).result)
    now, store, notes = datetime.now(UTC), library.store, SubjectNotes(library.store)
    with store.changing():
        for number in range(min(HERE, count)):
            take_id, group_id = f"take-{number:06d}", f"ward{number % 40}-{number:05d}"
            store.insert(
                take_id, TakeMetadata(group_id, now - timedelta(minutes=25 * number), PULSE), 21.0, imported=False
            )
            for state in TO_DONE:
                store.move(take_id, state)
            store.store_result(take_id, result, now)
            if number % 10 == 0:
                notes.store(group_id, SubjectNote("Hoarse since May.", ("ENT",)))
    groups = {
        f"ward{number % 40}-{number:05d}": AtService(now - timedelta(minutes=25 * number), 38, 38)
        for number in range(count)
    }
    levels: dict[str, object] = {}
    for _ in range(1 + HERE // 1000):
        rows = merged(library.list(), groups, notes.all(), notes.unread(), levels, {}, now)
    ResponseCache(store).store(STORED_AS, StoredList(rows, groups, levels, now).to_json(), 0)


def open_workspace(folder: Path, tasks: TaskOwner, count: int) -> Workspace:
    """A workspace with an unreachable service; its library is filled, and opened again as after a start."""
    ports = DeskPorts(
        data_dir=folder,
        config_dir=folder / "config",
        microphone=FileMicrophone([0] * 48_000, 48_000),
        lister=FileMicrophone([0] * 48_000, 48_000),
        player=SilentPlayer,
        keyring=MemoryVault(),
        connect=lambda base_url, credentials, budget=None: Client(
            base_url, credentials, retries=RetryRule.NEVER, transport=_no_transport()
        ),
        network=lambda: ManualNetwork(NetworkState(reachable=False)),
    )
    ports.keyring.set(PROFILE.api_key_name, "a-key")
    place = ports.library_dir(PROFILE.profile_id)
    library = LockedLibrary(PROFILE, place, ports.keyring)
    fill(library, count)
    library.close()
    library = LockedLibrary(PROFILE, place, ports.keyring)
    return Workspace(PROFILE, library, open_budget(PROFILE, library), ProgramFlow(ProgramContext(ports), tasks))


def _no_transport() -> object:
    import httpx

    return httpx.MockTransport(no_network)


def opening(page: object, view: object, count: int, bound: float = OPEN_MS) -> list[Figure]:
    """The first opening of a page, and the duration of its update."""
    name, beat = type(page).__name__, Beat()
    asked = time.perf_counter() - waited_s()
    page.opened(None)
    until(lambda: view.model().rowCount() == count)
    view.viewport().repaint()
    stands = 1000 * (time.perf_counter() - waited_s() - asked)
    beat.start()
    live(3.0)
    return [(f"{name} opened to its list", stands, bound), (f"{name} longest stall, 3 s", beat.stop(), STALL_MS)]


def scrolling(page: object, view: object) -> list[Figure]:
    """Frames from the top to the bottom of the list."""
    name, frames, bar = type(page).__name__, [], view.verticalScrollBar()
    for step in range(200):
        at = time.perf_counter() - waited_s()
        bar.setValue(bar.maximum() * step // 200)
        view.viewport().repaint()
        frames.append(1000 * (time.perf_counter() - waited_s() - at))
    frames.sort()
    return [(f"{name} usual frame", frames[100], FRAME_MS), (f"{name} slowest frame", frames[-1], STALL_MS)]


def timed(name: str, work: object, bound: float) -> Figure:
    """Duration of a call on the GUI thread."""
    at = time.perf_counter() - waited_s()
    work()
    return name, 1000 * (time.perf_counter() - waited_s() - at), bound


def subjects(workspace: Workspace, count: int) -> list[Figure]:
    """The Subjects page."""
    page = SubjectsPage(workspace.flow)
    page.resize(1080, 768)
    page.show()
    figures = opening(page, page.list, count) + scrolling(page, page.list)
    for text in ("0", "00", "0017"):
        figures.append(timed(f"search {text}", lambda text=text: page.search.setText(text), STALL_MS))
    figures.append(timed("search cleared", lambda: page.search.clear(), STALL_MS))
    for order in ("By name", "Highest level", "Newest first"):
        figures.append(timed(f"sorted {order.lower()}", lambda order=order: page.order.setCurrentText(order), OPEN_MS))
    page.closed()
    page.deleteLater()
    return figures


def cohort(workspace: Workspace, count: int) -> list[Figure]:
    """The Cohort page, with every subject in the cache."""
    signs = {
        name: SignState(Level.LOW, 0.3, Level.NONE, 0, False, 0.3, 0.0, 0.2, "none", "stable", 9)
        for name in ("mood-disruption", "anxiety", "stress", "fatigue", "dehydration", "elevated-blood-pressure")
    }
    now = datetime.now(UTC)
    moments = (now - timedelta(minutes=25 * number) for number in range(count))
    entries = [
        SubjectSummary(f"ward{number % 40}-{number:05d}", moment, f"job-{number}", None, 9, (), signs, now, True)
        for number, moment in enumerate(moments)
    ]
    ResponseCache(workspace.library.store).store(STORED_COHORT, to_json(entries, {}), 0)
    page = CohortPage(workspace.flow)
    page.resize(1080, 768)
    page.show()
    figures = opening(page, page.heat, count, COHORT_MS) + scrolling(page, page.heat)
    page.closed()
    page.deleteLater()
    return figures


def main(count: int) -> int:
    """Measure, print, and report whether every figure is within its limit."""
    application = QApplication(sys.argv[:1])
    slowness()
    Theme(Scheme.LIGHT, 1.0).install()
    tasks = TaskOwner()
    with tempfile.TemporaryDirectory() as here, MainThreadCollector():
        workspace = open_workspace(Path(here), tasks, count)
        figures = subjects(workspace, count)
        figures += cohort(workspace, count)
        until(lambda: not tasks.busy)
        workspace.close()
        application.processEvents()
    print(f"{count} subjects")
    for name, value, bar in figures:
        print(f"  {name:40} {value:8.1f} ms  {judgement(value, bar)}")
    return 0 if all(within(value, bar) for _, value, bar in figures) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else SUBJECTS))
