"""Take the README's screenshots from the real window, light and dark.

    tests/e2e/rig/desk-session --size 1320x880 -- .venv/bin/python packaging/screenshots.py docs/screenshots

Drives `vbdesk demo` on the headless desktop: five recordings are there from the start, a sixth is spoken into the
virtual microphone.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from desktop import Desktop  # noqa: E402  (the driver of the end-to-end tests)

SPEECH = ROOT / "resources" / "samples" / "reading_3.flac"
RECORDED_S = 24.0
ROOM_DBFS = -62.0


def record(desk: Desktop, subject: str) -> None:
    """Record one more, stopping for pictures on the way."""
    desk.go("Record")
    desk.write("combo box", "Microphone", "Studio Mic")
    desk.write("text", "Subject", subject)
    desk.press("check box", "Consent given")
    room(desk)
    feed = desk.speak(SPEECH)
    time.sleep(3)
    desk.look("record-light", window=True)
    desk.press("push button", "Start recording")
    desk.wait("push button", "Stop")
    time.sleep(RECORDED_S)
    desk.look("recording-light", window=True)
    desk.press("push button", "Stop")
    desk.wait("label", "Good to send", 30)
    time.sleep(1)
    desk.look("check-light", window=True)
    feed.terminate()
    feed.wait()


def room(desk: Desktop) -> None:
    """Have the room listened to: a quiet one, which a virtual microphone does not have by itself."""
    with tempfile.TemporaryDirectory() as here:
        noise = Path(here) / "room.wav"
        soundfile.write(noise, 10 ** (ROOM_DBFS / 20) * np.random.default_rng(1).normal(size=8 * 48_000), 48_000)
        hum = desk.speak(noise)
        time.sleep(1)
        desk.press("push button", "Check again")
        desk.wait("label", "The room is quiet enough", 10)
        hum.terminate()
        hum.wait()


def main(folder: Path) -> None:
    """Take every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    desk = Desktop(folder)
    with tempfile.TemporaryDirectory() as here:
        desk.start_program([sys.executable, "-m", "vbdesk", "demo"], cwd=Path(here))
        try:
            desk.wait("push button", "Export chart", 120)
            time.sleep(3)
            desk.look("subject-light", window=True)
            record(desk, "demo-reader")
            schemes(desk)
            assert desk.stop() == 0
        except BaseException:
            desk.kill()
            raise
    (folder / "desk.log").unlink()


def schemes(desk: Desktop) -> None:
    """Send the take, then look at every page in both colours."""
    desk.go("Account")
    for scheme, word in (("dark", "Dark"), ("light", "Light")):
        desk.press("check box", word)
        time.sleep(1)
        desk.look(f"account-{scheme}", window=True)
        if scheme == "dark":
            desk.go("Record")
            time.sleep(1)
            desk.look("check-dark", window=True)
            desk.press("push button", "Send")
            time.sleep(1)
            desk.look("record-dark", window=True)
            desk.go("Outbox")
            desk.wait("table cell", "State: Done", 90)
        desk.go("Outbox")
        time.sleep(2)
        desk.look(f"outbox-{scheme}", window=True)
        desk.keys("table", "Recordings", "Home", "Return")
        desk.wait("label", "For care staff, not a diagnosis", 20)
        time.sleep(2)
        desk.look(f"result-{scheme}", window=True)
        desk.go("Subjects")
        desk.wait("table cell", "demo-reader", 20)
        desk.look(f"subjects-{scheme}", window=True)
        desk.keys("table", "Subjects", "Home", "Return")
        desk.wait("push button", "Export chart", 20)
        time.sleep(3)
        desk.look(f"subject-{scheme}", window=True)
        desk.go("Account")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    subprocess.run(["xdotool", "mousemove", "1319", "879"], check=True)
    main(Path(sys.argv[1]).resolve())
