import hashlib
import json
import sys
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pyrage
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbdesk.contract.ids import new_id
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.outbox.bundles.bundle_errors import (
    BundleCancelled,
    BundleDamaged,
    BundleError,
    BundleKeyWrong,
    BundleTruncated,
    BundleUnfinished,
    BundleVersionUnknown,
    MalformedBundle,
)
from vbdesk.outbox.bundles.bundle_file import MAGIC, check_whole, finish, read_bundle, read_head, write_unfinished
from vbdesk.outbox.bundles.bundle_keys import KeyLock, PassphraseLock, public_key, secret_of, unlock_identity
from vbdesk.outbox.bundles.bundle_manifest import BundledTake, BundleManifest
from vbdesk.outbox.bundles.bundle_stream import ByteProgress
from vbdesk.outbox.bundles.manifest_parser import ManifestParser
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault

sys.path.append(str(Path(__file__).parent))

from fast_passphrase import lock_quickly

PROFILE = Profile("p1", "Ward 4", "service", "https://voice.example", "acc-1")


class Collector:
    """Keeps what it receives."""

    def __init__(self):
        self.manifest, self.sounds, self.ended = None, {}, []

    def begin(self, manifest):
        self.manifest = manifest

    def sound(self, take, piece):
        self.sounds[take.take_id] = self.sounds.get(take.take_id, b"") + piece

    def end(self, take):
        self.ended.append(take.take_id)


class SetAfter:
    """A cancel flag that is set after a while."""

    def __init__(self, looks):
        self.looks = looks

    def is_set(self):
        self.looks -= 1
        return self.looks < 0

    def wait(self, timeout=None):
        return self.is_set()


def take_of(sound, number=0):
    return BundledTake(
        take_id=new_id(), event_id=new_id(), group_id=f"ward4-{number}",
        recorded_at=datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC), target="model:pulse", longitudinal=True,
        duration_s=20.0, imported=False, protocol="", note="a note", tags=("a",), consented_at=None, quality={"x": 1.5},
        trim_s=(0.0, 1.0), retake_of=None, source_sha256="", sound_sha256=None,
        size=len(sound), sha256=hashlib.sha256(sound).hexdigest(),
    )  # fmt: skip


def write(path, sounds, lock, cancel=None):
    takes = [take_of(sound, number) for number, sound in enumerate(sounds)]
    manifest = BundleManifest(
        bundle_id=new_id(), made_at=datetime(2026, 3, 1, tzinfo=UTC), service="https://voice.example",
        account_id="acc-1", takes=tuple(takes),
    )  # fmt: skip
    known = {take.take_id: sound for take, sound in zip(takes, sounds, strict=True)}
    write_unfinished(path, manifest, lambda take: iter([known[take.take_id]]), lock, ByteProgress(cancel=cancel))
    return manifest, known


@pytest.fixture
def vault():
    return MemoryVault()


@pytest.fixture
def lock(vault):
    return KeyLock(public_key(vault, PROFILE))


def read(path, secret):
    collector = Collector()
    read_bundle(path, secret, collector, ByteProgress())
    return collector


def test_what_is_written_for_a_key_is_read_with_its_secret(tmp_path, vault, lock):
    path = tmp_path / "b"
    manifest, known = write(path, [b"one" * 50_000, b"two"], lock)
    finish(path)
    got = read(path, secret_of(vault, PROFILE, None))
    assert (got.manifest, got.sounds, got.ended) == (manifest, known, list(known))


def parsed(take, number):
    head = {"format": number, "bundle_id": new_id(), "made_at": "2026-03-01T00:00:00Z"}
    parser = ManifestParser()
    parser.feed(json.dumps(head | {"service": "https://voice.example", "account_id": "a", "takes": [take]}).encode())
    return parser.manifest().takes[0]


def test_a_language_is_read_in_format_2_only_and_an_unknown_one_is_not_written():
    bare = json.loads(take_of(b"one").model_dump_json())
    assert not {"spoken_language", "second_language"} & bare.keys()
    assert parsed(bare, 1).spoken == SpokenLanguage()
    told = bare | {"spoken_language": "pt-BR", "second_language": False}
    assert parsed(told, 2).spoken == SpokenLanguage("pt-BR", second_language=False)
    with pytest.raises(MalformedBundle, match="It has languages"):
        parsed(told, 1)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("spoken_language", "english", "the language that is spoken in it"),
        ("second_language", "yes", "second language"),
    ],
)
def test_a_wrong_language_is_refused_by_name(field, value, words):
    with pytest.raises(MalformedBundle, match=words):
        parsed(json.loads(take_of(b"one").model_dump_json()) | {field: value}, 2)


def test_the_right_passphrase_opens_and_another_one_does_not():
    identity = pyrage.x25519.Identity.generate()
    locked = lock_quickly(str(identity), "seven boats on the lake")
    assert str(unlock_identity(locked, "seven boats on the lake")) == str(identity)
    with pytest.raises(BundleKeyWrong, match="passphrase does not open"):
        unlock_identity(locked, "seven boats on the sea")
    with pytest.raises(BundleError, match="opened with a passphrase"):
        secret_of(MemoryVault(), PROFILE, None)(locked)


