"""A day at the desk, walked through the real window on the rig: `python tests/soak/desk_walk.py [--pictures FOLDER]`.

Consent, recording, discarding and undoing, sending, correcting a course, importing, exporting, second lines of
identity, the trash, shortcuts and the app lock, driven by keys, mouse and the accessibility tree. Needs the programs
that `packaging/bootstrap.py test` installs.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from support.rig_walk import do_steps, run, visible

from desktop import Desktop, until  # isort: skip  (`support.rig_walk` finds it)

TESTS = Path(__file__).resolve().parents[1]
SPEECH = TESTS / "data" / "speech_kathleen_20s.flac"
SAMPLES = TESTS.parent / "resources" / "samples"

SUBJECT, OTHER = "ward4-0172", "ward4-0200"
PASSPHRASE = "not the one of the keyring 7"


def walk(folder: Path, _tag: str) -> int:
    """Do every step, in English."""
    return do_steps(folder, "desk walk", {step.__name__: step for step in STEPS})


def shows(desk: Desktop, *texts: str) -> None:
    """Wait until the window shows all these texts."""
    until(lambda: all(text in visible(desk) for text in texts), f"the window to show {texts}")


def hides(desk: Desktop, *texts: str) -> None:
    """None of these texts is in the window."""
    found = [line for line in visible(desk).splitlines() for text in texts if text in line]
    assert not found, found


def checked(desk: Desktop, name: str) -> bool:
    """Whether the tick box of that name is ticked."""
    lines = [line for line in visible(desk).splitlines() if f'check box "{name}"' in line]
    assert lines, f"there is no tick box named {name}"
    return "checked" in lines[0].rpartition("(")[2]


def start_here(desk: Desktop) -> None:
    """The first start on this computer: a profile that says so, no address and no credits."""
    desk.press("push button", "Use this computer")
    desk.press("push button", "I have written it down")
    desk.wait("text", "Subject")
    desk.wait("label", "Connected")
    shows(desk, "This computer")
    hides(desk, "127.0.0.1", "credits")


def consent_binds(desk: Desktop) -> None:
    """A tick is of one subject, and Space after it records instead of taking it back."""
    desk.write("combo box", "Microphone", "Studio Mic")
    desk.write("text", "Subject", OTHER)
    desk.click("check box", "Consent given")
    until(lambda: checked(desk, "Consent given"), "the tick")
    desk.write("text", "Subject", SUBJECT)
    until(lambda: not checked(desk, "Consent given"), "the tick of another subject to go")
    feed = desk.speak(SPEECH)
    desk.click("check box", "Consent given")
    until(lambda: checked(desk, "Consent given"), "the tick")
    desk.hit("space")
    desk.wait("push button", "Stop")
    desk.hit("m")
    desk.wait("label", "Enough speech")
    desk.press("push button", "Stop")
    feed.terminate()
    feed.wait()
    desk.wait("label", "Good to send")


def discard_and_undo(desk: Desktop) -> None:
    """Undo stays there after other messages came."""
    desk.press("push button", "Discard")
    desk.wait("label", "was discarded")
    desk.press("push button", "Undo")
    desk.wait("label", "Good to send")
    desk.press("push button", "Send")
    desk.wait("label", "is on its way")


def result_is_there(desk: Desktop) -> None:
    """A message opens the result; the clinical page has signs only, and says whose consent there is."""
    desk.press("push button", "Open result")
    desk.wait("label", "For care staff, not a diagnosis")
    shows(desk, "Consent: Clinical")
    hides(desk, "Towards “", "Model pulse")
    desk.press("check box", "Researcher")
    desk.wait("label", "Score")
    desk.press("check box", "Clinical")


def excluded_and_put_back(desk: Desktop) -> None:
    """A recording leaves this person's course, for a reason, and returns."""
    correct(desk, "Exclude from this person's course", "It was a test")
    desk.wait("label", "Excluded from the course of")
    assert results(desk) == "0"
    open_newest(desk)
    correct(desk, "Put back")
    desk.wait("label", "Put back.")
    assert results(desk) == "1"


def moved_and_erased(desk: Desktop) -> None:
    """A recording goes to another subject without consent, to the trash, and back."""
    open_newest(desk)
    correct(desk, "Move to another subject", "Another person speaks", to=OTHER)
    desk.wait("label", f"Moved to {OTHER}")
    desk.go("Outbox")
    desk.wait("table cell", f"Subject: {OTHER}")
    desk.wait("table cell", "No consent noted")
    open_newest(desk)
    correct(desk, "Erase", "It was a test")
    desk.wait("label", "Moved to the trash")
    desk.go("Outbox")
    desk.press("check box", "Trash")
    desk.click("table cell", "Restore")
    desk.press("check box", "All")
    desk.wait("table cell", f"Subject: {OTHER}")


def names_are_kept_here(desk: Desktop) -> None:
    """A second line beside the id, and a name that the service's id cannot carry."""
    desk.hit("ctrl+comma")
    desk.press("check box", "Recordings")
    desk.press("check box", "Birth year")
    desk.hit("ctrl+2")
    desk.click("table cell", "Add note")
    desk.write("text", "Birth year", "1956")
    desk.press("push button", "Save")
    shows(desk, ", 1956")
    desk.hit("ctrl+1")
    desk.write("text", "Subject", "\u00dcbung 7")
    desk.wait("label", "the name stays here")


