"""Fixtures of all desk tests: theme, guard of the GUI thread, checks for leaks."""

import errno
import functools
import gc
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile as sf
import soxr
from PySide6.QtCore import QEvent, QTimer
from PySide6.QtPrintSupport import QPrinter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from patience import seconds_left, until
from vbdesk.capture.microphone import FileMicrophone, MicrophoneError
from vbdesk.capture.playback import SilentPlayer
from vbdesk.client import Client, RetryRule
from vbdesk.client.local_service import Credentials, Endpoint, LocalEncryption
from vbdesk.clock import SystemClock
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import TaskOwner
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.shell.app import Desk
from vbdesk.desk.shell.shipped_files import load_shipped_files
from vbdesk.desk.shell.workspace import Workspace, open_budget, open_library
from vbdesk.desk.system_printer import PrintJob
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.language import formats
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.network import ManualNetwork

sys.path.append(str(Path(__file__).parent))

from gui_guard import GuiGuard

GUARD = GuiGuard()


def pytest_collection_modifyitems(items):
    """Ignore the offscreen plugin's warnings about what it cannot do, such as raising a window."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.qt_log_ignore("This plugin does not support"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a test in which the desk blocks the GUI thread."""
    with failing_if_blocked():
        return (yield)


@contextmanager
def failing_if_blocked():
    """Fail the test if the desk blocks the GUI thread in the block."""
    GUARD.arm()
    try:
        yield GUARD
    finally:
        found = GUARD.disarm()
        if found:
            pytest.fail("The desk made calls on the GUI thread that may block:\n\n" + "\n".join(found), pytrace=False)


@pytest.fixture
def gui_guard():
    """The armed guard, and the context manager that fails a test."""
    return GUARD, failing_if_blocked


class PatientBot(QtBot):
    """Waits for conditions and signals as long as a busy machine needs."""

    def waitUntil(self, callback):
        super().waitUntil(callback, timeout=round(1000 * seconds_left()))

    def waitSignal(self, signal, **options):
        return super().waitSignal(signal, **{"timeout": round(1000 * seconds_left())} | options)

    def waitSignals(self, signals, **options):
        return super().waitSignals(signals, timeout=round(1000 * seconds_left()), **options)

    def waitExposed(self, widget):
        return super().waitExposed(widget, timeout=round(1000 * seconds_left()))

    def waitActive(self, widget):
        return super().waitActive(widget, timeout=round(1000 * seconds_left()))

    def settle(self):
        """Deliver what is posted, and what that posts: layouts follow their contents."""
        for _ in range(3):
            QApplication.sendPostedEvents()
            QApplication.processEvents()


@pytest.fixture
def qtbot(qapp, request):
    return PatientBot(request)


@pytest.fixture(autouse=True, scope="module")
def earlier_modules_stay():
    """What earlier tests left for good is not looked through again: tests of pages collect garbage after each test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def look(qapp):
    """Light colours at 100 % text; and after the test, no thread and no running timer."""
    before = set(threading.enumerate())
    Theme(Scheme.LIGHT, 1.0).install()
    load_shipped_files()
    formats.load()
    yield

    def threads():
        qapp.processEvents()
        return [thread.name for thread in set(threading.enumerate()) - before]

    until(lambda: not threads(), lambda: f"these threads to end: {threads()}")
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    timers = [timer for top in QApplication.topLevelWidgets() for timer in top.findChildren(QTimer)]
    assert not [timer for timer in timers if timer.isActive()]


@functools.cache
def at_48_khz(sound_file: Path) -> np.ndarray:
    samples, rate = sf.read(sound_file, dtype="float32")
    return (np.clip(soxr.resample(samples, rate, 48000), -1, 1) * 32767).astype(np.int16)


@pytest.fixture
def speech(speech_file: Path) -> np.ndarray:
    """Twenty seconds of speech at 48 kHz, int16."""
    return at_48_khz(speech_file).copy()


class MicrophoneTwin(FileMicrophone):
    """A microphone that hears speech on request; another program may hold it."""

    taken = False

    def open(self, device, sink, on_end):
        if self.taken:
            raise MicrophoneError("The microphone cannot be opened. Nothing was recorded; check that it is free.")
        return super().open(device, sink, on_end)

    def rewind(self):
        """Speak from the beginning again."""
        self._position = 0


@pytest.fixture
def microphone(speech) -> MicrophoneTwin:
    return MicrophoneTwin(speech, 48000)


@dataclass
class ServiceTwin:
    """A local service that starts at once, and can be made to end."""

    exit_status: int | None = None
    starts: int = 0
    stopped: bool = False
    state: LocalEncryption = LocalEncryption.COMPLETE

    def encryption(self) -> LocalEncryption:
        return self.state

    def start(self, timeout_s: float = 60.0) -> Endpoint:
        self.starts += 1
        self.exit_status = None
        return Endpoint(f"http://127.0.0.1:{9000 + self.starts}", "http://127.0.0.1:1", 1)

    def poll(self) -> int | None:
        return self.exit_status

    def stop(self, timeout_s: float = 10.0) -> None:
        self.stopped = True


@dataclass
class Network:
    """A network with a service that knows one key; can be cut."""

    api_key: str = "right-key"
    up: bool = True
    asked: list[str] = field(default_factory=list)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        if not self.up:
            raise httpx.ConnectError("cut", request=request) from OSError(errno.ENETUNREACH, "no way")
        if request.headers["X-API-Key"] != self.api_key:
            body = {"code": "UNAUTHORIZED", "message": "Unknown key.", "status": 401}
            return httpx.Response(401, json=body)
        return httpx.Response(200, json={"credits": 412})

    def connect(self, base_url, credentials, budget=None) -> Client:
        transport = httpx.MockTransport(self.answer)
        return Client(base_url, credentials, retries=RetryRule.NEVER, budget=budget, transport=transport)


@pytest.fixture
def network() -> Network:
    return Network()


@pytest.fixture
def local_service() -> ServiceTwin:
    return ServiceTwin()


@pytest.fixture
def system_network() -> ManualNetwork:
    """The operating system's network state."""
    return ManualNetwork()


