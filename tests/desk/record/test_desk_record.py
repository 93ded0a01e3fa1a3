"""The Record page from a user's view."""

import threading

import numpy as np
import pytest
import shiboken6
from PySide6.QtCore import Qt

from patience import HANGS_S
from vbdesk.capture.encrypted_take import EncryptedTakeWriter, read_take
from vbdesk.capture.microphone import MicrophoneError
from vbdesk.capture.protocols import protocols
from vbdesk.clock import utc_now
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.flow.tasks import Failure
from vbdesk.desk.record.check_text import CheckSource, Origin
from vbdesk.desk.record.view_model import RecordPhase, RecordViewModel
from vbdesk.desk.ui.routes import ReviewRoute
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.settings import LibrarySettings, SendRule
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.sync.connectivity import SyncStatus


def test_a_recording_goes_to_the_outbox_in_two_presses(user):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.stops()
    user.presses(Qt.Key.Key_Return)
    user.waits_for(user.outbox)
    item = user.outbox()[0]
    user.waits_for(lambda: user.outbox()[0].state is OutboxState.WAITING)
    assert (item.group_id, item.protocol, str(item.target)) == ("ward4-0172", "reading", "model:pulse")
    assert item.duration_s == pytest.approx(20, abs=0.1)
    assert item.quality == {"clarity": 80.0, "overall": "good"}
    assert user.page.model.phase is RecordPhase.READY
    assert user.page.ready.setup.subject.text() == ""
    assert "Saved here. It is sent when the service answers." in user.page.banner.text()


@pytest.mark.parametrize(
    ("status", "settings", "said"),
    [
        (SyncStatus(True, "Connected.", None, 5), LibrarySettings(), "ward4-0172 is on its way."),
        (SyncStatus(False, "", None, 5), LibrarySettings(), "It is sent when the service answers."),
        (SyncStatus(False, "", None, 5), LibrarySettings(paused=True), "Sending is paused"),
        (SyncStatus(True, "", Fix.ENTER_KEY, 5), LibrarySettings(), "The Outbox says what is needed"),
        (SyncStatus(True, "", None, 5), LibrarySettings(send_rule=SendRule.BY_HAND), "when you send it in the Outbox"),
    ],
)
def test_after_send_the_page_says_what_the_recording_waits_for(user, workspace, status, settings, said):
    workspace.sync.set_counts(workspace.sync.counts, settings)
    workspace.sync.set_status(status)
    metadata = TakeMetadata("ward4-0172", utc_now(), RecordingTarget("model", "pulse"))
    user.page._on_sent(CheckSource(Origin.TAKE, "one.take", metadata))
    assert said in user.page.banner.text()


def test_a_vanished_microphone_keeps_the_take(user):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.microphone.unplug()
    user.sees_check()
    assert user.page.banner.text() == "The microphone was unplugged. The 20 seconds before that are kept."
    assert user.page.review.review.seconds == pytest.approx(20, abs=1)


def test_what_became_of_a_take_is_not_hidden_by_which_microphone_comes_next(user):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.microphone.unplug()
    user.sees_check()
    user.page.model.setup.device_noticed.emit("The microphone is gone.")
    assert user.page.banner.text() == "The microphone was unplugged. The 20 seconds before that are kept."
    user.page.check.keep.click()
    user.waits_for_words("is kept here and was not sent. The microphone is gone.")


def test_a_tick_by_a_screen_reader_sets_and_clears_the_consent(user):
    user.enters_subject("ward4-0172")
    box, consent = user.page.ready.setup.consent, user.page.model.setup.consent
    box.tick.toggle()  # its action on a tick box; nothing is clicked
    assert consent.ticked_at is not None
    box.tick.toggle()
    assert consent.ticked_at is None


def test_consent_and_tags_travel_with_the_recording(user):
    user.enters_subject("ward4-0172")
    user.page.ready.setup.consent.tick.click()
    user.page.ready.setup.tags.set_tags(("morning",))
    user.page.ready.setup.note.setPlainText("after rest")
    user.records(16)
    user.stops()
    user.page.check.send.click()
    user.waits_for(user.outbox)
    item = user.outbox()[0]
    assert (item.tags, item.note) == (("morning",), "after rest")
    (event,) = user.workspace.library.consents.of("ward4-0172").events
    assert event.at < item.recorded_at
    assert not user.page.ready.setup.consent.tick.isChecked()  # the next subject is asked anew


