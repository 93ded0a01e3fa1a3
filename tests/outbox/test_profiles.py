import base64
import multiprocessing
from dataclasses import replace

import pytest

from vbdesk.language.reader import Language, reading_in
from vbdesk.outbox.profiles.profiles import (
    LibraryKeyMissing,
    Profile,
    ProfileStore,
    ProfilesUnreadable,
    library_key,
    name_of_service,
    shown_name,
)
from vbdesk.outbox.profiles.vault import MemoryVault, VaultFailed

PROFILE = Profile("p-1", "St. Anne clinic", "service", "https://voice.example", "acc-1")


def test_the_name_that_vbdesk_gave_is_in_the_readers_language_and_a_name_of_the_user_is_not():
    local = Profile("p-0", "This computer", "local", None, "acc-0")
    with reading_in(Language("en_XA", "en_GB")):
        assert local.shown_name not in ("", local.name)
        assert PROFILE.shown_name == "St. Anne clinic"
        assert shown_name("This computer 2") == "[Thïs çömpûtér 2 one two t]"
        assert [shown_name(name) for name in ("This computer x", "This computer 2 b")] == [
            "This computer x",
            "This computer 2 b",
        ]
    assert (local.name, local.shown_name) == ("This computer", "This computer")


def test_profiles_survive_and_hold_no_secret(tmp_path):
    store, vault = ProfileStore(tmp_path), MemoryVault()
    local = Profile("p-0", "This computer", "local", None, "acc-0")
    store.save(local)
    store.save(PROFILE)
    vault.set(PROFILE.api_key_name, "s3cret")
    assert ProfileStore(tmp_path).all() == [local, PROFILE]
    assert store.current() == local
    store.use("p-1")
    assert ProfileStore(tmp_path).current() == PROFILE
    assert "s3cret" not in (tmp_path / "profiles.json").read_text()
    store.remove("p-1", vault)
    assert store.current() == local
    assert vault.get(PROFILE.api_key_name) is None


def test_a_damaged_profile_file_is_said_and_left(tmp_path):
    (tmp_path / "profiles.json").write_text("{half")
    with pytest.raises(ProfilesUnreadable, match="left as it is"):
        ProfileStore(tmp_path).all()
    assert (tmp_path / "profiles.json").read_text() == "{half"


def test_the_library_key_is_made_once(tmp_path):
    vault = MemoryVault()
    key = library_key(vault, PROFILE, tmp_path)
    assert len(key) == 32
    assert library_key(vault, PROFILE, tmp_path) == key


def test_a_lost_key_is_never_replaced_where_recordings_are(library):
    with pytest.raises(LibraryKeyMissing, match="are kept"):
        library_key(MemoryVault(), PROFILE, library.store.takes_folder.parent)


class Forgetful(MemoryVault):
    """A keyring that stores another secret than the given one."""

    def set(self, name, secret):
        super().set(name, secret[:-4])


def test_no_recording_is_sealed_with_a_key_that_the_keyring_does_not_keep(tmp_path):
    with pytest.raises(VaultFailed, match="as it was given"):
        library_key(Forgetful(), PROFILE, tmp_path)


@pytest.mark.parametrize("damaged", ["", "no base64!", base64.b64encode(b"short").decode()])
def test_a_damaged_key_is_said(tmp_path, damaged):
    vault = MemoryVault()
    vault.set(PROFILE.library_key_name, damaged)
    with pytest.raises(VaultFailed, match="are kept"):
        library_key(vault, PROFILE, tmp_path)


def add_profiles(folder, first):
    for number in range(first, first + 10):
        ProfileStore(folder).save(Profile(f"p-{number}", f"Ward {number}", "local", None, "acc-0"))


def test_two_programs_that_add_profiles_at_once_lose_none(tmp_path):
    others = [multiprocessing.get_context("fork").Process(target=add_profiles, args=(tmp_path, n)) for n in (0, 10)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert len(ProfileStore(tmp_path).all()) == 20


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("http://127.0.0.1:18180", "This computer"),
        ("http://localhost:8000/api", "This computer"),
        ("http://[::1]:8000", "This computer"),
        ("https://voice.example:8443/v2", "voice.example"),
        ("https://10.0.0.7:8443", "10.0.0.7"),
        ("https://127.0.0.1.example", "127.0.0.1.example"),
    ],
)
def test_a_service_on_this_computer_is_called_so(base_url, name):
    assert name_of_service(base_url) == name
    assert name_of_service(base_url, [name, f"{name} 2"]) == f"{name} 3"


@pytest.mark.parametrize(
    ("name", "kind", "base_url", "suggested"),
    [
        ("127.0.0.1:18180", "service", "http://127.0.0.1:18180", "This computer"),
        ("localhost:9000", "local", None, "This computer"),
        ("Ward 4", "service", "http://127.0.0.1:18180", None),
        ("voice.example:443", "service", "https://voice.example", None),
    ],
)
def test_only_an_address_of_this_computer_gets_another_name_suggested(name, kind, base_url, suggested):
    assert Profile("p", name, kind, base_url, "acc").suggested_name([]) == suggested


def test_a_renamed_profile_keeps_everything_else(tmp_path):
    store = ProfileStore(tmp_path)
    store.save(PROFILE)
    store.save(Profile("other", "Other", "local", None, "acc-9"))
    store.rename(PROFILE.profile_id, "Ward 4")
    assert store.current() == replace(PROFILE, name="Ward 4")
    for wrong in ("", "   ", "Other", "x" * 61):
        with pytest.raises(ValueError, match="name"):
            store.rename(PROFILE.profile_id, wrong)
    assert store.get(PROFILE.profile_id).name == "Ward 4"
