"""Any damage to a take's file: exactly the undamaged sound is offered, and no gap is closed."""

import errno
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbdesk.capture.crash_recovery import inspect_leftovers
from vbdesk.capture.damaged_take import salvage
from vbdesk.capture.encrypted_take import EncryptedFileError, EncryptedTakeWriter, FileDamaged, WrongKey, read_take
from vbdesk.capture.take_keys import FileKeyMissing, blank, own_key

RATE = 1000
KEY = bytes(range(32))
HEAD_BYTES = 84


def write_take(path, lengths, marks=(), closed=True, keep_frames=None):
    """Write a take; returns its blocks, each as (begin, end, samples or None)."""
    writer = EncryptedTakeWriter(
        path, KEY, RATE, {"group_id": "ward4-0172", "recorded_at": "2026-11-20T10:00:00+00:00"}
    )
    places, begin = [], HEAD_BYTES
    noise = np.random.default_rng(len(lengths))

    def block(samples):
        nonlocal begin
        writer._blocks.sync()
        size = path.stat().st_size
        places.append((begin, size, samples))
        begin = size

    block(None)
    for number, length in enumerate(lengths):
        if number in marks:
            writer.mark(writer.frames / RATE)
            block(None)
        samples = noise.integers(-9000, 9000, length).astype(np.int16)
        writer.append(samples)
        block(samples)
    if closed:
        writer.close(keep_frames)
        places.append((begin, path.stat().st_size, None))
    else:
        writer.abandon()
    return places


def offered(path, **known):
    """All offered samples, in order; empty if nothing can be read."""
    try:
        found = salvage(path, KEY, **known)
    except EncryptedFileError:
        return []
    return [part.audio.samples for part in found.parts]


def joined(pieces):
    return np.concatenate([np.empty(0, np.int16), *pieces])


@st.composite
def damage(draw):
    """A random kind of damage, as a function of the file's bytes."""
    kind = draw(st.sampled_from(["flip", "zeros", "cut", "insert", "truncate", "append", "exchange", "repeat"]))
    at, other = draw(st.floats(0, 1)), draw(st.floats(0, 1))
    size = draw(st.integers(1, 600))
    rest = draw(st.sampled_from([b"\0" * 40, b"\xff" * 7, bytes(range(256)), b"\1\2\0\0\0" * 9]))

    def apply(content, places):
        place = int(at * (len(content) - 1)) if content else 0
        if kind == "flip" and content:
            return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]
        if kind == "zeros":
            return content[:place] + bytes(min(size, len(content) - place)) + content[place + size :]
        if kind == "cut":
            return content[:place] + content[place + size :]
        if kind == "insert":
            return content[:place] + rest + content[place:]
        if kind == "truncate":
            return content[:place]
        if kind == "append":
            return content + rest
        first, second = sorted((int(at * (len(places) - 1)), int(other * (len(places) - 1))))
        (a, b, _), (c, d, _) = places[first], places[second]
        if kind == "repeat":
            return content[:d] + content[a:b] + content[d:]
        if first == second:
            return content
        return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]

    return apply


@settings(max_examples=300, deadline=None)
@given(
    lengths=st.lists(st.integers(4, 300), min_size=1, max_size=9),
    marks=st.sets(st.integers(0, 8)),
    closed=st.booleans(),
    damages=st.lists(damage(), min_size=1, max_size=4),
)
def test_exactly_the_undamaged_sound_is_offered_and_the_file_stays(tmp_path_factory, lengths, marks, closed, damages):
    path = tmp_path_factory.mktemp("take") / "a.take"
    places = write_take(path, lengths, marks, closed)
    content = whole = path.read_bytes()
    for each in damages:
        content = each(content, places)
    path.write_bytes(content)
    sound = [(samples, whole[begin:end]) for begin, end, samples in places if samples is not None]
    got, found = joined(offered(path)), []
    for samples, _ in sound:
        at = sum(len(each) for each in found)
        if np.array_equal(got[at : at + len(samples)], samples):
            found.append(samples)
    assert np.array_equal(got, joined(found))  # only whole blocks of the take, in order
    (begin, end, _), *_ = places
    readable = content[8:HEAD_BYTES] == whole[8:HEAD_BYTES] and whole[begin:end] in content
    for samples, block in sound:
        offers = any(samples is each for each in found)
        if block in content:
            assert offers or not readable
        elif block[5:] not in content:  # its content is damaged, not only its header
            assert not offers
    assert path.read_bytes() == content
    look = inspect_leftovers(path.parent, KEY)
    assert len(look.takes) + len(look.damaged) + len(look.empty) == 1
    for _ in look.takes:  # these open normally
        assert np.array_equal(read_take(path, KEY).samples, got)
    if look.empty:  # such as one that ends behind its description
        assert not any(block[5:] in content for _, block in sound)


