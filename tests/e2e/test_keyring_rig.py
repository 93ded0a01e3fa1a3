"""Keys in the system's own keyring, with the system's own dialog."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.e2e


@pytest.fixture
def on_rig(desk_session, tmp_path):
    def run(scenario, *options):
        done = desk_session(("--mic", "off", *options), HERE / "keyring_on_rig.py", scenario, tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)

    return run


def test_the_key_of_the_recordings_is_kept_in_the_keyring(on_rig):
    assert on_rig("kept") == {"name": "SecretService", "kept": True}


def test_many_calls_use_one_connection_and_a_keyring_that_was_started_again(on_rig):
    assert on_rig("connected") == {"connections": 0, "dead": "VaultFailed", "started": "secret 99"}


def test_no_keyring_is_said_as_such(on_rig):
    assert on_rig("absent", "--keyring", "none") == {"error": "VaultMissing"}


def test_a_locked_keyring_is_waited_for_and_its_dialog_opens_once(on_rig):
    assert on_rig("locked") == {
        "asked": "VaultWaiting",
        "dismissed": "VaultLocked",
        "again": "VaultLocked",
        "dialogs": 0,
        "unlocked": "secret",
        "answered": "secret",
        "dead": "VaultFailed",
    }


def test_the_desk_says_that_the_keyring_is_locked_and_opens_once_it_is_unlocked(on_rig, said_by_desk):
    assert on_rig("desk") == {"dialogs": 0, "status": 0}
    assert said_by_desk() == ""
