"""What is visible of the Record page without scrolling, from the smallest supported window to a large one."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from vbdesk.capture.room_check import RoomFinding, RoomRating
from vbdesk.desk.record.view_model import RecordPhase, RoomCheck
from vbdesk.desk.shell.reading_language import show_in
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.language import ENGLISH, available_languages, formats, language_of, load_language
from vbdesk.outbox.imports.take_check import CheckRating, CheckRow, TakeCheck, check_take

SMALLEST = (896, 576)  # with the largest text, in a window of 1024x640
LONG_NAME = "clinic-north.cohort-2026.participant-000184"
SMALL, MIDDLE, LARGE = (960, 608), (1080, 768), (1720, 1048)  # a page in windows of 1024x640, 1280x800, 1920x1080


def wholly_visible(part: QWidget) -> bool:
    """Whether every pixel of a widget can be seen."""
    return part.isVisible() and part.visibleRegion().boundingRect() == part.rect()


def noisy() -> RoomCheck:
    """The longest finding of the room check."""
    return RoomCheck(
        False, RoomFinding(RoomRating.NOISY, -31.0, "Close doors and windows, turn fans off, or take another room.")
    )


@pytest.mark.parametrize("size", [SMALL, MIDDLE, LARGE])
@pytest.mark.parametrize("protocol", [0, 1])  # a text, and a text with a picture
def test_meter_and_room_check_are_visible_without_scrolling(open_page, size, protocol, qtbot):
    user = open_page(size=size)
    page, stage = user.page, user.page.ready.stage
    page.model.setup.choose_protocol(protocol)
    user.waits_for(lambda: page.model.setup.device is not None)
    page.model._set_room(noisy())
    page.repaint()
    qtbot.waitUntil(lambda: wholly_visible(stage.room))
    for part in (stage.meter, stage.room, stage.room.button, stage.record):
        assert wholly_visible(part)


@pytest.fixture
def show_language():
    """Show the page in a language until the test ends."""

    def show(name):
        load_language(name)
        show_in(language_of(name))
        formats.number(1.5, ".1f")  # reads the forms of the region, as the start of the desk does

    yield show
    show_in(ENGLISH)


@pytest.mark.parametrize("name", available_languages())
def test_the_subject_is_visible_in_the_smallest_window_with_the_largest_text(open_page, show_language, qtbot, name):
    """Lines of Arabic are half as high again as those of Latin letters."""
    Theme(Scheme.LIGHT, 2.0).install()
    show_language(name)
    user = open_page(size=SMALLEST)
    page, setup = user.page, user.page.ready.setup
    user.waits_for(lambda: page.model.setup.device is not None)
    qtbot.waitUntil(lambda: wholly_visible(setup.subject))
    for button in (page.ready.speaker, page.ready.import_files):
        assert wholly_visible(button)
        assert button.width() < 2 * button.height()  # its icon only
        assert button.toolTip() == button.text()
    page.resize(896, 1000)
    qtbot.waitUntil(lambda: page.ready.speaker.width() > 3 * page.ready.speaker.height())
    assert page.ready.speaker.toolTip() == ""


def show_prompt_alone(user):
    """Show the part of a narrow page without the fields."""
    user.page.activateWindow()
    user.page.ready.parts.option("stage").setChecked(True)
    user.waits_for(lambda: user.page.isActiveWindow() and not user.page.ready.setup.subject.isVisible())


def test_no_key_goes_into_a_field_that_is_not_shown(open_page, qtbot, qapp):
    Theme(Scheme.LIGHT, 2.0).install()
    user = open_page(size=SMALLEST)
    subject = user.page.ready.setup.subject
    user.waits_for(lambda: user.page.model.setup.device is not None)
    show_prompt_alone(user)
    subject.setFocus()
    assert not subject.hasFocus()
    user.page.opened(None)  # as at each visit of the page
    qtbot.waitUntil(lambda: wholly_visible(subject))
    assert subject.hasFocus()
    qtbot.keyClicks(qapp.focusWidget(), "ward4-0172")
    assert user.page.model.setup.subject.group_id == "ward4-0172"


def test_the_next_subject_is_entered_where_it_is_shown(open_page):
    Theme(Scheme.LIGHT, 2.0).install()
    user = open_page(size=SMALLEST)
    subject = user.page.ready.setup.subject
    user.enters_subject("ward4-0172")
    show_prompt_alone(user)
    user.records(16)
    user.stops()
    user.presses(Qt.Key.Key_Return)
    user.waits_for(lambda: subject.isVisible() and subject.hasFocus())
    assert subject.text() == ""


@pytest.mark.parametrize(("size", "scale"), [(SMALLEST, 2.0), (SMALL, 1.0), (MIDDLE, 1.0), (LARGE, 1.0)])
@pytest.mark.parametrize("part", ["setup", "stage"])
def test_start_says_for_whom(open_page, qtbot, size, scale, part):
    Theme(Scheme.LIGHT, scale).install()
    user = open_page(size=size)
    stage = user.page.ready.stage
    assert stage.title.text() == "Start recording"
    user.enters_subject("ward4-0172")
    user.page.ready.parts.option(part).setChecked(True)
    qtbot.waitUntil(lambda: wholly_visible(stage.title))
    assert stage.title.text() == "Start recording ward4-0172"
    assert stage.title.toolTip() == ""  # all of it can be read
    assert stage.record.accessibleDescription() == "ward4-0172"
    user.enters_subject(LONG_NAME)
    qtbot.settle()
    assert stage.title.text().endswith(LONG_NAME)


def test_the_room_check_moves_nothing(open_page, qtbot):
    user = open_page(size=SMALL)
    page, stage = user.page, user.page.ready.stage
    qtbot.waitUntil(lambda: page.model.room.listening or page.model.room.finding is not None)
    user.rests()
    page.model._set_room(RoomCheck())
    qtbot.settle()
    assert not stage.room.isVisible()
    before = [part.mapTo(page, part.rect().topLeft()) for part in (stage.meter, stage.language, stage.record)]
    page.model._set_room(noisy())
    qtbot.waitUntil(stage.room.isVisible)
    qtbot.settle()
    assert [part.mapTo(page, part.rect().topLeft()) for part in (stage.meter, stage.language, stage.record)] == before


def test_a_large_window_has_a_larger_prompt_and_no_wider_meter(open_page, qtbot):
    user = open_page(size=MIDDLE)
    stage = user.page.ready.stage
    user.waits_for(lambda: user.page.model.setup.device is not None)
    before = stage.prompt.font().pixelSize()
    user.page.resize(*LARGE)
    qtbot.waitUntil(lambda: stage.prompt.font().pixelSize() > before)
    assert stage.meter.width() <= 720


def test_the_waveform_is_visible_while_recording_in_a_small_window(open_page, qtbot):
    user = open_page(size=SMALL)
    user.enters_subject("ward4-0172")
    user.begins()
    user.speaks(2)
    live = user.page.live
    qtbot.waitUntil(lambda: wholly_visible(live.waveform))
    assert wholly_visible(live.prompt)
    assert user.page.model.phase is RecordPhase.RECORDING


def five_rows(audio) -> TakeCheck:
    """A check with all rows, each with the longest kind of sentence."""
    words = "The voice stands clear of the noise."
    rows = tuple(
        CheckRow(name, CheckRating.PASS, 60.0, unit, 50.0, None, "at least 50", words)
        for name, unit in (("Length", "s"), ("Speech", "%"), ("Clarity", ""), ("Clipping", "%"), ("Loudness", "dB"))
    )
    found = check_take(audio)
    return TakeCheck(rows, "good", "", (), audio.duration_s, None, found.waveform, {"clarity": 80.0})


def test_waveform_and_all_rows_of_the_check_are_visible_in_a_small_window(open_page, qtbot):
    user = open_page(five_rows, size=SMALL)
    user.enters_subject("ward4-0172")
    user.records(16)
    user.stops()
    check = user.page.check
    qtbot.waitUntil(lambda: all(wholly_visible(row) for row in check.rows))
    for part in (check.waveform, check.play, check.picture, check.send, check.title):
        assert wholly_visible(part)


def test_a_message_moves_nothing_on_the_record_page(open_page, qtbot):
    user = open_page(size=SMALL)
    page = user.page
    user.rests()
    parts = [page.ready.setup.subject, page.ready.stage.record, page.ready.import_files]
    before = [part.mapTo(page, part.rect().topLeft()) for part in parts]
    page._show_failure("The microphone was unplugged. Plug it in again. " * 4)
    assert page.banner.isVisible()
    qtbot.settle()
    assert [part.mapTo(page, part.rect().topLeft()) for part in parts] == before
