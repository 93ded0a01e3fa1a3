"""A result that has come is said in the window, and by the system without the name of a person."""

from pathlib import Path

import pytest

from vbdesk.contract.jobs import Job
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.shell.arrived_results import ArrivalsRead
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, write_result

ANSWER = Path(__file__).parent / "data" / "job_pulse_moderate.json"


def arrivals(desk):
    """What the desk has read of recordings on their way."""
    return desk.workspace.flow.reads.snapshot(ArrivalsRead()).value


@pytest.fixture
def desk(qtbot, open_desk, ports):
    """The window with an open profile that was read once."""
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    opened = open_desk(ports)
    qtbot.waitUntil(lambda: isinstance(opened.window.page(), RecordPage))
    qtbot.waitUntil(lambda: arrivals(opened) is not None)
    return opened


def under_way(desk, take_id, subject):
    """A recording that the service analyses."""
    library = desk.workspace.library
    with library.store.changing():
        now = desk.workspace.ports.clock.now()
        library.store.insert(
            take_id, TakeMetadata(subject, now, RecordingTarget("model", "pulse")), 21.0, imported=False
        )
        for state in ("waiting", "uploading", "submitted"):
            library.store.move(take_id, type(library.get(take_id).state)(state))


def finish(desk, take_id):
    library = desk.workspace.library
    result = Job.model_validate_json(ANSWER.read_bytes()).result
    with library.store.changing():
        library.store.move(take_id, type(library.get(take_id).state)("done"))
        library.store.store_result(take_id, write_result(result), desk.workspace.ports.clock.now())


def test_a_result_is_offered_and_opens(desk, qtbot, network):
    banner = desk.window.results.banner
    under_way(desk, "take-1", "ward4-0172")
    qtbot.waitUntil(lambda: "take-1" in arrivals(desk).moving)
    assert not banner.isVisible()
    finish(desk, "take-1")
    qtbot.waitUntil(banner.isVisible)
    assert "ward4-0172" in banner.text()
    banner.button.click()
    assert isinstance(desk.window.page(), ResultPage)
    assert not banner.isVisible()


def test_the_system_is_told_only_behind_other_windows_and_never_who(desk, qtbot, network, monkeypatch):
    monkeypatch.setattr(desk.window, "isActiveWindow", lambda: False)
    under_way(desk, "take-1", "ward4-0172")
    qtbot.waitUntil(lambda: "take-1" in arrivals(desk).moving)
    finish(desk, "take-1")
    qtbot.waitUntil(lambda: "1 result is ready" in network.asked)
    assert not [said for said in network.asked if "ward4" in said]
    monkeypatch.setattr(desk.window, "isActiveWindow", lambda: True)
    before = list(network.asked).count("2 results are ready")
    under_way(desk, "take-2", "ward4-0173")
    qtbot.waitUntil(lambda: "take-2" in arrivals(desk).moving)
    finish(desk, "take-2")
    banner = desk.window.results.banner
    qtbot.waitUntil(lambda: "2 results" in banner.text())
    assert list(network.asked).count("2 results are ready") == before
    banner.button.click()
    assert isinstance(desk.window.page(), OutboxPage)


def test_results_of_earlier_days_and_closed_notices_do_not_come_back(desk, qtbot):
    banner = desk.window.results.banner
    under_way(desk, "take-1", "ward4-0172")
    qtbot.waitUntil(lambda: "take-1" in arrivals(desk).moving)
    finish(desk, "take-1")
    qtbot.waitUntil(banner.isVisible)
    banner._close.click()
    with desk.workspace.library.store.changing():
        desk.workspace.library.store.update("take-1", {"audio_gone_at": "2026-11-01T00:00:00+00:00"})
    under_way(desk, "take-2", "ward4-0173")
    qtbot.waitUntil(lambda: "take-2" in arrivals(desk).moving)
    assert not banner.isVisible(), "a change of an old result is no news"


def test_nothing_is_said_while_a_person_is_recorded(desk, qtbot, monkeypatch):
    notice = desk.window.results
    monkeypatch.setattr(notice, "_is_recording", lambda: True)
    under_way(desk, "take-1", "ward4-0172")
    qtbot.waitUntil(lambda: "take-1" in arrivals(desk).moving)
    finish(desk, "take-1")
    qtbot.waitUntil(lambda: bool(notice._came))
    assert not notice.banner.isVisible()
    monkeypatch.setattr(notice, "_is_recording", lambda: False)
    desk.window.recording_changed.emit(False)
    assert notice.banner.isVisible()
    monkeypatch.setattr(notice, "_is_recording", lambda: True)
    desk.window.recording_changed.emit(True)
    assert not notice.banner.isVisible()
    assert desk.window.page().model.phase is RecordPhase.READY


def test_the_button_opens_what_the_message_names_after_one_of_two_results_was_opened(desk, qtbot):
    banner = desk.window.results.banner
    for take_id, subject in (("take-1", "ward4-0172"), ("take-2", "ward4-0173")):
        under_way(desk, take_id, subject)
        qtbot.waitUntil(lambda take_id=take_id: take_id in arrivals(desk).moving)
    for take_id in ("take-1", "take-2"):
        finish(desk, take_id)
    qtbot.waitUntil(lambda: "2 results" in banner.text())
    item = desk.workspace.library.get("take-1")
    route = RecordingRoute(item.take_id, item.job_id, item.group_id, item.recorded_at)
    desk.workspace.navigator.open("result", route)
    assert ("ward4-0173" in banner.text(), banner.button.text()) == (True, "Open result")
    banner.button.click()
    assert desk.window.page().view_model.view.group_id == "ward4-0173"
