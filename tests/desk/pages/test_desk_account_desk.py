"""Preferences of the desk are applied immediately and saved."""

import json
import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence

from vbdesk.desk.preferences import Preferences, PreferenceStore
from vbdesk.desk.record.setup_model import RecordSetupViewModel
from vbdesk.desk.ui.theme import app_theme
from vbdesk.desk.ui.tokens import Scheme


def kept(ports) -> Preferences:
    return PreferenceStore(ports.config_dir).load()


def test_the_chosen_colours_last(account, ports, workspace, qtbot):
    account.desk.scheme.option("dark").click()
    assert app_theme().dark
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert kept(ports) == Preferences(scheme=Scheme.DARK)


def test_the_text_size_holds_at_once_and_lasts(account, ports, qtbot):
    box = account.desk.text_size
    box.setCurrentIndex(box.findData(150))
    box.activated.emit(box.currentIndex())
    assert app_theme().scale == 1.5
    qtbot.waitUntil(lambda: kept(ports).text_size == 150)
    assert kept(ports).text_scale == 1.5
    box.activated.emit(box.findData(None))
    qtbot.waitUntil(lambda: kept(ports).text_size is None)
    assert app_theme().text_size is None


def test_choices_made_quickly_are_all_kept(account, ports, workspace, qtbot):
    account.desk.scheme.option("dark").click()
    account.desk.text_size.activated.emit(account.desk.text_size.findData(125))
    account.desk.language.activated.emit(account.desk.language.findData("fr"))
    wanted = Preferences(Scheme.DARK, 125, "fr")
    qtbot.waitUntil(lambda: kept(ports) == wanted)
    qtbot.waitUntil(lambda: account.desk.language.currentText() == "French")
    assert account.desk.text_size.currentText() == "125%"


def test_a_chosen_language_and_pedal_reach_record_without_a_restart(account, ports, workspace, qtbot):
    setup = RecordSetupViewModel(workspace.flow)
    heard = []
    setup.pedal_known.connect(heard.append)
    setup.start()
    qtbot.waitUntil(lambda: heard == ["F9"])
    account.desk.language.activated.emit(account.desk.language.findData("es"))
    account.desk.pedal.setKeySequence(QKeySequence("PgDown"))
    account.desk.pedal.editingFinished.emit()
    qtbot.waitUntil(lambda: kept(ports).pedal_key == "PgDown")
    setup.start()
    qtbot.waitUntil(lambda: setup.language == "es")
    assert heard[-1] == "PgDown"
    setup.choose_language(setup.languages.index("de"))
    setup.start()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert setup.language == "de"
    stopping = threading.Thread(target=setup.stop_watching)  # it blocks
    stopping.start()
    qtbot.waitUntil(lambda: not stopping.is_alive())
    setup.deleteLater()


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Escape, Qt.Key.Key_Return])
def test_a_key_that_the_desk_needs_is_refused_for_the_pedal(account, ports, key):
    account.desk.pedal.setKeySequence(QKeySequence(key))
    account.desk.pedal.editingFinished.emit()
    assert "Choose another key." in account.desk.pedal_field.below_text()
    assert account.desk.pedal.keySequence() == QKeySequence("F9")
    assert kept(ports).pedal_key == "F9"


def test_a_pressed_pedal_is_taken_and_can_be_given_back(account, ports, qtbot):
    account.activateWindow()
    account.desk.pedal.setFocus()
    qtbot.keyClick(account.desk.pedal, Qt.Key.Key_F8)
    qtbot.waitUntil(lambda: kept(ports).pedal_key == "F8")
    qtbot.waitUntil(account.desk.pedal_back.isVisible)
    account.desk.pedal_back.click()
    qtbot.waitUntil(lambda: kept(ports).pedal_key == "F9")
    qtbot.waitUntil(lambda: account.desk.pedal.keySequence() == QKeySequence("F9"))


def test_the_tabulator_goes_through_the_choices_as_they_stand(account, qtbot):
    desk = account.desk
    account.activateWindow()
    desk.text_size.setFocus()
    passed = []
    for _ in range(4):
        qtbot.keyClick(account.focusWidget(), Qt.Key.Key_Tab)
        passed.append(account.focusWidget())
    assert passed == [desk.language, desk.pedal, desk.notice, desk.open_folder]


def test_the_folder_is_shown_and_can_be_opened(account, ports, network):
    account.desk.open_folder.click()
    assert network.asked[-1] == ports.data_dir.as_uri()


def test_a_choice_that_cannot_be_kept_is_said_and_holds_until_the_end(account, ports, qtbot):
    (ports.config_dir / "preferences.new").mkdir(parents=True)
    account.desk.scheme.option("dark").click()
    qtbot.waitUntil(account.banner.isVisible)
    assert app_theme().dark


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "null"])
def test_a_damaged_file_of_choices_gives_the_defaults(tmp_path, text):
    (tmp_path / "preferences.json").write_text(text)
    assert PreferenceStore(tmp_path).load() == Preferences()


def test_one_senseless_choice_does_not_undo_the_others(tmp_path):
    found = {"scheme": "purple", "text_size": 900, "language": "de", "pedal_key": "F7", "unknown": 1}
    (tmp_path / "preferences.json").write_text(json.dumps(found))
    assert PreferenceStore(tmp_path).load() == Preferences(language="de", pedal_key="F7")
