"""Files, folders and lists that are dropped on the Record page."""

import csv

import numpy as np
import pytest
import soundfile as sf
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent

from vbdesk.contract.catalog import Sign
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.outbox.library.states import OutboxState


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
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    user.page.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, buttons, keys))


def fates(user):
    table = user.page.intake.table
    return {table.cell(place, 0).first: table.cell(place, 1).text for place in range(table.rowCount())}


def test_a_folder_is_shown_row_by_row_before_anything_is_taken_in(user, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    user.enters_subject("ward4-0172")
    drops(user, folder)
    user.waits_for(lambda: user.page.intake.preview is not None)
    assert "4 s long" in fates(user)["too-short.wav"]
    assert "not a sound file" in fates(user)["broken.wav"]
    assert fates(user)["monday.wav"].startswith("Ready.")
    assert user.page.importing.send.text() == "Import 2 and send"
    assert user.outbox() == []
    user.page.importing.send.click()
    user.waits_for_words("2 recordings imported, 2 not: each row says why.")
    assert fates(user)["monday.wav"] == "Imported."
    assert [item.state for item in user.outbox()] == [OutboxState.WAITING] * 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    user.page.banner.button.click()
    user.waits_for(lambda: user.page.model.phase is RecordPhase.READY)


def test_a_list_names_its_own_subjects(user, folder):
    listing = folder / "visit.csv"
    with listing.open("w", newline="") as file:
        csv.writer(file).writerows(
            [
                ("path", "group_id", "recorded_at", "model"),
                ("monday.wav", "a-1", "2026-03-01T09:30:00Z", ""),
                ("tuesday.wav", "b 2", "2026-03-02T09:30:00Z", ""),
                ("nowhere.wav", "c-3", "", ""),
            ]
        )
    drops(user, listing)
    user.waits_for(lambda: user.page.intake.preview is not None)
    assert "no file nowhere.wav" in fates(user)["nowhere.wav"]
    user.page.importing.keep.click()
    user.waits_for_words("1 recording imported, 2 not")
    (item,) = user.outbox()
    assert (item.group_id, item.state, item.recorded_at.day) == ("a-1", OutboxState.CHECKED, 1)


def test_an_import_can_be_called_off(user, folder):
    user.enters_subject("ward4-0172")
    drops(user, folder)
    user.waits_for(lambda: user.page.intake.preview is not None)
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


def test_a_list_may_ask_for_a_sign_that_only_this_service_has(user, folder):
    offered = user.page.model.setup.offered
    offered._show((*offered.signs, Sign(name="hoarseness", label="Hoarseness")))
    target = user.page.ready.setup.target
    assert target.itemText(target.count() - 1) == "Hoarseness"
    listing = folder / "visit.csv"
    listing.write_text("path,group_id,model\nmonday.wav,a-1,sign:hoarseness\ntuesday.wav,a-1,sign:nothing\n")
    drops(user, listing)
    user.waits_for(lambda: user.page.intake.preview is not None)
    assert [row.error is None for row in user.page.intake.preview.rows] == [True, False]
