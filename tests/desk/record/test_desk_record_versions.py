"""Versions of a recording, discarding with undo, trimming what is kept, and what else the check shows."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt

from vbdesk.clock import utc_now
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.record.check_text import CheckSource, Origin, Review
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.outbox.imports.speaker_comparison import SpeakerSimilarity
from vbdesk.outbox.imports.take_check import Silence, TakeCheck, check_take
from vbdesk.outbox.library.consent import ConsentPolicy
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.states import OutboxState


def records_twice(user):
    user.enters_subject("ward4-0172")
    user.records(9)
    user.stops()
    user.presses(Qt.Key.Key_R)
    user.waits_for(lambda: user.page.model.phase is RecordPhase.RECORDING)
    user.waits_for(user.outbox)  # the first one is a version
    user.microphone.rewind()
    user.speaks(20)
    user.stops()
    user.waits_for(lambda: len(user.page.check.versions.tiles) == 2)


def test_a_retake_takes_one_key(user):
    user.enters_subject("ward4-0172")
    user.records(9)
    user.stops()
    user.presses(Qt.Key.Key_R)
    assert user.page.model.phase is RecordPhase.COUNTING_IN
    assert user.page.live.isVisible()
    assert user.page.model.metadata.group_id == "ward4-0172"
    user.waits_for(lambda: user.page.model.phase is RecordPhase.RECORDING)
    user.speaks(1)
    user.stops()


def test_a_retake_that_cannot_begin_goes_to_what_is_missing(user):
    user.enters_subject("ward4-0172")
    user.waits_for(lambda: user.page.model.setup.consent.status is not None)
    user.records(9)
    user.stops()
    rules = ConsentRules(policy=ConsentPolicy.REQUIRED)
    user.workspace.library.change_settings(consent=rules)
    user.waits_for(lambda: user.workspace.sync.settings.consent == rules)
    user.presses(Qt.Key.Key_R)
    assert user.page.model.phase is RecordPhase.READY
    assert user.page.focusWidget() is user.page.ready.setup.consent.tick
    user.waits_for_words("This version is kept here.")


def test_a_retake_stands_beside_the_version_before(user):
    records_twice(user)
    first, second = user.page.check.versions.tiles
    assert first.accessibleName() == "Version 1: Cannot be analysed"
    assert second.accessibleName() == "Version 2: Good to send"
    assert second.accessibleDescription().startswith("Shown here. Not decided yet")


def test_another_version_can_be_looked_at_and_nothing_is_lost(user):
    records_twice(user)
    user.page.check.versions.tiles[0].click()
    user.sees_check()
    user.waits_for(lambda: len(user.page.check.versions.tiles) == 2 and user.page.check.versions.tiles[0].version.shown)
    assert user.page.review.review.seconds == pytest.approx(9, abs=0.1)
    assert [item.state for item in user.outbox()] == [OutboxState.CHECKED] * 2


def test_sending_one_version_keeps_the_other_until_it_is_discarded_and_that_can_be_undone(user):
    records_twice(user)
    user.presses(Qt.Key.Key_Return)
    user.waits_for_words("It is sent when the service answers. Version 1 stays here, not sent.")
    user.waits_for(lambda: len(user.outbox()) == 2)
    user.page.banner.button.click()
    user.waits_for(lambda: user.page.undo.text().startswith("The other version was discarded."))
    assert len(user.outbox()) == 1
    user.page.undo.button.click()
    user.waits_for(lambda: len(user.outbox()) == 2)
    assert user.page.model.phase is RecordPhase.READY


def test_a_discarded_take_comes_back_as_it_was(user):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.stops()
    user.page.review.trim(TrimRange(2.0, 19.0))
    user.waits_for(lambda: user.page.review.review.span.seconds == pytest.approx(17))
    user.page.check.discard.click()
    user.waits_for(lambda: user.page.undo.text().startswith("The recording of ward4-0172 was discarded."))
    assert user.outbox() == []
    assert user.page.model.phase is RecordPhase.READY
    user.page.undo.button.click()
    user.sees_check()
    assert (user.page.review.review.seconds, user.page.review.review.span) == (pytest.approx(20), TrimRange(2.0, 19.0))


def discards(user, subject):
    user.enters_subject(subject)
    user.records(16)
    user.stops()
    user.page.check.discard.click()
    user.waits_for(lambda: subject in user.page.undo.text())


def test_no_other_message_and_no_other_recording_takes_the_undo_away(user):
    discards(user, "ward4-1")
    user.page._show_failure("The microphone was unplugged.")
    assert user.page.undo.isVisible()
    assert "ward4-1" in user.page.undo.text()
    user.enters_subject("ward4-2")
    user.records(16)
    assert not user.page.undo.isVisible()
    user.stops()
    user.page.check.keep.click()
    user.waits_for(lambda: user.page.undo.isVisible())
    user.page.closed()
    user.page.opened(None)
    user.page.undo.button.click()
    user.sees_check()
    assert user.page.review.source.metadata.group_id == "ward4-1"
    assert {item.group_id for item in user.outbox()} == {"ward4-1", "ward4-2"}


def test_an_undo_that_is_refused_says_why_and_stays(user):
    discards(user, "ward4-1")
    library = user.workspace.library
    (trashed,) = library.trash.items()
    user.enters_subject("ward4-2")
    user.records(16)
    user.stops()
    user.page.check.keep.click()
    user.waits_for(user.outbox)
    with library.store.changing() as database:  # by something else
        database.execute("UPDATE main.recordings SET state = 'failed' WHERE take_id = ?", (trashed.take_id,))
    library.store.reread(trashed.take_id)
    user.waits_for(lambda: user.page.undo.isVisible())
    user.page.undo.button.click()
    user.waits_for_words("This entry of the trash was changed")
    assert user.page.undo.isVisible()
    assert library.trash.holds(trashed.take_id)


def test_what_was_discarded_before_can_be_undone_too_and_the_offer_can_be_closed(user):
    discards(user, "ward4-1")
    discards(user, "ward4-2")
    user.page.undo.button.click()
    user.sees_check()
    user.page.check.keep.click()
    user.waits_for(lambda: "ward4-1" in user.page.undo.text())
    user.page.undo.other_button.click()
    assert not user.page.undo.isVisible()
    assert [each.item.group_id for each in user.workspace.library.trash.items()] == ["ward4-1"]


def test_a_kept_recording_can_be_trimmed_later_and_its_sound_stays_whole(user):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.stops()
    user.page.check.keep.click()
    user.waits_for(user.outbox)
    take_id = user.outbox()[0].take_id
    user.page.review.review_library(take_id)
    user.sees_check()
    user.page.review.trim(TrimRange(1.0, 18.0))
    user.waits_for(lambda: user.page.review.review.span.seconds == pytest.approx(17))
    user.page.check.keep.click()
    user.waits_for(lambda: user.outbox()[0].trim_s == (1.0, 18.0))
    assert user.workspace.library.whole_audio(take_id).duration_s == pytest.approx(20, abs=0.1)


def test_the_handles_trim_by_keyboard(user):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.stops()
    waveform = user.page.check.waveform
    user.waits_for(lambda: waveform._seconds > 19)
    waveform.setFocus()
    for _ in range(2):
        user.qtbot.keyClick(waveform, Qt.Key.Key_Right)
    user.qtbot.keyClick(waveform, Qt.Key.Key_BracketLeft)
    user.waits_for(lambda: user.page.review.review.span == TrimRange(2.0, user.page.review.review.seconds))


def test_the_spectrogram_takes_the_place_of_the_waveform_and_goes_again(user):
    user.enters_subject("ward4-0172")
    user.records(16)
    user.stops()
    user.presses(Qt.Key.Key_G)
    user.waits_for(lambda: not user.page.check.waveform._picture.isNull())
    user.presses(Qt.Key.Key_G)
    assert user.page.check.waveform._picture.isNull()


def test_the_check_says_how_far_it_is_and_what_no_row_is_about(open_page):
    user = open_page(lambda audio: replace(check_take(audio), hints=("Sound was lost.",)))
    user.enters_subject("ward4-0172")
    user.records(16)
    user.page.model.press()
    user.waits_for(lambda: user.page.check.title.text() == "Checking")
    assert user.page.check.check_card.progress.isVisible()
    user.sees_check()
    assert not user.page.check.check_card.progress.isVisible()
    notes = user.page.check.check_card._notes
    user.waits_for(lambda: notes.itemAt(0).widget().isVisible())  # a layout shows what it is given a turn later


def test_another_voice_is_warned_of_and_can_still_be_sent(user):
    class Guard:
        def compare(self, audio, group_id, without=None):
            return SpeakerSimilarity(0.2, 1, "This does not sound like the earlier recordings.")

    user.page.review.findings._guard = Guard()
    user.enters_subject("ward4-0172")
    user.records(16)
    user.stops()
    user.waits_for(lambda: "does not sound like" in user.page.check.speaker.text())
    user.presses(Qt.Key.Key_Return)
    user.waits_for(user.outbox)


@pytest.mark.parametrize(
    ("origin", "title"), [(Origin.TAKE, "The microphone was muted"), (Origin.FILE, "There is no sound")]
)
def test_a_muted_take_says_so_and_a_silent_file_blames_no_microphone(origin, title):
    check = TakeCheck((), "bad", "", (), 0.0, None, np.zeros((0, 2), np.int16), {}, silence=Silence.MUTED)
    about = TakeMetadata("ward4-0172", utc_now(), RecordingTarget("model", "pulse"))
    review = Review(CheckSource(origin, "one", about), check, 20.0, TrimRange(0.0, 20.0), 48_000)
    assert (review.title, review.sendable) == (title, False)
    assert ("microphone was muted" in review.sentence) is (origin is Origin.TAKE)
    assert review.quality["silence"] == ("muted" if origin is Origin.TAKE else "silent")
