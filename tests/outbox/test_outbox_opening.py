import subprocess
import sys

import pytest

from vbdesk.outbox.library.opening import HeldLibrary, LibraryInUse, ProfileUnknown, find_profile
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.outbox.profiles.vault import MemoryVault, VaultLocked

PROFILE = Profile("p1", "Ward 4", "service", "https://voice.example", "acc-1")

HOLD = """
import sys
from pathlib import Path
from vbdesk.outbox.library.opening import hold
lock = hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


class LockedVault(MemoryVault):
    def get(self, name):
        raise VaultLocked("The keyring is locked.")


def test_a_library_that_is_open_cannot_be_opened_a_second_time(tmp_path):
    vault = MemoryVault()
    first = HeldLibrary(PROFILE, tmp_path, vault)
    with pytest.raises(LibraryInUse, match="Close it"):
        HeldLibrary(PROFILE, tmp_path, vault)
    first.close()
    HeldLibrary(PROFILE, tmp_path, vault).close()


def test_a_killed_program_leaves_the_library_free(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "held\n"
    with pytest.raises(LibraryInUse):
        HeldLibrary(PROFILE, tmp_path, MemoryVault())
    child.kill()
    child.communicate()
    HeldLibrary(PROFILE, tmp_path, MemoryVault()).close()


def test_a_locked_keyring_leaves_the_library_free(tmp_path):
    with pytest.raises(VaultLocked):
        HeldLibrary(PROFILE, tmp_path, LockedVault())
    HeldLibrary(PROFILE, tmp_path, MemoryVault()).close()


@pytest.fixture
def profiles(tmp_path):
    store = ProfileStore(tmp_path)
    store.save(PROFILE)
    store.save(Profile("p2", "Ward 5", "service", "https://voice.example", "acc-1"))
    store.save(Profile("p3", "Ward 5", "service", "https://voice.example", "acc-2"))
    return store


def test_a_profile_is_found_by_its_name_or_id_and_else_the_one_in_use(profiles):
    assert find_profile(profiles).profile_id == "p1"
    assert find_profile(profiles, "Ward 4").profile_id == "p1"
    assert find_profile(profiles, "p3").account_id == "acc-2"


def test_an_unknown_or_ambiguous_profile_is_refused_with_what_there_is(profiles, tmp_path):
    with pytest.raises(ProfileUnknown, match="Ward 4, Ward 5"):
        find_profile(profiles, "Ward 6")
    with pytest.raises(ProfileUnknown, match="p2, p3"):
        find_profile(profiles, "Ward 5")
    with pytest.raises(ProfileUnknown, match="vbdesk desk"):
        find_profile(ProfileStore(tmp_path / "empty"))
