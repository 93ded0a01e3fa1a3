"""Files, folders and lists that are dropped on the Record page."""

import csv
import threading

import httpx
import numpy as np
import pytest
import soundfile as sf
from PySide6.QtCore import QItemSelectionModel, QPoint, QRect, Qt
from PySide6.QtWidgets import QLineEdit

from patience import HANGS_S
from vbdesk.contract.catalog import Sign
from vbdesk.contract.groups import group_id_fault
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.record import import_commands
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.desk.ui.notice import Tone, close_action
from vbdesk.desk.ui.routes import FilesRoute
from vbdesk.outbox.imports.import_row import FileFacts
from vbdesk.outbox.library.states import OutboxState

ROWS = QItemSelectionModel.SelectionFlag.Rows
SUBJECT, RECORDED, PROTOCOL, TAGS, FATE = 1, 2, 3, 4, 5


@pytest.fixture
def folder(tmp_path, speech):
    """Two valid recordings, one too short, and one invalid file."""
    made = tmp_path / "visit"
    made.mkdir()
    for name, seconds in (("monday", 20), ("tuesday", 18), ("too-short", 4)):
        sf.write(made / f"{name}.wav", np.roll(speech, seconds)[: seconds * 48_000], 48_000)
    (made / "broken.wav").write_bytes(b"nothing")
    return made


def drops(user, *paths):
    user.page.opened(FilesRoute(paths))


def fates(user):
    table = user.page.imports.table
    return {table.cell(place, 0).first: table.cell(place, FATE).text for place in range(table.rowCount())}


def test_a_folder_is_shown_row_by_row_before_anything_is_taken_in(user, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    user.enters_subject("ward4-0172")
    drops(user, folder)
    user.waits_for(lambda: user.page.imports.preview is not None)
    assert "4 s long" in fates(user)["too-short.wav"]
    assert "not a sound file" in fates(user)["broken.wav"]
    assert fates(user)["monday.wav"].startswith("Ready.")
    assert user.page.importing.send.text() == "Import 2 and send"
    assert user.outbox() == []
    user.page.importing.send.click()
    user.waits_for_words("Imported: 2. Not imported: 2; each row says why, and can be edited.")
    assert fates(user)["monday.wav"] == "Imported."
    assert [item.state for item in user.outbox()] == [OutboxState.WAITING] * 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    user.page.banner.button.click()
    user.waits_for(lambda: user.page.model.phase is RecordPhase.READY)


def test_a_file_that_was_exchanged_after_the_preview_is_not_taken_in(user, folder):
    user.enters_subject("ward4-0172")
    drops(user, folder)
    user.waits_for(lambda: user.page.imports.preview is not None)
    (folder / "tuesday.wav").replace(folder / "monday.wav")
    user.page.importing.send.click()
    user.waits_for_words("Imported: 0. Not imported: 4;")
    assert "has changed since it was read" in fates(user)["monday.wav"]
    assert user.outbox() == []


def test_a_list_names_its_own_subjects(user, folder):
    listing = folder / "visit.csv"
    with listing.open("w", newline="") as file:
        csv.writer(file).writerows(
            [
                ("path", "group_id", "recorded_at", "model"),
                ("monday.wav", "a-1", "2026-03-01T09:30:00Z", ""),
                ("tuesday.wav", "--", "2026-03-02T09:30:00Z", ""),
                ("nowhere.wav", "c-3", "", ""),
            ]
        )
    drops(user, listing)
    user.waits_for(lambda: user.page.imports.preview is not None)
    assert "no file nowhere.wav" in fates(user)["nowhere.wav"]
    user.page.importing.keep.click()
    user.waits_for_words("Imported: 1. Not imported: 2;")
    (item,) = user.outbox()
    assert (item.group_id, item.state, item.recorded_at.day) == ("a-1", OutboxState.CHECKED, 1)


def test_an_import_can_be_called_off(user, folder):
    user.enters_subject("ward4-0172")
    drops(user, folder)
    user.waits_for(lambda: user.page.imports.preview is not None)
    user.presses(Qt.Key.Key_Escape)
    user.waits_for(lambda: user.page.model.phase is RecordPhase.READY)
    assert user.outbox() == []


def test_a_folder_without_recordings_says_so(user, tmp_path):
    (tmp_path / "empty").mkdir()
    user.enters_subject("ward4-0172")
    drops(user, tmp_path / "empty")
    user.waits_for_words("There is no WAV, FLAC, MP3 or M4A file in it. Nothing was changed.")


def test_a_list_that_is_none_says_what_it_lacks(user, tmp_path):
    listing = tmp_path / "list.csv"
    listing.write_text("file,who\na.wav,b\n")
    drops(user, listing)
    user.waits_for_words("has no column path")
    user.waits_for(lambda: user.page.model.phase is RecordPhase.READY)


def test_a_list_may_ask_for_a_sign_that_only_this_service_has(user, folder, network):
    setup, answer = user.page.model.setup, network.answer
    more = [sign.model_dump() for sign in (*setup.reading.signs, Sign(name="hoarseness", label="Hoarseness"))]
    signs = httpx.Response(200, json={"signs": more})
    network.answer = lambda request: signs if request.url.path == "/v2/signs" else answer(request)
    setup.start()
    user.workspace.flow.reads.announce({Changed.CONNECTED})
    target = user.page.ready.setup.target
    user.waits_for(lambda: target.itemText(target.count() - 1) == "Hoarseness")
    listing = folder / "visit.csv"
    listing.write_text("path,group_id,model\nmonday.wav,a-1,sign:hoarseness\ntuesday.wav,a-1,sign:nothing\n")
    drops(user, listing)
    user.waits_for(lambda: user.page.imports.preview is not None)
    assert [row.error is None for row in user.page.imports.preview.rows] == [True, False]


def listed(user, *paths):
    """The table of dropped files, all of them read."""
    drops(user, *paths)
    user.waits_for(lambda: user.page.imports.preview is not None)
    return user.page.importing


def row_of(user, name):
    table = user.page.imports.table
    return next(place for place in range(table.rowCount()) if table.cell(place, 0).first == name)


def types(user, name, column, text):
    """Click a cell, type, and press Enter."""
    view = user.page.importing.table
    index = user.page.imports.table.index(row_of(user, name), column)
    view.scrollTo(index)
    user.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(index).center())
    editor = view.viewport().findChild(QLineEdit)
    assert name in editor.accessibleName()
    user.qtbot.keyClicks(editor, text)
    user.qtbot.keyClick(editor, Qt.Key.Key_Return)
    user.waits_for(lambda: not view.viewport().findChildren(QLineEdit))


