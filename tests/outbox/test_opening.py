import shutil
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import pytest

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.outbox.library.integrity_check import COPIED, HELD, KEYRING_MARK_MISSING
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.opening import LibraryInUse, LockedLibrary, ProfileUnknown, find_profile
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.outbox.profiles.vault import MemoryVault, VaultLocked

PROFILE = Profile("p1", "Ward 4", "service", "https://voice.example", "acc-1")

HOLD = """
import sys
from pathlib import Path
from vbdesk.outbox.library.opening import lock_library
lock = lock_library(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


class LockedVault(MemoryVault):
    def get(self, name):
        raise VaultLocked("The keyring is locked.")


def test_a_library_that_is_open_cannot_be_opened_a_second_time(tmp_path):
    vault = MemoryVault()
    first = LockedLibrary(PROFILE, tmp_path, vault)
    with pytest.raises(LibraryInUse, match="Close it"):
        LockedLibrary(PROFILE, tmp_path, vault)
    first.close()
    LockedLibrary(PROFILE, tmp_path, vault).close()


def test_a_killed_program_leaves_the_library_free(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "held\n"
    with pytest.raises(LibraryInUse):
        LockedLibrary(PROFILE, tmp_path, MemoryVault())
    child.kill()
    child.communicate()
    LockedLibrary(PROFILE, tmp_path, MemoryVault()).close()


def test_a_locked_keyring_leaves_the_library_free(tmp_path):
    with pytest.raises(VaultLocked):
        LockedLibrary(PROFILE, tmp_path, LockedVault())
    LockedLibrary(PROFILE, tmp_path, MemoryVault()).close()


def test_a_library_that_was_copied_to_another_computer_is_said_and_searched_for_first(tmp_path):
    here, elsewhere = MemoryVault(), MemoryVault()
    library = LockedLibrary(PROFILE, tmp_path / "here", here)
    take_id = library.add_take(
        write_take(library.recording_folder / "a.take", library.store.key),
        TakeMetadata("ward4", datetime(2026, 3, 1, tzinfo=UTC), RecordingTarget("model", "pulse")),
    )
    library.queue(take_id)
    library.close()
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    elsewhere.set(PROFILE.library_key_name, here.get(PROFILE.library_key_name))
    with closing(LockedLibrary(PROFILE, tmp_path / "there", elsewhere)) as copy:
        assert copy.warnings == (KEYRING_MARK_MISSING, HELD, COPIED)
        assert copy.get(take_id).asked
        copy.accept_copy()
    with closing(LockedLibrary(PROFILE, tmp_path / "there", elsewhere)) as copy:
        assert copy.warnings == ()
    with closing(LockedLibrary(PROFILE, tmp_path / "here", here)) as original:
        assert original.warnings == ()
        assert not original.get(take_id).asked


def write_take(path, key):
    writer = EncryptedTakeWriter(path, key, 1000)
    writer.append(np.zeros(15_000, np.int16))
    writer.close()
    return path


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
