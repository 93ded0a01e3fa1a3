"""Layout that people noticed: room for names and actions, rows that line up, rings only for the keyboard."""

from dataclasses import replace
from pathlib import Path

import pytest
from cut_words import cut_words
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QDesktopServices, QFontMetricsF
from PySide6.QtWidgets import QLineEdit, QMainWindow, QPushButton, QVBoxLayout, QWidget

from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.result.sign_rows import SignRows, SignRowView
from vbdesk.desk.results.result_text import reading_of
from vbdesk.desk.shell.reading_language import show_in
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.ui.badges import LevelBadge
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.fields import TickBox
from vbdesk.desk.ui.focus_ring import FocusRing
from vbdesk.desk.ui.notice import NoticeAction, Tone
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.desk.ui.theme import Role, Scheme, Theme, app_theme
from vbdesk.language import Language, load_language
from vbdesk.outbox.library.states import OutboxState

LONG_NAME = "clinic-north.cohort-2026.participant-000184"


def test_at_200_percent_text_the_outbox_keeps_the_actions_of_rows_and_of_the_bar(shelf, open_outbox, qtbot):
    Theme(Scheme.LIGHT, 2.0).install()
    shelf.put("ward4-0155", OutboxState.WAITING)
    page = open_outbox(1)
    page.resize(1152, 736)  # of a window of 1280x800
    qtbot.settle()
    act = page.list.model().columnCount() - 1
    qtbot.waitUntil(lambda: page.list.visualRect(page.list.model().index(0, act)).width() > 0)
    assert not page.list.isColumnHidden(act)
    right = page.list.visualRect(page.list.model().index(0, act)).right()
    assert right <= page.list.viewport().width()
    name = page.list.visualRect(page.list.model().index(0, 0)).width() - app_theme().px(page.list.first_edge() + 8)
    assert name >= QFontMetricsF(app_theme().font(Role.LABEL_STRONG)).horizontalAdvance("ward4-0155")
    bar = page.bar
    assert page.rect().contains(bar.mapTo(page, bar.rect().bottomRight()))


def test_the_subject_column_of_the_cohort_stays_readable(shelf, workspace, qtbot, pulse_job):
    shelf.put(LONG_NAME, OutboxState.DONE, job=pulse_job)
    page = CohortPage(workspace.flow)
    qtbot.addWidget(page)
    page.resize(960, 608)
    page.show()
    page.opened(None)
    qtbot.waitUntil(lambda: page.heat.model().rowCount() == 1)
    assert page.heat.columnWidth(0) >= QFontMetricsF(app_theme().font(Role.LABEL_STRONG)).horizontalAdvance("x" * 14)
    assert page.heat.model().row(0).cells[0].name, "long names are cut in the middle: their end tells them apart"
    page.resize(1080, 736)  # of a window of 1280x800
    page.repaint()
    shown = page.triage.viewport().height() // page.triage.verticalHeader().defaultSectionSize()
    assert shown >= 4


@pytest.fixture
def german():
    load_language("de")
    show_in(Language("de", "de"))
    yield
    show_in(Language("en", "en_GB"))


def test_a_long_name_of_a_sign_takes_room_from_the_strip(german, qtbot, pulse_job):
    voice = replace(reading_of(pulse_job.result).voice, longitudinal=True)
    rows = SignRows(voice, "", "", researcher=False)
    qtbot.addWidget(rows)
    assert "Flüssigkeitsmangel" in {row.sign.label for row in rows.rows}
    rows.resize(628, 900)  # as in a window of 1280x800
    rows.show()
    qtbot.waitUntil(lambda: cut_words(rows) == [])
    assert len({row.strip.width() for row in rows.rows}) == 1, "one scale for all"
    assert rows.rows[0].strip.isVisible()
    rows.resize(610, 900)
    qtbot.waitUntil(lambda: not rows.rows[0].strip.isVisible())


