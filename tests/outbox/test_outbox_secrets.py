import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import InitError, KeyringLocked, NoKeyringError, PasswordDeleteError

from vbdesk.outbox.profiles import LibraryKeyMissing, Profile, ProfileStore, ProfilesUnreadable, library_key
from vbdesk.outbox.vault import KeyringVault, MemoryVault, VaultFailed, VaultLocked, VaultMissing

PROFILE = Profile("p-1", "St. Anne clinic", "service", "https://voice.example", "acc-1")


class Keyring(KeyringBackend):
    """A keyring in memory that raises what it is told to."""

    priority = 1

    def __init__(self):
        super().__init__()
        self.secrets, self.failure = {}, None

    def get_password(self, service, username):
        self._fail()
        return self.secrets.get((service, username))

    def set_password(self, service, username, password):
        self._fail()
        self.secrets[service, username] = password

    def delete_password(self, service, username):
        self._fail()
        if (service, username) not in self.secrets:
            raise PasswordDeleteError("no such password")
        del self.secrets[service, username]

    def _fail(self):
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def backend():
    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    yield keyring.get_keyring()
    keyring.set_keyring(before)


@pytest.mark.parametrize("make", [MemoryVault, KeyringVault])
def test_a_vault_keeps_and_forgets(make, backend):
    vault = make()
    assert vault.get("profile/p-1/api-key") is None
    vault.set("profile/p-1/api-key", "one")
    vault.set("profile/p-1/api-key", "two")
    assert vault.get("profile/p-1/api-key") == "two"
    vault.delete("profile/p-1/api-key")
    vault.delete("profile/p-1/api-key")
    assert vault.get("profile/p-1/api-key") is None


@pytest.mark.parametrize(
    ("failure", "error", "words"),
    [
        (NoKeyringError("none"), VaultMissing, "no keyring"),
        (KeyringLocked("locked"), VaultLocked, "unlock it and try again"),
        (InitError("gone"), VaultFailed, "does not answer"),
        (OSError("bus is gone"), VaultFailed, "does not answer"),
    ],
)
def test_each_failure_of_the_keyring_has_its_sentence(backend, failure, error, words):
    backend.failure = failure
    vault = KeyringVault()
    for call in (lambda: vault.get("n"), lambda: vault.set("n", "s3cret"), lambda: vault.delete("n")):
        with pytest.raises(error, match=words) as raised:
            call()
        assert "s3cret" not in str(raised.value)


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