def cell(user, name, column):
    return user.page.imports.table.cell(row_of(user, name), column).text


def test_files_without_a_subject_wait_in_the_table_until_it_is_typed(user, folder):
    view = listed(user, folder)
    assert not view.send.isEnabled()
    assert fates(user)["monday.wav"].startswith("Enter a subject.")
    assert "4 s long" in fates(user)["too-short.wav"]
    types(user, "monday.wav", SUBJECT, "ward4-0172")
    user.waits_for(lambda: view.send.isEnabled())
    assert view.send.text() == "Import 1 and send"
    view.send.click()
    user.waits_for_words("Imported: 1. Not imported: 3;")
    types(user, "tuesday.wav", SUBJECT, "ward4-0173")
    user.waits_for(lambda: view.send.isEnabled())
    view.keep.click()
    user.waits_for(lambda: len(user.outbox()) == 2)
    assert {(item.group_id, item.file_name) for item in user.outbox()} == {
        ("ward4-0172", "monday.wav"),
        ("ward4-0173", "tuesday.wav"),
    }
    assert (folder / "broken.wav").exists()


def test_an_edit_is_meant_for_all_checked_rows(user, folder):
    view = listed(user, folder)
    view.table.selectAll()
    assert "4 checked rows" in view.row_text.text()
    types(user, "monday.wav", SUBJECT, "p-7")
    user.waits_for(lambda: cell(user, "broken.wav", SUBJECT) == "p-7")
    types(user, "tuesday.wav", TAGS, "pilot, ward")
    user.waits_for(lambda: cell(user, "monday.wav", TAGS) == "pilot, ward")
    view.names.undo.click()
    user.waits_for(lambda: cell(user, "monday.wav", TAGS) == "–")
    assert cell(user, "monday.wav", SUBJECT) == "p-7"