def test_a_wrong_subject_is_explained_while_typing(user):
    user.page.ready.setup.subject.setText("--")
    assert "letter or digit" in user.page.ready.setup.subject_field.below_text()
    assert not user.page.ready.stage.record.isEnabled()
    user.page.model.press()
    assert user.page.model.phase is RecordPhase.READY


def test_a_short_take_is_not_sent_and_says_why(user):
    user.enters_subject("ward4-0172")
    user.records(9)
    user.stops()
    assert user.page.check.title.text() == "Cannot be analysed"
    assert "Needed: at least 15 s" in user.page.check.reason.text()
    assert not user.page.check.send.isEnabled()
    user.presses(Qt.Key.Key_Return)
    assert user.page.review.review is not None
    user.page.check.keep.click()
    user.waits_for(user.outbox)
    assert user.outbox()[0].state is OutboxState.CHECKED


def test_pause_leaves_out_what_comes(user):
    user.enters_subject("ward4-0172")
    user.records(16)
    user.presses(Qt.Key.Key_P)
    user.waits_for(lambda: user.page.model._recorder.phase.value == "paused")
    user.microphone.play(5)
    user.presses(Qt.Key.Key_P)
    user.waits_for(lambda: user.page.model._recorder.phase.value == "recording")
    user.stops()
    assert user.page.review.review.seconds == pytest.approx(16, abs=0.1)


def test_trimming_is_checked_and_sent(user):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.stops()
    user.page.review.trim(TrimRange(1.0, 18.0))
    user.waits_for(lambda: user.page.review.review.span.seconds == pytest.approx(17))
    assert user.page.check.undo_trim.isVisible()
    user.page.check.send.click()
    user.waits_for(user.outbox)
    assert user.outbox()[0].trim_s == pytest.approx((1.0, 18.0))


def test_a_retake_can_be_undone(user):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.stops()
    user.page.model._count_in_s = 3  # which the silent microphone does not end
    user.presses(Qt.Key.Key_R)
    assert user.page.model.phase is RecordPhase.COUNTING_IN
    user.presses(Qt.Key.Key_Escape)
    user.waits_for(lambda: user.page.model.phase is RecordPhase.READY)
    assert user.page.ready.setup.subject.text() == "ward4-0172"
    user.waits_for_words("This version is kept here.")
    user.page.banner.button.click()
    user.sees_check()
    assert user.page.review.review.seconds == pytest.approx(20, abs=0.1)


def test_a_take_left_by_a_crash_is_offered(user):
    library = user.workspace.library
    writer = EncryptedTakeWriter(
        library.recording_folder / "crashed.take", library.store.key, 48000, {"group_id": "ward4-9"}
    )
    writer.append(np.ones(48000 * 20, np.int16))
    writer.close()
    user.page.opened(None)
    user.waits_for_words("A recording of ward4-9 is kept, 0:20 long. Decide whether to send it.")
    user.page.banner.button.click()
    user.sees_check()
    assert user.page.review.source.metadata.group_id == "ward4-9"


@pytest.mark.parametrize("asked", ["ward4-0173", ReviewRoute("another recording")])
def test_the_page_asked_for_something_else_while_it_records_keeps_the_subject(user, asked):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.page.opened(asked)  # “Record” on the page of another subject, or “Review” in the Outbox
    assert "Finish this recording first." in user.page.banner.text()
    assert user.page.model.setup.subject.group_id == "ward4-0172"
    assert user.page.review.source is None


def test_a_recording_of_the_library_that_is_read_late_does_not_replace_the_review_of_a_new_one(user, monkeypatch):
    user.enters_subject("ward4-0172")
    user.records(16)
    user.stops()
    user.page.check.keep.click()
    user.waits_for(user.outbox)
    go_on, get = threading.Event(), user.workspace.library.get
    monkeypatch.setattr(user.workspace.library, "get", lambda take_id: (go_on.wait(HANGS_S), get(take_id))[1])
    user.page.review.review_library(user.outbox()[0].take_id)
    user.enters_subject("ward4-0173")
    user.records(20)
    user.stops()
    go_on.set()
    user.waits_for(lambda: not user.workspace.flow.commands.busy)
    user.qtbot.settle()
    assert user.page.review.source.origin is Origin.TAKE
    user.page.check.keep.click()
    user.waits_for(lambda: len(user.outbox()) == 2)


