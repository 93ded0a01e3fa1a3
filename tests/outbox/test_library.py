from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from vbdesk.outbox.library.database import LibraryKeyWrong, LibraryUnreadable
from vbdesk.outbox.library.items import ItemFilter, RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library, NotAllowed, UnknownTake
from vbdesk.outbox.library.states import OutboxState
from vbdesk.voice.errors import UnsupportedAudio

DATA = Path(__file__).parents[1] / "data"
EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


def test_a_take_comes_back_with_all_that_was_said_about_it(library, new_take):
    consent = datetime(2026, 3, 1, 7, 59, tzinfo=UTC)
    take_id = new_take(
        "ward4-0172", seconds=20, note="after lunch", tags=("visit 2",), consented_at=consent, protocol="counting"
    )
    item = library.get(take_id)
    assert (item.group_id, item.note, item.tags, item.protocol) == (
        "ward4-0172",
        "after lunch",
        ("visit 2",),
        "counting",
    )
    assert (item.consented_at, item.target, item.longitudinal) == (consent, RecordingTarget("model", "pulse"), True)
    assert (item.duration_s, item.state) == (20.0, OutboxState.CHECKED)
    assert library.audio(take_id).duration_s == 20.0


def test_the_recorder_leaves_nothing_behind(library, new_take):
    new_take()
    assert list(library.recording_folder.iterdir()) == []


def test_what_people_wrote_is_not_readable_on_disk(library, new_take, tmp_path):
    new_take(note="seems worried about surgery", tags=("relapse-study",))
    content = b"".join(path.read_bytes() for path in (tmp_path / "library").rglob("*") if path.is_file())
    assert b"worried" not in content
    assert b"relapse" not in content


def test_no_two_recordings_share_a_moment(library, new_take):
    moment = EIGHT.replace(microsecond=700_001)
    takes = [new_take("ward4-0172", recorded_at=moment), new_take("ward4-0001", recorded_at=moment)]
    takes.append(new_take("ward4-0172", recorded_at=moment))
    assert [library.get(each).recorded_at for each in takes] == [
        moment,
        moment + timedelta(microseconds=1),
        moment + timedelta(microseconds=2),
    ]


def test_a_bad_group_id_is_refused_and_the_take_stays(library, new_take):
    with pytest.raises(ValueError, match="letter or digit"):
        new_take("-ward")
    assert len(list(library.recording_folder.iterdir())) == 1
    assert library.list() == []


def test_trimming_keeps_the_whole_take_and_counts_the_part(library, new_take):
    take_id = new_take(seconds=20, trim_s=(1.0, 18.5))
    assert library.get(take_id).duration_s == 17.5
    assert library.audio(take_id).duration_s == pytest.approx(17.5)


def test_a_trim_that_leaves_nothing_is_refused(new_take):
    with pytest.raises(ValueError, match="Undo the trim"):
        new_take(seconds=20, trim_s=(21.0, 25.0))


@pytest.mark.parametrize("suffix", ["flac", "mp3", "m4a"])
def test_a_file_is_imported_as_it_is_and_can_be_heard(library, suffix):
    path = DATA / f"speech_kathleen_20s.{suffix}"
    take_id = library.import_file(path, TakeMetadata("s-1", EIGHT, RecordingTarget("sign", "fatigue")))
    assert library.original(take_id) == path.read_bytes()
    assert library.audio(take_id).duration_s == pytest.approx(20.5, abs=0.2)
    assert library.get(take_id).duration_s == pytest.approx(20.5, abs=0.2)


def test_a_file_that_is_no_sound_is_refused(library, tmp_path):
    path = tmp_path / "notes.wav"
    path.write_text("not sound")
    with pytest.raises(UnsupportedAudio):
        library.import_file(path, TakeMetadata("s-1", EIGHT, RecordingTarget("model", "pulse")))
    assert library.list() == []


def test_lists_are_newest_first_and_can_be_narrowed(library, new_take):
    old = new_take("ward4-0001", recorded_at=EIGHT)
    new = new_take("clinic-7", recorded_at=EIGHT + timedelta(days=1))
    library.queue(old)
    assert [item.take_id for item in library.list()] == [new, old]
    assert [item.take_id for item in library.list(ItemFilter(search="WARD"))] == [old]
    assert [item.take_id for item in library.list(ItemFilter(group_id="clinic-7"))] == [new]
    assert [item.take_id for item in library.list(ItemFilter(states=frozenset({OutboxState.WAITING})))] == [old]
    assert library.counts()[OutboxState.WAITING] == 1
    assert library.counts()[OutboxState.DONE] == 0
    assert library.groups() == ("clinic-7", "ward4-0001")


