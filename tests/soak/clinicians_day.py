"""A clinician's day in a language: `python tests/soak/clinicians_day.py [--language de ...] [--pictures FOLDER]`.

From the choice of the language at the first start to a signed PDF report, through the real window on the rig. Every
control is found by its translation, so that a text which stayed English ends the walk. Needs the programs that
`packaging/bootstrap.py test` installs.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pypdf import PdfReader
from support.programs import absent

from vbdesk.language import _, pgettext
from vbdesk.language.catalogs import available_languages
from vbdesk.language.reader import Language, language_of, use

TESTS = Path(__file__).resolve().parents[1]
RIG = TESTS / "e2e" / "rig"
SPEECH = TESTS / "data" / "speech_kathleen_20s.flac"
NEEDED = ("pulseaudio", "pactl", "paplay", "Xvfb", "openbox", "dbus-daemon", "setpriv", "xdotool", "scrot")
SIZE = "1320x880"
sys.path.append(str(TESTS / "e2e"))

from desktop import Desktop, until  # noqa: E402  (the driver of the end-to-end tests)

SUBJECT, READER = "ward4-0172", "A. Example"
ENGLISH_ALONE = ("Start recording", "Consent given", "Nothing stood out", "Good to send", "Open result")
"""Texts that no other language shows."""


def main() -> int:
    """Run the rig around each language, or the walk inside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", action="append", help="a tag, such as pt-BR; all languages if none is named")
    parser.add_argument("--pictures", type=Path, help="a folder for screenshots of every step")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if why := absent(NEEDED):
        print(f"skipped: the clinician's day: {why}")
        return 0
    tags = options.language or [name.replace("_", "-") for name in available_languages()]
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.pictures or Path(scratch)).resolve()
        if options.inside:
            return walk(folder, language_of(tags[0]))
        return int(sum(run(folder / tag, tag) for tag in tags) > 0)


def run(folder: Path, tag: str) -> int:
    """Walk through one day on a desktop of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    session = [str(RIG / "desk-session"), "--size", SIZE, "--", sys.executable, __file__, "--inside"]
    return subprocess.run([*session, "--language", tag, "--pictures", str(folder)], check=False).returncode


def walk(folder: Path, language: Language) -> int:
    """Do every step; a step that fails is printed with what a screen reader would find."""
    desk, step = Desktop(folder), STEPS[0]
    desk.start("--light")
    try:
        for step in STEPS:
            begun = time.monotonic()
            step(desk, folder, language)
            time.sleep(1)
            desk.look(step.__name__, window=True)
            if language.name != "en":
                english = [text for text in ENGLISH_ALONE if text in shown(desk)]
                assert not english, f"English in {language.tag}: {english}"
            print(f"{language.tag} {step.__name__}: done in {time.monotonic() - begun:.0f} s", flush=True)
        assert desk.stop() == 0
    except BaseException as error:
        desk.look("failed")
        print(shown(desk), file=sys.stderr)
        print(f"{language.tag} {step.__name__} failed: {error}", file=sys.stderr)
        desk.kill()
        return 1
    print(f"{language.tag}: {len(STEPS)} steps passed")
    return 0


def shown(desk: Desktop) -> str:
    """What a screen reader finds in the window, without what is hidden."""
    return "\n".join(line for line in desk.tree().splitlines() if "hidden" not in line.rpartition("(")[2])


def language_chosen(desk: Desktop, folder: Path, language: Language) -> None:
    """The first start asks in the system's language, and changes it at once."""
    from vbdesk.desk.shell.reading_language import own_name

    desk.wait("push button", _("Use this computer"))
    place = available_languages().index(language.name)
    desk.click("combo box", own_name("en"))
    desk.hit("Home", *["Down"] * place, "Return")
    use(language)
    desk.wait("push button", _("Use this computer"))


