"""Result and Compare: how soon they stand, and the longest stall of the window, with recordings of twenty minutes.

    QT_QPA_PLATFORM=offscreen .venv/bin/python tests/benchmarks/result_figures.py [MINUTES]

The service is out of reach: everything comes from this computer, as a result that has been read does.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parent))

import httpx
import numpy as np
from calibration import judgement, slowness, within
from outbox_page_figures import JOB, PROFILE, PULSE, TO_DONE, Beat, live, no_network, until, waited_s
from PySide6.QtWidgets import QApplication, QWidget

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.playback import SilentPlayer
from vbdesk.client import Client, RetryRule
from vbdesk.contract.jobs import Job
from vbdesk.desk.compare.page import ComparePage
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import TaskOwner
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.shell.gc_on_main_thread import MainThreadCollector
from vbdesk.desk.shell.workspace import Workspace, open_budget
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.library.items import TakeMetadata, write_result
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.network import ManualNetwork, NetworkState

MINUTES = 20
RATE = 48_000
PAINT_MS, STALL_MS, SOUND_MS = 100.0, 50.0, 5000.0
TIMES = 5
GIVE_WAY_S = 0.0005  # as the desk has it

Figure = tuple[str, float, float]


def recording(library: Library, minutes: int, days_ago: int) -> str:
    """One recording with a result; returns its take id."""
    job = Job.model_validate(json.loads(JOB.read_text()))
    second = (np.sin(np.arange(RATE) / 20) * 9000).astype(np.int16)
    path = library.recording_folder / f"{days_ago}.take"
    writer = EncryptedTakeWriter(path, library.store.key, RATE, {"device": "Studio Mic"})
    for _ in range(60 * minutes):
        writer.append(second)
    writer.close()
    take_id = library.add_take(path, TakeMetadata("ward4-0172", datetime.now(UTC) - timedelta(days=days_ago), PULSE))
    with library.store.changing():
        for state in TO_DONE:
            library.store.move(take_id, state)
        library.store.store_result(take_id, write_result(job.result), job.completed_at)
        library.store.update(take_id, {"job_id": f"job-{days_ago}"})
    return take_id


def open_workspace(folder: Path, tasks: TaskOwner) -> Workspace:
    """A workspace whose service is out of reach."""
    ports = DeskPorts(
        data_dir=folder,
        config_dir=folder / "config",
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
    library = LockedLibrary(PROFILE, ports.library_dir(PROFILE.profile_id), ports.keyring)
    return Workspace(PROFILE, library, open_budget(PROFILE, library), ProgramFlow(ProgramContext(ports), tasks))


def opening(
    name: str, page: QWidget, place: object, stands: Callable[[], bool], heard: Callable[[], bool], work: TaskOwner
) -> list[Figure]:
    """From asking for the page until it is painted, and until its sound can be played; the usual of several times."""
    painted, sounded, stalls, beat = [], [], [], Beat()
    for _ in range(TIMES):
        beat.start()
        asked = time.perf_counter() - waited_s()
        page.opened(place)
        until(stands)
        QApplication.processEvents()
        painted.append(1000 * (time.perf_counter() - waited_s() - asked))
        until(heard)
        until(lambda: not work.busy)
        live(0.3)
        sounded.append(1000 * (time.perf_counter() - waited_s() - asked))
        stalls.append(beat.stop())
        page.closed()
        until(lambda: not work.busy)
    return [
        (f"{name} painted, the first time", painted[0], 2 * PAINT_MS),
        (f"{name} painted", sorted(painted)[TIMES // 2], PAINT_MS),
        (f"{name} with its sound", sorted(sounded)[TIMES // 2] - 300, SOUND_MS),
        (f"{name} longest stall", max(stalls), STALL_MS),
    ]


def figures(workspace: Workspace, minutes: int) -> list[Figure]:
    """Both pages."""
    early, late = (recording(workspace.library, minutes, days) for days in (7, 1))
    page = ResultPage(workspace.flow)
    model = page.view_model
    compare = ComparePage(workspace.flow)
    found = []
    for shown in (page, compare):
        shown.resize(1080, 768)
        shown.show()
    found += opening(
        "Result",
        page,
        RecordingRoute(take_id=late),
        lambda: model.view is not None and model.view.reading is not None,
        page.player.button.isEnabled,
        workspace.tasks,
    )
    found += opening(
        "Compare",
        compare,
        ComparisonRoute(RecordingRoute(take_id=early), RecordingRoute(take_id=late)),
        lambda: compare.view_model.reading is not None and bool(compare.view_model.reading.signs),
        lambda: compare.left_card.button.isEnabled() and compare.right_card.button.isEnabled(),
        workspace.tasks,
    )
    for shown in (page, compare):
        shown.deleteLater()
    return found


def main(minutes: int) -> int:
    """Measure, print, and say whether every figure is within its bar."""
    application = QApplication(sys.argv[:1])
    slowness()
    sys.setswitchinterval(GIVE_WAY_S)
    Theme(Scheme.LIGHT, 1.0).install()
    tasks = TaskOwner()
    with tempfile.TemporaryDirectory() as here, MainThreadCollector():
        workspace = open_workspace(Path(here), tasks)
        found = figures(workspace, minutes)
        until(lambda: not tasks.busy)
        workspace.close()
        application.processEvents()
    print(f"recordings of {minutes} minutes at {RATE} Hz")
    for name, value, bar in found:
        print(f"  {name:36} {value:8.1f} ms  {judgement(value, bar)}")
    return 0 if all(within(value, bar) for _, value, bar in found) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else MINUTES))
