"""Take pictures of every page of the real window, in several sizes, text sizes and colours.

    packaging/page_pictures.py OUTDIR --size 1024x640 --size 1280x800 --text-scale 1 --theme light --page record

`packaging/screenshots.py OUTDIR pages` runs it once for each text size. It has a service, recordings, a keyring and a
microphone of its own, so that it needs neither sound nor keys: it runs on the rig, and with QT_QPA_PLATFORM=offscreen.
`--language en_XA` shows the pseudo-language, and `--right-to-left` mirrors the window in any language.
Pictures are named after page, size, text size and colours: `subjects-1024x640-100-light.png`.
`--cut` prints every text that is cut off, and ends with 1 if there is one.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "e2e"), str(ROOT / "tests" / "desk")]

import cohort_on_rig  # noqa: E402  (an end-to-end test's account)
import numpy as np  # noqa: E402
import soundfile  # noqa: E402
import soxr  # noqa: E402
from cut_words import cut_popups, cut_words  # noqa: E402
from PySide6.QtCore import QObject, Qt, QTimer, Slot  # noqa: E402
from PySide6.QtWidgets import QApplication, QWidget  # noqa: E402

from vbdesk.capture.microphone import FileMicrophone  # noqa: E402
from vbdesk.capture.playback import SilentPlayer  # noqa: E402
from vbdesk.desk.cohort.page import CohortPage  # noqa: E402
from vbdesk.desk.ports import DeskPorts  # noqa: E402
from vbdesk.desk.record.page import RecordPage  # noqa: E402
from vbdesk.desk.record.view_model import RecordPhase  # noqa: E402
from vbdesk.desk.shell.app import Desk  # noqa: E402
from vbdesk.desk.shell.reading_language import show_in  # noqa: E402
from vbdesk.desk.subjects.page import SubjectsPage  # noqa: E402
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute  # noqa: E402
from vbdesk.desk.ui.theme import Scheme, Theme, app_theme  # noqa: E402
from vbdesk.language import Language, language_of  # noqa: E402
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata  # noqa: E402
from vbdesk.outbox.library.opening import LockedLibrary  # noqa: E402
from vbdesk.outbox.library.states import Fix, OutboxState  # noqa: E402
from vbdesk.outbox.profiles.profiles import ProfileStore  # noqa: E402
from vbdesk.outbox.profiles.vault import MemoryVault  # noqa: E402
from vbdesk.outbox.sync.task_handlers import length_fault  # noqa: E402

TEXT_PX, POINTS_PER_INCH, SYSTEM_POINTS = 14, 72, 9
SPEECH = ROOT / "resources" / "samples" / "reading_3.flac"
STEP_MS, SETTLED_S, HANGS_S = 40, 0.6, 120.0
CUT_S = 6.0  # what is cut for that long stays cut
LONG_NAME = "clinic-north.cohort-2026.participant-000184"

Walk = Generator[Callable[[], bool], None, None]


@dataclass(frozen=True, slots=True)
class Look:
    """How the window looks in one picture."""

    width: int
    height: int
    theme: str


class PageWalk(QObject):
    """Open page after page and save each in every look."""

    def __init__(
        self, desk: Desk, folder: Path, looks: list[Look], scale: float, pages: list[str], *, finds: bool
    ) -> None:
        super().__init__()
        self._finds = finds
        self._desk, self._folder, self._looks, self._scale = desk, folder, looks, scale
        self._pages = pages or list(SCENES)
        self.cut: list[str] = []
        self._walk = self._all()
        self._ready: Callable[[], bool] = lambda: True
        self._since = time.monotonic()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._step)
        self._timer.start(STEP_MS)

    @Slot()
    def _step(self) -> None:
        if not self._ready():
            if time.monotonic() - self._since > HANGS_S:
                print("The desk did not get any further. Stopped.", file=sys.stderr)
                os._exit(1)
            return
        try:
            self._ready = next(self._walk)
            self._since = time.monotonic()
        except StopIteration:
            self._timer.stop()
            self._desk.window.close()
        except Exception:  # a walk that was broken off is no walk without faults
            traceback.print_exc()
            os._exit(1)

    def _all(self) -> Walk:
        yield lambda: self._desk.workspace is not None and self._desk.window.page() is not None
        yield settled()
        for name in self._pages:
            yield from SCENES[name](self._desk)
            yield settled()
            for look in self._looks:
                yield from self._take(name, look)
            close_others(self._desk)
        self._desk.window.open_page("subjects")

    def _take(self, name: str, look: Look) -> Walk:
        window = front_window(self._desk)
        app_theme().set_scheme(Scheme(look.theme))
        window.resize(look.width, look.height)
        yield lambda: (window.width(), window.height()) == (look.width, look.height)
        yield settled()
        scale = round(100 * self._scale)
        begun = time.monotonic()
        while self._finds and (faults := [*cut_words(window), *cut_popups(window)]):
            if time.monotonic() - begun > CUT_S:
                self.cut += [f"{name} {look.width}x{look.height}: {fault}" for fault in faults]
                break
            yield settled()  # a layout may still follow the words
        window.grab().save(str(self._folder / f"{name}-{look.width}x{look.height}-{scale}-{look.theme}.png"))


def front_window(desk: Desk) -> QWidget:
    """The help or a dialog if one is open, or the desk's window."""
    others = [top for top in QApplication.topLevelWidgets() if top.isVisible() and top is not desk.window]
    return others[0] if others else desk.window


