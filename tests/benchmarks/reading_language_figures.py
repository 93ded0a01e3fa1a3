"""What a change of the reader's language costs in an open window.

    python tests/benchmarks/reading_language_figures.py

All times are processor time of the window's thread, so that a busy machine does not count. Every language is measured
there and back, several times in turns. `start_figures.py --languages` measures what a language costs at the start.
"""

import statistics
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

CHANGE_MS = 300.0
CHANGES = 3
HANGS_S = 120.0


def main() -> int:
    """Print the figures; 1 if one is over its bar."""
    slowness()
    return int(not changes_are_quick())


def languages() -> list[str]:
    """All languages but English, as tags."""
    from vbdesk.language import available_languages

    return [name.replace("_", "-") for name in available_languages() if name != "en"] or ["en-XA"]


def changes_are_quick() -> bool:
    """Change the language on Account and on Record, there and back."""
    from vbdesk.desk.account.page import AccountPage
    from vbdesk.desk.record.page import RecordPage

    cached = True
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
                cached &= within(figure, CHANGE_MS)
        desk.window.close()
    return cached


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


def opened_desk(folder: Path) -> object:
    """A desk with one profile whose service does not answer."""
    from vbdesk.capture.microphone import FileMicrophone
    from vbdesk.capture.playback import SilentPlayer
    from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
    from vbdesk.desk.ports import DeskPorts
    from vbdesk.desk.preferences import PreferenceStore
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
    PreferenceStore(ports.config_dir).change(reading_language="en")
    begin_reading("en")
    show_in(wanted_language("en"))
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
    sys.exit(main())
