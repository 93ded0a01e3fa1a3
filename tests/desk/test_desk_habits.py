"""Keys, help, quitting, and the place of the window."""

import json

import pytest
from PySide6.QtCore import QRect, Qt, QUrl
from PySide6.QtGui import QShortcut
from PySide6.QtWidgets import QAbstractButton

from vbdesk import __version__
from vbdesk.desk.account.page import AccountPage
from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.help.reads import read_about
from vbdesk.desk.help.window import ABOUT, SHORTCUTS
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.preferences import Preferences, PreferenceStore
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.desk.shell.window_place import place_in_view
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.desk.ui.shortcuts import _KEYS, Shortcut, key_of, sequence, shortcut_groups
from vbdesk.language import Language, reading_in

SCREEN, SECOND = QRect(0, 0, 1920, 1040), QRect(1920, 0, 1280, 1000)


def press(desk, name):
    """Press a shortcut of the window."""
    keys = [key for key in desk.window.findChildren(QShortcut) if key.key() == sequence(name) and key.isEnabled()]
    assert len(keys) == 1, f"{name} has one meaning"
    keys[0].activated.emit()


def test_the_keys_lead_to_the_pages(desk):
    kinds = (RecordPage, SubjectsPage, OutboxPage, CohortPage, AccountPage)
    for number, kind in enumerate(kinds, 1):
        press(desk, f"page-{number}")
        assert isinstance(desk.window.page(), kind)
    press(desk, "page-1")
    press(desk, "account")
    assert isinstance(desk.window.page(), AccountPage)


def test_find_goes_to_the_search_of_the_page_or_of_the_subjects(desk, qtbot):
    press(desk, "page-4")
    press(desk, "find")
    assert isinstance(desk.window.page(), CohortPage)
    assert desk.window.focusWidget() is desk.window.page().search
    press(desk, "page-1")
    press(desk, "find")
    assert isinstance(desk.window.page(), SubjectsPage)
    assert desk.window.focusWidget() is desk.window.page().search


def test_quitting_asks_while_a_recording_runs(desk, qtbot, microphone):
    page = desk.window.page()
    page.model._count_in_s = 0
    page.model.setup.set_subject("ward4-0172")
    qtbot.waitUntil(lambda: page.model.setup.device is not None)
    page.ready.setup.consent.tick.setChecked(True)
    page.model.press()
    qtbot.waitUntil(lambda: page.model.phase is RecordPhase.RECORDING)
    press(desk, "quit")
    assert desk.window.question.isVisible()
    assert desk.window.isVisible()
    desk.window.question.other_button.click()
    assert page.model.phase is RecordPhase.RECORDING
    assert not desk.window.question.isVisible()
    microphone.play(2)
    press(desk, "quit")
    with qtbot.waitSignal(desk.ended):
        desk.window.question.button.click()


def test_quitting_asks_nothing_otherwise(desk, qtbot):
    with qtbot.waitSignal(desk.ended):
        press(desk, "quit")


def test_help_opens_without_a_profile_and_without_a_network(qtbot, open_desk, ports, network):
    network.up = False
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), FirstStartPage))
    press(desk, "help")
    window = desk._help
    qtbot.waitUntil(lambda: window.chapters.count() > 5)
    assert window.isVisible()
    assert "never diagnoses" in window.text.toPlainText()

    window._on_link(QUrl("record.md"))
    assert window.text.toPlainText().startswith("Record")
    window.show_part(ABOUT)
    qtbot.waitUntil(lambda: "Apache License" in window.licences.toPlainText())
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isVisible()


def test_about_tells_versions_and_licences():
    about = read_about()
    assert about.version == __version__
    names = {component.name.lower() for component in about.libraries}
    assert {"pyside6_essentials", "numpy", "cryptography"} <= {name.replace("-", "_") for name in names}
    assert "pytest" not in names, "what only tests need is not part of the program"
    missing = [component.name for component in about.libraries if not component.licence]
    assert len(missing) <= len(about.libraries) // 10, missing
    assert {"signs", "norms", "metrics", "model dtln", "model ge2e"} <= {component.name for component in about.data}
    assert all(component.version for component in about.data)


