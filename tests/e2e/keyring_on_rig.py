"""What `test_keyring_rig` runs inside the rig: the system's own keyring, locked, dismissed, unlocked, dead and absent.

Usage: python keyring_on_rig.py SCENARIO FOLDER; prints what was found as JSON.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import secretstorage
from desktop import Desktop

from patience import until
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, library_key
from vbdesk.outbox.profiles.vault import KeyringVault, VaultError, VaultFailed, VaultWaiting, keyring_name

NAME = "profile/p-1/api-key"
PROFILE = Profile("p-1", "Rig", "service", "http://127.0.0.1:1", "a")


def kept(folder: Path) -> dict[str, object]:
    """The key of the recordings, read by another vault than the one that made it."""
    key = library_key(KeyringVault(), PROFILE, folder)
    return {"name": keyring_name(), "kept": library_key(KeyringVault(), PROFILE, folder) == key}


def connected(folder: Path) -> dict[str, object]:
    """How often a vault connects for many calls, and whether it goes on after the keyring was started again."""
    connections: list[object] = []
    connect = secretstorage.dbus_init

    def counted() -> object:
        connections.append(connect())
        return connections[-1]

    vault = KeyringVault()
    vault.set(NAME, "secret")  # the `keyring` library connects to see whether there is a keyring
    secretstorage.dbus_init = counted
    for number in range(100):
        vault.set_without_prompt(NAME, f"secret {number}")
        assert vault.get(NAME) == f"secret {number}"
    control("die")
    dead = settled(vault)
    control("start")
    return {"connections": len(connections), "dead": dead, "started": settled(vault, VaultFailed.__name__)}


def absent(folder: Path) -> dict[str, object]:
    """No keyring on this computer."""
    return {"error": settled(KeyringVault())}


def locked(folder: Path) -> dict[str, object]:
    """A locked keyring whose dialog is first dismissed, then answered for another program."""
    vault = KeyringVault(read_timeout_s=1.0)
    vault.set(NAME, "secret")
    control("lock")
    found: dict[str, object] = {"asked": error_of(vault)}
    control("dismiss")
    found["dismissed"] = settled(vault)
    found["again"], found["dialogs"] = settled(vault), dialogs()
    other = subprocess.Popen([sys.executable, "-c", f"import keyring; keyring.get_password('vbdesk', '{NAME}')"])
    control("answer")
    other.wait()
    found["unlocked"] = settled(vault)
    control("lock")
    error_of(vault)
    control("answer")
    found["answered"] = settled(vault)
    control("die")
    found["dead"] = settled(vault)
    return found


def desk(folder: Path) -> dict[str, object]:
    """The desk on a locked keyring: its dialog dismissed, asked for by the button, then answered."""
    vault = KeyringVault()
    vault.set(PROFILE.api_key_name, "secret")
    library_key(vault, PROFILE, folder)
    ProfileStore(folder).save(PROFILE)
    control("lock")
    window = Desktop(folder)
    window.start("--light", "--data-dir", str(folder))
    try:
        control("dismiss")
        window.wait("label", "The keyring is locked.")
        time.sleep(2.5)  # it retried automatically
        found: dict[str, object] = {"dialogs": dialogs()}
        window.press("push button", "Try again")
        control("answer")
        window.wait("text", "Subject")
        found["status"] = window.stop()
    except BaseException:
        print(window.tree(), file=sys.stderr)
        window.kill()
        raise
    return found


def control(what: str) -> None:
    subprocess.run(["keyring-ctl", what], check=True)


def dialogs() -> int:
    found = subprocess.run(["xdotool", "search", "--onlyvisible", "--class", "gcr-prompter"], capture_output=True)
    return len(found.stdout.split())


def error_of(vault: KeyringVault) -> str | None:
    try:
        return vault.get(NAME)
    except VaultError as error:
        return type(error).__name__


def settled(vault: KeyringVault, *passing: str) -> str | None:
    """What comes of asking until the keyring answers: a busy computer takes longer than the vault waits."""

    def answers() -> list[str | None]:
        found = error_of(vault)
        return [] if found in (VaultWaiting.__name__, *passing) else [found]

    return until(answers, "an answer of the keyring")[0]


if __name__ == "__main__":
    json.dump(globals()[sys.argv[1]](Path(sys.argv[2])), sys.stdout)
