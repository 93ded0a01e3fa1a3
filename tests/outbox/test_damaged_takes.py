"""Damaged sound in the library, and interrupted decisions: nothing is lost or duplicated."""

import threading
from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import pytest

from patience import HANGS_S
from vbdesk.capture.crash_recovery import find_leftovers, inspect_leftovers, recover_parts
from vbdesk.capture.damaged_take import salvage
from vbdesk.capture.encrypted_take import EncryptedTakeWriter, FileDamaged, read_take
from vbdesk.outbox.library import damaged_takes
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library

RATE = 8000
METADATA = TakeMetadata("ward4-0172", datetime(2026, 3, 1, 8, tzinfo=UTC), RecordingTarget.parse("model:pulse"))
SECONDS = 20


def leave_take(library, name="a", seconds=SECONDS):
    path = library.recording_folder / f"{name}.take"
    about = {"group_id": "ward4-0172", "recorded_at": "2026-03-01T08:00:00+00:00", "note": "at rest"}
    writer = EncryptedTakeWriter(path, library.store.key, RATE, about)
    sizes = []
    for second in range(seconds):
        sizes.append(path.stat().st_size)
        writer.append(np.full(RATE, second, np.int16))
    writer.abandon()
    return path, sizes


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.fixture
def library(tmp_path):
    with closing(Library(tmp_path / "library", bytes(32))) as opened:
        yield opened


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*.take")}


@pytest.mark.parametrize("second", [0, 7, SECONDS - 1])
@pytest.mark.parametrize("place", [5, 100, 16_000])
def test_a_take_of_the_library_says_which_of_its_seconds_can_be_read(library, second, place):
    path, sizes = leave_take(library)
    take_id = library.add_take(path, METADATA)
    stored = library.store.path(take_id)
    flip(stored, sizes[second] + place)
    before = contents(library.store.folder)
    for read in (library.audio, library.whole_audio, library.check_sound):
        with pytest.raises(
            FileDamaged, match=r"It can be read from .* About 1.0 s of sound are missing. The file is kept"
        ):
            read(take_id)
    assert contents(library.store.folder) == before
    library.damaged.recover_sound(take_id)
    parts = inspect_leftovers(library.recording_folder, library.store.key).takes
    samples = np.concatenate([read_take(part.path, library.store.key).samples for part in parts])
    assert sorted(set(samples.tolist())) == [each for each in range(SECONDS) if each != second]
    assert len(samples) == (SECONDS - 1) * RATE
    assert stored.read_bytes() == before[stored]


def test_a_cut_off_take_of_the_library_says_how_far_it_can_be_read(library):
    path, sizes = leave_take(library)
    take_id = library.add_take(path, METADATA)
    stored = library.store.path(take_id)
    stored.write_bytes(stored.read_bytes()[: sizes[5]])
    with pytest.raises(FileDamaged, match=r"It can be read from 0:00.0 to 0:05.0"):
        library.audio(take_id)


def test_damage_that_costs_no_sound_keeps_nobody_from_it(library):
    path = library.recording_folder / "a.take"
    writer = EncryptedTakeWriter(path, library.store.key, RATE, {})
    writer.append(np.arange(RATE, dtype=np.int16))
    size = path.stat().st_size
    writer.mark(0.5)
    writer.append(np.arange(RATE * 19, dtype=np.int32).astype(np.int16))
    writer.close()
    digest = read_take(path, library.store.key).sha256()
    take_id = library.add_take(path, METADATA)
    stored = library.store.path(take_id)
    whole = stored.read_bytes()
    for place in (2, 40, size + 9, len(whole) - 3):  # magic number, empty slot, mark, closing block
        stored.write_bytes(whole)
        flip(stored, place)
        assert library.audio(take_id).sha256() == digest


def test_two_files_exchanged_are_no_sound_of_either(library):
    ids = [library.add_take(leave_take(library, name)[0], METADATA) for name in "ab"]
    one, other = (library.store.path(take_id) for take_id in ids)
    contents_of_one = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(contents_of_one)
    for take_id in ids:
        with pytest.raises(FileDamaged, match=r"holds another recording.*The file is kept"):
            library.audio(take_id)


