"""What `test_record_page` runs inside the rig: a whole session at the Record page, in one of several ways.

python record_on_rig.py WAY FOLDER SPEECH.flac
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from desktop import Desktop, until

SUBJECT = "ward4-0172"
KEEP = 'push button "Keep, do not send"'
"""What a finished check enables; what it says depends on how much was recorded before a fault."""


def begin(folder: Path, *, text: float = 1.0) -> Desktop:
    """Open the desk on this computer's own service, the Record page in front."""
    desk = Desktop(folder)
    desk.start_watched(folder / "watch.json", text)
    desk.wait("push button", "Use this computer")
    desk.press("push button", "Use this computer")
    desk.press("push button", "I have written it down")
    desk.wait("text", "Subject")
    desk.count_stalls(folder / "watch.json")
    return desk


def end(desk: Desktop) -> None:
    """Close the window."""
    assert desk.stop() == 0


def wait_for_verdict(desk: Desktop) -> None:
    """Until the check is done."""
    desk.wait("label", "Good to send")


def by_keyboard(folder: Path, speech: Path) -> None:
    """Nothing but keys, and what a screen reader is told meanwhile."""
    desk = begin(folder)
    heard = desk.hear()
    desk.hit("Tab", "Tab")  # subject, protocol, microphone
    desk.type("Studio")
    desk.hit("shift+Tab", "shift+Tab")
    desk.type(SUBJECT)
    desk.look("keyboard-ready")
    feed = subprocess.Popen(["mic-feed", "--loop", str(speech)])
    desk.hit("Return", "space")
    desk.wait("push button", "Stop")
    time.sleep(4)
    desk.hit("m")
    desk.hit("p")
    time.sleep(1)
    desk.hit("p")
    desk.hit("w")
    time.sleep(1)
    desk.look("keyboard-speaker")
    desk.hit("w")
    desk.wait("label", "Enough speech")
    desk.look("keyboard-recording")
    desk.hit("space")
    wait_for_verdict(desk)
    desk.hit("g")
    time.sleep(3)
    desk.look("keyboard-spectrogram")
    desk.hit("r", "Escape")  # calls the countdown off
    desk.wait("label", "This version is kept here")
    desk.hit("Return", "F9")
    desk.wait("push button", "Stop")
    desk.wait("label", "Enough speech")
    desk.hit("F9")
    wait_for_verdict(desk)
    desk.wait("push button", "Version 1")
    time.sleep(1)
    desk.look("keyboard-versions")
    desk.hit("space")
    time.sleep(2)
    desk.look("keyboard-playing")
    desk.hit("space")
    desk.hit("Return")
    desk.wait("label", f"{SUBJECT} is on its way")
    desk.look("keyboard-sent")
    feed.terminate()
    feed.wait()
    end(desk)
    heard.terminate()
    (folder / "heard.txt").write_text(heard.communicate()[0])


def by_mouse(folder: Path, speech: Path) -> None:
    """Pointing and clicking; only the subject is typed."""
    desk = begin(folder)
    desk.click("text", "Subject")
    desk.type(SUBJECT)
    desk.write("combo box", "Microphone", "Studio Mic")
    desk.click("check box", "Consent given")
    desk.click("push button", "Check again")
    time.sleep(4)
    desk.look("mouse-ready")
    feed = subprocess.Popen(["mic-feed", "--loop", str(speech)])
    desk.click("push button", "Start recording")
    desk.wait("push button", "Stop")
    desk.wait("label", "Enough speech")
    desk.click("push button", "Stop")
    wait_for_verdict(desk)
    desk.click("push button", "Play")
    time.sleep(2)
    desk.click("push button", "Pause")
    desk.click("check box", "Spectrogram")
    time.sleep(2)
    desk.look("mouse-check")
    desk.click("push button", "Discard")
    desk.wait("label", "was discarded")
    desk.click("push button", "Undo")
    wait_for_verdict(desk)
    desk.click("push button", "Send")
    desk.wait("label", f"{SUBJECT} is on its way")
    feed.terminate()
    feed.wait()
    end(desk)


