"""Foreign changes are detected and reported, block their recording, and hide no other."""

import random
import shutil
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from list_by_hand import list_by_hand
from vbdesk.boot_clock import BootTime
from vbdesk.capture.encrypted_take import EncryptedFileError, FileDamaged
from vbdesk.outbox.library.database import LibraryKeyWrong, LibraryUnreadable
from vbdesk.outbox.library.integrity_check import (
    OLDER_COPY,
    ROWS_MISSING,
    entries_changed,
    sounds_missing,
    unknown_files,
)
from vbdesk.outbox.library.items import ItemFilter
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.outbox.library.recording_time import ServiceTime, TimeReference
from vbdesk.outbox.library.retention import SoundRetention
from vbdesk.outbox.library.rows import DETAILS_CHANGED, RESULT_CHANGED, ROW_CHANGED
from vbdesk.outbox.library.states import Fix, IllegalStateChange, OutboxState
from vbdesk.outbox.sync.request_journal import StoredRequestJournal
from vbdesk.outbox.sync.upload_queue import UploadQueue

EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
FILE = "library.sqlite"


@contextmanager
def by_hand(folder):
    """The database of a closed library, as somebody with the key of its pages can write to it."""
    with list_by_hand(folder) as database:
        yield database


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "library"


@pytest.fixture
def three(library, new_take):
    """Two waiting recordings and one with a result; the library is closed."""
    began = TimeReference(BootTime("start-1", 60.0))
    takes = [new_take(f"ward4-{number}", seconds=1, note=f"{number}", reference=began) for number in (1, 2, 3)]
    for take_id in takes:
        library.queue(take_id)
    with library.store.changing():
        for state in (OutboxState.SUBMITTED, OutboxState.DONE):
            library.store.move(takes[2], state)
        library.store.store_result(takes[2], b'{"a": 1}', EIGHT)
        library.store.remove_event(takes[2])
    library.close()
    return takes


CHANGES = {
    "group_id": "somebody-else",
    "recorded_at": "2020-01-01T00:00:00.000000+00:00",
    "target": "model:other",
    "longitudinal": 0,
    "duration_s": 19.0,
    "imported": 1,
    "state": "checked",
    "reason": "r",
    "job_id": "another-job",
    "created_at": "2020-01-01T00:00:00.000000+00:00",
    "take_key": b"\1" * 60,
    "sound_sha256": "0" * 64,
    "sent_sha256": "0" * 64,
    "bundle_id": "b",
    "audio_gone_at": "2020-01-01T00:00:00.000000+00:00",
    "mac": bytes(32),
}


@pytest.mark.parametrize("column", CHANGES)
def test_a_row_edited_by_hand_is_said_and_not_sent(three, folder, reopen, column):
    with by_hand(folder) as database:
        database.execute(f"UPDATE recordings SET {column} = ? WHERE take_id = ?", (CHANGES[column], three[0]))
    again = reopen()
    items = {item.take_id: item for item in again.list()}
    assert {take_id: item.fault for take_id, item in items.items()} == {
        three[0]: ROW_CHANGED,
        three[1]: None,
        three[2]: None,
    }
    assert (items[three[0]].state, items[three[0]].reason) == (OutboxState.NEEDS_ATTENTION, ROW_CHANGED)
    assert any("1 recording was changed" in sentence for sentence in again.warnings)
    assert again.counts()[OutboxState.NEEDS_ATTENTION] == 1
    assert [item.take_id for item in again.list(ItemFilter(frozenset({OutboxState.NEEDS_ATTENTION})))] == [three[0]]
    assert [item.take_id for item in again.list(ItemFilter(frozenset({OutboxState.WAITING})))] == [three[1]]
    for act in (again.queue, again.retry, again.cancel, again.discard):
        with pytest.raises(NotAllowed):
            act(three[0])
    with pytest.raises(IllegalStateChange), again.store.changing():
        again.store.update(three[0], {"job_id": "j"})
    again.discard(three[0], at_once=True)
    assert [item.fault for item in again.list()] == [None, None]
    assert again.counts()[OutboxState.NEEDS_ATTENTION] == 0


