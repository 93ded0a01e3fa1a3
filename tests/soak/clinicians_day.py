"""A clinician's day in a language: `python tests/soak/clinicians_day.py [--language de ...] [--pictures FOLDER]`.

From the choice of the language at the first start to a signed PDF report, through the real window on the rig. Every
control is found by its translation, so that a text which stayed English ends the walk. Needs the programs that
`packaging/bootstrap.py test` installs.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pypdf import PdfReader
from support.rig_walk import do_steps, run, visible

from vbdesk.language import _, pgettext
from vbdesk.language.catalogs import available_languages
from vbdesk.language.reader import Language, language_of, use

from desktop import Desktop, until  # isort: skip  (`support.rig_walk` finds it)

SPEECH = Path(__file__).resolve().parents[1] / "data" / "speech_kathleen_20s.flac"
SUBJECT, READER = "ward4-0172", "A. Example"
ENGLISH_ALONE = ("Start recording", "Consent given", "Nothing stood out", "Good to send", "Open result")
"""Texts that no other language shows."""
Step = Callable[[Desktop, Path, Language], None]


def walk(folder: Path, tag: str) -> int:
    """Do every step in a language."""
    language = language_of(tag)
    assert language is not None, tag

    def check(desk: Desktop) -> None:
        english = [text for text in ENGLISH_ALONE if text in visible(desk)]
        assert language.name == "en" or not english, f"English in {tag}: {english}"

    steps = {step.__name__: partial(_in_language, step, folder, language) for step in STEPS}
    return do_steps(folder, tag, steps, check)


def _in_language(step: Step, folder: Path, language: Language, desk: Desktop) -> None:
    step(desk, folder, language)


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
    lines = [line for line in visible(desk).splitlines() if f'push button "{_("Export")}"' in line]
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


STEPS: tuple[Step, ...] = (
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
    sys.exit(run(__file__, __doc__, walk, [name.replace("_", "-") for name in available_languages()]))
