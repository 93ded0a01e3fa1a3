"""What `test_outbox_page` runs inside the rig: the Outbox of a laptop offline, by the accessibility tree and by keys.

python outbox_on_rig.py FOLDER SPEECH.flac [TEXT]

The library is filled before the window opens, as an earlier session would have left it; its service does not run.
TEXT is the system's text size, 1 for 100 %.
"""

import sys
import time
from datetime import timedelta
from pathlib import Path

from desktop import Desktop, until

from vbdesk.cli.paths import desk_paths
from vbdesk.clock import utc_now
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.ports import DeskPorts
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.states import Fix, OutboxState

NOBODY_THERE = "http://127.0.0.1:9"
MANY = 60
TO_DONE = (OutboxState.WAITING, OutboxState.UPLOADING, OutboxState.SUBMITTED, OutboxState.DONE)


def fill(speech: Path) -> None:
    """A week of recordings: three that wait, one that needs a person, one at rest, and sixty that are done."""
    place = desk_paths(None)
    ports = DeskPorts(data_dir=place.data, config_dir=place.config)
    profile = Setup(ports).make_service(ServiceAddress(NOBODY_THERE, "acc-1", "a-key"), "keyring")
    library = LockedLibrary(profile, ports.library_dir(profile.profile_id), ports.keyring)
    now, pulse = utc_now(), RecordingTarget("model", "pulse")
    for number in range(5):
        facts = TakeMetadata(f"ward4-01{number}0", now - timedelta(hours=number + 1), pulse)
        take_id = library.import_file(speech, facts)
        if number < 4:
            library.queue(take_id)
        if number == 3:
            with library.store.changing():
                reason = "9 s of speech, under the 15 s minimum, so it was not sent."
                library.store.move(take_id, OutboxState.NEEDS_ATTENTION, reason, Fix.REVIEW_TAKE)
    with library.store.changing():
        for number in range(MANY):
            take_id, facts = f"old-{number:05d}", TakeMetadata("ward4-0063", now - timedelta(hours=30 + number), pulse)
            library.store.insert(take_id, facts, 21.0, imported=False)
            for state in TO_DONE:
                library.store.move(take_id, state)
            library.store.update(take_id, {"audio_gone_at": now.isoformat()})
    library.close()


def main(folder: Path, speech: Path, text: float) -> None:
    """Go through what a field worker does offline."""
    fill(speech)
    desk = Desktop(folder)
    desk.start_watched(folder / "watch.json", text)
    desk.wait("text", "Subject")
    desk.go("Outbox")
    desk.wait("label", "ask the operator of the service")
    desk.wait("table cell", "State: Waiting")
    desk.count_stalls(folder / "watch.json")
    desk.look("outbox-unreachable")

    desk.keys("table", "Recordings", "Home", "shift+Down", "shift+Down")
    desk.wait("label", "3 recordings chosen")
    desk.look("outbox-chosen")
    desk.press("push button", "Hand over 3 recordings")
    desk.wait("label", "Hand over 3 recordings")
    desk.press("check box", "A passphrase")
    desk.write("password text", "Passphrase", "correct horse battery")
    desk.write("text", "Folder", str(folder))
    desk.look("outbox-hand-over")
    desk.press("push button", "Hand over")
    desk.wait("label", "3 recordings handed over in")
    desk.press("push button", "Close")
    desk.wait("table cell", "State: Handed over")
    assert list(folder.glob("*.vbundle"))
    desk.look("outbox-handed-over")

    desk.keys("table", "Recordings", "End", "Home", "shift+Down", "shift+Down")
    desk.press("push button", "Take back 3 recordings")
    desk.wait("label", "queued on this computer again")
    desk.keys("table", "Recordings", "Escape", "Home", "Delete")
    until(lambda: "in the trash" in desk.tree() or "cannot be deleted" in desk.tree(), "an answer to Delete")
    desk.press("push button", "Close")

    for _ in range(6):
        desk.hit("Next")  # page down
    desk.hit("End")
    time.sleep(1)
    desk.look("outbox-scrolled")
    desk.press("check box", "Done")
    time.sleep(1)
    desk.press("check box", "All")
    desk.go("Account")
    desk.press("check box", "By hand")
    desk.press("push button", "Check the log")
    desk.wait("label", "The audit log is whole")
    desk.look("account")
    desk.go("Outbox")
    desk.keys("table", "Recordings", "Home")
    desk.wait("table cell", "Progress or result: Ready to go")
    desk.look("outbox-by-hand")
    assert desk.stop() == 0


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    try:
        main(folder, Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 1.0)
    except BaseException:
        Desktop(folder).look("failed")
        print(Desktop(folder).tree()[:60000], file=sys.stderr)
        raise
