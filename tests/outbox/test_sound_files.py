"""A kill at any moment loses no sound, and a deleted sound cannot be decrypted by anybody."""

import json
import shutil
import sqlite3
import struct
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

import vbdesk.capture.take_keys
import vbdesk.outbox.library.library
import vbdesk.outbox.library.sound_files
import vbdesk.outbox.library.store
import vbdesk.outbox.library.trash
from days_of_use import use_daily
from list_by_hand import everything_under
from vbdesk.capture.crash_recovery import unfinished_takes
from vbdesk.capture.encrypted_take import BlockKind, EncryptedTakeWriter, FileDamaged, FileKeyMissing, read_take
from vbdesk.capture.take_keys import has_key
from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library, UnknownTake
from vbdesk.outbox.library.states import OutboxState

KEY = bytes(range(32))
EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
METADATA = TakeMetadata("ward4-0172", EIGHT, RecordingTarget("model", "pulse"))
SAMPLES = np.random.default_rng(5).normal(0, 3000, 800).astype(np.int16)
OURS = {
    module.__file__
    for module in (vbdesk.capture.take_keys, vbdesk.outbox.library.library, vbdesk.outbox.library.sound_files)
}
OURS |= {vbdesk.outbox.library.store.__file__, vbdesk.outbox.library.trash.__file__}


def record(library, name="a"):
    path = library.recording_folder / f"{name}.take"
    writer = EncryptedTakeWriter(path, KEY, 100)
    writer.append(SAMPLES)
    writer.close()
    return path


@pytest.fixture
def take_of_old():
    """Write a take in the first format: no key of its own. One block for each half of the sound."""

    def write(path, samples):
        salt = bytes(16)
        cipher = AESGCM(HKDF(SHA256(), 32, salt, b"vbdesk take").derive(KEY))
        halves = [(BlockKind.FRAMES, half.tobytes()) for half in np.split(samples, 2)]
        about = json.dumps({"sample_rate": 100, "about": {}}).encode()
        closing = json.dumps({"frames": len(samples)}).encode()
        content = b"VBTAKE1\n" + salt
        for index, (kind, plain) in enumerate([(BlockKind.ABOUT, about), *halves, (BlockKind.END, closing)]):
            sealed = cipher.encrypt(index.to_bytes(12, "little"), plain, bytes([kind]))
            content += struct.pack("<BI", kind, len(plain)) + sealed
        path.write_bytes(content)
        return path

    return write


def end_with_result(library, take_id, result=b"{}"):
    store = library.store
    library.queue(take_id)
    with store.changing():
        for state in (OutboxState.SUBMITTED, OutboxState.DONE):
            store.move(take_id, state)
        store.store_result(take_id, result, EIGHT)
        store.remove_event(take_id)


@pytest.fixture
def killed_everywhere(tmp_path, clock):
    """Do something with a library, and open the state that a kill before each line of our code leaves."""
    folder, snapshots = tmp_path / "library", tmp_path / "snapshots"
    snapshots.mkdir()

    seen = set()

    def keep(*_unused):
        now = hash(tuple((path, path.read_bytes()) for path in sorted(folder.rglob("*[!m]")) if path.is_file()))
        if now not in seen:  # most lines do not change the disk
            seen.add(now)
            shutil.copytree(folder, snapshots / str(len(seen)))
        return keep

    def follow(frame, event, argument):
        return keep if frame.f_code.co_filename in OURS else None

    def run(act, states=4):
        before = sys.gettrace()
        sys.settrace(follow)
        try:
            act()
        finally:
            sys.settrace(before)
        left = sorted(snapshots.iterdir(), key=lambda path: int(path.name))
        assert len(left) >= states
        for copy in left:
            library = Library(copy, KEY, clock)
            yield library
            library.close()

    return run


def sound_of(library):
    """Find the samples in all possible places; exactly one must have them."""
    listed = [library.whole_audio(item.take_id).samples for item in library.list()]
    rescued = [read_take(take.path, KEY).samples for take in unfinished_takes(library.recording_folder, KEY)]
    (only,) = listed + rescued
    return only


def test_a_kill_while_a_take_comes_in_leaves_it_in_one_place(library, killed_everywhere):
    path = record(library)
    for after in killed_everywhere(lambda: library.add_take(path, METADATA)):
        assert np.array_equal(sound_of(after), SAMPLES)
        assert after.warnings == ()
        assert not list(after.store.takes_folder.glob("*.new"))
        for kept in after.store.takes_folder.glob("*.take"):
            with pytest.raises(FileKeyMissing):
                read_take(kept, KEY)


def test_a_kill_during_an_import_leaves_it_whole_or_not_at_all(library, killed_everywhere):
    source = Path(__file__).parents[1] / "data" / "speech_kathleen_20s.mp3"
    for after in killed_everywhere(lambda: library.import_file(source, METADATA)):
        assert [after.original(item.take_id) for item in after.list()] in ([], [source.read_bytes()])
        assert after.warnings == ()
        assert len(list(after.store.takes_folder.iterdir())) == len(after.list())


