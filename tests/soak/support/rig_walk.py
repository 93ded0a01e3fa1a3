"""Walks through the real window: a desktop of the rig around a script, and its steps inside, each with a picture."""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from support.programs import absent

E2E = Path(__file__).resolve().parents[2] / "e2e"
NEEDED = ("pulseaudio", "pactl", "paplay", "Xvfb", "openbox", "dbus-daemon", "setpriv", "xdotool", "scrot")
SIZE = "1320x880"
sys.path.append(str(E2E))

from desktop import Desktop  # noqa: E402  (the driver of the end-to-end tests)


def run(script: str, about: str, walk: Callable[[Path, str], int], languages: Sequence[str] = ()) -> int:
    """Run a desktop for each walk around `script`, or the walk inside of it; returns the exit status.

    Args:
        script: the file that calls this.
        about: its docstring, for `--help`.
        walk: takes a folder for pictures and a language, and returns an exit status.
        languages: tags to walk in if `--language` names none; without any there is one walk, and no such option.
    """
    parser = argparse.ArgumentParser(description=about)
    if languages:
        parser.add_argument("--language", action="append", help="a tag, such as pt-BR; all languages if none is named")
    parser.add_argument("--pictures", type=Path, help="a folder for screenshots of every step")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if why := absent(NEEDED):
        print(f"skipped: {Path(script).stem}: {why}")
        return 0
    tags = (options.language or languages) if languages else [""]
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.pictures or Path(scratch)).resolve()
        if options.inside:
            return walk(folder, tags[0])
        failed = [tag for tag in tags if _on_a_desktop(script, folder / tag, tag)]
        return int(bool(failed))


def _on_a_desktop(script: str, folder: Path, tag: str) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    session = [str(E2E / "rig" / "desk-session"), "--size", SIZE, "--", sys.executable, script, "--inside"]
    spoken = ["--language", tag] if tag else []
    return subprocess.run([*session, *spoken, "--pictures", str(folder)], check=False).returncode


def do_steps(
    folder: Path,
    title: str,
    steps: Mapping[str, Callable[[Desktop], None]],
    check: Callable[[Desktop], None] = lambda desk: None,
) -> int:
    """Start the desk and do every step; a step that fails is printed with what a screen reader would find.

    Args:
        folder: for the pictures.
        title: of the walk, in what is printed.
        steps: by name, which is also that of the picture.
        check: must hold after every step.
    """
    desk, name = Desktop(folder), "start"
    desk.start("--light")
    try:
        for name, step in steps.items():
            begun = time.monotonic()
            step(desk)
            time.sleep(1)  # animations end before the picture
            desk.look(name, window=True)
            check(desk)
            print(f"{title} {name}: done in {time.monotonic() - begun:.0f} s", flush=True)
        assert desk.stop() == 0
    except BaseException as error:
        desk.look("failed")
        print(visible(desk), file=sys.stderr)
        print(f"{title} {name} failed: {error}", file=sys.stderr)
        desk.kill()
        return 1
    print(f"{title}: {len(steps)} steps passed")
    return 0


def visible(desk: Desktop) -> str:
    """What a screen reader finds in the window, without what is hidden."""
    lines = desk.tree().splitlines()
    return "\n".join(line for line in lines if "hidden" not in line.rpartition("(")[2] and 'filler ""' not in line)
