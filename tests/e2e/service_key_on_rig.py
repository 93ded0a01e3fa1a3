"""What `test_service_key` runs inside the rig: the key of this computer, with a keyring and without one.

Usage: python service_key_on_rig.py SCENARIO FOLDER SPEECH.flac
"""

import json
import re
import sys
from pathlib import Path

import keyring
from desktop import Desktop, until

from vbdesk.outbox.profiles.recovery_key import CHARACTERS, GROUP, key_of_recovery, recovery_key_of
from vbdesk.outbox.profiles.service_key import KEY_FILE

SUBJECT = "ward4-0172"
PASSPHRASE = "four calm otters swim"
ENCRYPTED = "Recordings encrypted on this computer"
REPORT = "watch.json"


class Window:
    """The desk of one data folder, started again and again."""

    def __init__(self, folder: Path, colours: str) -> None:
        self.desk = Desktop(folder)
        self._folder, self._colours = folder, colours
        self._starts = 0

    def start(self) -> Desktop:
        """Open it, watched."""
        self._starts += 1
        report = self._folder / f"{self._starts}-{REPORT}"
        data = ("--data-dir", str(self._folder / "data"))
        self.desk.start_watched(report, 1.0, (self._colours, *data))
        return self.desk

    def stop(self) -> None:
        """Close it; nothing of it blocked the GUI thread."""
        assert self.desk.stop() == 0
        found = json.loads((self._folder / f"{self._starts}-{REPORT}").read_text())
        assert found["blocking"] == [], "\n".join(found["blocking"])


def written_down(desk: Desktop) -> str:
    """The recovery key, as a person reads it off the page."""
    desk.wait("push button", "I have written it down")
    groups = re.findall(rf"\b[0-9A-HJKMNP-TV-Z]{{{GROUP}}}\b", desk.tree())
    key = "-".join(dict.fromkeys(groups))
    assert len(key.replace("-", "")) == CHARACTERS, groups
    return key


def with_keyring(folder: Path, speech: Path) -> None:
    """A first start, a recording whose sound is removed, a lost keyring entry, and the recovery key."""
    window = Window(folder, "--light")
    desk = window.start()
    desk.wait("push button", "Use this computer")
    desk.press("push button", "Use this computer")
    recovery_key = written_down(desk)
    desk.look("recovery-offer")
    desk.press("push button", "I have written it down")
    desk.wait("text", "Subject")
    desk.wait("label", ENCRYPTED)
    desk.look("encrypted")

    desk.write("combo box", "Microphone", "Studio Mic")
    desk.write("text", "Subject", SUBJECT)
    desk.press("check box", "Consent given")
    feed = desk.speak(speech)
    desk.press("push button", "Start recording")
    desk.wait("push button", "Stop")
    desk.wait("label", "Enough speech")
    desk.press("push button", "Stop")
    feed.terminate()
    feed.wait()
    desk.wait("label", "Good to send")
    desk.press("push button", "Send")
    desk.go("Outbox")
    desk.wait("table cell", "State: Done")
    objects = folder / "data" / "service" / "objects"
    stored = lambda: [path for kind in ("audio", "uploads") for path in (objects / kind).glob("*")]  # noqa: E731
    assert len(stored()) == 2
    desk.keys("table", "Recordings", "ctrl+a", "Delete")
    desk.wait("push button", "The sound only")
    desk.look("removal-question")
    desk.press("push button", "The sound only")
    desk.wait("label", "Sound of 1 recording removed, here and at the service on this computer")
    desk.look("removal-done")
    assert stored() == []
    assert not list((folder / "data" / "profiles").glob("*/takes/*.take"))
    desk.keys("table", "Recordings", "Home", "Return")
    desk.wait("label", "For care staff, not a diagnosis")  # the result stays
    window.stop()

    key_id = json.loads((folder / "data" / "service" / KEY_FILE).read_text())["key_id"]
    keyring.delete_password("vbdesk", f"local-service/{key_id}/key")
    desk = window.start()
    desk.wait("text", "Recovery key")
    desk.look("keyring-lost")
    desk.write("text", "Recovery key", recovery_key_of(bytes(32)))
    desk.press("push button", "Unlock")
    desk.wait("label", "This is the recovery key of another computer")
    desk.look("recovery-wrong")
    desk.write("text", "Recovery key", recovery_key.lower())
    desk.press("push button", "Unlock")
    desk.wait("text", "Subject")
    desk.wait("label", ENCRYPTED)
    assert keyring.get_password("vbdesk", f"local-service/{key_id}/key")
    window.stop()
    nowhere(folder, key_of_recovery(recovery_key), recovery_key)


def without_keyring(folder: Path, speech: Path) -> None:
    """A passphrase, asked for at every start, forgotten and replaced."""
    window = Window(folder, "--dark")
    desk = window.start()
    desk.wait("push button", "Use this computer")
    desk.press("push button", "Use this computer")
    desk.wait("password text", "Passphrase")
    desk.look("passphrase-first")
    desk.write("password text", "Passphrase", PASSPHRASE)
    desk.write("password text", "Passphrase again", PASSPHRASE)
    desk.press("push button", "Use this computer")
    recovery_key = written_down(desk)
    desk.look("recovery-offer-dark")
    desk.press("push button", "I have written it down")
    desk.wait("label", ENCRYPTED)
    window.stop()

    desk = window.start()
    desk.wait("password text", "Passphrase")
    desk.look("unlock-dark")
    desk.write("password text", "Passphrase", "something else")
    desk.press("push button", "Unlock")
    desk.wait("label", "The passphrase is not right. Nothing is lost.")
    desk.look("unlock-wrong-dark")
    desk.write("password text", "Passphrase", PASSPHRASE)
    desk.press("push button", "Unlock")
    desk.wait("text", "Subject")
    desk.go("Account")
    desk.wait("push button", "Change the passphrase")
    desk.press("push button", "Change the passphrase")
    desk.write("password text", "Passphrase now", PASSPHRASE)
    desk.write("password text", "New passphrase", "another passphrase")
    desk.write("password text", "New passphrase again", "another passphrase")
    desk.keys("password text", "New passphrase again", "shift+Tab", "Tab")
    desk.look("passphrase-change-dark")
    desk.press("push button", "Save the passphrase")
    desk.wait("label", "The passphrase is changed.")
    window.stop()

    desk = window.start()
    desk.wait("push button", "Use the recovery key")
    desk.press("push button", "Use the recovery key")
    desk.write("text", "Recovery key", recovery_key)
    desk.write("password text", "New passphrase", "a third passphrase")
    desk.write("password text", "New passphrase again", "a third passphrase")
    desk.look("recovery-passphrase-dark")
    desk.press("push button", "Unlock")
    desk.wait("label", ENCRYPTED)
    window.stop()
    nowhere(folder, key_of_recovery(recovery_key), recovery_key)


def nowhere(folder: Path, key: bytes, recovery_key: str) -> None:
    """The key is in no file of the desk, its service or its log."""
    forms = [key, key.hex().encode(), recovery_key.encode(), recovery_key.replace("-", "").encode()]
    files = [path for path in (folder / "data").rglob("*") if path.is_file()] + [folder / "desk.log"]
    assert len(files) > 10
    until(lambda: not [path for path in files if path.suffix == ".new"], "files to get their names")
    assert not [path for path in files if path.exists() and any(form in path.read_bytes() for form in forms)]


if __name__ == "__main__":
    try:
        globals()[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
    except BaseException:
        Desktop(Path(sys.argv[2])).look("failed")
        raise
