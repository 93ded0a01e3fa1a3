"""A power cut at any byte of the last block: everything before that block is offered."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbdesk.capture.crash_recovery import Leftovers, find_leftovers, inspect_leftovers, unfinished_takes
from vbdesk.capture.encrypted_take import EncryptedTakeWriter, FileDamaged, read_take

RATE = 1000
KEY = bytes(range(32))


def lengths_on_disk(path, pieces, marks=()):
    """Write a take; the size of its file after the description and after every piece."""
    writer = EncryptedTakeWriter(path, KEY, RATE, {"group_id": "ward4-0172"})
    sizes = [path.stat().st_size]
    for number, piece in enumerate(pieces):
        if number in marks:
            writer.mark(number / 2)
        writer.append(piece)
        sizes.append(path.stat().st_size)
    writer.abandon()
    return sizes


def pieces_of(count, length=RATE // 2):
    return [np.arange(number, number + length, dtype=np.int16) for number in range(count)]


def test_a_cut_at_every_byte_of_the_last_block_keeps_all_the_blocks_before(tmp_path):
    pieces = pieces_of(4, length=200)
    path = tmp_path / "a.take"
    sizes = lengths_on_disk(path, pieces)
    whole = path.read_bytes()
    for size in range(sizes[-2], sizes[-1]):
        path.write_bytes(whole[:size])
        (offered,) = unfinished_takes(tmp_path, KEY)
        assert offered.duration_s == 0.6, size
        assert np.array_equal(read_take(path, KEY).samples, np.concatenate(pieces[:3])), size


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 900), min_size=1, max_size=8),
    marks=st.sets(st.integers(0, 7)),
    cut=st.floats(0, 1),
    rest=st.sampled_from([b"", b"\0" * 500, b"\xff" * 40]),
)
def test_a_cut_anywhere_keeps_every_block_that_was_whole(tmp_path_factory, lengths, marks, cut, rest):
    path = tmp_path_factory.mktemp("take") / "a.take"
    pieces = [np.full(length, number, np.int16) for number, length in enumerate(lengths)]
    sizes = lengths_on_disk(path, pieces, marks)
    size = sizes[0] + round(cut * (sizes[-1] - sizes[0]))
    path.write_bytes(path.read_bytes()[:size] + rest)
    whole = sum(end <= size for end in sizes[1:])
    take = read_take(path, KEY)
    assert not take.complete
    assert np.array_equal(take.samples, np.concatenate([np.empty(0, np.int16), *pieces[:whole]]))


@settings(max_examples=30, deadline=None)
@given(cut=st.floats(0, 0.999))
def test_a_cut_before_anything_was_recorded_offers_nothing_and_breaks_nothing(tmp_path_factory, cut):
    folder = tmp_path_factory.mktemp("take")
    sizes = lengths_on_disk(folder / "a.take", [])
    content = (folder / "a.take").read_bytes()
    (folder / "a.take").write_bytes(content[: int(cut * sizes[0])])
    lengths_on_disk(folder / "b.take", pieces_of(2))
    (offered,) = unfinished_takes(folder, KEY)
    assert offered.path.name == "b.take"


@settings(max_examples=20, deadline=None)
@given(position=st.floats(0, 0.999))
def test_a_byte_that_changed_far_from_the_end_is_never_passed_off_as_sound(tmp_path_factory, position):
    path = tmp_path_factory.mktemp("take") / "a.take"
    sizes = lengths_on_disk(path, [np.full(150_000, number, np.int16) for number in range(4)])
    content = bytearray(path.read_bytes())
    content[sizes[0] + int(position * (sizes[2] - sizes[0]))] ^= 0x10
    path.write_bytes(content)
    with pytest.raises(FileDamaged):
        read_take(path, KEY)


@pytest.mark.parametrize("spoken", [(), (np.ones(RATE, np.int16),)])
@pytest.mark.parametrize("look", [find_leftovers, inspect_leftovers])
def test_a_take_that_is_being_recorded_is_left_alone(tmp_path, spoken, look):
    path = tmp_path / "running.take"
    writer = EncryptedTakeWriter(path, KEY, RATE, {"group_id": "ward4-0172"})
    for piece in spoken:
        writer.append(piece)
    found = look(tmp_path, KEY)
    assert found == Leftovers((), (), ())
    assert path.exists()
    writer.append(np.full(RATE, 7, np.int16))
    writer.close()
    (take,) = look(tmp_path, KEY).takes
    assert take.complete
    assert take.duration_s == len(spoken) + 1


def test_takes_of_a_crash_can_be_looked_for_at_any_moment_of_a_recording(tmp_path):
    done, faults = threading.Event(), []

    def look():
        while not done.is_set():
            try:
                find_leftovers(tmp_path, KEY)
            except Exception as error:
                faults.append(error)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for number in range(60):
            writer = EncryptedTakeWriter(tmp_path / f"{number:02d}.take", KEY, RATE)
            writer.append(np.ones(RATE, np.int16))
            writer.close()
    finally:
        done.set()
        looking.join()
    assert not faults
    assert [read_take(path, KEY).duration_s for path in sorted(tmp_path.glob("*.take"))] == [1.0] * 60