@dataclass
class PrintersTwin:
    """A printer whose paper is `file`, a PDF; none while `there` is False."""

    file: Path
    there: bool = True
    jobs: list[PrintJob] = field(default_factory=list)

    def job(self) -> PrintJob | None:
        if not self.there:
            return None
        job = PrintJob()
        job.device.setOutputFormat(QPrinter.OutputFormat.PdfFormat)
        job.device.setOutputFileName(str(self.file))
        self.jobs.append(job)
        return job


@pytest.fixture
def printers(tmp_path) -> PrintersTwin:
    return PrintersTwin(tmp_path / "paper.pdf")


@pytest.fixture
def ports(tmp_path, microphone, network, local_service, system_network, printers) -> DeskPorts:
    """The ports, all in-memory."""
    return DeskPorts(
        data_dir=tmp_path / "data",
        config_dir=tmp_path / "config",
        clock=SystemClock(),
        microphone=microphone,
        lister=microphone,
        player=SilentPlayer,
        keyring=MemoryVault(),
        local_service=lambda folder, key: local_service,
        make_account=lambda folder, name: Credentials("acc-local", network.api_key),
        connect=network.connect,
        network=lambda: system_network,
        open_page=network.asked.append,
        notify=network.asked.append,
        printers=printers,
    )


@pytest.fixture
def tasks(qtbot):
    """The owner of all tasks; everything is stopped at the end."""
    owner = TaskOwner()
    yield owner
    with qtbot.waitSignal(owner.all_ended):
        owner.close()
    owner.deleteLater()


@pytest.fixture
def program(ports, tasks):
    """What is read and done without an open profile."""
    return ProgramFlow(ProgramContext(ports), tasks)


@pytest.fixture
def profile() -> Profile:
    return Profile("p1", "St. Anne clinic", "service", "https://voice.example", "acc-1")


@pytest.fixture
def workspace(ports, profile, tasks, program, qtbot):
    """An open profile with an empty library; its sync worker does not run."""
    ports.keyring.set(profile.api_key_name, "right-key")
    library = open_library(profile, ports)
    opened = Workspace(profile, library, open_budget(profile, library), program)
    yield opened
    qtbot.waitUntil(lambda: not tasks.busy)
    opened.close()
    opened.deleteLater()


@pytest.fixture
def open_desk(qtbot):
    """Open the whole window; closed and deleted at the end."""
    opened = []

    def make(ports, **options):
        desk = Desk(ports, **options)
        opened.append(desk)
        desk.start()
        return desk

    yield make
    for desk in opened:
        if not desk.window.isVisible():
            continue
        with qtbot.waitSignal(desk.ended):
            desk.window.close()
    for desk in opened:
        desk.window.deleteLater()
        desk.deleteLater()


@pytest.fixture
def desk(qtbot, open_desk, ports):
    """The window with an open profile."""
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    opened = open_desk(ports)
    qtbot.waitUntil(lambda: isinstance(opened.window.page(), RecordPage))
    return opened
