"""Every take has a key of its own; without it the sound is gone, whatever else somebody has."""

import struct

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from vbdesk.capture.crash_recovery import unfinished_takes
from vbdesk.capture.encrypted_take import BlockKind, Damaged, KeyGone, SealedTakeWriter, WrongKey, read_take
from vbdesk.capture.take_keys import BLANK, SLOT_BEGIN, SLOT_BYTES, blank, has_key, own_key, shred

RATE = 8000
SAMPLES = np.arange(RATE, dtype=np.int16)


def write(path, key, samples=SAMPLES):
    writer = SealedTakeWriter(path, key, RATE)
    writer.append(samples)
    writer.close()
    return path


def write_of_old(path, key):
    """As the first format was: no slot, sealed with the library's key."""
    salt = bytes(16)
    cipher = AESGCM(HKDF(SHA256(), 32, salt, b"vbdesk take").derive(key))
    content = b"VBTAKE1\n" + salt
    blocks = [(BlockKind.ABOUT, b'{"sample_rate": 8000, "about": {}}'), (BlockKind.FRAMES, SAMPLES.tobytes())]
    for index, (kind, plain) in enumerate([*blocks, (BlockKind.END, b'{"frames": 8000}')]):
        sealed = cipher.encrypt(index.to_bytes(12, "little"), plain, bytes([kind]))
        content += struct.pack("<BI", kind, len(plain)) + sealed
    path.write_bytes(content)
    return path


def test_a_blanked_take_opens_with_its_own_key_alone(tmp_path, key):
    path = write(tmp_path / "a.take", key)
    own = own_key(path, key)
    before = path.read_bytes()
    assert has_key(path)
    blank(path)
    assert not has_key(path)
    with pytest.raises(KeyGone):
        read_take(path, key)
    assert np.array_equal(read_take(path, key, own).samples, SAMPLES)
    after = path.read_bytes()
    assert after[SLOT_BEGIN : SLOT_BEGIN + SLOT_BYTES] == BLANK
    assert (
        before[:SLOT_BEGIN] + before[SLOT_BEGIN + SLOT_BYTES :] == after[:SLOT_BEGIN] + after[SLOT_BEGIN + SLOT_BYTES :]
    )


def test_no_two_takes_share_a_key(tmp_path, key):
    keys = {own_key(write(tmp_path / f"{number}.take", key), key) for number in range(5)}
    assert len(keys) == 5


def test_another_library_does_not_learn_the_key(tmp_path, key):
    with pytest.raises(WrongKey):
        own_key(write(tmp_path / "a.take", key), bytes(32))


def test_the_slot_of_another_take_does_not_open_this_one(tmp_path, key):
    first, second = write(tmp_path / "a.take", key), write(tmp_path / "b.take", key)
    content = bytearray(first.read_bytes())
    content[SLOT_BEGIN : SLOT_BEGIN + SLOT_BYTES] = second.read_bytes()[SLOT_BEGIN : SLOT_BEGIN + SLOT_BYTES]
    first.write_bytes(content)
    with pytest.raises(WrongKey):
        read_take(first, key)


def test_a_file_that_was_exchanged_is_noticed(tmp_path, key):
    first, second = write(tmp_path / "a.take", key), write(tmp_path / "b.take", key, SAMPLES[::-1])
    with pytest.raises(Damaged, match="holds something else"):
        read_take(second, key, own_key(first, key))


def test_takes_of_the_first_format_open_as_before(tmp_path, key):
    path = write_of_old(tmp_path / "a.take", key)
    assert np.array_equal(read_take(path, key).samples, SAMPLES)
    assert own_key(path, key) is None
    content = path.read_bytes()
    blank(path)
    assert path.read_bytes() == content
    (offered,) = unfinished_takes(tmp_path, key)
    assert offered.duration_s == 1.0


def test_sound_that_is_not_what_the_manifest_says_is_refused(tmp_path, key):
    writer = SealedTakeWriter(tmp_path / "a.take", key, RATE)
    writer.append(SAMPLES)
    writer._digest.update(b"one more")  # a fault of the writer, or of its memory
    writer.close()
    with pytest.raises(Damaged, match="not what was recorded"):
        read_take(tmp_path / "a.take", key)


def test_shredding_blanks_before_it_deletes(tmp_path, key):
    path = write(tmp_path / "a.take", key)
    other_name = tmp_path / "hard-link"
    other_name.hardlink_to(path)
    shred(path)
    assert not path.exists()
    assert not has_key(other_name)
    shred(path)