def test_queue_cancel_and_queue_again(library, new_take):
    take_id = new_take()
    library.queue(take_id)
    with pytest.raises(NotAllowed):
        library.queue(take_id)
    library.cancel(take_id)
    assert library.get(take_id).state is OutboxState.CHECKED
    library.queue(take_id)
    assert library.get(take_id).state is OutboxState.WAITING


def test_discarding_removes_the_sound(library, new_take, tmp_path):
    take_id = new_take()
    library.discard(take_id, at_once=True)
    with pytest.raises(UnknownTake):
        library.get(take_id)
    assert list((tmp_path / "library" / "takes").iterdir()) == []


def test_changes_since_tell_what_is_new_and_what_is_gone(library, new_take):
    first, second = new_take("a"), new_take("b")
    before = library.changes_since(0)
    assert {item.take_id for item in before.items} == {first, second}
    library.queue(second)
    library.discard(first, at_once=True)
    after = library.changes_since(before.version)
    assert [item.take_id for item in after.items] == [second]
    assert after.removed == [first]
    assert library.changes_since(after.version).items == []


def test_subscribers_hear_of_every_change_until_they_leave(library, new_take):
    heard = []
    leave = library.subscribe(lambda: heard.append(library.store.version()))
    take_id = new_take()
    library.queue(take_id)
    leave()
    library.cancel(take_id)
    assert len(heard) == 2


def test_everything_survives_a_restart(library, new_take, reopen):
    take_id = new_take(note="n")
    library.queue(take_id)
    library.close()
    assert reopen().get(take_id).note == "n"


def test_another_key_does_not_open_the_library(library, new_take, tmp_path):
    new_take()
    with pytest.raises(LibraryKeyWrong, match="kept as they are"):
        Library(tmp_path / "library", bytes(32))


def test_a_damaged_database_is_left_as_it_is(tmp_path):
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "library.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(LibraryUnreadable, match="are kept"):
        Library(folder, bytes(32))
    assert (folder / "library.sqlite").read_bytes().startswith(b"no database")


def test_a_copy_that_a_crash_cut_short_is_dropped(library, reopen):
    half = library.store.takes_folder / "half.new"
    half.write_bytes(b"VBTAKE2\n" + bytes(76) + b"half of it")
    library.close()
    reopen()
    assert not half.exists()


def test_what_was_handed_over_is_taken_back_before_it_is_deleted(library, new_take):
    take_id = new_take(seconds=1)
    library.queue(take_id)
    with library.store.changing():
        library.store.move(take_id, OutboxState.HANDED_OVER)
    with pytest.raises(NotAllowed, match="Take it back"):
        library.discard(take_id, at_once=True)


def test_an_undone_change_deletes_nothing_later(library, new_take):
    """Work planned for after the commit is dropped on a rollback, even if SQLite rolled back itself."""
    take_id, other = new_take(seconds=1), new_take(seconds=1)
    with pytest.raises(ZeroDivisionError), library.store.changing() as database:
        library.discard(take_id, at_once=True)
        database.execute("ROLLBACK")
        raise ZeroDivisionError
    library.queue(other)
    assert library.audio(take_id).duration_s == 1.0


def test_recordings_that_did_not_change_are_not_read_again(library, new_take):
    first, second = new_take("a", seconds=1), new_take("b", seconds=1)
    before = {item.take_id: item for item in library.list()}
    library.queue(second)
    after = {item.take_id: item for item in library.list()}
    assert after[first] is before[first]
    assert (before[second].state, after[second].state) == (OutboxState.CHECKED, OutboxState.WAITING)


def test_sent_by_hand_what_waits_is_marked_and_seen_to_be(library, new_take):
    first, second = new_take("a", seconds=1), new_take("b", seconds=1)
    for take_id in (first, second):
        library.queue(take_id)
    version = library.changes_since(0).version
    library.send_now([first])
    assert [item.take_id for item in library.changes_since(version).items] == [first]
    assert (library.get(first).released, library.get(second).released) == (True, False)
    library.send_now()
    assert library.get(second).released


def test_the_last_read_of_a_subject_is_kept_sealed(library, reopen, tmp_path):
    assert library.responses.trajectory("ward4-1") is None
    with library.store.changing():
        library.store.store_trajectory("ward4-1", b'{"burnout": 1}')
    body, read_at = library.responses.trajectory("ward4-1")
    assert (body, read_at) == (b'{"burnout": 1}', library.store.clock.now())
    library.close()
    assert b"burnout" not in (tmp_path / "library" / "library.sqlite").read_bytes()
    assert reopen().responses.trajectory("ward4-1") == (body, read_at)