def close_others(desk: Desk) -> None:
    """Close the windows that a scene opened in addition to the desk's."""
    while (other := front_window(desk)) is not desk.window:
        other.close()


def settled() -> Callable[[], bool]:
    """Hold once everything that a page starts has had time to show."""
    begun = time.monotonic()
    return lambda: time.monotonic() - begun > SETTLED_S


def opens(key: str, argument: object = None) -> Callable[[Desk], Walk]:
    """Open a page."""

    def scene(desk: Desk) -> Walk:
        desk.window.open_page(key, argument)
        yield settled()

    return scene


def record_page(desk: Desk) -> RecordPage:
    """Record, in front."""
    page = desk.window.page()
    if not isinstance(page, RecordPage):
        desk.window.open_page("record")
        page = desk.window.page()
    assert isinstance(page, RecordPage)
    return page


def ready(desk: Desk) -> Walk:
    """Record, filled in."""
    page = record_page(desk)
    page.model.setup.set_subject("ward4-0172")
    yield lambda: page.model.setup.device is not None
    yield lambda: page.model.room.finding is not None


def recording(desk: Desk) -> Walk:
    """A recording that runs; it goes on while its pictures are taken."""
    page = record_page(desk)
    if page.model.phase is RecordPhase.READY:
        yield from ready(desk)
        page.ready.setup.consent.tick.setChecked(True)
        page.model.press()
    yield lambda: page.model.phase is RecordPhase.RECORDING
    begun = time.monotonic()
    yield lambda: time.monotonic() - begun > 5.0
    page.model.mark()


def check(desk: Desk) -> Walk:
    """The check of a recording of twenty seconds."""
    page = record_page(desk)
    if page.model.phase is RecordPhase.READY:
        yield from recording(desk)
    begun = time.monotonic()
    yield lambda: time.monotonic() - begun > 17.0
    page.model.press()
    yield lambda: page.review.review is not None


def spectrum(desk: Desk) -> Walk:
    """The spectrogram of the check."""
    page = record_page(desk)
    if page.review.review is None:
        yield from check(desk)
    page.check.toggle_picture()
    yield settled()


def imported(desk: Desk) -> Walk:
    """The preview of an import, with subjects whose consent is missing."""
    page = record_page(desk)
    if page.model.phase is not RecordPhase.READY:
        page.review.keep()
        yield lambda: page.model.phase is RecordPhase.READY
    page.model.setup.set_subject("ward4-0172")
    page.import_files([SPEECH.parent])
    yield lambda: page.imports.preview is not None
    page.imports.apply_pattern("*_{subject}")
    yield settled()
    page.importing.table.choose_keys(["1", "2"])
    page.imports.consent_noted.emit(3)  # a message of a usual length
    yield settled()


def note(desk: Desk) -> Walk:
    """A subject chosen in the list."""
    desk.window.open_page("subjects")
    yield settled()
    page = desk.window.page()
    assert isinstance(page, SubjectsPage)
    page.list.acted.emit(page.list.model().row(0).key)
    yield settled()


def one_group(desk: Desk) -> Walk:
    """One group read as a cohort."""
    desk.window.open_page("cohort")
    page = desk.window.page()
    assert isinstance(page, CohortPage)
    page.scope.choose("group")
    page.scope.chosen.emit("group")
    assert page.group is not None
    page.group.field.setText("study-1")
    page.group.read_button.click()
    yield settled()


def result(desk: Desk) -> Walk:
    """The result of the newest finished recording."""
    yield from opens("result", RecordingRoute("take-0000"))(desk)
    yield settled()


def compare(desk: Desk) -> Walk:
    """Two recordings."""
    sides = RecordingRoute("take-0000"), RecordingRoute("take-0001")
    yield from opens("compare", ComparisonRoute(*sides))(desk)
    yield settled()


def subject(desk: Desk) -> Walk:
    """A subject with a history."""
    yield from opens("subject", cohort_on_rig.name_of(0))(desk)
    yield settled()


def help_part(part: str) -> Callable[[Desk], Walk]:
    """A part of the help window."""

    def scene(desk: Desk) -> Walk:
        desk.open_help()
        assert desk._help is not None
        desk._help.show_part(part)
        yield settled()

    return scene


def wording(desk: Desk) -> Walk:
    """The wording of a consent, in a dialog."""
    page = record_page(desk)
    yield from ready(desk)
    page.ready.setup.consent.read_button.click()
    yield settled()


def speaker(desk: Desk) -> Walk:
    """What the speaker sees on a window of their own."""
    page = record_page(desk)
    yield from ready(desk)
    page.speaker.open()
    yield settled()


def first_start(desk: Desk) -> Walk:
    """The first start; comes last, since it closes the pages."""
    desk._on_page_asked("profile", None)
    yield settled()


