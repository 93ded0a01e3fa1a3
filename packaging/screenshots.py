"""Take the pictures of the README and the guide from the real window.

    tests/e2e/rig/desk-session --size 1320x880 -- .venv/bin/python packaging/screenshots.py docs/guide [PART...]
    tests/e2e/rig/desk-session --size 1320x880 -- .venv/bin/python packaging/screenshots.py --language de docs/guide/de

English has pictures in light and dark colours, every other language in light ones.

The parts; the first four where none is named:
  first     the first start, with nothing there yet
  demo      `vbdesk demo`: five recordings are there from the start, a sixth is spoken into the virtual microphone
  field     Outbox and Account of a laptop that has come back from some days in the field
  subjects  Subjects, Cohort and one subject of an account with a hundred and twenty of them
  pages     every page in every size, text size and colours, to look at:

    tests/e2e/rig/desk-session --size 2000x1160 -- .venv/bin/python packaging/screenshots.py /tmp/pictures pages

Without `--size` and `--text-scale` these are 1024x640, 1280x800 and 1920x1080, and 1280x800 with 200 % text.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import cohort_on_rig  # noqa: E402  (an end-to-end test's account)
from desktop import Desktop, until  # noqa: E402  (the driver of the end-to-end tests)

import page_pictures  # noqa: E402  (beside this file)
from vbdesk.cli.paths import desk_paths  # noqa: E402
from vbdesk.client.local_service import LocalService, make_account  # noqa: E402
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup  # noqa: E402
from vbdesk.desk.ports import DeskPorts  # noqa: E402
from vbdesk.language import ENGLISH, _, current, ngettext, pgettext, use  # noqa: E402
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata  # noqa: E402
from vbdesk.outbox.library.opening import LockedLibrary  # noqa: E402
from vbdesk.outbox.library.states import Fix, OutboxState  # noqa: E402
from vbdesk.outbox.profiles.profiles import ProfileStore  # noqa: E402
from vbdesk.outbox.sync.task_handlers import length_fault  # noqa: E402

SPEECH = ROOT / "resources" / "samples" / "reading_3.flac"
RECORDED_S, TOO_SHORT_S = 24.0, 9.0
RECORDED = 2  # Compare needs two with their sound
ROOM_DBFS = -62.0


@dataclass(frozen=True, slots=True)
class Example:
    """What people of a clinic have written: its name, a note and tags of subjects."""

    clinic: str
    note: str
    tags: tuple[str, str]


EXAMPLES = {
    "en": Example("St. Anne clinic", "Hoarse since May.", ("ENT", "follow-up")),
    "ar": Example("عيادة النور", "بحة في الصوت منذ شهر مايو.", ("أنف وأذن وحنجرة", "متابعة")),
    "de": Example("Klinik St. Anna", "Heiser seit Mai.", ("HNO", "Kontrolle")),
    "es": Example("Clínica Santa Ana", "Ronquera desde mayo.", ("ORL", "seguimiento")),
    "fr": Example("Clinique Sainte-Anne", "Voix enrouée depuis mai.", ("ORL", "suivi")),
    "pt_BR": Example("Clínica Santa Ana", "Rouquidão desde maio.", ("ORL", "acompanhamento")),
}


def record(desk: Desktop, subject: str, speech: Path = SPEECH) -> None:
    """Record one more, stopping for pictures on the way."""
    desk.go(pgettext("page", "Record"))
    desk.write("combo box", _("Microphone"), "Studio Mic")
    desk.write("text", _("Subject"), subject)
    if f'check box "{_("Consent given")}"' in desk.tree():  # a subject consents once
        desk.press("check box", _("Consent given"))
    room(desk)
    feed = desk.speak(speech)
    time.sleep(3)
    picture(desk, "record-light")
    desk.press("push button", _("Start recording"))
    desk.wait("push button", _("Stop"))
    time.sleep(RECORDED_S)
    picture(desk, "recording-light")
    desk.press("push button", _("Stop"))
    desk.wait("label", _("Good to send"))
    time.sleep(1)
    picture(desk, "check-light")
    feed.terminate()
    feed.wait()


def picture(desk: Desktop, name: str) -> None:
    """Take a picture of the window without messages."""
    disturbed = True
    while disturbed:
        while _shows_message(desk):
            desk.press("push button", _("Close message"))
            time.sleep(0.5)
        path = desk.look(name, window=True)
        disturbed = _shows_message(desk)  # one may have come in the meantime
    with Image.open(path) as shot:  # 256 colours look the same, in a third of the size
        reduced = shot.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    reduced.save(path, optimize=True)


def _shows_message(desk: Desktop) -> bool:
    close = f'"{_("Close message")}"'
    return any(close in line and "hidden" not in line for line in desk.tree().splitlines())


def room(desk: Desktop) -> None:
    """Check the room while a virtual microphone plays faint noise."""
    with tempfile.TemporaryDirectory() as here:
        noise = Path(here) / "room.wav"
        soundfile.write(noise, 10 ** (ROOM_DBFS / 20) * np.random.default_rng(1).normal(size=8 * 48_000), 48_000)
        hum = desk.speak(noise)
        time.sleep(1)
        desk.press("push button", _("Check again"))
        desk.wait("label", _("The room is quiet enough"))
        hum.terminate()
        hum.wait()


@contextmanager
def window(folder: Path, command: tuple[str, ...] = ("desk", "--light"), cwd: Path | None = None) -> Iterator[Desktop]:
    """The desk, opened by a command of vbdesk, until the block ends."""
    desk = Desktop(folder)
    desk.start_program([sys.executable, "-m", "vbdesk", "--language", current().tag, *command], cwd)
    try:
        yield desk
        assert desk.stop() == 0
    except BaseException:
        desk.kill()
        raise


def colours() -> list[str]:
    """The colours that the language has pictures in."""
    return ["dark", "light"] if current() == ENGLISH else ["light"]


def choose(desk: Desktop, scheme: str) -> None:
    """Change the colours of the window, on the page Account."""
    desk.go(pgettext("page", "Account"))
    desk.press("check box", pgettext("colours", scheme.capitalize()))
    time.sleep(1)


@contextmanager
def somewhere() -> Iterator[DeskPorts]:
    """Another home for the desk, as if on another computer, until the block ends."""
    with tempfile.TemporaryDirectory() as here:
        before = {name: os.environ.get(name, "") for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        os.environ.update({name: f"{here}/{name.lower()}" for name in before})
        place = desk_paths(None)
        try:
            yield DeskPorts(data_dir=place.data, config_dir=place.config)
        finally:
            os.environ.update(before)


def first_start(folder: Path) -> None:
    """Two doors."""
    with somewhere(), window(folder) as desk:
        desk.wait("push button", _("Use this computer"))
        time.sleep(1)
        picture(desk, "first-start-light")


def demonstration(folder: Path) -> None:
    """Record, the check, Result and Compare."""
    with tempfile.TemporaryDirectory() as here, window(folder, ("demo",), Path(here)) as desk:
        desk.wait("push button", _("Export"))
        record(desk, "demo-reader", SPEECH.with_name("reading_4.flac"))
        desk.press("push button", _("Send"))
        record(desk, "demo-reader")
        schemes(desk)


def everybody(folder: Path) -> None:
    """Subjects and Cohort of an account in use, and a subject with a history."""
    with cohort_on_rig.served() as address, somewhere():
        example = EXAMPLES[current().name]
        cohort_on_rig.fill(address, clinic=example.clinic, note=example.note, tags=example.tags)
        with window(folder) as desk:
            for scheme in colours():
                choose(desk, scheme)
                desk.go(pgettext("page", "Subjects"))
                time.sleep(2)
                picture(desk, f"subjects-{scheme}")
                desk.go(pgettext("page", "Cohort"))
                time.sleep(2)
                picture(desk, f"cohort-{scheme}")
                desk.keys("table", _("To look at first"), "Home", "Return")
                desk.wait("push button", _("Export"))
                time.sleep(2)
                picture(desk, f"subject-{scheme}")
            desk.keys("push button", _("Export"), "space", "Down", "Return")
            desk.wait("push button", _("Choose folder"))
            time.sleep(1)
            picture(desk, "subject-export-light")
            desk.go(pgettext("page", "Subjects"))
            desk.keys("table", _("Subjects"), "Home", "ctrl+Return")
            desk.wait("text", pgettext("noun", "Note"))
            time.sleep(1)
            picture(desk, "subjects-note-light")
            desk.go(pgettext("page", "Cohort"))
            desk.press("check box", _("One group"))
            desk.write("text", _("Group to read as a cohort"), "study-1")
            desk.press("push button", pgettext("verb", "Read"))
            desk.wait(
                "label",
                ngettext(
                    "{count:,} recording of the last {days} days.",
                    "{count:,} recordings of the last {days} days.",
                    38,
                    days=270,
                ),
            )
            time.sleep(1)
            picture(desk, "cohort-group-light")


def after_days_offline(folder: Path) -> None:
    """Outbox and Account of a laptop whose recordings go to a service, within a standard plan's limits."""
    clinic = EXAMPLES[current().name].clinic
    with somewhere() as ports, tempfile.TemporaryDirectory() as here:
        service = LocalService(Path(here))
        try:
            address = service.start().base_url
            account = make_account(Path(here), clinic)
            made = Setup(ports).make_service(ServiceAddress(address, account.account_id, account.api_key), "keyring")
            profile = replace(made, name=clinic)
            ProfileStore(ports.config_dir).save(profile)
            library = LockedLibrary(profile, ports.library_dir(profile.profile_id), ports.keyring)
            _fill(library)
            library.close()
            with window(folder) as desk:
                desk.go(pgettext("page", "Outbox"))
                desk.wait("table cell", done())
                for scheme in colours():
                    choose(desk, scheme)
                    picture(desk, f"account-{scheme}")
                    desk.go(pgettext("page", "Outbox"))
                    time.sleep(2)
                    picture(desk, f"outbox-{scheme}")
        finally:
            service.stop()