def test_a_changed_row_is_not_in_the_way_of_what_is_done_to_many(library, three, folder, reopen):
    put_off = Library(folder, library.store.key, library.store.clock)
    with put_off.store.changing():
        for take_id in three[:2]:
            put_off.store.write_event_of(take_id, {"attempts": 9, "not_before": "2026-03-01T10:00:00.000000+00:00"})
    put_off.close()
    with by_hand(folder) as database:
        database.execute("UPDATE recordings SET state = 'uploading', group_id = 'x' WHERE take_id = ?", (three[0],))
        database.execute("UPDATE recordings SET created_at = 'later' WHERE take_id = ?", (three[2],))
    again = reopen()
    line = UploadQueue(again.store)
    again.send_now()
    line.recover()
    line.retry_postponed()
    again.times.confirm(ServiceTime(BootTime("start-1", 0.0), EIGHT + timedelta(days=1)))
    again.times.review()
    SoundRetention(again).step(EIGHT)
    (event,) = line.events()
    assert (event.take_id, event.released, event.not_before) == (three[1], True, None)
    assert again.get(three[1]).fix is Fix.SET_CLOCK
    assert again.get(three[0]).time_doubt is None
    assert {again.get(take_id).fault for take_id in (three[0], three[2])} == {ROW_CHANGED}


@pytest.mark.parametrize(
    "column",
    [
        "event_id",
        "kind",
        "attempts",
        "not_before",
        "upload_ref",
        "uploaded_at",
        "asked_at",
        "released",
        "asked_service_at",
        "key_kept_s",
    ],
)
@pytest.mark.parametrize("value", ["gone mad", "2026-03-01T08:00:00", 9, b"\xff"])
def test_an_event_changed_by_hand_is_said_and_not_sent_and_stops_neither_list_nor_line(
    three, folder, reopen, column, value
):
    with by_hand(folder) as database:
        database.execute(f"UPDATE pending SET {column} = ? WHERE take_id = ?", (value, three[0]))
    again = reopen()
    line = UploadQueue(again.store)
    assert [event.take_id for event in line.events()] == [three[1]]
    assert {item.take_id: item.fault for item in again.list()} == {
        three[0]: ROW_CHANGED,
        three[1]: None,
        three[2]: None,
    }
    assert any("1 recording was changed" in sentence for sentence in again.warnings)
    again.send_now()
    with pytest.raises(NotAllowed):
        again.retry(three[0])
    again.discard(three[0], at_once=True)
    assert [item.fault for item in again.list()] == [None, None]


@pytest.mark.parametrize("column", ["at", "bucket"])
@pytest.mark.parametrize("value", ["gone mad", "2026-03-01T08:00:00", b"\xff"])
def test_a_spoilt_request_stops_neither_list_nor_line(three, folder, reopen, column, value):
    with by_hand(folder) as database:
        database.execute("INSERT INTO requests VALUES ('general', '2026-03-01T09:00:00.000000+00:00')")
        database.execute(f"UPDATE requests SET {column} = ?", (value,))
    again = reopen()
    assert [item.fault for item in again.list()] == [None, None, None]
    assert list(StoredRequestJournal(again.store).recent()) == []
    assert len(UploadQueue(again.store).events()) == 2


def test_a_disk_that_fails_is_not_said_to_be_a_damaged_list(tmp_path):
    (tmp_path / "library" / FILE).mkdir(parents=True)
    with pytest.raises(LibraryUnreadable, match="the disk is full, write-protected or gone"):
        Library(tmp_path / "library", bytes(32))