SCENES: dict[str, Callable[[Desk], Walk]] = {
    "record": ready,
    "wording": wording,
    "speaker": speaker,
    "recording": recording,
    "check": check,
    "spectrum": spectrum,
    "import": imported,
    "subjects": opens("subjects"),
    "subjects-note": note,
    "outbox": opens("outbox"),
    "cohort": opens("cohort"),
    "cohort-group": one_group,
    "account": opens("account"),
    "subject": subject,
    "result": result,
    "compare": compare,
    "help": help_part("guide"),
    "help-shortcuts": help_part("shortcuts"),
    "help-about": help_part("about"),
    "first-start": first_start,
}


def fill(ports: DeskPorts, address: str) -> None:
    """Recordings in several states, with short and long names of subjects."""
    cohort_on_rig.fill(address, ports)
    profile = ProfileStore(ports.config_dir).all()[0]
    library = LockedLibrary(profile, ports.library_dir(profile.profile_id), ports.keyring)
    now, pulse = datetime.now(UTC), RecordingTarget("model", "pulse")
    for number, name in enumerate(("ward4-0168", "ward4-0155", LONG_NAME, "ward4-0131")):
        too_short = number == 2
        taken = TakeMetadata(
            name,
            now - timedelta(hours=5 * number + 1),
            pulse,
            tags=("ENT", "evening") if number else (),
            trim_s=(0.0, 9.0) if too_short else None,
        )
        take_id = library.import_file(SPEECH, taken)
        if number != 1:
            library.queue(take_id)
        if too_short:
            with library.store.changing():
                reason = length_fault(library.store.get(take_id))
                library.store.move(take_id, OutboxState.NEEDS_ATTENTION, reason, Fix.REVIEW_TAKE)
    library.close()


def microphone() -> FileMicrophone:
    """A microphone that records a quiet room, then the reading of a sample."""
    sound, rate = soundfile.read(SPEECH, dtype="float32")
    speech = np.clip(soxr.resample(sound, rate, 48_000), -1, 1)
    room = 10 ** (-62 / 20) * np.random.default_rng(1).normal(size=4 * 48_000)
    return FileMicrophone((32767 * np.concatenate([room, *[speech] * 4])).astype(np.int16), pace=1.0)


def main(
    folder: Path,
    looks: list[Look],
    scale: float,
    pages: list[str],
    language: Language | None = None,
    *,
    right_to_left: bool = False,
    finds: bool = False,
) -> list[str]:
    """Take the pictures, in a language; `right_to_left` mirrors the window in any language.

    Returns the cut texts, if it `finds` them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["QT_ENABLE_HIGHDPI_SCALING"] = "0"  # larger text, not a larger window
    os.environ["QT_FONT_DPI"] = str(round(TEXT_PX * scale * POINTS_PER_INCH / SYSTEM_POINTS))
    application = QApplication(sys.argv[:1])
    application.setStyle("Fusion")
    application.setQuitOnLastWindowClosed(False)
    with tempfile.TemporaryDirectory() as here, cohort_on_rig.served() as address:
        sound = microphone()
        ports = DeskPorts(
            data_dir=Path(here) / "data",
            config_dir=Path(here) / "config",
            microphone=sound,
            lister=sound,
            player=SilentPlayer,
            keyring=MemoryVault(),
        )
        fill(ports, address)
        if language is not None:
            show_in(language)
        if right_to_left:
            application.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        Theme(Scheme(looks[0].theme)).install()
        desk = Desk(ports)
        desk.ended.connect(application.quit)
        desk.start()
        walk = PageWalk(desk, folder, looks, scale, pages, finds=finds)
        application.exec()
        return walk.cut


def size(text: str) -> tuple[int, int]:
    """Read a size such as 1280x800."""
    width, height = text.split("x")
    return int(width), int(height)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `screenshots.py` has too."""
    parser.add_argument("--size", action="append", type=size, help="of the window, such as 1280x800; may be repeated")
    parser.add_argument("--text-scale", action="append", type=float, help="1 for 100 %%, 2 for 200 %%")
    parser.add_argument("--theme", action="append", choices=["light", "dark"], help="may be repeated")
    parser.add_argument("--language", type=language_of, help="of the window, such as de; en_XA is the pseudo-language")
    parser.add_argument("--right-to-left", action="store_true", help="mirror the window in any language")
    parser.add_argument("--page", action="append", choices=list(SCENES), help="only this page; may be repeated")


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("folder", type=Path)
    reader.add_argument("--cut", action="store_true", help="print texts that are cut off")
    add_options(reader)
    chosen = reader.parse_args()
    found = main(
        chosen.folder.resolve(),
        [Look(*each, theme) for each in chosen.size or [(1280, 800)] for theme in chosen.theme or ["light", "dark"]],
        (chosen.text_scale or [1.0])[0],
        chosen.page or [],
        chosen.language,
        right_to_left=chosen.right_to_left,
        finds=chosen.cut,
    )
    if chosen.cut:
        print("\n".join(found))
        sys.exit(int(bool(found)))