def begun_here(desk: Desktop, folder: Path, language: Language) -> None:
    """The service of this computer, and its recovery key."""
    desk.press("push button", _("Use this computer"))
    desk.wait("push button", _("I have written it down"))
    desk.look("recovery_key", window=True)
    desk.press("push button", _("I have written it down"))
    desk.wait("text", _("Subject"))
    desk.wait("label", _("Connected"))


def recorded(desk: Desktop, folder: Path, language: Language) -> None:
    """A recording with consent, until the check says what was good."""
    desk.write("text", _("Subject"), SUBJECT)
    desk.write("combo box", _("Microphone"), "Studio Mic")
    desk.click("check box", _("Consent given"))
    feed = desk.speak(SPEECH)
    desk.press("push button", _("Start recording"))
    desk.wait("push button", _("Stop"))
    desk.wait("label", _("Speech so far"))
    desk.look("recording", window=True)
    desk.wait("label", _("Enough speech"))
    desk.press("push button", _("Stop"))
    feed.terminate()
    feed.wait()
    desk.wait("label", _("Good to send"))


def sent(desk: Desktop, folder: Path, language: Language) -> None:
    """To the service; a message says when the result is there."""
    desk.press("push button", _("Send"))
    desk.press("push button", _("Open result"))
    desk.wait("label", _("For care staff, not a diagnosis"))


def researched(desk: Desktop, folder: Path, language: Language) -> None:
    """Scores and what they rest on."""
    desk.press("check box", _("Researcher"))
    desk.wait("label", _("Score"))


def outbox_seen(desk: Desktop, folder: Path, language: Language) -> None:
    """What happened to the recording."""
    desk.press("check box", _("Clinical"))
    desk.go(pgettext("page", "Outbox"))
    desk.wait("table cell", SUBJECT)


def all_subjects(desk: Desktop, folder: Path, language: Language) -> None:
    """The list of subjects."""
    desk.go(pgettext("page", "Subjects"))
    desk.wait("table cell", SUBJECT)


def cohort_seen(desk: Desktop, folder: Path, language: Language) -> None:
    """Everybody."""
    desk.go(pgettext("page", "Cohort"))
    desk.wait("push button", _("Export"))


def subject_opened(desk: Desktop, folder: Path, language: Language) -> None:
    """The course of the person."""
    desk.go(pgettext("page", "Subjects"))
    desk.keys("table", _("Subjects"), "Home", "Return")
    desk.wait("push button", _("Note or withdraw consent"))


def report_chosen(desk: Desktop, folder: Path, language: Language) -> None:
    """The report of the person, with the name of its reader."""
    desk.keys("push button", _("Export"), "space", "Down", "Return")
    desk.wait("push button", _("Choose folder"))
    desk.write("text", _("Read by"), READER)
    desk.write("text", _("Folder"), str(folder))


def report_signed(desk: Desktop, folder: Path, language: Language) -> None:
    """It is there, in the reader's language, with the sign-off."""
    before = set(folder.rglob("*.pdf"))
    lines = [line for line in shown(desk).splitlines() if f'push button "{_("Export")}"' in line]
    assert lines, "the card has a button for the export"
    desk.keys("text", _("Read by"), "Return")
    until(lambda: set(folder.rglob("*.pdf")) - before, "the report")
    report = (set(folder.rglob("*.pdf")) - before).pop()
    document = PdfReader(report)
    assert str(document.root_object.get("/Lang", "")).partition("-")[0] == language.tag.partition("-")[0]
    assert READER in "".join(page.extract_text() for page in document.pages)


def account_seen(desk: Desktop, folder: Path, language: Language) -> None:
    """Preferences; the language changes there and back at once."""
    desk.go(pgettext("page", "Account"))
    desk.wait("combo box", _("Text size"))


STEPS: tuple[Callable[[Desktop, Path, Language], None], ...] = (
    language_chosen,
    begun_here,
    recorded,
    sent,
    researched,
    outbox_seen,
    all_subjects,
    cohort_seen,
    subject_opened,
    report_chosen,
    report_signed,
    account_seen,
)


if __name__ == "__main__":
    sys.exit(main())