@pytest.mark.parametrize("empty", [False, True], ids=["missing", "empty"])
def test_the_log_of_a_list_that_was_moved_away_is_kept(library, new_take, folder, tmp_path, empty):
    take_id = new_take(note="after the checkpoint")
    killed = tmp_path / "killed"
    shutil.copytree(folder, killed)
    file, log = killed / FILE, killed / f"{FILE}-wal"
    file.rename(killed / "away")
    if empty:
        file.touch()
    before = log.read_bytes()
    assert before
    with pytest.raises(LibraryUnreadable, match="Put the list back"):
        Library(killed, library.store.key)
    assert log.read_bytes() == before
    (killed / "away").replace(file)
    with closing(Library(killed, library.store.key)) as again:
        assert again.get(take_id).note == "after the checkpoint"


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("state", "gone mad"),
        ("target", "nothing"),
        ("recorded_at", "yesterday"),
        ("created_at", "2026-03-01 08:00"),
        ("group_id", b"\xff\xfe"),
        ("duration_s", "long"),
        ("result_at", 17),
        ("audio_gone_at", "soon"),
        ("details", "plain"),
        ("mac", "text"),
    ],
)
def test_values_that_cannot_even_be_read_hide_no_other_recording(three, folder, reopen, column, value):
    with by_hand(folder) as database:
        database.execute(f"UPDATE recordings SET {column} = ? WHERE take_id = ?", (value, three[0]))
    again = reopen()
    assert {item.take_id: item.fault is None for item in again.list()} == {
        three[0]: False,
        three[1]: True,
        three[2]: True,
    }
    assert sum(again.counts().values()) == 3
    again.discard(three[0], at_once=True)


def test_sealed_columns_moved_between_recordings_do_not_open(three, folder, reopen):
    with by_hand(folder) as database:
        rows = database.execute("SELECT * FROM recordings ORDER BY take_id").fetchall()
        for column in ("details", "take_key"):
            for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
                database.execute(
                    f"UPDATE recordings SET {column} = ? WHERE take_id = ?", (other[column], row["take_id"])
                )
    again = reopen()
    assert {item.fault for item in again.list()} == {ROW_CHANGED}
    assert all(item.note == "" for item in again.list())
    for take_id in three:
        with pytest.raises(FileDamaged):
            again.audio(take_id)


def test_rows_that_changed_their_names_are_noticed(three, folder, reopen):
    with by_hand(folder) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        for before, after in ((three[0], "x"), (three[1], three[0]), ("x", three[1])):
            database.execute("UPDATE recordings SET take_id = ? WHERE take_id = ?", (after, before))
    again = reopen()
    assert {item.take_id for item in again.list() if item.fault} == {three[0], three[1]}


def test_details_and_results_put_in_by_hand_are_said(three, folder, reopen):
    with by_hand(folder) as database:
        sealed = database.execute("SELECT details FROM recordings WHERE take_id = ?", (three[0],)).fetchone()[0]
        flipped = sealed[:-1] + bytes([sealed[-1] ^ 1])  # after the nonce, which the row's MAC covers
        database.execute("UPDATE recordings SET details = ? WHERE take_id = ?", (flipped, three[0]))
        database.execute("UPDATE results SET sealed = zeroblob(100) WHERE take_id = ?", (three[2],))
    again = reopen()
    assert {item.take_id: item.fault for item in again.list()} == {
        three[0]: DETAILS_CHANGED,
        three[1]: None,
        three[2]: RESULT_CHANGED,
    }
    assert again.get(three[2]).result_json is None


def test_a_row_put_back_in_an_older_form_or_removed_is_said(library, new_take, folder, reopen):
    take_id = new_take(seconds=1)
    older = library.store.row(take_id)
    library.set_recorded_at(take_id, EIGHT)
    library.close()
    with by_hand(folder) as database:
        names = ", ".join(f"{name} = ?" for name in older)
        database.execute(f"UPDATE recordings SET {names} WHERE take_id = ?", (*older.values(), take_id))
    again = reopen()
    assert ROWS_MISSING in again.warnings
    assert OLDER_COPY not in again.warnings
    again.close()
    again = reopen()
    assert ROWS_MISSING in again.warnings
    again.accept_copy()
    assert again.warnings == ()
    again.close()
    again = reopen()
    assert again.warnings == ()
    again.close()
    with by_hand(folder) as database:
        database.execute("DELETE FROM recordings")
    assert ROWS_MISSING in reopen().warnings


