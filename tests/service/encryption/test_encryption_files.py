"""Encrypted files: random access to intact ones, refusal of altered, truncated or reassembled ones."""

import io
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import windows_files
from vbdesk.service.encryption.file_format import (
    CHUNK_BYTES,
    HEADER_BYTES,
    MAGIC,
    DamagedFile,
    content_size,
    is_encrypted_file,
)
from vbdesk.service.encryption.recording_files import RecordingFiles, finish_writing, remove_for_good
from vbdesk.service.kernel.encrypted_text import KeyMissing

NOW = datetime(2026, 3, 2, tzinfo=UTC)
SIZES = st.one_of(
    st.integers(0, 200),
    st.builds(lambda chunks, more: max(0, chunks * CHUNK_BYTES + more), st.integers(0, 3), st.integers(-2, 2)),
)


@pytest.fixture
def files(tmp_path, data_keys):
    return RecordingFiles(tmp_path, data_keys)


def write(files, content, step=100_000):
    with files.writing() as (path, file):
        for at in range(0, len(content), step):
            file.write(content[at : at + step])
    return path


def read(files, path):
    with files.at(path).open("rb") as file:
        return file.read()


@given(size=SIZES, seed=st.binary(min_size=1, max_size=8), step=st.sampled_from([1000, CHUNK_BYTES, 100_000]))
@example(size=0, seed=b"x", step=1000)
@example(size=CHUNK_BYTES, seed=b"x", step=CHUNK_BYTES)
@settings(max_examples=60)
def test_written_data_is_read_from_any_position_and_has_its_size(tmp_path_factory, data_keys, size, seed, step):
    files = RecordingFiles(tmp_path_factory.mktemp("files"), data_keys)
    content = (seed * (size // len(seed) + 1))[:size]
    path = write(files, content, step)
    assert files.at(path).size == size == content_size(path.stat().st_size)
    plain = io.BytesIO(content)
    with files.at(path).open("rb") as file:
        assert file.read() == content
        for offset, whence, length in ((size // 2, 0, 70_000), (-min(size, 10), 2, 20), (0, 0, 3), (size + 5, 0, 1)):
            assert (file.seek(offset, whence), file.read(length)) == (plain.seek(offset, whence), plain.read(length))
    assert len(content) < 20 or content[:20] not in path.read_bytes()


@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=80)
def test_one_flipped_bit_anywhere_is_detected(tmp_path_factory, data_keys, at, bit):
    files = RecordingFiles(tmp_path_factory.mktemp("files"), data_keys)
    path = write(files, b"sound" * 30_000)
    stored = bytearray(path.read_bytes())
    number = int(at * len(stored))
    stored[number] ^= 1 << bit
    path.write_bytes(stored)
    if number < len(MAGIC):
        assert b"sound" not in read(files, path), "it is no encrypted file any more, and gives nothing away"
        return
    with pytest.raises(DamagedFile):
        read(files, path)


@pytest.mark.parametrize("cut", [1, 16, CHUNK_BYTES, CHUNK_BYTES + 16, 2 * (CHUNK_BYTES + 16)])
def test_a_truncated_file_is_detected(files, cut):
    path = write(files, os.urandom(2 * CHUNK_BYTES + 500))
    os.truncate(path, max(HEADER_BYTES, path.stat().st_size - cut))
    with pytest.raises(DamagedFile):
        read(files, path)


def test_an_extended_file_or_swapped_chunks_are_detected(files):
    path = write(files, os.urandom(3 * CHUNK_BYTES))
    stored = path.read_bytes()
    chunk = CHUNK_BYTES + 16
    first, second = (stored[HEADER_BYTES + n * chunk :][:chunk] for n in (0, 1))
    for altered in (
        stored + b"x",
        stored + first,
        stored[:HEADER_BYTES] + second + first + stored[HEADER_BYTES + 2 * chunk :],
        stored[:HEADER_BYTES] + stored[HEADER_BYTES + chunk :],
    ):
        path.write_bytes(altered)
        with pytest.raises(DamagedFile):
            read(files, path)


def test_the_content_of_another_file_after_this_header_is_detected(files):
    one, other = (write(files, bytes([number]) * 1000) for number in (1, 2))
    one.write_bytes(one.read_bytes()[:HEADER_BYTES] + other.read_bytes()[HEADER_BYTES:])
    with pytest.raises(DamagedFile):
        read(files, one)


def test_equal_recordings_differ_on_the_disk(files):
    one, other = (write(files, b"same") for _ in range(2))
    assert one.read_bytes()[len(MAGIC) :] != other.read_bytes()[len(MAGIC) :]


def test_a_file_that_was_never_finished_is_unreadable(files):
    path, file = files.create()
    file.write(os.urandom(2 * CHUNK_BYTES))
    file.close()
    with pytest.raises(DamagedFile):
        read(files, path)


def test_a_block_that_raises_leaves_no_file(files):
    with pytest.raises(ZeroDivisionError), files.writing() as (_, file):
        file.write(b"sound")
        raise ZeroDivisionError
    assert list(files.folder.iterdir()) == []


def test_a_plain_file_needs_no_key_and_an_encrypted_one_does(files, tmp_path):
    plain = tmp_path / "plain"
    plain.write_bytes(b"RIFF sound")
    assert read(files, plain) == read(RecordingFiles(tmp_path), plain) == b"RIFF sound"
    path = write(files, b"secret")
    with pytest.raises(KeyMissing, match="--key-stdin"):
        read(RecordingFiles(tmp_path), path)


def test_a_short_file_and_a_foreign_file_with_our_magic_are_handled(files, tmp_path):
    for content in (b"", MAGIC[:3], MAGIC, MAGIC + bytes(40), MAGIC + bytes(500)):
        path = tmp_path / "strange"
        path.write_bytes(content)
        if content.startswith(MAGIC):
            with pytest.raises(DamagedFile):
                read(files, path)
        else:
            assert read(files, path) == content
        assert files.at(path).size >= 0


def test_without_keys_files_are_plain(tmp_path):
    files = RecordingFiles(tmp_path)
    path = write(files, b"sound")
    assert (path.read_bytes(), files.at(path).size, files.encrypts) == (b"sound", 5, False)
    assert not is_encrypted_file(path)


def test_only_their_owner_may_read_files(files):
    assert write(files, b"sound").stat().st_mode & 0o077 == 0


def test_the_key_of_a_removed_file_is_destroyed_with_its_last_name(files, tmp_path):
    path = write(files, b"sound")
    other = tmp_path / "other"
    os.link(path, other)
    with windows_files.lifted(), path.open("rb") as held:
        remove_for_good(path)
        assert read(files, other) == b"sound", "its other name still needs the key"
        remove_for_good(other)
        assert held.read(HEADER_BYTES) == MAGIC + bytes(HEADER_BYTES - len(MAGIC)), "who holds the file finds no key"
    remove_for_good(other)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "darwin", reason="the rules of Windows are not enforced here")
def test_windows_removes_a_file_with_its_key_once_nobody_reads_it(files, tmp_path):
    path = write(files, b"sound")
    other = tmp_path / "other"
    os.link(path, other)
    remove_for_good(path)
    assert read(files, other) == b"sound"
    with other.open("rb") as held:
        with pytest.raises(PermissionError):
            remove_for_good(other)
        assert held.read(HEADER_BYTES) == MAGIC + bytes(HEADER_BYTES - len(MAGIC)), "the key is gone at once"
    remove_for_good(other)
    assert list(tmp_path.iterdir()) == []


def test_a_plain_file_is_removed_too(tmp_path):
    path = tmp_path / "plain"
    path.write_bytes(b"sound")
    with windows_files.lifted(), path.open("rb") as held:
        remove_for_good(path)
        assert held.read() == b"sound"
    assert not path.exists()


def test_an_encrypted_copy_is_created_once(files, tmp_path):
    plain = tmp_path / "plain"
    plain.write_bytes(b"sound" * 100_000)
    copy = files.encrypted_copy(plain)
    assert isinstance(copy, Path)
    assert read(files, copy) == b"sound" * 100_000
    assert files.encrypted_copy(copy) is None
    assert RecordingFiles(tmp_path).encrypted_copy(plain) is None


def test_finish_writing_of_a_plain_file_closes_it(tmp_path):
    path, file = RecordingFiles(tmp_path).create()
    file.write(b"x")
    finish_writing(file)
    assert file.closed
    assert path.read_bytes() == b"x"