def test_the_keyboard_edits_cell_by_cell(user, folder):
    view = listed(user, folder)
    keys = Qt.Key
    user.qtbot.keyClick(view.table, keys.Key_F2)
    editor = view.table.viewport().findChild(QLineEdit)
    user.qtbot.keyClicks(editor, "p-1")
    user.qtbot.keyClick(editor, keys.Key_Tab)
    user.waits_for(lambda: view.table.currentIndex().column() == RECORDED)
    user.waits_for(lambda: any(edit.isVisible() and edit is not editor for edit in editors(view)))
    later = next(edit for edit in editors(view) if edit is not editor)
    user.qtbot.keyClicks(later, "2026-03-29 02:30")
    user.qtbot.keyClick(later, keys.Key_Return)
    user.waits_for(lambda: cell(user, "broken.wav", RECORDED) == "2026-03-29 02:30")
    assert cell(user, "broken.wav", SUBJECT) == "p-1"
    user.qtbot.keyClick(view.table, keys.Key_Delete)
    assert user.page.imports.table.rowCount() == 4  # no row is checked
    user.presses(keys.Key_Escape)
    assert user.page.imports.preview is not None  # edits are not lost by Escape


def editors(view):
    return view.table.viewport().findChildren(QLineEdit)


def test_names_fill_subject_and_time_with_a_preview(user, tmp_path, speech):
    made = tmp_path / "study"
    made.mkdir()
    for place, name in enumerate(("s1_2026-03-01_14-30", "s2_20260302_0915", "s3_03-04-2026")):
        sf.write(made / f"{name}.wav", np.roll(speech, 100 * place)[: 16 * 48_000], 48_000)
    view = listed(user, made)
    assert cell(user, "s1_2026-03-01_14-30.wav", RECORDED) == "2026-03-01 14:30"
    assert "exchanged" in fates(user)["s3_03-04-2026.wav"]
    view.names.pattern.setText("{subject}_{date}_{time}")
    user.waits_for(lambda: "With a subject: 2. With a date and a time of day: 2." in view.names.found.text())
    assert "s1_2026-03-01_14-30.wav: subject s1, time 2026-03-01 14:30" in view.names.found.text()
    assert cell(user, "s2_20260302_0915.wav", SUBJECT) == "–"
    view.names.fill.click()
    user.waits_for(lambda: cell(user, "s2_20260302_0915.wav", SUBJECT) == "s2")
    view.names.pattern.setText("{who}")
    user.waits_for(lambda: "is not known" in view.names.found.text())
    zone = view.names.zone
    zone.setCurrentIndex(zone.findData("Asia/Tokyo"))
    zone.activated.emit(zone.currentIndex())
    view.keep.click()
    user.waits_for_words("Imported: 2. Not imported: 1;")
    assert {(item.group_id, item.recorded_at.hour) for item in user.outbox()} == {("s1", 5), ("s2", 0)}


def test_rows_can_be_left_out(user, folder):
    user.enters_subject("ward4-0172")
    view = listed(user, folder)
    view.table.selectAll()
    index = user.page.imports.table.index(row_of(user, "monday.wav"), 0)
    view.table.selectionModel().select(index, view.table.selectionModel().SelectionFlag.Deselect | ROWS)
    view.names.leave_out.click()
    user.waits_for(lambda: user.page.imports.table.rowCount() == 1)
    view.keep.click()
    user.waits_for_words("1 recording imported.")
    assert len(list(folder.iterdir())) == 4


def test_the_table_shows_a_thousand_files_while_they_are_read(qtbot, user, tmp_path, monkeypatch):
    made = tmp_path / "many"
    made.mkdir()
    for number in range(1000):
        (made / f"s{number}_2026-03-01_14-30.wav").touch()
    gate = threading.Event()

    def slow(path):
        gate.wait(HANGS_S)
        return FileFacts(20.0, path.name)

    monkeypatch.setattr(import_commands, "read_facts", slow)
    drops(user, made)
    user.waits_for(lambda: user.page.imports.table.rowCount() == 1000)
    assert user.page.imports.preview is None
    types(user, user.page.imports.table.cell(0, 0).first, SUBJECT, "typed-meanwhile")
    user.waits_for(lambda: user.page.imports.table.cell(0, SUBJECT).text == "typed-meanwhile")
    gate.set()
    user.waits_for(lambda: user.page.imports.preview is not None)
    assert user.page.imports.counts() == (1, 999)
    user.page.imports.cancel()


def test_other_files_wait_until_the_import_is_done(user, folder):
    listed(user, folder)
    drops(user, folder / "monday.wav")
    assert "Finish or cancel this import first" in user.page.banner.text()
    assert user.page.imports.table.rowCount() == 4


