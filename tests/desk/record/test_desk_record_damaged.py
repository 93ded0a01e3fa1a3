"""Damaged recordings: each is named, its sound is offered, its file stays."""

import numpy as np
import pytest

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.desk.ui.text import Text
from vbdesk.outbox.library.audit_reader import AuditReader

RATE = 48_000


def leave_take(workspace, group_id, seconds=40, flipped=None):
    """A take left by a crash; `flipped` is the second with a damaged block."""
    library = workspace.library
    path = library.recording_folder / f"{group_id}.take"
    writer = EncryptedTakeWriter(path, library.store.key, RATE, {"group_id": group_id, "target": "model:pulse"})
    sizes = []
    for second in range(seconds):
        sizes.append(path.stat().st_size)
        writer.append(np.full(RATE, second, np.int16))
    writer.abandon()
    if flipped is not None:
        flip(path, sizes[flipped] + 100)
    return path


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def actions(workspace):
    store = workspace.library.store
    return [entry.what for entry in AuditReader(store.folder, store.key).entries()]


def looks(user):
    user.page.opened(None)
    user.waits_for(lambda: user.page.review.damaged.takes)
    user.waits_for(lambda: "damaged" in user.page.banner.text().lower())


def test_a_damaged_recording_is_named_and_its_readable_parts_become_recordings(user, workspace):
    path = leave_take(workspace, "ward4-1", flipped=20)
    looks(user)
    assert user.page.banner.text() == "1 recording that was cut short is damaged. Decide what to do with its file."
    user.page.banner.button.click()
    (card,) = user.page.damaged.cards
    assert card.sentence.text() == (
        "It can be read from 0:00.0 to 0:20.0. It can also be read from 0:21.0 to 0:40.0. "
        "About 1.0 s of sound are missing."
    )
    card.recover.click()
    user.waits_for_words("A recording of ward4-1 is kept")
    assert not path.exists()
    assert (workspace.library.damaged.folder / path.name).exists()
    for number, expected in ((1, range(20)), (2, range(21, 40))):
        user.waits_for_words("Decide whether to send it")
        user.page.banner.button.click()
        user.sees_check()
        assert f"Part {number} of 2 of a damaged recording" in user.page.review.source.metadata.note
        samples = user.page.review._audio.samples
        assert np.array_equal(samples, np.repeat(np.array(expected, np.int16), RATE))
        user.page.review.keep()
        user.waits_for(lambda number=number: len(user.outbox()) == number)
    assert "readable parts of damaged sound recovered" in actions(workspace)


def test_a_damaged_recording_keeps_no_other_from_being_offered(user, workspace):
    leave_take(workspace, "ward4-1", flipped=20)
    (workspace.library.recording_folder / "folder.take").mkdir()
    leave_take(workspace, "ward4-2", seconds=20)
    looks(user)
    words = "A recording of ward4-2 is kept, 0:20 long. Decide whether to send it. 2 damaged recordings wait too."
    user.waits_for_words(words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The file is empty."),
        (b"garbage" * 90, "The file is not a recording of the desk, or its beginning is damaged."),
        (b"VBTAKE2\n" + b"\1" * 400, "It was sealed with another key, or its beginning is damaged."),
    ],
)
def test_what_cannot_be_read_at_all_is_listed_and_stays(user, workspace, content, words):
    path = workspace.library.recording_folder / "a.take"
    path.write_bytes(content)
    looks(user)
    user.page.banner.button.click()
    (card,) = user.page.damaged.cards
    assert card.sentence.text() == f"Nothing of it can be read. {words}"
    assert not card.recover.isVisible()
    assert path.read_bytes() == content


def test_a_file_is_deleted_on_the_second_press_alone_and_the_log_says_so(user, workspace):
    path = leave_take(workspace, "ward4-1", flipped=0)
    looks(user)
    user.page.banner.button.click()
    (card,) = user.page.damaged.cards
    card.delete.click()
    assert card.delete.text() == "Delete for good"
    assert path.exists()
    card.delete.click()
    user.waits_for(lambda: not path.exists())
    user.waits_for(lambda: not user.page.damaged.cards)
    assert user.page.ready.isVisible()
    assert actions(workspace)[-1] == "damaged sound deleted"


def test_a_file_that_is_kept_is_moved_aside_and_offered_no_more(user, workspace):
    path = leave_take(workspace, "ward4-1", flipped=0)
    content = path.read_bytes()
    looks(user)
    user.page.banner.button.click()
    user.page.damaged.cards[0].keep.click()
    user.waits_for(lambda: not user.page.damaged.cards)
    assert (workspace.library.damaged.folder / path.name).read_bytes() == content
    assert actions(workspace)[-1] == "damaged sound kept aside"


def test_damage_in_the_last_second_is_told(user, workspace):
    leave_take(workspace, "ward4-1", seconds=20, flipped=19)
    user.page.opened(None)
    user.waits_for_words("0:19 long. Decide whether to send it. About 1.0 s at its end cannot be read.")


def test_a_recording_of_the_library_says_what_can_be_read_and_offers_it(user, workspace):
    user.enters_subject("ward4-0172")
    user.records(20)
    user.stops()
    user.page.review.keep()
    user.waits_for(user.outbox)
    (item,) = user.outbox()
    path = workspace.library.store.path(item.take_id)
    flip(path, path.stat().st_size // 2)
    content = path.read_bytes()
    user.page.review.review_library(item.take_id)
    user.waits_for(lambda: user.page.banner.button.text() == "Recover what can be read")
    assert "The sound of this recording is damaged. It can be read from 0:00.0 to" in user.page.banner.text()
    user.page.banner.button.click()
    user.waits_for_words("A recording of ward4-0172 is kept")
    assert path.read_bytes() == content
    assert [each.take_id for each in user.outbox()] == [item.take_id]
    assert actions(workspace)[-1] == "readable parts of damaged sound recovered"


def test_a_take_that_was_cut_short_is_called_by_the_alias_of_its_subject(user, workspace):
    workspace.library.subject_notes.store_alias("s-1", "Übung 7")
    leave_take(workspace, "s-1", flipped=20)
    looks(user)
    user.page.banner.button.click()
    (card,) = user.page.damaged.cards
    (title,) = (label.text() for label in card.findChildren(Text) if "Übung" in label.text())
    assert title.startswith("\u2068Übung 7\u2069, ")
    card.recover.click()
    user.waits_for_words("A recording of \u2068Übung 7\u2069 is kept")