def by_tree(folder: Path, speech: Path) -> None:
    """By the accessibility tree alone, at large text."""
    desk = begin(folder, text=2.0)
    desk.write("text", "Subject", SUBJECT)
    desk.write("combo box", "Microphone", "Studio Mic")
    desk.press("check box", "Consent given")
    desk.look("tree-ready")
    desk.press("check box", "Prompt and level")
    time.sleep(1)
    desk.look("tree-stage")
    feed = subprocess.Popen(["mic-feed", "--loop", str(speech)])
    desk.press("push button", "Start recording")
    desk.wait("push button", "Stop")
    desk.wait("label", "Enough speech")
    desk.look("tree-recording")
    desk.press("push button", "Stop")
    wait_for_verdict(desk)
    time.sleep(1)
    desk.look("tree-check")
    desk.press("push button", "Keep, do not send")
    desk.wait("label", "is kept here and was not sent")
    feed.terminate()
    feed.wait()
    end(desk)


def is_checked(tree: str) -> bool:
    """Whether the check of a take is finished."""
    return any(KEEP in line and "disabled" not in line and "hidden" not in line for line in tree.splitlines())


def record_until(desk: Desktop, fault: Callable[[], object], sentence: str, picture: str) -> None:
    """Record some seconds, have something go wrong, and find the recording kept."""
    desk.write("text", "Subject", SUBJECT)
    desk.wait("combo box", "Microphone")
    desk.press("push button", "Start recording")
    desk.wait("push button", "Stop")
    time.sleep(4)
    fault()
    desk.wait("label", sentence)
    until(lambda: is_checked(desk.tree()), "the check")
    desk.look(picture)
    desk.press("push button", "Keep, do not send")
    desk.wait("push button", "Import files")


def control(*arguments: str) -> None:
    """Do something to the microphones."""
    subprocess.run(["mic-ctl", *arguments], check=True, stdout=subprocess.DEVNULL)


def through_faults(folder: Path, speech: Path) -> None:
    """Mute, a hanging sound server, another microphone that takes over, the last one gone, a full disk, a crash."""
    desk = begin(folder)
    feed = subprocess.Popen(["mic-feed", "--loop", str(speech)])
    desk.write("combo box", "Microphone", "Studio Mic")

    def mute_freeze_unplug() -> None:
        control("mute", "1", "1")
        desk.wait("label", "gives only silence")
        desk.look("fault-muted")
        control("mute", "1", "0")
        until(lambda: "gives only silence" not in desk.tree(), "the banner to go")
        control("freeze", "1")  # the take ends after 3 s without sound, and a busy computer adds to this
        time.sleep(3)
        control("unplug", "1")

    record_until(desk, mute_freeze_unplug, "another one took over", "fault-taken-over")
    feed.terminate()
    feed.wait()
    control("plug", "1")
    control("unplug", "2")
    time.sleep(3)
    feed = subprocess.Popen(["mic-feed", "--loop", str(speech)])
    desk.write("combo box", "Microphone", "Studio Mic")
    record_until(desk, lambda: control("unplug", "1"), "are kept", "fault-last-unplugged")
    feed.terminate()
    feed.wait()
    control("plug", "1")
    time.sleep(3)
    feed = subprocess.Popen(["mic-feed", "--loop", str(speech)])
    desk.write("combo box", "Microphone", "Studio Mic")
    record_until(desk, lambda: desk.fill_disk_at(700_000), "are kept", "fault-disk-full")
    record_until(desk, lambda: control("die"), "are kept", "fault-sound-server")
    feed.terminate()
    feed.wait()
    end(desk)


def through_a_kill(folder: Path, speech: Path) -> None:
    """What the next start finds of a recording whose program was killed."""
    desk = begin(folder)
    feed = subprocess.Popen(["mic-feed", "--loop", str(speech)])
    desk.write("combo box", "Microphone", "Studio Mic")
    desk.write("text", "Subject", SUBJECT)
    desk.press("push button", "Start recording")
    desk.wait("push button", "Stop")
    time.sleep(5)
    desk.kill()
    desk.start_watched(folder / "watch.json")
    desk.wait("label", f"A recording of {SUBJECT} is kept")
    desk.look("fault-rescued")
    desk.press("push button", "Review it")
    desk.wait("label", "Check")
    feed.terminate()
    feed.wait()
    end(desk)


WAYS = {way.__name__: way for way in (by_keyboard, by_mouse, by_tree, through_faults, through_a_kill)}


if __name__ == "__main__":
    way, folder, speech = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    try:
        WAYS[way](folder, speech)
    except BaseException:
        Desktop(folder).look("failed")
        print(Desktop(folder).tree(), file=sys.stderr)
        raise