def test_a_take_with_bytes_before_its_first_block_does_not_open_normally(tmp_path):
    path = tmp_path / "a.take"
    (begin, end, _), *_ = write_take(path, [4, 50], set(), closed=False)
    content = path.read_bytes()
    path.write_bytes(content[:begin] + content[end : end + 29] + content[begin:])
    look = inspect_leftovers(tmp_path, KEY)
    assert len(look.damaged) == 1
    assert len(joined(offered(path))) == 54


@settings(max_examples=100, deadline=None)
@given(lengths=st.lists(st.integers(1, 300), min_size=3, max_size=9), lost=st.sets(st.integers(0, 8), min_size=1))
def test_no_gap_is_closed_and_every_gap_is_where_the_sound_is_missing(tmp_path_factory, lengths, lost):
    path = tmp_path_factory.mktemp("take") / "a.take"
    places = write_take(path, lengths, closed=False)
    content = bytearray(path.read_bytes())
    sounds = places[1:]
    for number in lost & set(range(len(sounds))):
        content[sounds[number][1] - 1] ^= 1
    path.write_bytes(content)
    begins = list(itertools.accumulate(lengths, initial=0))
    kept = [number for number in range(len(lengths)) if number not in lost]
    runs = [
        [number for _, number in group]
        for _, group in itertools.groupby(enumerate(kept), key=lambda pair: pair[1] - pair[0])
    ]
    found = salvage(path, KEY)
    assert [round(part.begin_s * RATE) for part in found.parts] == [begins[run[0]] for run in runs]
    assert [len(part.audio.samples) for part in found.parts] == [sum(lengths[number] for number in run) for run in runs]
    assert round(found.lost_s * RATE) == sum(lengths[number] for number in lost if number < len(lengths))


@pytest.mark.parametrize("place", range(5))
def test_a_damaged_kind_or_length_costs_nothing(tmp_path, place):
    """The next block, or the end of the file, shows where a block ends."""
    path = tmp_path / "a.take"
    places = write_take(path, [200, 200, 200], closed=False)
    whole = path.read_bytes()
    for begin, _, _ in places:
        content = bytearray(whole)
        content[begin + place] ^= 4
        path.write_bytes(content)
        assert [len(piece) for piece in offered(path)] == [600]


@pytest.mark.parametrize("place", range(8))
def test_a_damaged_magic_number_costs_nothing(tmp_path, place):
    path = tmp_path / "a.take"
    write_take(path, [200, 200])
    content = bytearray(path.read_bytes())
    content[place] ^= 0x40
    path.write_bytes(content)
    assert len(joined(offered(path))) == 400


@pytest.mark.parametrize("place", [8, 23, 24, 83])
def test_a_damaged_salt_or_key_is_named_for_what_it_is(tmp_path, place):
    path = tmp_path / "a.take"
    write_take(path, [200, 200])
    content = bytearray(path.read_bytes())
    content[place] ^= 0x40
    path.write_bytes(content)
    with pytest.raises(WrongKey, match="sealed with another key, or its beginning is damaged"):
        salvage(path, KEY)


def test_a_damaged_description_is_not_the_end_of_the_file(tmp_path):
    path = tmp_path / "a.take"
    write_take(path, [200, 200])
    content = bytearray(path.read_bytes())
    content[HEAD_BYTES + 9] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileDamaged, match="nobody can tell whose recording it is"):
        salvage(path, KEY)


def test_the_key_in_the_library_opens_a_file_whose_slot_is_damaged(tmp_path):
    path = tmp_path / "a.take"
    write_take(path, [200, 200])
    take_key = own_key(path, KEY)
    blank(path)
    with pytest.raises(FileKeyMissing):
        salvage(path, KEY)
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    assert len(joined(offered(path, take_key=take_key))) == 400


