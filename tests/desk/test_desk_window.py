"""The whole window with in-memory ports: first start, pages, profiles, closing."""

import threading

import pytest

from patience import HANGS_S
from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.shell import profile_opening, window_status
from vbdesk.desk.shell.local_service import LocalServiceProcess
from vbdesk.desk.shell.workspace import open_library
from vbdesk.desk.ui.theme import app_theme
from vbdesk.desk.unlock.pages import RecoveryOfferPage
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.sync.connectivity import ConnectivityState, SyncStatus


def shows(qtbot, desk, kind):
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), kind))
    return desk.window.page()


def test_the_first_start_leads_to_the_record_page(qtbot, open_desk, ports, local_service):
    desk = open_desk(ports)
    page = shows(qtbot, desk, FirstStartPage)
    assert not desk.window.sidebar.isVisible()
    page.this_computer.click()
    shows(qtbot, desk, RecoveryOfferPage).done.click()
    shows(qtbot, desk, RecordPage)
    assert desk.window.sidebar.isVisible()
    assert "This computer" in desk.window.status.text()
    qtbot.waitUntil(lambda: "Connected" in desk.window.status.text())
    assert local_service.starts == 1


def test_the_profile_in_use_opens_by_itself(qtbot, open_desk, ports):
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    shows(qtbot, desk, RecordPage)
    qtbot.waitUntil(lambda: "412 credits" in desk.window.status.text())
    assert "voice.example" in desk.window.status.text()


def test_a_window_that_closes_while_a_library_is_opened_closes_the_library(qtbot, open_desk, ports, monkeypatch):
    profile = Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    begun, closing = threading.Event(), threading.Event()

    def slow(profile, ports):
        begun.set()
        assert closing.wait(HANGS_S)
        return open_library(profile, ports)

    monkeypatch.setattr(profile_opening, "open_library", slow)
    desk = open_desk(ports)
    qtbot.waitUntil(begun.is_set)
    with qtbot.waitSignal(desk.ended):
        desk.window.close()
        closing.set()
    open_library(profile, ports).close()  # nobody holds it any more


def test_profiles_never_mix(qtbot, open_desk, ports):
    setup = Setup(ports)
    first = setup.make_service(ServiceAddress("https://one.example", "acc-1", "right-key"), "keyring")
    second = setup.make_service(ServiceAddress("https://two.example", "acc-2", "right-key"), "keyring")
    desk = open_desk(ports)
    shows(qtbot, desk, RecordPage)
    assert desk.workspace.profile == second
    desk.workspace.navigator.open("profile", first.profile_id)
    qtbot.waitUntil(lambda: desk.workspace is not None and desk.workspace.profile == first)
    assert ports.library_dir(first.profile_id) != ports.library_dir(second.profile_id)
    assert ports.keyring.get(first.library_key_name) != ports.keyring.get(second.library_key_name)


def test_a_profile_can_be_named_at_the_start(qtbot, open_desk, ports):
    setup = Setup(ports)
    first = setup.make_service(ServiceAddress("https://one.example", "acc-1", "right-key"), "keyring")
    setup.make_service(ServiceAddress("https://two.example", "acc-2", "right-key"), "keyring")
    desk = open_desk(ports, profile_name="one.example")
    qtbot.waitUntil(lambda: desk.workspace is not None)
    assert desk.workspace.profile.profile_id == first.profile_id


def test_without_a_network_the_desk_says_so_and_works_on(qtbot, open_desk, ports, network):
    network.up = False
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    page = shows(qtbot, desk, RecordPage)
    qtbot.waitUntil(lambda: "No network, recordings wait here" in desk.window.status.text())
    page.ready.setup.subject.setText("ward4-0172")
    qtbot.waitUntil(page.ready.stage.record.isEnabled)


def test_damaged_profiles_are_explained_and_left_alone(qtbot, open_desk, ports):
    ports.config_dir.mkdir(parents=True)
    damaged = ports.config_dir / "profiles.json"
    damaged.write_text("{")
    desk = open_desk(ports)
    qtbot.waitUntil(desk.window.notice.isVisible)
    assert "damaged" in desk.window.notice.text()
    assert damaged.read_text() == "{"