def test_words_of_a_tick_break_into_lines(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    tick = TickBox("With the name and the second line", "They stay on this computer otherwise, as everything does.")
    column = QVBoxLayout(window)
    column.addWidget(tick)
    column.addStretch(1)
    window.resize(220, 300)
    window.show()
    qtbot.waitUntil(lambda: cut_words(window) == [])
    assert tick.height() >= 4 * app_theme().line_height(Role.CAPTION)


def test_level_badges_are_in_the_middle_of_their_rows(shelf, workspace, qtbot, pulse_job):
    take_id = shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    page = ResultPage(workspace.flow)
    qtbot.addWidget(page)
    page.resize(1080, 768)
    page.show()
    page.opened(RecordingRoute(take_id=take_id))
    qtbot.waitUntil(lambda: len(page.findChildren(SignRowView)) == 6)
    qtbot.settle()
    for row in page.findChildren(SignRowView):
        badge = row.findChild(LevelBadge)
        middle = badge.mapTo(row, QPoint(0, 0)).y() + badge.height() / 2
        assert middle == pytest.approx(row.height() / 2, abs=1.5)
    page.closed()


def test_the_account_page_has_sections_that_lead_to_their_cards(account, qtbot):
    account.resize(1000, 500)
    assert list(account._headings) == ["service", "recordings", "program", "profiles"]
    account.sections.option("program").click()
    heading, area = account._headings["program"], account._area
    qtbot.waitUntil(lambda: heading.mapTo(area, QPoint(0, 0)).y() == 0)
    area.verticalScrollBar().setValue(0)
    assert account.sections.choice() == "service"


def test_the_subject_page_leads_back_and_keeps_its_head_low(network, workspace, asked, trajectory_answer, qtbot):
    network.trajectories[LONG_NAME] = [trajectory_answer | {"group_id": LONG_NAME}]
    page = SubjectPage(workspace.flow)
    qtbot.addWidget(page)
    page.resize(960, 608)
    page.show()
    page.opened(LONG_NAME)
    qtbot.waitUntil(lambda: page.view_model.reading is not None and not page.charts.drawing)
    for words in (page.title, page.sentence):
        assert words.isVisible()
        assert words.height() < 2 * words.fontMetrics().height()
    assert page.title.text() == LONG_NAME
    page.subjects.click()
    assert asked[-1] == ("subjects", None)
    page.closed()


class Plain(QMainWindow):
    """A window with a button, a text field and a focus ring."""

    def __init__(self) -> None:
        super().__init__()
        inside = QWidget()
        column = QVBoxLayout(inside)
        self.first, self.second, self.field = QPushButton("one"), QPushButton("two"), QLineEdit()
        for part in (self.first, self.second, self.field):
            column.addWidget(part)
        self.setCentralWidget(inside)
        self.ring = FocusRing(self)


def test_the_focus_ring_is_for_the_keyboard_only(qtbot):
    window = Plain()
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.first.setFocus(Qt.FocusReason.TabFocusReason)
    assert window.ring.isVisible()
    qtbot.mouseClick(window.first, Qt.MouseButton.LeftButton)
    assert not window.ring.isVisible(), "a click on what has the focus"
    window.field.setFocus(Qt.FocusReason.OtherFocusReason)
    assert not window.ring.isVisible(), "the program moves the focus after a click"
    qtbot.keyClicks(window.field, "abc")
    assert not window.ring.isVisible(), "text is written"
    qtbot.keyClick(window.field, Qt.Key.Key_Tab)
    assert window.ring.isVisible()


def test_saved_files_can_be_opened_and_shown(qtbot, monkeypatch, tmp_path):
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    banner, other = Banner(), []
    qtbot.addWidget(banner)
    banner.say(Tone.WARN, "It is there already.", NoticeAction("Replace", lambda: other.append("acted")))
    banner.say_saved("Saved as table.csv.", tmp_path / "table.csv")
    assert (banner.button.text(), banner.other_button.text()) == ("Open", "Show in folder")
    banner.button.click()
    assert [Path(path) for path in opened] == [tmp_path / "table.csv"]
    assert not other, "the action of the message before is not meant"
    banner.other_button.click()  # no file manager answers here: the folder opens
    qtbot.waitUntil(lambda: len(opened) == 2)
    assert Path(opened[1]) == tmp_path
