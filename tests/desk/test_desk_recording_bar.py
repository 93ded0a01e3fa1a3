"""A recording that runs is seen on every page, in every size, and in the window's title; and ended from there."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.desk.ui.notice import Tone
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.library.subject_notes import SubjectNote

sys.path.append(str(Path(__file__).parent))

from cut_words import cut_words

LOOKS = [((1024, 640), 1.0), ((1024, 640), 2.0), ((1280, 800), 1.0), ((1280, 800), 2.0), ((1920, 1080), 1.0)]
SUBJECT = "ward4-0172"


@pytest.fixture
def bar(desk):
    return desk.window.recording_bar


@pytest.fixture
def record(desk, qtbot, microphone):
    """Record a subject with a birth year and a consent; returns the page, which is in front."""

    def begin(count_in_s=0) -> RecordPage:
        page = desk.window.page()
        desk.workspace.library.subject_notes.store(SUBJECT, SubjectNote(detail="1956"))
        page.model._count_in_s = count_in_s
        page.model.setup.set_subject(SUBJECT)
        qtbot.waitUntil(lambda: page.model.setup.device is not None)
        page.ready.setup.consent.tick.setChecked(True)
        page.model.press()
        qtbot.waitUntil(lambda: page.model.phase is not RecordPhase.COUNTING_IN or count_in_s > 0)
        if not count_in_s:
            microphone.play(7)
            qtbot.waitUntil(lambda: page.model._recorder.elapsed_s >= 6)
        return page

    return begin


def wholly_visible(part) -> bool:
    return part.isVisible() and part.visibleRegion().boundingRect() == part.rect()


@pytest.mark.parametrize(("size", "scale"), LOOKS)
def test_every_page_says_who_is_recorded_and_ends_it(desk, bar, record, qtbot, size, scale):
    Theme(Scheme.LIGHT, scale).install()
    desk.window.resize(*size)
    record()
    for key in desk.window.sidebar_pages[1:]:
        desk.window.open_page(key)
        facts = bar.facts
        parts = (facts.phase, facts.subject, facts.consent, facts.microphone, facts.level, bar.time, bar.stop)
        qtbot.waitUntil(lambda parts=parts: all(map(wholly_visible, (*parts, bar.show_page))))
        assert facts.phase.text == "Recording"
        assert facts.subject.text() == f"{SUBJECT} · 1956"
        assert (facts.consent.text(), facts.microphone.text()) == ("Consent: Clinical", "File microphone")
        assert bar.time.text() in ("0:06", "0:07")
        assert facts.level.accessibleDescription().startswith("Peak ")
        assert (bar.stop.text(), bar.show_page.text()) == ("Stop", "Show the recording")
        qtbot.waitUntil(lambda: not cut_words(bar))
        assert (desk.window.width(), desk.window.height()) == size


@pytest.mark.parametrize(("size", "scale"), LOOKS)
def test_record_says_it_once(desk, bar, record, qtbot, size, scale):
    Theme(Scheme.LIGHT, scale).install()
    desk.window.resize(*size)
    live = record().live
    facts = live.facts
    parts = (facts.phase, facts.subject, facts.consent, facts.microphone, facts.level, live.timer, live.stop)
    qtbot.waitUntil(lambda: all(map(wholly_visible, parts)))
    assert facts.subject.text() == f"{SUBJECT} · 1956"
    assert facts.consent.text() == "Consent: Clinical"
    assert not bar.isVisible()


@pytest.mark.parametrize(("size", "scale"), LOOKS)
def test_no_message_lies_on_it(desk, bar, record, qtbot, size, scale):
    Theme(Scheme.LIGHT, scale).install()
    desk.window.resize(*size)
    record()
    desk.window.open_page("subjects")
    notice = desk.window.notice
    notice.say(Tone.WARN, "The disk is almost full. Delete what you do not need any more. " * 2)
    qtbot.waitUntil(lambda: wholly_visible(bar) and wholly_visible(notice))
    qtbot.waitUntil(lambda: notice.geometry().bottom() < bar.mapTo(desk.window, bar.rect().topLeft()).y())


def test_the_title_says_that_a_recording_runs_and_nothing_of_the_person(desk, record, qtbot):
    window = desk.window
    assert window.windowTitle() == "vbdesk"
    page = record()
    assert window.windowTitle() == "Recording · vbdesk"
    page.model.pause()
    window.open_page("subjects")
    assert window.windowTitle() == "Paused · vbdesk"
    page.model.pause()
    page.model.stop()
    qtbot.waitUntil(lambda: page.model.phase is RecordPhase.ENDED)
    assert window.windowTitle() == "vbdesk"


def test_going_on_after_the_question_whether_to_quit_leaves_the_recording_in_sight(desk, bar, record):
    page = record()
    desk.window.open_page("subjects")
    desk.window.quit()
    desk.window.question.other_button.click()  # “Go on recording”
    assert page.is_recording()
    assert bar.isVisible()


def test_stop_on_another_page_ends_the_recording_and_shows_its_check(desk, bar, record, qtbot):
    page = record()
    desk.window.open_page("outbox")
    bar.stop.click()
    qtbot.waitUntil(lambda: page.review.source is not None)
    assert desk.window.page() is page
    assert not bar.isVisible()
    bar.stop.click()  # as a click that comes late
    assert page.model.phase is RecordPhase.ENDED


def test_the_recording_can_be_shown_from_another_page(desk, bar, record, qtbot):
    page = record()
    desk.window.open_page("subjects")
    qtbot.mouseClick(bar.show_page, Qt.MouseButton.LeftButton)
    assert desk.window.page() is page
    assert page.is_recording()


def test_a_countdown_is_called_off_from_another_page(desk, bar, record):
    page = record(count_in_s=3)
    desk.window.open_page("subjects")
    assert (bar.facts.phase.text, bar.stop.text()) == ("Get ready", "Cancel")
    bar.stop.click()
    assert page.model.phase is RecordPhase.READY
    bar.stop.click()  # as a click that comes late: it begins nothing
    assert page.model.phase is RecordPhase.READY


def test_a_recording_that_ends_by_itself_takes_the_bar_away(desk, bar, record, qtbot, microphone):
    page = record()
    desk.window.open_page("subjects")
    microphone.unplug()
    qtbot.waitUntil(lambda: page.model.phase is RecordPhase.ENDED)
    assert not bar.isVisible()
    assert desk.window.windowTitle() == "vbdesk"