def test_closing_stops_the_local_service(qtbot, open_desk, ports, local_service):
    desk = open_desk(ports)
    shows(qtbot, desk, FirstStartPage).this_computer.click()
    shows(qtbot, desk, RecoveryOfferPage).done.click()
    shows(qtbot, desk, RecordPage)
    qtbot.waitUntil(lambda: local_service.starts == 1)
    with qtbot.waitSignal(desk.ended):
        desk.window.close()
    assert not desk.program.tasks.busy, "it waited until all had ended, and nothing was given up"
    assert local_service.stopped


def test_a_narrow_window_keeps_icons_with_tooltips(qtbot, open_desk, ports):
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    shows(qtbot, desk, RecordPage)
    desk.window.resize(1024, 640)
    qtbot.waitUntil(lambda: desk.window.sidebar.width() == 64)
    assert desk.window.sidebar.entry("record").toolTip() == "Record"


def test_a_local_service_that_ends_is_started_again(qtbot, program, local_service):
    keeper = LocalServiceProcess(local_service, program)
    with qtbot.waitSignal(keeper.ready) as first:
        keeper.start()
    local_service.exit_status = 1
    with qtbot.waitSignal(keeper.ready) as second:
        pass
    assert first.args != second.args
    keeper.ask_to_stop()
    qtbot.waitUntil(lambda: not keeper.alive())
    assert local_service.stopped


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (SyncStatus(True, "Connected.", None, 3), "Connected"),
        (SyncStatus(False, "No answer.", None, None), "Not connected, recordings wait here"),
        (SyncStatus(True, "", Fix.ADD_CREDITS, 0), "Out of credits"),
        (SyncStatus(False, "", None, None, ConnectivityState.PORTAL), "The network asks for a login"),
        (SyncStatus(False, "", None, None, ConnectivityState.SERVICE_DOWN), "The service is down"),
        (SyncStatus(False, "", None, None, ConnectivityState.CLOCK), "No secure connection: check the clock"),
        (SyncStatus(None, "Starting the service on this computer", None, None), "Starting the service"),
    ],
)
def test_the_connection_is_told_in_words(status, words):
    assert window_status.connection(status).text.startswith(words)


def test_counts_are_told_in_words():
    words = ["", "1 recording on its way", "4 recordings on their way"]
    assert [window_status.moving_text(count) for count in (0, 1, 4)] == words
    waiting = ["", "1 recording waits", "4 recordings wait"]
    assert [window_status.moving_text(count, stopped=True) for count in (0, 1, 4)] == waiting


def test_every_way_in_which_a_service_is_out_of_reach_has_its_words():
    cut = [
        reach for reach in ConnectivityState if reach not in (ConnectivityState.UNKNOWN, ConnectivityState.CONNECTED)
    ]
    words = {window_status.connection(SyncStatus(False, "", None, None, reach)).text for reach in cut}
    assert len(words) == len(cut)


def test_pressing_an_entry_of_the_rail_opens_its_page(qtbot, open_desk, ports):
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    shows(qtbot, desk, RecordPage)
    desk.window.sidebar.entry("outbox").click()
    assert not isinstance(desk.window.page(), RecordPage)
    desk.window.sidebar.entry("record").click()
    assert isinstance(desk.window.page(), RecordPage)


def test_another_text_size_builds_pages_anew_and_leaves_the_open_one_and_record(qtbot, open_desk, ports):
    setup = Setup(ports)
    setup.make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: desk.workspace is not None)
    pages = {}
    for key in ("record", "subjects", "account"):
        desk.window.open_page(key)
        pages[key] = desk.window.page()
    app_theme().set_text_size(1.5)
    assert desk.window.page() is pages["account"]
    desk.window.open_page("subjects")
    assert desk.window.page() is not pages["subjects"]
    desk.window.open_page("record")
    assert desk.window.page() is pages["record"]
