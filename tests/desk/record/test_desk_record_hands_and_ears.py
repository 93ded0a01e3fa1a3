"""The Record page for a screen reader, a foot pedal, a second window, another language; and how soon it reacts."""

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt, Slot

from vbdesk.capture.recorder import RecordingHealth
from vbdesk.desk.preferences import Preferences, PreferenceStore
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.outbox.library.subject_notes import SubjectNote

sys.path.append(str(Path(__file__).parents[1]))

from control_names import unnamed


class Listener(QObject):
    """Records announcements."""

    def __init__(self):
        super().__init__()
        self.heard = []

    @Slot(str, bool)
    def hear(self, sentence, urgent):
        self.heard.append(sentence)


def test_state_limits_and_verdict_are_announced(user):
    listener = Listener()
    user.page.announcements.said.connect(listener.hear)
    user.enters_subject("ward4-0172")
    user.records(16)
    user.waits_for(lambda: "15 seconds: long enough to be analysed." in listener.heard)
    user.presses(Qt.Key.Key_M)
    user.waits_for(lambda: "Marker 1." in listener.heard)
    user.presses(Qt.Key.Key_P)
    user.presses(Qt.Key.Key_P)
    user.stops()
    told = [sentence for sentence in listener.heard if not sentence.startswith("Task")]
    assert told[0].startswith("Get ready")
    assert told[1] == "Recording."
    assert told[-4:] == ["Paused.", "Recording goes on.", "Stopped. Checking the recording.", told[-1]]
    assert told[-1].startswith("Good to send.")


def test_the_foot_begins_and_ends_a_take_wherever_the_keyboard_is(user):
    user.waits_for(lambda: user.page.pedal.key().toString() == "F9")
    user.enters_subject("ward4-0172")
    subject = user.page.ready.setup.subject
    user.page.activateWindow()
    subject.setFocus()
    user.waits_for(subject.hasFocus)
    user.qtbot.keyClick(subject, Qt.Key.Key_F9)
    user.waits_for(lambda: user.page.model.phase is RecordPhase.RECORDING)
    user.speaks(16)
    user.qtbot.keyClick(user.page, Qt.Key.Key_F9)
    user.sees_check()


def test_the_pedals_key_can_be_another(open_page, workspace):
    PreferenceStore(workspace.ports.config_dir).save(Preferences(pedal_key="PgDown"))
    user = open_page()
    user.waits_for(lambda: user.page.pedal.key().toString() == "PgDown")


def test_a_preferences_file_of_before_keeps_its_colours(tmp_path):
    (tmp_path / "preferences.json").write_text('{"scheme": "dark"}')
    found = PreferenceStore(tmp_path).load()
    assert (found.scheme, found.pedal_key) == ("dark", "F9")


def test_the_speaker_sees_the_words_and_no_controls(user):
    user.presses(Qt.Key.Key_W)
    window = user.page.speaker
    assert window.isVisible()
    assert "market days" in window.prompt.plain_text()
    user.enters_subject("ward4-0172")
    user.records(5)
    assert window.state.text() == "Please speak"
    user.qtbot.keyClick(window, Qt.Key.Key_P)
    user.waits_for(lambda: window.state.text() == "Paused")
    user.qtbot.keyClick(window, Qt.Key.Key_W)
    assert not window.isVisible()
    user.stops()


def test_the_speakers_window_follows_a_sequence(user):
    setup = user.page.model.setup
    setup.choose_protocol([protocol.protocol_id for protocol in setup.protocols].index("sequence"))
    user.page.toggle_speaker()
    user.enters_subject("ward4-0172")
    user.records(5)
    user.page.live.following.click()
    assert user.page.speaker.step.text() == "2 of 3"
    user.page.live.following.click()
    assert not user.page.live.following.isEnabled()
    user.stops()


def test_prompts_come_in_the_language_that_is_chosen(user):
    setup = user.page.model.setup
    setup.choose_protocol(1)
    setup.choose_language(setup.languages.index("de"))
    assert setup.form.protocol.protocol_id == "picture"
    assert setup.form.protocol.language == "de"
    assert user.page.ready.setup.protocol.currentText() == setup.form.protocol.title
    assert user.page.ready.stage.prompt.plain_text().startswith(setup.form.protocol.text[:20])


def test_a_subject_keeps_the_language_of_its_prompts(user):
    setup, ready, left_to_right = user.page.model.setup, user.page.ready, Qt.LayoutDirection.LeftToRight
    user.enters_subject("ward4-0172")
    setup.choose_language(setup.languages.index("ar"))
    assert ready.stage.prompt.layoutDirection() is Qt.LayoutDirection.RightToLeft
    assert user.page.speaker.layoutDirection() is Qt.LayoutDirection.RightToLeft
    assert (ready.layoutDirection(), ready.setup.protocol.currentText()) == (left_to_right, "Reading passage")
    user.records(2)
    user.stops()
    user.page.review.keep()
    user.waits_for(lambda: user.outbox())
    assert user.workspace.library.subject_notes.note_of("ward4-0172").prompts == "ar"
    assert user.outbox()[0].spoken.language == "ar"
    assert setup.language == "en"  # the next subject begins as usual
    setup.set_subject("ward4-0172")
    assert setup.form.protocol.language == "ar"
    assert ready.stage.language.currentText() == "العربية"
    user.page.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    setup.set_subject("ward4-0173")
    assert ready.stage.prompt.layoutDirection() is left_to_right


def test_a_prompt_in_another_language_than_wanted_says_so(user):
    user.rests()
    user.workspace.library.subject_notes.store("ward4-1", SubjectNote(prompts="tr"))
    user.page.model.setup.set_subject("ward4-1")
    assert user.page.model.setup.form.protocol.language == "en"
    caption = user.page.ready.stage.caption
    assert caption.text() == "There is no prompt in Turkish. It is shown in English."
    user.page.model.setup.choose_language(0)
    user.page.model.setup.set_subject("ward4-1")
    assert caption.text() == "Shown large while recording"


def test_lost_sound_is_said_in_the_head(user):
    user.enters_subject("ward4-0172")
    user.records(3)
    live = user.page.live
    assert live.safe.text() == "Saved to disk every second"
    live._show_health(RecordingHealth(missing_s=0.4))
    assert live.safe.text() == "0.4 s of sound lost"
    user.stops()


def test_record_reacts_at_once(user):
    user.enters_subject("ward4-0172")
    user.waits_for(lambda: user.page.model.setup.ready)
    user.page.model.press()
    assert user.page.model.phase is RecordPhase.COUNTING_IN, "before any event: nothing was waited for"
    user.page.grab()
    user.waits_for(lambda: user.page.model.phase is RecordPhase.RECORDING)
    user.speaks(2)
    user.stops()


@pytest.mark.parametrize(("seconds", "words"), [(3.0, "Long enough at 0:15"), (20.0, "Stops at 20:00")])
def test_the_next_limit_stands_below_the_time(user, seconds, words):
    assert user.page.live._limit_text(seconds) == words


def test_the_last_minute_counts_down(user):
    assert user.page.live._limit_text(1185.0) == "Stops in 15 s"


def test_every_control_has_a_name(user):
    assert unnamed(user.page) == []
    user.enters_subject("ward4-0172")
    user.begins()
    assert unnamed(user.page) == []
    user.speaks(20)
    user.stops()
    assert unnamed(user.page) == []