def test_two_files_exchanged_say_so(tmp_path):
    one, other = tmp_path / "a.take", tmp_path / "b.take"
    write_take(one, [200])
    write_take(other, [200])
    with pytest.raises(FileDamaged, match="holds another recording"):
        salvage(one, KEY, own_key(other, KEY))


def test_an_empty_file_says_so(tmp_path):
    (tmp_path / "a.take").touch()
    with pytest.raises(FileDamaged, match="The file is empty"):
        salvage(tmp_path / "a.take", KEY)


def test_garbage_behind_the_closing_block_is_no_damage(tmp_path):
    path = tmp_path / "a.take"
    write_take(path, [200, 200])
    path.write_bytes(path.read_bytes() + b"\1" * 400_000)
    take = read_take(path, KEY)
    assert take.complete
    assert len(take.samples) == 400


def test_a_lost_mark_or_closing_block_costs_no_sound_where_a_digest_proves_it(tmp_path):
    path = tmp_path / "a.take"
    places = write_take(path, [200, 200], marks={1})
    digest = read_take(path, KEY).sha256()
    mark, closing = places[2], places[-1]
    whole = path.read_bytes()
    for begin, _, _ in (mark, closing):
        content = bytearray(whole)
        content[begin + 8] ^= 1
        path.write_bytes(content)
        found = salvage(path, KEY, sha256=digest)
        assert found.proved
        (part,) = found.parts
        assert part.audio.sha256() == digest


def test_what_came_after_the_end_of_the_take_is_not_offered(tmp_path):
    path = tmp_path / "a.take"
    places = write_take(path, [200, 200, 200], keep_frames=550)
    content = bytearray(path.read_bytes())
    content[places[1][0] + 9] ^= 1
    path.write_bytes(content)
    (part,) = salvage(path, KEY).parts
    assert len(part.audio.samples) == 350
    assert part.begin_s == pytest.approx(0.2)


def test_a_flip_near_the_end_is_damage_and_not_a_torn_block(tmp_path):
    """A crash damages only the last block: if a later block decrypts, there is another cause."""
    path = tmp_path / "a.take"
    places = write_take(path, [200, 200, 200], closed=False)
    content = bytearray(path.read_bytes())
    content[places[2][0] + 9] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileDamaged):
        read_take(path, KEY)
    assert [len(piece) for piece in offered(path)] == [200, 200]


def test_pages_that_the_disk_does_not_give_cost_only_the_sound_in_them(tmp_path, monkeypatch):
    path = tmp_path / "a.take"
    places = write_take(path, [5000] * 8, closed=False)
    bad = range(20_480, 24_576)
    open_path = Path.open

    class BadDisk:
        def __init__(self, file):
            self._file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self._file.close()

        def seek(self, *where):
            return self._file.seek(*where)

        def read(self, count):
            begin = self._file.tell()
            if begin < bad.stop and begin + count > bad.start:
                raise OSError(errno.EIO, "Input/output error")
            return self._file.read(count)

    monkeypatch.setattr(Path, "open", lambda self, *args, **kwargs: BadDisk(open_path(self, *args, **kwargs)))
    expected = [samples for begin, end, samples in places[1:] if end <= bad.start or begin >= bad.stop]
    assert 0 < len(expected) < 8
    assert np.array_equal(joined(offered(path)), joined(expected))


def test_a_disk_that_gives_nothing_says_so(tmp_path):
    (tmp_path / "a.take").mkdir()
    with pytest.raises(OSError):
        salvage(tmp_path / "a.take", KEY)


def test_the_search_ends_in_a_large_file_of_zeros_and_of_noise(tmp_path):
    path = tmp_path / "a.take"
    places = write_take(path, [5000] * 3, closed=False)
    content = path.read_bytes()
    begin = places[2][0]
    noise = np.random.default_rng(0).integers(0, 256, 2_000_000, np.uint8).tobytes()
    for rest in (bytes(20_000_000), noise):
        path.write_bytes(content[:begin] + rest + content[begin:])
        assert len(joined(offered(path))) == 15_000
