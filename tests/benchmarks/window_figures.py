"""The real window on the rig: the longest stall of its thread on every page, and how soon a key shows.

    python tests/benchmarks/window_figures.py [NAME ...]

Drives the window as the tests of `tests/e2e` do, each way once, and prints what `stall_watch.py` finds beside this
machine's calibration. NAME is one of the ways; all of them without any.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from calibration import judgement, slowness, within

RIG = Path(__file__).parents[1] / "e2e"
SPEECH = RIG.parent / "data" / "speech_kathleen_20s.flac"
STALL_MS, REACTION_MS = 50.0, 50.0
PAGE_MS = {"subject": 80.0, "compare": 90.0, "three clicks": 120.0, "cohort": 80.0}
"""Pages that are built, or whose charts are all painted, in one piece: longer than any other stall."""
HANGS_S = 900
SILENT = ("--mic", "off")
WAYS: dict[str, tuple[tuple[str, ...], str, tuple[object, ...]]] = {
    "subjects and cohort": (SILENT, "cohort_on_rig.py", ("FOLDER", 2)),
    "outbox": ((), "outbox_on_rig.py", ("FOLDER", SPEECH)),
    "reading": (SILENT, "reading_on_rig.py", ("FOLDER", SPEECH, "light", 100)),
    "reading, dark and large": (SILENT, "reading_on_rig.py", ("FOLDER", SPEECH, "dark", 200)),
    "record by keyboard": ((), "record_on_rig.py", ("by_keyboard", "FOLDER", SPEECH)),
    "record by mouse": ((), "record_on_rig.py", ("by_mouse", "FOLDER", SPEECH)),
    "record through faults": ((), "record_on_rig.py", ("through_faults", "FOLDER", SPEECH)),
}


def drive(way: str, folder: Path) -> bool:
    """Go one way through the window; prints its figures, and returns whether all are within their bars."""
    options, program, arguments = WAYS[way]
    session = [RIG / "rig" / "desk-session", "--size", "1280x840", *options]
    command = [*session, "--", sys.executable, RIG / program, *arguments]
    done = subprocess.run(
        [str(folder if part == "FOLDER" else part) for part in command],
        env={name: value for name, value in os.environ.items() if name != "QT_QPA_PLATFORM"} | {"STALLS": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    if done.returncode:
        print(f"{way}: did not come to its end\n{(done.stdout + done.stderr)[-3000:]}")
        return False
    found = json.loads((folder / "watch.json").read_text())
    notes = folder / "pages.json"
    pages = json.loads(notes.read_text()) if notes.exists() else [[way, 0.0]]
    longest = dict.fromkeys((page for page, _ in pages), 0.0)
    for stall in found["stalls"]:
        page = next((name for name, since in reversed(pages) if since <= stall["at_s"]), pages[0][0])
        longest[page] = max(longest[page], stall["desk_ms"])
    figures = [(f"longest stall at {page}", took_ms, PAGE_MS.get(page, STALL_MS)) for page, took_ms in longest.items()]
    figures += [("slowest reaction to a key", max(found["reactions_ms"]), REACTION_MS)] if found["reactions_ms"] else []
    print(f"{way} ({found['beats']} heartbeats)")
    for name, took_ms, bar_ms in figures:
        print(f"  {name:36} {took_ms:7.1f} ms  {judgement(took_ms, bar_ms)}")
    return all(within(took_ms, bar_ms) for _, took_ms, bar_ms in figures)


def main(names: list[str]) -> int:
    """Go every way that is named, or all; 1 if a figure was over its bar."""
    slowness()
    cached = True
    for way in names or WAYS:
        with tempfile.TemporaryDirectory() as folder:
            cached &= drive(way, Path(folder))
    return 0 if cached else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