def done() -> str:
    """The text that a screen reader gets for a recording with a result."""
    return f"{_('State')}: {_('Done')}"


def _fill(library: LockedLibrary) -> None:
    """Recordings of the last days: most in the line, one for a person, one kept, one handed over."""
    now, pulse = datetime.now(UTC), RecordingTarget("model", "pulse")
    for number, subject in enumerate(("0172", "0168", "0155", "0155", "0149", "0131", "0070", "0063")):
        sound = SPEECH.with_name(f"reading_{number % 5 + 1}.flac")
        too_short = subject == "0149"
        trim = (0.0, TOO_SHORT_S) if too_short else None
        facts = TakeMetadata(f"ward4-{subject}", now - timedelta(hours=5 * number + 1), pulse, trim_s=trim)
        take_id = library.import_file(sound, facts)
        if subject != "0070":
            library.queue(take_id)
        if too_short:
            with library.store.changing():
                reason = length_fault(library.store.get(take_id))
                library.store.move(take_id, OutboxState.NEEDS_ATTENTION, reason, Fix.REVIEW_TAKE)


def schemes(desk: Desktop) -> None:
    """Send the take, then look at its result, alone and beside another one."""
    choose(desk, colours()[0])
    desk.go(pgettext("page", "Record"))
    time.sleep(1)
    if "dark" in colours():
        picture(desk, "check-dark")
    desk.press("push button", _("Send"))
    time.sleep(1)
    if "dark" in colours():
        picture(desk, "record-dark")
    desk.go(pgettext("page", "Outbox"))
    until(lambda: desk.tree().count(done()) == RECORDED, "the results of what was recorded")
    for scheme in colours():
        choose(desk, scheme)
        desk.go(pgettext("page", "Outbox"))
        time.sleep(2)
        desk.keys("table", _("Recordings"), "Home", "Return")
        desk.wait("label", _("For care staff, not a diagnosis"))
        time.sleep(2)
        picture(desk, f"result-{scheme}")
        desk.hit("c")
        desk.wait("push button", _("Play, {side}", side=pgettext("recording", "left")))
        time.sleep(2)
        picture(desk, f"compare-{scheme}")