def imported_by_name(desk: Desktop) -> None:
    """Files with subject and time in their names; a row that is not ready stays."""
    folder = Path(tempfile.mkdtemp(prefix="desk-walk-"))
    names = ("ward7-0001_2026-11-01_14-30", "ward7-0002_01.11.2026_09.15", "unknown")
    for number, name in enumerate(names, 1):
        shutil.copy(SAMPLES / f"reading_{number}.flac", folder / f"{name}.flac")
    desk.write("text", "Subject", "")
    desk.press("push button", "Import files")
    desk.write("text", "File name:", " ".join(f'"{folder / name}.flac"' for name in names))
    desk.press("push button", "Open")
    desk.write("text", "Pattern of the file names", "{subject}_{date}_{time}")
    desk.wait("label", "time 2026-11-01 14:30")
    desk.press("push button", "Fill from names")
    desk.wait("table cell", "Subject: ward7-0002")
    desk.wait("table cell", "Enter a subject.")
    desk.press("push button", "Import 2 and send")
    desk.wait("table cell", "Imported.")
    desk.press("push button", "Close")
    desk.hit("ctrl+3")
    desk.wait("table cell", "ward7-0002_01.11.2026_09.15.flac")
    shutil.rmtree(folder)


def help_without_a_network(desk: Desktop) -> None:
    """The guide, the shortcuts, and what the program is made of."""
    desk.hit("F1")
    desk.wait("label", "Guide")
    desk.press("check box", "Shortcuts")
    desk.wait("label", "Lock the window")
    desk.press("check box", "About vbdesk")
    desk.wait("label", "Data: signs")
    desk.hit("Escape")
    until(lambda: "About vbdesk" not in visible(desk), "the help to close")


def locked(desk: Desktop) -> None:
    """Nothing about a person can be seen or read behind the lock."""
    desk.hit("ctrl+5")
    desk.press("check box", "This program")
    desk.press("push button", "Turn on")
    desk.write("password text", "Passphrase", PASSPHRASE)
    desk.write("password text", "Passphrase again", PASSPHRASE)
    desk.press("push button", "Turn the lock on")
    desk.press("push button", "I have written it down")
    desk.wait("push button", "Lock now")
    desk.hit("ctrl+2")
    desk.wait("table cell", f"Subject: {OTHER}")
    desk.hit("ctrl+l")
    desk.wait("label", "vbdesk is locked")
    whole = desk.tree()
    assert not [word for word in ("ward", "1956", "Consider", "Nothing stood out") if word in whole], whole
    desk.write("password text", "Passphrase", PASSPHRASE)
    desk.press("push button", "Unlock")
    desk.wait("table cell", f"Subject: {OTHER}")


def withdrawn_and_erased(desk: Desktop) -> None:
    """A consent is noted and withdrawn, and what is here of the subject is destroyed."""
    desk.write("text", "Search subjects", "ward7-0001")
    desk.keys("text", "Search subjects", "Return")
    desk.wait("label", "ward7-0001")
    desk.press("push button", "Note or withdraw consent")
    desk.press("push button", "Note consent")
    desk.wait("label", "Consent: Clinical, noted")
    desk.press("push button", "Note or withdraw consent")
    desk.wait("label", "given (Clinical)")
    until(lambda: 'push button "Withdraw" (disabled)' not in visible(desk), "the withdrawal to be offered")
    desk.press("push button", "Withdraw")
    desk.press("push button", "Withdraw and erase")
    desk.wait("label", "1 recording is erased")
    desk.go("Outbox")
    desk.wait("table cell", "Subject: ward7-0002")
    shown = visible(desk)
    assert "ward7-0001" not in shown[shown.index('table "Recordings"') :].partition('table "Recordings of')[0]
    desk.press("check box", "Trash")
    desk.wait("label", "The trash is empty")


def open_newest(desk: Desktop) -> None:
    """Open the result of the newest recording."""
    desk.go("Outbox")
    desk.wait("table cell", "State: Done")
    desk.keys("table", "Recordings", "Home", "Return")
    desk.wait("push button", "Correct")


def correct(desk: Desktop, change: str, reason: str = "", to: str = "") -> None:
    """Correct the course of the recording whose result is open."""
    desk.press("push button", "Correct")
    desk.press("check box", change)
    if to:
        desk.write("text", "The other subject", to)
    if reason:
        desk.write("combo box", "Why", reason)
    desk.press("push button", change)


def results(desk: Desktop) -> str:
    """How many results the list of subjects counts for the only subject there is."""
    desk.go("Subjects")
    desk.wait("table cell", "Results: ")
    cells = [line for line in visible(desk).splitlines() if 'table cell "Results: ' in line]
    return cells[0].rpartition("Results: ")[2].partition('"')[0]


STEPS: tuple[Callable[[Desktop], None], ...] = (
    start_here,
    consent_binds,
    discard_and_undo,
    result_is_there,
    excluded_and_put_back,
    moved_and_erased,
    names_are_kept_here,
    imported_by_name,
    help_without_a_network,
    locked,
    withdrawn_and_erased,
)


if __name__ == "__main__":
    sys.exit(run(__file__, __doc__, walk))