def test_a_kill_while_deleting_leaves_it_whole_or_gone(library, killed_everywhere):
    take_id = library.add_take(record(library), METADATA)
    key = library.store.row(take_id)["take_key"]
    for after in killed_everywhere(lambda: library.discard(take_id, at_once=True)):
        if after.list():
            assert np.array_equal(after.whole_audio(take_id).samples, SAMPLES)
        else:
            assert list(after.store.takes_folder.iterdir()) == []
            assert key not in everything_under(after.store.folder)
        assert after.warnings == ()


def test_a_kill_while_the_sound_is_removed_keeps_the_result(library, killed_everywhere):
    take_id = library.add_take(record(library), METADATA)
    end_with_result(library, take_id, b'{"a": 1}')
    for after in killed_everywhere(lambda: library.remove_sounds([take_id])):
        item = after.get(take_id)
        assert item.result_json == b'{"a": 1}'
        if item.audio_gone_at is None:
            assert np.array_equal(after.whole_audio(take_id).samples, SAMPLES)
        else:
            assert list(after.store.takes_folder.iterdir()) == []
        assert after.warnings == ()


def in_list_or_trash(library, take_id):
    """The sound of a recording that is in exactly one of the two; restored if it is in the trash."""
    assert library.trash.holds(take_id) != bool(library.list())
    if library.trash.holds(take_id):
        library.trash.restore(take_id)
    return library.whole_audio(take_id).samples


@pytest.mark.parametrize("way", ["discard", "restore"])
def test_a_kill_on_the_way_to_the_trash_or_back_loses_nothing(library, killed_everywhere, way):
    take_id = library.add_take(record(library), METADATA)
    library.queue(take_id)
    event = library.store.rows("SELECT event_id FROM pending")[0]["event_id"]
    if way == "restore":
        library.discard(take_id)
    move = getattr(library if way == "discard" else library.trash, way)
    for after in killed_everywhere(lambda: move(take_id), states=3):  # one transaction and the mark: no file is renamed
        assert np.array_equal(in_list_or_trash(after, take_id), SAMPLES)
        assert [(row["take_id"], row["event_id"]) for row in after.store.rows("SELECT * FROM pending")] == [
            (take_id, event)
        ]
        assert after.get(take_id).state is OutboxState.WAITING
        assert after.warnings == ()


def test_a_kill_while_the_trash_is_destroyed_leaves_it_whole_or_gone(library, killed_everywhere):
    take_id = library.add_take(record(library), METADATA)
    key = library.store.row(take_id)["take_key"]
    library.discard(take_id)
    for after in killed_everywhere(lambda: library.trash.destroy([take_id])):
        if after.trash.holds(take_id):
            assert np.array_equal(in_list_or_trash(after, take_id), SAMPLES)
        else:
            assert list(after.store.takes_folder.iterdir()) == []
            assert key not in everything_under(after.store.folder)
        assert after.warnings == ()


def fragments(sealed):
    """Search terms for a deleted key: any 12 consecutive bytes."""
    return [sealed[begin : begin + 12] for begin in range(0, len(sealed) - 12, 6)]


@pytest.mark.parametrize("way", ["discard", "remove_sounds", "trash"])
def test_a_deleted_key_is_nowhere_any_more(library, clock, tmp_path, way):
    """With many other recordings, so that database pages are split, moved and reused."""
    takes = [library.add_take(record(library, str(number)), METADATA) for number in range(30)]
    chosen = takes[::7]
    keys = {take_id: library.store.row(take_id)["take_key"] for take_id in takes}
    copies = {take_id: shutil.copy(library.store.path(take_id), tmp_path / f"{take_id}.copy") for take_id in chosen}
    if way == "remove_sounds":
        for take_id in takes:
            end_with_result(library, take_id)
    for take_id in chosen:
        if way == "remove_sounds":
            library.remove_sounds([take_id])
        else:
            library.discard(take_id, at_once=way == "discard")
    if way == "trash":
        assert all(keys[take_id] in everything_under(library.store.folder) for take_id in takes)
        use_daily(library, 7)
        assert library.trash.destroy_due()
    found = everything_under(library.store.folder)
    assert all(keys[take_id] in found for take_id in takes if take_id not in chosen)
    for take_id in chosen:
        assert not any(piece in found for piece in fragments(keys[take_id]))
        assert not list(library.store.takes_folder.glob(f"{take_id}*"))
        with pytest.raises(FileKeyMissing):
            read_take(Path(copies[take_id]), KEY)


def test_a_copy_that_the_database_left_when_it_moved_a_key_goes_too(library):
    """Simulate what SQLite sometimes leaves in the free space of a page."""
    take_id, other = (library.add_take(record(library, name), METADATA) for name in "ab")
    key = library.store.row(take_id)["take_key"]
    with library.store.changing() as database:
        database.execute("CREATE TABLE left_over (value BLOB)")
        database.execute("INSERT INTO left_over VALUES (?)", (key,))
        database.execute("PRAGMA secure_delete = OFF")
        database.execute("DROP TABLE left_over")
    library.store.scrub()
    assert key in everything_under(library.store.folder)
    library.discard(take_id, at_once=True)
    assert key not in everything_under(library.store.folder)
    assert np.array_equal(library.whole_audio(other).samples, SAMPLES)


