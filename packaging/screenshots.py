"""Take the README's screenshots from the real window, light and dark.

    tests/e2e/rig/desk-session --size 1320x880 -- .venv/bin/python packaging/screenshots.py docs/screenshots

Drives `vbdesk demo` on the headless desktop: five recordings are there from the start, a sixth is spoken into the
virtual microphone. The Outbox and Account are a laptop's that has come back from some days in the field.
"""

import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import soundfile

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from desktop import Desktop  # noqa: E402  (the driver of the end-to-end tests)

from vbdesk.cli.places import places  # noqa: E402
from vbdesk.client.local_service import LocalService, make_account  # noqa: E402
from vbdesk.desk.outside import Outside  # noqa: E402
from vbdesk.desk.setup import ServiceAddress, Setup  # noqa: E402
from vbdesk.outbox.library.items import TakeMetadata, Target  # noqa: E402
from vbdesk.outbox.library.opening import HeldLibrary  # noqa: E402
from vbdesk.outbox.library.states import Fix, OutboxState  # noqa: E402
from vbdesk.outbox.profiles.profiles import ProfileStore  # noqa: E402

SPEECH = ROOT / "resources" / "samples" / "reading_3.flac"
RECORDED_S = 24.0
TOO_SHORT = "9 s of speech, under the 15 s minimum. Likely inconclusive, so it was not sent."
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
            desk.wait("push button", "Export", 120)
            time.sleep(3)
            desk.look("subject-light", window=True)
            record(desk, "demo-reader")
            schemes(desk)
            assert desk.stop() == 0
        except BaseException:
            desk.kill()
            raise
    after_days_offline(folder)
    (folder / "desk.log").unlink()


def after_days_offline(folder: Path) -> None:
    """Outbox and Account of a laptop whose recordings go to a service, within a standard plan's limits."""
    place = places(None)
    outside = Outside(data_dir=place.data, config_dir=place.config)
    with tempfile.TemporaryDirectory() as here:
        service = LocalService(Path(here))
        address = service.start().base_url
        account = make_account(Path(here), "St. Anne clinic")
        made = Setup(outside).make_service(ServiceAddress(address, account.account_id, account.api_key), "keyring")
        profile = replace(made, name="St. Anne clinic")
        ProfileStore(outside.config_dir).save(profile)
        library = HeldLibrary(profile, outside.library_dir(profile.profile_id), outside.keyring)
        _fill(library)
        library.close()
        desk = Desktop(folder)
        desk.start("--light")
        try:
            desk.go("Outbox")
            desk.wait("table cell", "State: Done", 60)
            for scheme, word in (("light", "Light"), ("dark", "Dark")):
                desk.go("Account")
                desk.press("check box", word)
                time.sleep(1)
                if scheme == "dark":
                    desk.look("account-dark", window=True)
                desk.go("Outbox")
                time.sleep(2)
                desk.look(f"outbox-{scheme}", window=True)
            assert desk.stop() == 0
        except BaseException:
            desk.kill()
            raise
        finally:
            service.stop()


def _fill(library: HeldLibrary) -> None:
    """Recordings of the last days: most in the line, one for a person, one kept, one handed over."""
    now, pulse = datetime.now(UTC), Target("model", "pulse")
    for number, subject in enumerate(("0172", "0168", "0155", "0155", "0149", "0131", "0070", "0063")):
        sound = SPEECH.with_name(f"reading_{number % 5 + 1}.flac")
        facts = TakeMetadata(f"ward4-{subject}", now - timedelta(hours=5 * number + 1), pulse)
        take_id = library.import_file(sound, facts)
        if subject != "0070":
            library.queue(take_id)
        if subject == "0149":
            with library.store.changing():
                library.store.move(take_id, OutboxState.NEEDS_ATTENTION, TOO_SHORT, Fix.REVIEW_TAKE)


def schemes(desk: Desktop) -> None:
    """Send the take, then look at every page in both colours."""
    desk.go("Account")
    for scheme, word in (("dark", "Dark"), ("light", "Light")):
        desk.press("check box", word)
        time.sleep(1)
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
        desk.keys("table", "Recordings", "Home", "Return")
        desk.wait("label", "For care staff, not a diagnosis", 20)
        time.sleep(2)
        desk.look(f"result-{scheme}", window=True)
        desk.go("Subjects")
        desk.wait("table cell", "demo-reader", 20)
        desk.look(f"subjects-{scheme}", window=True)
        desk.keys("table", "Subjects", "Home", "Return")
        desk.wait("push button", "Export", 20)
        time.sleep(3)
        desk.look(f"subject-{scheme}", window=True)
        desk.go("Account")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    subprocess.run(["xdotool", "mousemove", "1319", "879"], check=True)
    main(Path(sys.argv[1]).resolve())