def test_a_short_passphrase_is_refused(tmp_path):
    with pytest.raises(BundleError, match="at least 12"):
        write(tmp_path / "b", [b"one"], PassphraseLock("short"))
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_is_no_key_is_refused_with_where_to_find_one(tmp_path):
    with pytest.raises(BundleError, match="vbdesk bundle key"):
        write(tmp_path / "b", [b"one"], KeyLock("age1junk"))
    assert list(tmp_path.iterdir()) == []


def test_the_computer_that_made_a_bundle_for_another_cannot_open_it_later(tmp_path, lock):
    path = tmp_path / "b"
    write(path, [b"one"], lock)
    finish(path)
    with pytest.raises(BundleKeyWrong, match="vbdesk bundle key"):
        read(path, secret_of(MemoryVault(), PROFILE, None))


def test_a_bundle_is_read_by_nobody_before_it_is_finished(tmp_path, vault, lock):
    path = tmp_path / "b"
    write(path, [b"one"], lock)
    with pytest.raises(BundleUnfinished, match="never finished"):
        read(path, secret_of(vault, PROFILE, None))
    finish(path)
    finish(path)
    assert read(path, secret_of(vault, PROFILE, None)).ended


def test_a_newer_format_and_a_file_of_something_else_are_said(tmp_path, vault, lock):
    path = tmp_path / "b"
    write(path, [b"one"], lock)
    content = bytearray(path.read_bytes())
    content[len(MAGIC)] = 2
    path.write_bytes(content)
    with pytest.raises(BundleVersionUnknown, match="newer version"):
        read_head(path)
    for other in (b"", b"RIFF" + bytes(100)):
        path.write_bytes(other)
        with pytest.raises(BundleDamaged, match="not a bundle"):
            read_head(path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The bytes of a bundle, and what opens it."""
    path = tmp_path_factory.mktemp("bundle") / "b"
    vault = MemoryVault()
    write(path, [bytes(range(256)) * 300, b"two" * 7000], KeyLock(public_key(vault, PROFILE)))
    finish(path)
    return path, path.read_bytes(), secret_of(vault, PROFILE, None)


@settings(max_examples=80)
@given(data=st.data())
def test_a_bundle_that_was_cut_or_changed_anywhere_is_refused(finished, data):
    path, whole, secret = finished
    place = data.draw(st.integers(0, len(whole) - 1) | st.integers(0, 400))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:place])
        expected = BundleTruncated if place else BundleDamaged
    else:
        changed = bytearray(whole)
        changed[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(changed)
        expected = BundleDamaged if place >= 16 else BundleError  # a damaged header has several errors
    with pytest.raises(expected):
        read(path, secret)
    with pytest.raises(expected):
        check_whole(path, ByteProgress())


def test_a_whole_bundle_is_known_without_what_opens_it(finished, tmp_path):
    path = tmp_path / "b"
    path.write_bytes(finished[1])
    check_whole(path, ByteProgress())
    with pytest.raises(BundleCancelled):
        check_whole(path, ByteProgress(cancel=SetAfter(0)))


def test_a_stop_is_heard_and_comes_through_as_it_is(tmp_path, lock):
    with pytest.raises(BundleCancelled):
        write(tmp_path / "b", [bytes(1000)] * 5, lock, SetAfter(3))


def test_a_manifest_with_a_path_for_an_id_is_no_manifest():
    good = take_of(b"x").model_dump()
    with pytest.raises(ValueError, match="not an id"):
        BundledTake.model_validate({**good, "take_id": "../../etc/passwd"})


def test_a_large_recording_does_not_stand_in_memory(tmp_path, vault, lock):
    path, piece = tmp_path / "b", bytes(range(256)) * 4096
    digest = hashlib.sha256(piece * 30).hexdigest()
    take = take_of(b"x").model_copy(update={"size": len(piece) * 30, "sha256": digest})
    manifest = BundleManifest(
        bundle_id=new_id(), made_at=datetime(2026, 3, 1, tzinfo=UTC), service="s", account_id="a", takes=(take,)
    )
    tracemalloc.start()
    try:
        write_unfinished(path, manifest, lambda _: iter([piece] * 30), lock, ByteProgress())
        assert tracemalloc.get_traced_memory()[1] < 6e6
    finally:
        tracemalloc.stop()


def test_any_age_tool_reads_what_is_behind_the_head(tmp_path, lock, vault):
    path = tmp_path / "b"
    write(path, [b"the sound"], lock)
    content = path.read_bytes()
    identity = pyrage.x25519.Identity.from_str(vault.get("profile/p1/bundle-key"))
    assert pyrage.decrypt(content[content.index(b"age-encryption.org/v1") :], [identity]).endswith(b"the sound")