def test_a_name_in_another_script_works_in_the_table_as_on_record(user, folder):
    """The wire cannot carry it: it is kept as an alias, and a random id is sent."""
    user.enters_subject("مريم")  # typed on Record, not recorded yet
    pending = user.page.model.setup.subject.group_id
    view, notes = listed(user, folder), user.workspace.library.subject_notes
    assert cell(user, "monday.wav", SUBJECT) == "\u2068مريم\u2069"
    types(user, "tuesday.wav", SUBJECT, "Übung 7")
    user.waits_for(lambda: "Übung 7" in cell(user, "tuesday.wav", SUBJECT))
    assert "the name stays here" in fates(user)["tuesday.wav"]
    assert notes.group_id_of("Übung 7") is None  # nothing is stored while a person types
    types(user, "too-short.wav", SUBJECT, "--")
    user.waits_for(lambda: "A subject's name has at least one letter or digit." in fates(user)["too-short.wav"])
    view.keep.click()
    user.waits_for_words("Imported: 2. Not imported: 2;")
    assert {item.group_id for item in user.outbox()} == {pending, notes.group_id_of("Übung 7")}
    assert notes.note_of(pending).alias == "مريم"
    assert all(group_id_fault(item.group_id) is None for item in user.outbox())
    user.page.imports.cancel()


def test_one_file_keeps_the_name_that_was_typed_on_record(user, folder):
    user.enters_subject("Übung 8")
    drops(user, folder / "monday.wav")
    user.sees_check()
    user.page.check.keep.click()
    user.waits_for(lambda: user.outbox())
    (item,) = user.outbox()
    assert user.workspace.library.subject_notes.note_of(item.group_id).alias == "Übung 8"


@pytest.mark.parametrize("size", [(824, 586), (1080, 740)])
def test_no_message_covers_a_button_of_the_import(open_page, folder, size):
    user = open_page(size=size)
    user.enters_subject("ward4-0172")
    view = listed(user, folder)
    user.page._say(Tone.WARN, "A sentence that is long enough for two lines in a small window. " * 2, close_action())
    user.waits_for(user.page.banner.isVisible)
    window = user.page.window()
    covered = QRect(user.page.banner.mapTo(window, QPoint()), user.page.banner.size())
    card = view.consent
    for part in (view.cancel, view.keep, view.send, view.names, card, card.note, card.kind, card.asked_by):
        assert part.isVisible(), part
        assert not covered.intersects(QRect(part.mapTo(window, QPoint()), part.size()))
    user.page.imports.cancel()


@pytest.fixture
def slow_disk(monkeypatch):
    """Holds the next look for files until a test lets it go on, or fails it; later ones are not held."""
    look, held = import_commands.find_recordings, threading.Semaphore(1)
    looking, go_on = threading.Event(), threading.Event()
    faults = []

    def find(paths):
        if held.acquire(blocking=False):
            looking.set()
            assert go_on.wait(HANGS_S)
            if faults:
                raise faults[0]
        return look(paths)

    monkeypatch.setattr(import_commands, "find_recordings", find)

    def release(fault=None):
        faults.extend([fault] if fault else [])
        go_on.set()

    yield looking, release
    go_on.set()


def test_one_file_is_of_the_subject_that_was_entered_when_it_was_dropped(user, folder, slow_disk):
    looking, release = slow_disk
    user.enters_subject("ward4-0172")
    drops(user, folder / "monday.wav")
    user.waits_for(looking.is_set)
    user.page.opened("ward4-0173")  # “Record” on the page of another subject
    release()
    user.sees_check()
    user.page.check.keep.click()
    user.waits_for(user.outbox)
    assert user.outbox()[0].group_id == "ward4-0172"


def test_a_fault_of_a_cancelled_import_leaves_the_next_one_as_it_is(user, folder, slow_disk):
    looking, release = slow_disk
    user.enters_subject("ward4-0172")
    drops(user, folder)
    user.waits_for(looking.is_set)
    user.page.imports.cancel()
    drops(user, folder)
    user.waits_for(lambda: user.page.imports.preview is not None)
    release(OSError(5, "Input/output error"))
    user.rests()
    assert "monday.wav" in fates(user)
    assert not user.page.banner.text()
    user.page.imports.cancel()


def test_no_recording_begins_while_files_are_looked_at(user, folder, slow_disk):
    """The consent of the subject is stored first, so no recording can begin in between."""
    looking, release = slow_disk
    user.enters_subject("ward4-0172")
    drops(user, folder)
    user.page.model.press()
    assert user.page.model.phase is RecordPhase.ENDED
    user.waits_for(looking.is_set)
    release()
    user.waits_for(lambda: user.page.imports.preview is not None)
    user.page.imports.cancel()
    assert user.page.model.phase is RecordPhase.READY