def test_a_recording_on_its_way_whose_event_was_removed_is_looked_for_before_it_is_sent(three, folder, reopen):
    with by_hand(folder) as database:
        database.execute("DELETE FROM pending WHERE take_id = ?", (three[0],))
    again = reopen()
    assert (again.store.asked(three[0]), again.store.asked(three[1])) == (True, False)


def test_an_older_database_is_said_and_everything_looked_for_before_it_is_sent(
    library, new_take, folder, reopen, tmp_path
):
    first = new_take(seconds=1)
    library.queue(first)
    library.close()
    shutil.copy(folder / FILE, tmp_path / "older")
    between = reopen()
    between.cancel(first)
    between.close()
    shutil.copy(tmp_path / "older", folder / FILE)
    again = reopen()
    assert OLDER_COPY in again.warnings
    assert again.store.asked(first)
    again.accept_copy()
    again.close()
    assert OLDER_COPY not in reopen().warnings


def test_sounds_of_a_newer_list_are_left_where_they_are(three, folder, reopen, tmp_path):
    shutil.copytree(folder / "takes", tmp_path / "takes")
    again = reopen()
    for take_id in three[:2]:
        again.cancel(take_id)
        again.discard(take_id, at_once=True)
    again.close()
    for name in three[:2]:
        shutil.copy(tmp_path / "takes" / f"{name}.take", folder / "takes" / "of-a-newer-list.take")
    again = reopen()
    assert any("1 file" in sentence for sentence in again.warnings)
    assert (folder / "takes" / "of-a-newer-list.take").exists()


def test_another_database_of_the_same_key_is_said(three, folder, reopen, tmp_path, library):
    """Two laptops with one key: its rows are authentic, but its sounds are missing here."""
    other = type(library)(tmp_path / "other", library.store.key, library.store.clock)
    other.close()
    shutil.copy(tmp_path / "other" / FILE, folder / FILE)
    again = reopen()
    assert again.list() == []
    assert any("3 files" in sentence for sentence in again.warnings)
    assert len(list((folder / "takes").iterdir())) == 3


def _exchange(folder, three):
    first, second = (folder / "takes" / f"{take_id}.take" for take_id in three[:2])
    first.rename(folder / "x")
    second.rename(first)
    (folder / "x").rename(second)


def _cut(folder, three, kept=0.5):
    path = folder / "takes" / f"{three[0]}.take"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])


def _flip(folder, three, at):
    path = folder / "takes" / f"{three[0]}.take"
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [
        _exchange,
        _cut,
        lambda folder, three: _cut(folder, three, kept=0.01),
        lambda folder, three: _flip(folder, three, 12),  # the salt
        lambda folder, three: _flip(folder, three, 100),
        lambda folder, three: _flip(folder, three, 8000),
        lambda folder, three: (folder / "takes" / f"{three[0]}.take").unlink(),
        lambda folder, three: (folder / "takes" / f"{three[0]}.take").write_bytes(b""),
    ],
)
def test_a_sound_that_was_exchanged_cut_or_changed_is_never_passed_off_as_the_recording(three, folder, reopen, spoil):
    spoil(folder, three)
    again = reopen()
    with pytest.raises(EncryptedFileError) as raised:
        again.audio(three[0])
    assert str(raised.value).endswith(".")
    assert again.audio(three[2]).duration_s == 1.0


def test_a_sound_whose_magic_alone_is_changed_is_proved_to_be_whole_and_used(three, folder, reopen):
    before = reopen().audio(three[0]).samples
    _flip(folder, three, 3)
    audio = reopen().audio(three[0])
    assert (audio.samples == before).all()


@pytest.mark.parametrize("spoil", [lambda *about: _cut(*about, kept=0.999), lambda *about: _flip(*about, at=-1)])
def test_a_sound_whose_closing_alone_is_lost_is_still_known_for_the_same(three, folder, reopen, spoil):
    spoil(folder, three)
    audio = reopen().audio(three[0])
    assert (audio.complete, audio.duration_s) == (False, 1.0)