def test_the_list_of_shortcuts_is_the_table_that_defines_them(desk, qtbot):
    listed = [shortcut.name for group in shortcut_groups() for shortcut in group.shortcuts]
    assert sorted(listed) == sorted(_KEYS)
    assert len(listed) == len(set(listed))
    desk.open_help()
    desk._help.show_part(SHORTCUTS)
    assert all(shortcut.text and shortcut.keys for group in shortcut_groups() for shortcut in group.shortcuts)


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["Ctrl+P", "Ctrl+,", "Ctrl+Enter", "Space", "Esc", "Del", "Ctrl+←", "+", "-"]),
        ("de", ["Strg+P", "Strg+,", "Strg+Eingabetaste", "Leertaste", "Esc", "Entf", "Strg+←", "+", "-"]),
        ("fr", ["Ctrl+P", "Ctrl+,", "Ctrl+Entrée", "Espace", "Échap", "Suppr", "Ctrl+←", "+", "-"]),
        ("es", ["Ctrl+P", "Ctrl+,", "Ctrl+Intro", "Espacio", "Esc", "Supr", "Ctrl+←", "+", "-"]),
    ],
)
def test_keys_are_named_as_keyboards_of_the_language_are_labelled(monkeypatch, language, expected):
    monkeypatch.setattr("sys.platform", "linux")
    named = ("print", "account", "list-act", "record", "cancel", "list-delete", "chart-unusual", "zoom-in", "zoom-out")
    with reading_in(Language(language, language)):
        assert [Shortcut(name, "").keys for name in named] == expected


@pytest.mark.parametrize("name", ["record", "pause", "mark", "next-task", "speaker", "cancel"])
def test_the_page_obeys_the_keys_of_the_table_while_recording(desk, name):
    page = desk.window.page()
    page._views.setCurrentWidget(page.live)
    assert page._action_of(key_of(name)) is not None


def test_the_window_comes_back_where_it_was(qtbot, open_desk, ports):
    desk = open_desk(ports, chosen=Preferences(window=(30, 40, 860, 590)))
    qtbot.waitUntil(lambda: desk.window.page() is not None)
    assert (desk.window.width(), desk.window.height()) == (860, 590)
    desk.window.resize(880, 580)
    with qtbot.waitSignal(desk.ended):
        desk.window.close()
    kept = PreferenceStore(ports.config_dir).load()
    assert kept.window is not None
    assert kept.window[2:] == (880, 580)
    assert not kept.maximized


@pytest.mark.parametrize(
    ("wanted", "screens", "expected"),
    [
        (QRect(100, 100, 1280, 800), [SCREEN], QRect(100, 100, 1280, 800)),
        (QRect(2000, 100, 900, 700), [SCREEN, SECOND], QRect(2000, 100, 900, 700)),
        (QRect(2000, 100, 900, 700), [SCREEN], QRect(510, 170, 900, 700)),
        (QRect(-5000, -5000, 900, 700), [SCREEN], QRect(510, 170, 900, 700)),
        (QRect(100, -300, 900, 700), [SCREEN], QRect(510, 170, 900, 700)),
        (QRect(0, 0, 4000, 3000), [SCREEN], QRect(0, 0, 1920, 1040)),
        (QRect(3000, 0, 4000, 3000), [SCREEN], QRect(0, 0, 1920, 1040)),
    ],
)
def test_a_window_whose_screen_has_gone_is_moved_into_view(wanted, screens, expected):
    assert place_in_view(wanted, screens) == expected


@pytest.mark.parametrize("damaged", [[1, 2, 3], [0, 0, -5, 10], "wide", {"x": 1}, [0, 0, 0, 0]])
def test_a_damaged_place_is_ignored(tmp_path, damaged):
    (tmp_path / "preferences.json").write_text(json.dumps({"window": damaged, "text_size": 110}))
    read = PreferenceStore(tmp_path).load()
    assert read.window is None
    assert read.text_size == 110


def test_the_menu_of_profiles_offers_the_help(desk):
    assert "Help" in [action.text() for action in desk.window._menu.actions()]
    assert isinstance(desk.window.sidebar.profile, QAbstractButton)