def test_parts_keep_the_time_and_the_note_of_their_take(library):
    path, sizes = leave_take(library)
    flip(path, sizes[7] + 100)
    library.damaged.recover(path)
    first, second = sorted(
        inspect_leftovers(library.recording_folder, library.store.key).takes, key=lambda take: take.path.name
    )
    assert (first.about["recorded_at"], second.about["recorded_at"]) == (
        "2026-03-01T08:00:00+00:00",
        "2026-03-01T08:00:08+00:00",
    )
    assert second.about["note"] == "at rest Part 2 of 2 of a damaged recording, 0:08.0 to 0:20.0."
    assert first.complete


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("named", [0, 1])
def test_a_recovery_that_a_kill_broke_off_offers_each_second_once(library, moved, named):
    path, sizes = leave_take(library)
    flip(path, sizes[7] + 100)
    parts = recover_parts(salvage(path, library.store.key), library.recording_folder, path.stem, library.store.key)
    if moved:  # a part is renamed after the file was moved
        path.replace(library.store.folder / "moved.take")
        for part in parts[:named]:
            part.replace(part.with_suffix(".take"))
    found = find_leftovers(library.recording_folder, library.store.key)
    assert len(found.takes) == (2 if moved else 0)
    assert len(found.damaged) == (0 if moved else 1)
    assert not list(library.recording_folder.glob("*.part"))


def test_a_full_disk_leaves_the_damaged_file_and_no_part_of_it(library, monkeypatch):
    path, sizes = leave_take(library)
    flip(path, sizes[7] + 100)
    before = contents(library.store.folder)

    def refuse(self, frames):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(EncryptedTakeWriter, "append", refuse)
    with pytest.raises(OSError):
        library.damaged.recover(path)
    assert contents(library.store.folder) == before
    assert not list(library.recording_folder.glob("*.part"))


def test_a_thousand_leftovers_are_all_listed(library):
    path, sizes = leave_take(library, seconds=2)
    whole = path.read_bytes()
    path.unlink()
    damaged = bytearray(whole)
    damaged[sizes[0] + 50] ^= 1
    for number in range(1000):
        (library.recording_folder / f"{number}.take").write_bytes(bytes(damaged) if number % 2 else whole)
    found = inspect_leftovers(library.recording_folder, library.store.key)
    assert (len(found.takes), len(found.damaged), len(found.empty)) == (500, 500, 0)


def test_only_files_in_which_nothing_was_recorded_are_deleted(library):
    empty, _ = leave_take(library, "empty", seconds=0)
    torn, _ = leave_take(library, "torn", seconds=1)
    flip(torn, torn.stat().st_size - 1)
    found = find_leftovers(library.recording_folder, library.store.key)
    assert not empty.exists()
    assert torn.exists()
    assert [take.sentence for take in found.damaged] == ["None of its sound can be read."]


@pytest.mark.parametrize("stored", [False, True])
def test_a_look_for_takes_of_a_crash_waits_for_a_recovery_that_runs(library, monkeypatch, stored):
    path, sizes = leave_take(library)
    take_id = library.add_take(path, METADATA) if stored else None
    flip(library.store.path(take_id) if stored else path, sizes[7] + 100)
    arrived, lock = threading.Event(), threading.Lock()

    class Told:
        """A lock that tells who comes."""

        def __enter__(self):
            arrived.set()
            lock.acquire()

        def __exit__(self, *error):
            lock.release()

    def look():
        library.leftovers()
        arrived.set()

    looker = threading.Thread(target=look)

    def looked_at(*given):
        parts = recover_parts(*given)
        arrived.clear()
        looker.start()
        assert arrived.wait(HANGS_S)
        return parts

    monkeypatch.setattr(library.damaged, "_lock", Told(), raising=False)
    monkeypatch.setattr(damaged_takes, "recover_parts", looked_at)
    assert (library.damaged.recover_sound(take_id) if stored else library.damaged.recover(path)) == 2
    looker.join(HANGS_S)
    found = library.leftovers()
    assert len(found.takes) == 2 and not found.damaged
    assert sum(take.duration_s for take in found.takes) == SECONDS - 1