def test_a_sound_is_not_deleted_because_somebody_says_that_it_is_gone(three, folder, reopen):
    with by_hand(folder) as database:
        database.execute("UPDATE recordings SET audio_gone_at = created_at WHERE take_id = ?", (three[0],))
    again = reopen()
    assert again.store.path(three[0]).exists()


def test_settings_put_in_by_hand_count_as_none(library, folder, reopen):
    library.change_settings(paused=True)
    library.close()
    with by_hand(folder) as database:
        database.execute("UPDATE settings SET sealed = zeroblob(64)")
    assert not reopen().settings().paused


def reopened(library, folder):
    opened = Library(folder, library.store.key, library.store.clock)
    items = opened.list()
    opened.close()
    return items


def test_a_bit_that_flips_anywhere_in_the_database_never_changes_a_recording_silently(three, folder, tmp_path, library):
    good = {
        item.take_id: (item.group_id, item.recorded_at, item.state, item.note) for item in reopened(library, folder)
    }
    content, chance, said = (folder / FILE).read_bytes(), random.Random(7), 0
    written = [at for at, byte in enumerate(content) if byte]
    for number in range(80):
        copy = tmp_path / str(number)
        shutil.copytree(folder, copy)
        spoilt, at = bytearray(content), chance.choice(written)
        spoilt[at] ^= 1 << chance.randrange(8)
        (copy / FILE).write_bytes(spoilt)
        try:
            opened = Library(copy, library.store.key, library.store.clock)
        except (LibraryUnreadable, LibraryKeyWrong):
            said += 1
            continue
        items = opened.list()
        assert len(items) == sum(opened.counts().values()) == len(opened.changes_since(0).items)
        for item in items:
            unchanged = good.get(item.take_id) == (item.group_id, item.recorded_at, item.state, item.note)
            assert unchanged or item.fault is not None, at
        assert len(items) == len(good) or opened.warnings != ()
        said += any(item.fault for item in items)
        opened.close()
    assert said > 10


def test_a_damaged_page_of_results_costs_the_result_on_it_and_no_other_recording(three, folder, reopen, library):
    """Break the overflow pages of a long result."""
    opened = Library(folder, library.store.key, library.store.clock)
    with opened.store.changing():
        opened.store.store_result(three[2], b"x" * 20_000, EIGHT)
    opened.close()
    with by_hand(folder) as database:
        sealed = database.execute("SELECT sealed FROM results").fetchone()[0]
    content = bytearray((folder / FILE).read_bytes())
    size = int.from_bytes(content[16:18], "big")
    with by_hand(folder) as database:
        page = database.serialize().index(sealed[10_000:10_100]) // size * size
    content[page : page + 4] = b"\xff\xff\xff\xff"
    (folder / FILE).write_bytes(content)
    again = reopen()
    assert {item.take_id: item.fault for item in again.list()} == {
        three[0]: None,
        three[1]: None,
        three[2]: RESULT_CHANGED,
    }
    assert again.get(three[2]).group_id == "ward4-3"


@pytest.mark.parametrize(
    ("sentences", "one", "many"),
    [
        (unknown_files, "There is 1 file ", "There are 2 files "),
        (sounds_missing, "The sound of 1 recording is ", "The sounds of 2 recordings are "),
        (entries_changed, "1 recording was ", "2 recordings were "),
    ],
)
def test_one_and_many_have_each_their_whole_sentence(sentences, one, many):
    assert sentences(1).startswith(one)
    assert sentences(2).startswith(many)


def test_two_files_that_belong_to_nothing_are_told_in_the_plural(three, folder, reopen):
    for number in range(2):
        (folder / "takes" / f"stray-{number}.txt").write_bytes(b"stray")
    assert any(
        "There are 2 files in the folder takes" in each and each.endswith("to them.") for each in reopen().warnings
    )