def test_a_recording_is_of_the_subject_that_was_entered_when_it_began(user):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.page.model.setup.set_subject("ward4-0173")
    user.stops()
    user.presses(Qt.Key.Key_Return)
    user.waits_for(user.outbox)
    assert user.outbox()[0].group_id == "ward4-0172"


def test_a_look_for_takes_of_a_crash_leaves_the_running_take_alone(user):
    user.enters_subject("ward4-0172")
    user.begins()  # its file has no sound yet
    found = []
    user.page.review.rescued.connect(found.append)
    user.page.review.find_rescued()
    user.waits_for(lambda: not user.workspace.flow.commands.busy)
    user.speaks(20)
    user.page.review.find_rescued()
    user.waits_for(lambda: not user.workspace.flow.commands.busy)
    assert found and not any(found)
    user.stops()
    assert user.page.review.review.seconds == pytest.approx(20, abs=0.1)


def test_a_file_gets_the_same_check(user, speech_file):
    user.enters_subject("ward4-0172")
    user.page.import_files([speech_file])
    user.sees_check()
    user.page.check.send.click()
    user.waits_for(user.outbox)
    assert user.outbox()[0].imported


def test_a_file_that_changed_after_its_check_is_not_stored(user, speech_file, tmp_path):
    shown = tmp_path / "monday.wav"
    shown.write_bytes(speech_file.read_bytes())
    user.enters_subject("ward4-0172")
    user.page.import_files([shown])
    user.sees_check()
    shown.write_bytes(speech_file.read_bytes() + bytes(2))  # another card, with the same names
    user.page.check.send.click()
    user.waits_for_words("has changed since it was read, so nothing of it was stored")
    assert user.outbox() == []


def test_a_file_without_a_subject_waits_in_the_table(user, speech_file):
    user.page.import_files([speech_file])
    user.waits_for(lambda: user.page.imports.preview is not None)
    assert user.page.imports.preview.rows[0].error == "Enter a subject."


def test_a_file_that_is_no_recording_is_refused(user, tmp_path):
    broken = tmp_path / "broken.wav"
    broken.write_bytes(b"no sound")
    user.enters_subject("ward4-0172")
    user.page.import_files([broken])
    user.waits_for_words("WAV, FLAC, MP3 or M4A")
    user.waits_for(lambda: user.page.model.phase is RecordPhase.READY)  # playback can find the fault before the check


def test_a_microphone_that_cannot_be_opened_is_explained(user):
    user.enters_subject("ward4-0172")
    user.microphone.taken = True
    user.page.model.press()
    user.waits_for_words("Nothing was recorded")
    assert user.page.model.phase is RecordPhase.READY


def test_a_meter_without_a_microphone_says_nothing_while_a_recording_begins(user):
    user.enters_subject("ward4-0172")
    user.rests()
    user.begins()
    user.page.model._on_not_listening(Failure.of(MicrophoneError("The microphone is used by another program.")))
    assert user.page.banner.text() == ""
    user.speaks(20)
    user.stops()


def test_the_count_in_can_be_called_off(qtbot, workspace):
    model = RecordViewModel(workspace.flow)
    model.setup.start()
    model.setup.set_subject("ward4-0172")
    qtbot.waitUntil(lambda: model.setup.ready)
    model.press()
    assert model.phase is RecordPhase.COUNTING_IN
    model.press()
    assert model.phase is RecordPhase.READY
    model.setup.set_subject("ward4-0173")
    for part in model.closing():
        qtbot.waitUntil(lambda part=part: not part.alive())
    assert not model.setup._lookup_timer.isActive(), "a closed page looks up no subject"


