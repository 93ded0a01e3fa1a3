"""What the reader's language costs: the change in an open window, and the start of the desk.

    python tests/benchmarks/reading_language_figures.py

All times are processor time of the window's thread, so that a busy machine does not count; the start also shows the
time of all threads. Every language is measured in the same run as English, several times in turns.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import numpy as np
from calibration import judgement, slowness, within
from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication

CHANGE_MS, START_MS = 300.0, 20.0
CHANGES, STARTS = 3, 7
HANGS_S = 120.0
START = "--start"


def main(arguments: list[str]) -> int:
    """Print the figures; 1 if one is over its bar."""
    if arguments[:1] == [START]:
        start(arguments[1])
        return 0
    slowness()
    return int(not (changes_are_quick() & starts_are_quick()))


def languages() -> list[str]:
    """All languages but English, as tags."""
    from vbdesk.language import available_languages

    return [name.replace("_", "-") for name in available_languages() if name != "en"] or ["en-XA"]


def changes_are_quick() -> bool:
    """Change the language on Account and on Record, there and back."""
    from vbdesk.desk.account.page import AccountPage
    from vbdesk.desk.record.page import RecordPage

    kept = True
    with tempfile.TemporaryDirectory() as folder:
        desk = opened_desk(Path(folder))
        until(lambda: ready(desk, RecordPage))
        for name, key, kind in (("account", "account", AccountPage), ("record", "record", RecordPage)):
            for tag in languages():
                took = []
                for _ in range(CHANGES):
                    for wanted in (tag, "en"):
                        desk.window.open_page(key)
                        until(lambda page=kind: ready(desk, page))
                        took.append(change_ms(desk, wanted, kind))
                figure = statistics.median(took)
                print(f"  change on {name}, en and {tag:6} {figure:7.1f} ms  {judgement(figure, CHANGE_MS)}")
                kept &= within(figure, CHANGE_MS)
        desk.window.close()
    return kept


def change_ms(desk: object, tag: str, kind: type) -> float:
    """Time of the window's thread until the page is painted in another language."""
    changed = []
    desk.reading.changed.connect(lambda: changed.append(tag))
    began = time.thread_time()
    assert desk.reading.choose(tag) == ""
    until(lambda: bool(changed) and ready(desk, kind))
    desk.window.repaint()
    return 1000 * (time.thread_time() - began)


def ready(desk: object, kind: type) -> bool:
    """Whether a page of this kind is shown, with all its parts."""
    page = desk.window.page()
    return isinstance(page, kind) and page.isVisible() and getattr(page, "built", True)


def starts_are_quick() -> bool:
    """Start the desk in English and in every other language, in turns; each start is a process."""
    took: dict[str, list[tuple[float, float]]] = {tag: [] for tag in ("en", *languages())}
    for _ in range(STARTS):
        for tag, figures in took.items():
            done = subprocess.run(
                [sys.executable, __file__, START, tag], capture_output=True, text=True, check=True, timeout=HANGS_S
            )
            window, everything = done.stdout.split()[-2:]
            figures.append((float(window), float(everything)))
    best = {tag: tuple(map(min, zip(*figures, strict=True))) for tag, figures in took.items()}
    kept = True
    print(f"  start in en      {best['en'][0]:7.1f} ms, {best['en'][1]:.1f} ms in all threads")
    for tag in best:
        if tag != "en":
            slower, everything = (best[tag][part] - best["en"][part] for part in (0, 1))
            print(f"  start in {tag:6}  {slower:+7.1f} ms, {everything:+.1f} ms in all threads  ", end="")
            print(judgement(max(0.0, slower), START_MS))
            kept &= within(slower, START_MS)
    return kept


def start(tag: str) -> None:
    """Start the desk in a language, and print the time of the window's thread and of all threads."""
    from vbdesk.desk.record.page import RecordPage

    with tempfile.TemporaryDirectory() as folder:
        desk = opened_desk(Path(folder), tag)
        until(lambda: ready(desk, RecordPage))
        desk.window.repaint()
        print(1000 * time.thread_time(), 1000 * time.process_time(), flush=True)
        os._exit(0)  # the end is not measured


def opened_desk(folder: Path, tag: str = "en") -> object:
    """A desk with one profile whose service does not answer."""
    from vbdesk.capture.microphone import FileMicrophone
    from vbdesk.capture.playback import SilentPlayer
    from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
    from vbdesk.desk.models.preferences import PreferenceStore
    from vbdesk.desk.ports import DeskPorts
    from vbdesk.desk.shell.app import Desk
    from vbdesk.desk.shell.reading_language import begin_reading, show_in, wanted_language
    from vbdesk.desk.ui.theme import Scheme, Theme
    from vbdesk.outbox.profiles.vault import MemoryVault

    application = QApplication.instance() or QApplication(sys.argv[:1])
    application.setStyle("Fusion")
    application.setQuitOnLastWindowClosed(False)
    silence = FileMicrophone(np.zeros(48_000, dtype=np.int16), pace=1.0)
    ports = DeskPorts(
        data_dir=folder / "data",
        config_dir=folder / "config",
        microphone=silence,
        lister=silence,
        player=SilentPlayer,
        keyring=MemoryVault(),
    )
    Setup(ports).make_service(ServiceAddress("http://127.0.0.1:9", "acc-1", "a-key"), "keyring")
    PreferenceStore(ports.config_dir).change(reading_language=tag)
    begin_reading(tag)
    show_in(wanted_language(tag))
    Theme(Scheme.LIGHT).install()
    desk = Desk(ports)
    desk.start()
    return desk


def until(ready: Callable[[], bool]) -> None:
    """Handle events until something holds."""
    ends = time.monotonic() + HANGS_S
    while not ready():
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        time.sleep(0.002)  # the workers need the interpreter, too
        if time.monotonic() > ends:
            raise TimeoutError("The desk did not get any further.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