def every_page(folder: Path, chosen: argparse.Namespace) -> None:
    """Every page in every look, one program for each text size."""
    looks = LOOKS
    if chosen.size or chosen.text_scale:
        looks = dict.fromkeys(chosen.text_scale or [1.0], chosen.size or LOOKS[1.0])
    for scale, sizes in looks.items():
        options = [f"--size={width}x{height}" for width, height in sizes]
        options += [f"--theme={theme}" for theme in chosen.theme or ()]
        options += [f"--page={page}" for page in chosen.page or ()]
        options += [f"--language={current().tag}", *(["--right-to-left"] if chosen.right_to_left else [])]
        command = [sys.executable, str(ROOT / "packaging" / "page_pictures.py"), str(folder), f"--text-scale={scale:g}"]
        subprocess.run([*command, *options], check=True)


LOOKS = {1.0: [(1024, 640), (1280, 800), (1920, 1080)], 2.0: [(1280, 800)]}
PARTS = {"first": first_start, "demo": demonstration, "field": after_days_offline, "subjects": everybody}


def main(folder: Path, parts: list[str], chosen: argparse.Namespace) -> None:
    """Take the pictures of these parts."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        if part == "pages":
            every_page(folder, chosen)
        else:
            PARTS[part](folder)
    (folder / "desk.log").unlink(missing_ok=True)


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("folder", type=Path)
    reader.add_argument("parts", nargs="*", metavar="PART", help=", ".join([*PARTS, "pages"]))
    page_pictures.add_options(reader)
    chosen = reader.parse_args()
    use(chosen.language or ENGLISH)
    if unknown := set(chosen.parts) - {*PARTS, "pages"}:
        reader.error(f"no such part: {', '.join(sorted(unknown))}")
    subprocess.run(["xdotool", "mousemove", "1319", "879"], check=True)
    main(chosen.folder.resolve(), chosen.parts or list(PARTS), chosen)