def test_a_deletion_takes_the_copy_of_a_repair_with_it(library, tmp_path):
    take_id, other = (library.add_take(record(library, name), METADATA) for name in "ab")
    copy = tmp_path / "library" / "library.sqlite.v7.bak"
    copy.write_bytes(b"all that was here before")
    library.discard(take_id, at_once=True)
    assert not copy.exists()
    assert library.get(other).state is OutboxState.CHECKED


def test_a_copy_of_a_repair_goes_after_some_days(library, reopen, clock, tmp_path):
    library.close()
    copy = tmp_path / "library" / "library.sqlite.v7.bak"
    copy.write_bytes(b"all that was here before")
    age_s = clock.now().timestamp() - copy.stat().st_mtime
    clock.advance(max(0.0, -age_s) + 86_400)
    reopen()
    assert copy.exists()
    clock.advance(14 * 86_400)
    reopen()
    assert not copy.exists()


def test_sound_that_was_removed_says_so(library):
    take_id = library.add_take(record(library), METADATA)
    end_with_result(library, take_id)
    library.remove_sounds([take_id])
    with pytest.raises(FileKeyMissing, match="The result is kept"):
        library.audio(take_id)
    library.discard(take_id, at_once=True)
    with pytest.raises(UnknownTake):
        library.audio(take_id)


def test_a_disk_that_refuses_at_the_last_moment_leaves_the_take_with_the_recorder(library, reopen):
    path = record(library)
    refuse = "CREATE TRIGGER refuse BEFORE UPDATE OF sums ON library BEGIN SELECT RAISE (ABORT, 'disk full'); END"
    with library.store.changing_silently() as database:
        database.execute(refuse)
    with pytest.raises(sqlite3.Error):
        library.add_take(path, METADATA)
    assert np.array_equal(read_take(path, KEY).samples, SAMPLES)
    assert library.list() == []
    with library.store.changing_silently() as database:
        database.execute("DROP TRIGGER refuse")
    take_id = library.add_take(path, METADATA)
    assert np.array_equal(library.whole_audio(take_id).samples, SAMPLES)


def test_a_disk_that_refuses_to_put_away_or_bring_back_leaves_the_sound_where_it_was(library):
    take_id = library.add_take(record(library), METADATA)
    refuse = "CREATE TRIGGER refuse BEFORE UPDATE OF sums ON library BEGIN SELECT RAISE (ABORT, 'disk full'); END"
    with library.store.changing_silently() as database:
        database.execute(refuse)
    with pytest.raises(sqlite3.Error):
        library.discard(take_id)
    assert np.array_equal(library.whole_audio(take_id).samples, SAMPLES)
    with library.store.changing_silently() as database:
        database.execute("DROP TRIGGER refuse")
    library.discard(take_id)
    with library.store.changing_silently() as database:
        database.execute(refuse)
    with pytest.raises(sqlite3.Error):
        library.trash.restore(take_id)
    with library.store.changing_silently() as database:
        database.execute("DROP TRIGGER refuse")
    library.trash.restore(take_id)
    assert np.array_equal(library.whole_audio(take_id).samples, SAMPLES)


def test_a_change_around_the_deletion_that_fails_leaves_the_sound_readable(library, reopen):
    take_id = library.add_take(record(library), METADATA)
    with pytest.raises(RuntimeError), library.store.changing():
        library.discard(take_id)
        raise RuntimeError("the rest of the change failed")
    assert np.array_equal(library.whole_audio(take_id).samples, SAMPLES)
    library.close()
    again = reopen()
    assert again.store.path(take_id).exists()
    assert again.warnings == ()


def test_a_take_of_the_first_format_comes_in_plays_and_goes(library, take_of_old):
    path = take_of_old(library.recording_folder / "a.take", SAMPLES)
    take_id = library.add_take(path, METADATA)
    assert library.store.take_key(take_id) is None
    assert np.array_equal(library.whole_audio(take_id).samples, SAMPLES)
    library.discard(take_id, at_once=True)
    assert list(library.store.takes_folder.iterdir()) == []


def test_a_take_of_the_first_format_that_was_cut_is_refused(library, take_of_old):
    take_id = library.add_take(take_of_old(library.recording_folder / "a.take", SAMPLES), METADATA)
    with library.store.changing():
        library.store.update(take_id, {"sound_sha256": None})  # as in old libraries
    path = library.store.path(take_id)
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(FileDamaged, match="cut off"):
        library.audio(take_id)


def test_a_file_that_gets_its_name_while_the_folder_is_looked_at_is_no_fault(library, monkeypatch):
    coming = library.store.takes_folder / f"{new_id()}.new"
    coming.write_bytes(b"of a recording that an open desk takes in")

    def renamed(path):
        coming.rename(coming.with_suffix(".take"))
        return has_key(path)

    monkeypatch.setattr(vbdesk.outbox.library.sound_files, "has_key", renamed)
    found = library._sounds.folder_state()
    assert (found.doomed, found.not_taken_in, found.unclaimed) == ([], [], [])
