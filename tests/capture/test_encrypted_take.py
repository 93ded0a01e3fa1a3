import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbdesk.capture.crash_recovery import unfinished_takes
from vbdesk.capture.encrypted_take import (
    EncryptedTakeWriter,
    FileDamaged,
    FileKeyMissing,
    WrongKey,
    decrypt_file,
    encrypt_file,
    read_frames,
    read_take,
)

RATE = 8000


def write(path, key, seconds=5, close=True, keep_frames=None):
    writer = EncryptedTakeWriter(path, key, RATE, {"group_id": "ward4-0172"})
    second = np.arange(RATE, dtype=np.int16)
    for number in range(seconds):
        writer.append(second + number)
    writer.mark(1.5)
    if close:
        writer.close(keep_frames)
    else:
        writer.abandon()
    return np.concatenate([second + number for number in range(seconds)])


def test_a_take_comes_back_bit_for_bit(tmp_path, key):
    samples = write(tmp_path / "a.take", key)
    take = read_take(tmp_path / "a.take", key)
    assert np.array_equal(take.samples, samples)
    assert (take.sample_rate, take.complete, take.duration_s, take.marks_s) == (RATE, True, 5.0, (1.5,))
    assert take.about == {"group_id": "ward4-0172"}
    assert np.array_equal(np.concatenate(list(read_frames(tmp_path / "a.take", key))), samples)


def test_nothing_readable_is_on_the_disk(tmp_path, key):
    samples = write(tmp_path / "a.take", key)
    content = (tmp_path / "a.take").read_bytes()
    assert b"ward4" not in content
    assert samples[:100].tobytes() not in content


def test_two_files_with_the_same_sound_have_nothing_in_common(tmp_path, key):
    write(tmp_path / "a.take", key)
    write(tmp_path / "b.take", key)
    assert (tmp_path / "a.take").read_bytes()[8:64] != (tmp_path / "b.take").read_bytes()[8:64]


def test_a_take_that_was_never_closed_is_incomplete_and_whole(tmp_path, key):
    samples = write(tmp_path / "a.take", key, close=False)
    take = read_take(tmp_path / "a.take", key)
    assert np.array_equal(take.samples, samples)
    assert not take.complete


def test_what_comes_after_the_kept_frames_does_not_count(tmp_path, key):
    samples = write(tmp_path / "a.take", key, keep_frames=RATE)
    take = read_take(tmp_path / "a.take", key)
    assert np.array_equal(take.samples, samples[:RATE])
    assert take.marks_s == ()


def test_another_key_does_not_open_it(tmp_path, key):
    write(tmp_path / "a.take", key)
    with pytest.raises(WrongKey, match="kept"):
        read_take(tmp_path / "a.take", bytes(32))


@pytest.mark.parametrize("torn_bytes", [1, 20, 5000])
def test_a_torn_last_block_costs_that_block_only(tmp_path, key, torn_bytes):
    path = tmp_path / "a.take"
    samples = write(path, key)
    end_and_mark = 200
    os.truncate(path, path.stat().st_size - end_and_mark - torn_bytes)
    take = read_take(path, key)
    assert not take.complete
    assert len(take.samples) == 4 * RATE
    assert np.array_equal(take.samples, samples[: 4 * RATE])


def test_a_tail_of_zeros_after_a_power_cut_is_dropped(tmp_path, key):
    path = tmp_path / "a.take"
    samples = write(path, key, close=False)
    with path.open("ab") as file:
        file.write(bytes(8000))
    take = read_take(path, key)
    assert np.array_equal(take.samples, samples)
    assert not take.complete


def test_a_changed_byte_is_noticed(tmp_path, key):
    path = tmp_path / "a.take"
    write(path, key, seconds=60)
    content = bytearray(path.read_bytes())
    content[40_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileDamaged, match="changed"):
        read_take(path, key)


def test_blocks_that_changed_places_are_noticed(tmp_path, key):
    path = tmp_path / "a.take"
    write(path, key, seconds=60)
    content = path.read_bytes()
    block = 5 + 2 * RATE + 16
    first = content.index((2 * RATE).to_bytes(4, "little")) - 1
    swapped = content[first + block : first + 2 * block] + content[first : first + block]
    path.write_bytes(content[:first] + swapped + content[first + 2 * block :])
    with pytest.raises(FileDamaged):
        read_take(path, key)


@given(content=st.binary(max_size=200))
def test_any_other_file_is_refused_with_a_sentence(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("other") / "a.take"
    path.write_bytes(content)
    with pytest.raises(FileDamaged, match="recording"):
        read_take(path, bytes(32))


def test_a_part_moves_the_marks_with_it(tmp_path, key):
    write(tmp_path / "a.take", key)
    part = read_take(tmp_path / "a.take", key).part(1.0, 3.0)
    assert (part.duration_s, part.marks_s) == (2.0, (0.5,))


def test_a_file_is_sealed_whole_and_a_torn_copy_refused(tmp_path, key):
    content, own = os.urandom(3_000_000), bytes(32)
    encrypt_file(content, tmp_path / "a.take", own)
    assert decrypt_file(tmp_path / "a.take", key, own) == content
    with pytest.raises(FileKeyMissing):
        decrypt_file(tmp_path / "a.take", key)
    os.truncate(tmp_path / "a.take", (tmp_path / "a.take").stat().st_size - 30)
    with pytest.raises(FileDamaged, match="Import the file again"):
        decrypt_file(tmp_path / "a.take", key, own)


def test_the_rescue_offers_what_a_crash_left(tmp_path, key):
    write(tmp_path / "crashed.take", key, close=False)
    write(tmp_path / "foreign.take", bytes(32))
    EncryptedTakeWriter(tmp_path / "empty.take", key, RATE).abandon()
    (rescued,) = unfinished_takes(tmp_path, key)
    assert (rescued.path.name, rescued.duration_s, rescued.complete) == ("crashed.take", 5.0, False)
    assert rescued.about["group_id"] == "ward4-0172"
    assert (tmp_path / "foreign.take").exists()
    assert not (tmp_path / "empty.take").exists()
