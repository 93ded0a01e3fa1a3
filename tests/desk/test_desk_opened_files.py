"""Transfer bundles that are double-clicked while vbdesk runs, as macOS reports them."""

import subprocess
import sys
from dataclasses import replace

import pytest

from patience import HANGS_S
from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.locking.service_keys import ServiceKeys
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.unlock.pages import RecoveryOfferPage, UnlockPage
from vbdesk.outbox.profiles import passphrase_wrap
from vbdesk.outbox.profiles.encrypted_vault import UnlockableVault

PASSPHRASE = "four calm otters swim"

PROGRAM = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication, QTimer
from PySide6.QtGui import QFileOpenEvent
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.shell.app import run
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.outbox.profiles.vault import MemoryVault

folder, bundle = Path(sys.argv[1]), sys.argv[2]
ports = DeskPorts(data_dir=folder, config_dir=folder, keyring=MemoryVault())
profile = Profile("p1", "Clinic", "service", "http://127.0.0.1:1", "acc-1", "session")
ports.session_vault.set(profile.api_key_name, "key")
ProfileStore(folder).save(profile)
timer = QTimer()

def begin(desk):
    def look():
        page = desk.window.page()
        if isinstance(page, OutboxPage) and page.take_in.isVisible():
            print(page.take_in.file.text(), flush=True)
            timer.stop()
            desk.window.close()
    timer.timeout.connect(look)
    timer.start(100)
    QCoreApplication.sendEvent(QCoreApplication.instance(), QFileOpenEvent(bundle))

sys.exit(run(ports, Scheme.LIGHT, begin=begin))
"""


def test_the_event_of_the_system_opens_the_bundle(tmp_path):
    bundle = tmp_path / "stick" / "monday.vbundle"
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "data"), str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANGS_S)
    assert (done.returncode, done.stdout) == (0, f"{bundle}\n"), done.stderr


@pytest.fixture
def computer(ports, monkeypatch):
    """A computer with a profile of a service elsewhere."""
    monkeypatch.setattr(passphrase_wrap, "PASSES", 1)
    monkeypatch.setattr(passphrase_wrap, "MEMORY_KIB", 64)
    Setup(ports).make_service(ServiceAddress("https://one.example", "acc-1", "right-key"), "keyring")
    return ports


def shows(qtbot, desk, kind):
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), kind))
    return desk.window.page()


def test_a_bundle_waits_for_the_first_start_and_the_recovery_key(qtbot, open_desk, ports, tmp_path):
    desk = open_desk(ports)
    page = shows(qtbot, desk, FirstStartPage)
    desk.open_file(str(tmp_path / "monday.vbundle"))
    assert desk.window.page() is page
    page.this_computer.click()
    shows(qtbot, desk, RecoveryOfferPage).done.click()
    assert shows(qtbot, desk, OutboxPage).take_in.file.text() == str(tmp_path / "monday.vbundle")


def test_a_bundle_waits_for_the_passphrase(qtbot, open_desk, computer, tmp_path):
    ServiceKeys(computer).turn_lock_on(PASSPHRASE)
    ServiceKeys(computer).recovery_was_offered()
    desk = open_desk(replace(computer, passphrase_vault=UnlockableVault()))
    page = shows(qtbot, desk, UnlockPage)
    desk.open_file(str(tmp_path / "monday.vbundle"))
    page.passphrase.setText(PASSPHRASE)
    page.go.click()
    assert shows(qtbot, desk, OutboxPage).take_in.file.text() == str(tmp_path / "monday.vbundle")

    qtbot.waitUntil(lambda: desk.lock.choice.passphrase_opens)
    desk.workspace.navigator.open("record")
    desk.lock.lock()
    desk.open_file(str(tmp_path / "tuesday.vbundle"))
    assert isinstance(desk.window.page(), RecordPage)
    cover = desk.window.centralWidget()
    cover.passphrase.setText(PASSPHRASE)
    with qtbot.waitSignal(desk.lock.released):
        cover.go.click()
    assert shows(qtbot, desk, OutboxPage).take_in.file.text() == str(tmp_path / "tuesday.vbundle")
