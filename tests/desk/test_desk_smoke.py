"""The walk of `vbdesk desk --smoke`, where it fails; that it passes is what the soak of the installed program shows."""

from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.shell.smoke_test import SUBJECT, SmokeTest


def test_a_step_that_is_never_reached_fails_and_closes_the_window(qtbot, open_desk, ports):
    said = []
    desk = open_desk(ports)
    walk = SmokeTest(desk, timeout_s=0.5, say=said.append)
    with qtbot.waitSignal(desk.ended):
        pass
    assert not walk.passed
    assert said[-1].startswith("smoke: failed: ")


def test_the_walk_gets_as_far_as_there_is_sound(qtbot, open_desk, ports):
    said = []
    desk = open_desk(ports)
    walk = SmokeTest(desk, timeout_s=3600.0, say=said.append)
    qtbot.waitUntil(lambda: "smoke: ready" in said)
    page = desk.window.page()
    assert isinstance(page, RecordPage)
    assert page.model.setup.subject.group_id == SUBJECT
    assert said[:5] == [
        "smoke: window",
        "smoke: first-start",
        "smoke: recovery-key",
        "smoke: record-page",
        "smoke: microphone",
    ]
    assert not walk.passed


def test_an_error_ends_the_walk(qtbot, open_desk, ports, monkeypatch):
    def broken(walk, page):
        raise RuntimeError("a part is missing")

    monkeypatch.setattr(SmokeTest, "_recorded", broken)
    said = []
    desk = open_desk(ports)
    walk = SmokeTest(desk, timeout_s=3600.0, say=said.append)
    with qtbot.waitSignal(desk.ended):
        pass
    assert not walk.passed
    assert said[-1] == "smoke: failed: record-page: RuntimeError: a part is missing"
