"""Drive a program of the headless desktop by accessibility; works inside a session only."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import patience
from patience import seconds_left

RIG = Path(__file__).parent / "rig"
PROGRAM = "vbdesk"
START_UP_S = 3.0
LOOK_EVERY_S = 0.2
PRESS_AGAIN_S = 20.0


class Desktop:
    """The running desk: press, type, read and look."""

    def __init__(self, pictures: Path, vbdesk: Sequence[str] = ()) -> None:
        """`vbdesk` is the command of another installation than the checkout."""
        self._pictures = pictures
        self._vbdesk = list(vbdesk) or [sys.executable, "-X", "faulthandler", "-m", "vbdesk"]
        self._program: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str) -> None:
        """Start `vbdesk desk`."""
        self.start_program([*self._vbdesk, "desk", *arguments])

    def start_program(self, command: list[str], cwd: Path | None = None) -> None:
        """Start a program that opens the window."""
        with (self._pictures / "desk.log").open("ab") as log:  # a crash in native code says there where it was
            self._program = subprocess.Popen(command, cwd=cwd, stdout=log, stderr=log)

    def start_watched(self, report: Path, text: float = 1.0, colours: tuple[str, ...] = ("--light",)) -> None:
        """Start `vbdesk desk` with its GUI thread guarded; `report` holds the findings once it has stopped.

        `text` is the system's text size, 1 for 100 %. Without `colours` they are those that Account keeps.
        """
        watcher = Path(__file__).parent / "watched_desk.py"
        options = [str(report), f"{text:g}", "desk", *colours]
        self.start_program([sys.executable, "-X", "faulthandler", str(watcher), *options])

    def count_stalls(self, report: Path) -> None:
        """Start counting stalls, after the start-up."""
        if "STALLS" in os.environ:
            time.sleep(START_UP_S)
            report.with_name(f"{report.name}.begin").touch()

    def stop(self) -> int:
        """Close the window as its owner would and return the exit status."""
        program = self._program
        assert program is not None
        while True:
            patience.until(lambda: program.poll() is not None or self._has_focus(), "the window to have the focus")
            if program.poll() is None:
                subprocess.run(["xdotool", "key", "alt+F4"], check=True)
            try:
                return program.wait(min(PRESS_AGAIN_S, seconds_left()))
            except subprocess.TimeoutExpired:  # the key was lost while the focus moved from a dialog to the window
                if not seconds_left():
                    raise

    def _has_focus(self) -> bool:
        assert self._program is not None
        found = subprocess.run(
            ["xdotool", "getwindowfocus", "getwindowpid"], capture_output=True, text=True, check=False
        )
        return found.stdout.strip() == str(self._program.pid)

    def fill_disk_at(self, file_bytes: int) -> None:
        """Let no file of the program grow beyond this, as if the disk were full then."""
        assert self._program is not None
        resource.prlimit(self._program.pid, resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))

    def kill(self) -> None:
        """End the program without asking."""
        assert self._program is not None
        self._program.send_signal(signal.SIGKILL)
        self._program.wait()

    def wait(self, role: str, name: str) -> None:
        """Wait until something with this role and name shows."""
        self._a11y("wait", PROGRAM, role, name, f"{seconds_left():g}")

    def press(self, role: str, name: str) -> None:
        """Press, click or toggle it."""
        self._at(role, name, "press")

    def go(self, page: str) -> None:
        """Go to a page by the sidebar."""
        self.press("push button", page)

    def write(self, role: str, name: str, text: str) -> None:
        """Put text into a field, or choose the entry of that name in a combo box once there is one."""
        self.wait(role, name)
        until(lambda: self._does("set", role, name, text), f"{role} {name} to take {text}")

    def click(self, role: str, name: str) -> None:
        """Click it with the mouse."""
        x, y = self._at(role, name, "where").split()
        subprocess.run(["xdotool", "mousemove", x, y, "click", "1"], check=True)

    def hit(self, *keys: str) -> None:
        """Press keys in the focused widget."""
        subprocess.run(["xdotool", "key", "--delay", "60", *keys], check=True)

    def type(self, text: str) -> None:
        """Type into the focused widget."""
        subprocess.run(["xdotool", "type", "--delay", "30", "--", text], check=True)

    def hear(self) -> subprocess.Popen[str]:
        """Start a listener for announcements; it prints one a line until terminated."""
        command = [str(RIG / "a11y"), "heard", PROGRAM, "3600"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def keys(self, role: str, name: str, *keys: str) -> None:
        """Focus it and press keys, in xdotool's notation."""
        self._at(role, name, "focus")
        subprocess.run(["xdotool", "key", "--delay", "60", *keys], check=True)

    def read(self, role: str, name: str) -> str:
        """Text or value of one thing."""
        return self._a11y("get", PROGRAM, role, name).strip()

    def tree(self) -> str:
        """Everything a screen reader could reach."""
        return self._a11y("tree", PROGRAM)

    def look(self, name: str, *, window: bool = False) -> Path:
        """A screenshot of the screen, or of the window alone."""
        path = self._pictures / f"{name}.png"
        subprocess.run([str(RIG / "shot"), str(path), *([PROGRAM] if window else [])], check=True)
        return path

    def look_for_cut_words(self, report: Path, page: str) -> None:
        """Have a watched desk note in `report` what is cut off of the page that shows; it is called `page` there."""
        question = report.with_name(f"{report.name}.words")
        draft = question.with_suffix(".new")
        draft.write_text(page)
        draft.rename(question)
        until(lambda: not question.exists(), "a search for cut words")

    def speak(self, recording: Path) -> subprocess.Popen[bytes]:
        """Begin to play a recording into the virtual microphone, again and again."""
        return subprocess.Popen([str(RIG / "mic-feed"), "--loop", str(recording)])

    def _at(self, role: str, name: str, verb: str) -> str:
        """Try immediately, and wait for the widget only after a failure: finding it is expensive."""
        done: list[str] = []

        def does() -> bool:
            with suppress(AssertionError):
                done.append(self._a11y(verb, PROGRAM, role, name))
                return True
            self.wait(role, name)
            return False

        until(does, f"{role} {name} to {verb}")
        return done[0]

    def _does(self, verb: str, *arguments: str) -> bool:
        try:
            self._a11y(verb, PROGRAM, *arguments)
        except AssertionError:
            return False
        return True

    def _a11y(self, *arguments: str) -> str:
        done = subprocess.run([str(RIG / "a11y"), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"a11y {' '.join(arguments)}: {done.stderr.strip() or 'it cannot do that'}")
        return done.stdout


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait until `condition()` holds; a look takes a program of its own."""
    patience.until(condition, what, LOOK_EVERY_S)
