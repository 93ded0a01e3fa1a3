"""What `test_first_light` runs inside the rig: a first start, a recording, its result, and the point on the chart.

Usage: python first_light_on_rig.py FOLDER SPEECH.flac [COMMAND]

COMMAND starts the vbdesk of another installation than the checkout, such as `vbdesk`.
"""

import sys
from pathlib import Path

from desktop import Desktop, until

SUBJECT = "ward4-0172"


def record(desk: Desktop, speech: Path) -> None:
    """Say who it is, record real speech through the microphone, and look at the check."""
    desk.write("combo box", "Microphone", "Studio Mic")
    desk.write("text", "Subject", SUBJECT)
    desk.press("check box", "Consent given")
    desk.look("record")
    feed = desk.speak(speech)
    desk.press("push button", "Start recording")
    desk.wait("push button", "Stop")
    desk.wait("label", "Enough speech")
    desk.look("recording")
    desk.press("push button", "Stop")
    feed.terminate()
    feed.wait()
    desk.wait("label", "Good to send")
    desk.look("check")
    desk.press("push button", "Send")


def main(folder: Path, speech: Path, *vbdesk: str) -> None:
    """Go the whole way, asserting what a person would see."""
    desk = Desktop(folder, vbdesk)
    desk.start("--light")
    try:
        desk.wait("push button", "Use this computer")
        desk.look("first-start")
        desk.press("push button", "Use this computer")
        desk.press("push button", "I have written it down")
        desk.wait("text", "Subject")
        desk.wait("label", "Connected")
        record(desk, speech)

        desk.go("Outbox")
        desk.wait("table cell", "State: Done")
        desk.look("outbox")
        desk.keys("table", "Recordings", "Home", "Return")

        desk.wait("label", "For care staff, not a diagnosis")
        shown = desk.tree()
        assert "overall level" in shown or "Nothing stood out" in shown, shown
        for sign in ("Mood Disruption", "Anxiety", "Stress", "Fatigue", "Dehydration", "Elevated Blood Pressure"):
            assert sign in shown, sign
        desk.look("result")

        desk.go("Subjects")
        desk.wait("table cell", SUBJECT)
        desk.keys("table", "Subjects", "Home", "Return")
        desk.wait("filler", "Trajectory charts")
        until(lambda: "1 recording" in desk.tree(), "the recording on the chart")
        desk.look("subject")
        assert desk.stop() == 0
    except BaseException:
        desk.look("failed")
        print(desk.tree(), file=sys.stderr)
        desk.kill()
        raise


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