def test_the_take_begins_where_the_count_in_ends(qtbot, workspace, microphone, speech):
    model = RecordViewModel(workspace.flow, count_in_s=2)
    counts, takes = [], []
    model.counted.connect(counts.append)
    model.took.connect(takes.append)
    model.setup.start()
    model.setup.set_subject("ward4-0172")
    qtbot.waitUntil(lambda: model.setup.ready)
    model.press()
    for seconds, left in ((0.5, 2), (1.0, 1), (0.5, 1)):
        qtbot.waitUntil(lambda: model._recorder.phase == "lead_in")
        microphone.play(seconds)
        qtbot.waitUntil(lambda left=left: counts[-1] <= left)
    qtbot.waitUntil(lambda: model.phase is RecordPhase.RECORDING)
    microphone.play(3)
    qtbot.waitUntil(lambda: model._recorder.elapsed_s == 3.0)
    model.press()
    qtbot.waitUntil(lambda: bool(takes))
    assert counts == [2, 1]
    heard = read_take(takes[0].path, workspace.library.store.key)
    assert np.array_equal(heard.samples, speech[2 * 48_000 : 5 * 48_000])
    for part in model.closing():
        qtbot.waitUntil(lambda part=part: not part.alive())


def test_closing_in_the_middle_keeps_what_was_said(qtbot, user):
    user.enters_subject("ward4-0172")
    user.records(20)
    for part in user.page.closing():
        qtbot.waitUntil(lambda part=part: not part.alive())
    folder = user.workspace.library.recording_folder
    assert len(list(folder.glob("*.take"))) == 1


def test_a_take_that_ends_after_its_page_is_gone_is_kept(qtbot, workspace, microphone):
    model = RecordViewModel(workspace.flow, count_in_s=0)
    model.setup.start()
    model.setup.set_subject("ward4-0172")
    qtbot.waitUntil(lambda: model.setup.ready)
    model.press()
    qtbot.waitUntil(lambda: model.phase is RecordPhase.RECORDING)
    microphone.play(3)
    qtbot.waitUntil(lambda: model._recorder.elapsed_s == 3.0)
    qtbot.settle()
    shiboken6.delete(model)
    ending = threading.Thread(target=model._end)
    ending.start()
    qtbot.waitUntil(lambda: not ending.is_alive())
    assert len(list(workspace.library.recording_folder.glob("*.take"))) == 1


def test_a_muted_microphone_is_said_while_it_records(user, microphone):
    user.enters_subject("ward4-0172")
    user.records(5)
    microphone.play(20)  # what is left of the voice, then silence
    user.waits_for_words("gives only silence")
    assert user.page.model.phase is RecordPhase.RECORDING
    user.stops()


def test_the_next_task_of_a_sequence_is_shown_and_kept_with_the_take(user):
    setup = user.page.model.setup
    setup.choose_protocol([protocol.protocol_id for protocol in setup.protocols].index("sequence"))
    user.enters_subject("ward4-0172")
    user.records(20)
    user.presses(Qt.Key.Key_N)
    assert user.page.model.task.task_id == "reading"
    assert "market days" in user.page.live.prompt.plain_text()
    user.stops()
    user.presses(Qt.Key.Key_Return)
    user.waits_for(user.outbox)
    tasks = user.workspace.library.whole_audio(user.outbox()[0].take_id).tasks
    assert [(task.task_id, round(task.moment_s)) for task in tasks] == [("vowel", 0), ("reading", 20)]


def test_the_chosen_microphone_is_remembered_and_its_loss_said(user):
    user.enters_subject("ward4-0172")
    user.page.model.setup.choose_device(0)
    remembered = user.workspace.ports.config_dir / "microphone.json"
    user.waits_for(lambda: remembered.exists() and "File microphone" in remembered.read_text())
    user.microphone.unplug()
    user.waits_for_words("The microphone “File microphone” is gone.")


def test_protocols_have_words_and_stand_in_order():
    found = protocols()
    assert [protocol.protocol_id for protocol in found] == [
        "reading",
        "picture",
        "counting",
        "vowel",
        "free",
        "sequence",
    ]
    assert all(protocol.text and protocol.title and protocol.help for protocol in found)
    assert found[1].picture.exists()


def test_a_language_that_is_not_there_falls_back_to_english():
    assert protocols("xx") == protocols("en")
