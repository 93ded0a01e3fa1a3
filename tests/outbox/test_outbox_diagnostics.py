import json
import sqlite3
from base64 import b64encode
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import keyring
import numpy as np
import pytest
from keyring.backend import KeyringBackend

from vbdesk.capture.clock import ManualClock
from vbdesk.capture.devices import Device
from vbdesk.capture.sealed import SealedTakeWriter
from vbdesk.client import Client, RetryRule
from vbdesk.contract.limits import Plan
from vbdesk.outbox.diagnostics.diagnostics import Health, diagnose, write_bundle
from vbdesk.outbox.diagnostics.log_file import CRASH_NAME, LOG_NAME
from vbdesk.outbox.library.audit import Deed, Part
from vbdesk.outbox.library.items import TakeMetadata, Target
from vbdesk.outbox.library.opening import HeldLibrary
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, known_library_key, library_folder
from vbdesk.outbox.profiles.vault import MemoryVault, VaultLocked

API_KEY = "marker-api-key"
MARKED = Profile(
    "marker-profile-id", "Marker clinic", "service", "http://marker-host.test", "marker-account", plan=Plan.ENTERPRISE
)


class SystemKeyring(KeyringBackend):
    """The keyring of the system, of which only the kind is told."""

    priority = -1  # never chosen by itself

    def get_password(self, service, username):
        raise AssertionError("the keys of this test are elsewhere")

    set_password = get_password


class LockedVault(MemoryVault):
    """A keyring whose dialog was dismissed."""

    def get(self, name):
        raise VaultLocked("The keyring is locked. Nothing was changed; unlock it and try again.")


class Microphones:
    """Named by their owner."""

    names = ("Marker's headset",)

    def devices(self):
        return [Device(name, "ALSA", False) for name in self.names]


@dataclass
class World:
    """The desk's surroundings, as a test arranges them."""

    data_dir: Path
    config_dir: Path
    clock: ManualClock
    service: object
    keys: MemoryVault = field(default_factory=MemoryVault)
    lister: Microphones = field(default_factory=Microphones)

    def connect(self, base_url, credentials):
        return Client(base_url, credentials, retries=RetryRule.NEVER, transport=self.service)

    def vault(self, secrets):
        return self.keys

    @property
    def folder(self):
        return library_folder(self.data_dir, MARKED.profile_id)


@pytest.fixture
def world(tmp_path, clock, service):
    service.key = API_KEY
    before = keyring.get_keyring()
    keyring.set_keyring(SystemKeyring())
    made = World(tmp_path / "data", tmp_path / "config", clock, service)
    ProfileStore(made.config_dir).save(MARKED)
    made.keys.set(MARKED.api_key_name, API_KEY)
    add_marked_recording(made)
    yield made
    keyring.set_keyring(before)


def add_marked_recording(world):
    with closing(HeldLibrary(MARKED, world.folder, world.keys, world.clock, Part.DESK)) as library:
        path = library.recording_folder / "1.take"
        writer = SealedTakeWriter(path, library.store.key, 8000, {"group_id": "marker-group", "device": "marker-mic"})
        writer.append(np.zeros(160_000, np.int16))
        writer.close()
        facts = TakeMetadata(
            "marker-group",
            datetime(2026, 3, 1, 8, tzinfo=UTC),
            Target("model", "marker-model"),
            note="marker-note",
            tags=("marker-tag",),
            retake_of="marker-take",
        )
        take_id = library.add_take(path, facts)
        library.queue(take_id)
        library.note(Deed.EXPORTED, take_id, "marker-detail")
        with library.store.changing():
            library.store.update(take_id, {"reason": "marker-reason", "job_id": "marker-job"})
    return take_id


def leave_take(world):
    """A take that a crash left."""
    path = world.folder / "recording" / "2.take"
    key = known_library_key(world.keys, MARKED)
    writer = SealedTakeWriter(path, key, 8000, {"group_id": "marker-group", "note": "marker-note"})
    for _ in range(20):
        writer.append(np.zeros(8000, np.int16))
    writer.abandon()
    return path


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def found(diagnosis, topic):
    return next(finding for finding in diagnosis.findings if finding.topic == topic)


def test_where_all_is_well_nothing_needs_mending_and_the_facts_say_how_it_is(world):
    diagnosis = diagnose(world)
    assert diagnosis.ok, diagnosis.findings
    (profile,) = diagnosis.facts["profiles"]
    assert (profile["kind"], profile["plan"], profile["in_use"], profile["host"]) == (
        "service",
        "enterprise",
        True,
        None,
    )
    assert profile["library"]["counts"]["waiting"] == 1
    assert profile["library"]["schema_version"] >= 2
    assert profile["proofs"] == {
        "audit": {"ok": True, "entries": 4, "broken_at": None},
        "list": {"changed": 0, "complete": True, "older": False},
    }
    assert profile["connection"]["has_credits"]
    assert diagnosis.facts["microphones"] == 1
    assert diagnosis.facts["keyring"]
    assert found(diagnosis, "service").profile == "Marker clinic"


def test_the_bundle_names_nobody_and_nothing_wherever_it_stands(world, tmp_path):
    """Every place that holds words of people holds a marker; none may come out."""
    plant_markers_in_logs(world)
    bundle = tmp_path / "bundle.json"
    cases = [lambda: None, lambda: setattr(world.service, "online", False), lambda: setattr(world.service, "key", "x")]
    for arrange in cases:
        arrange()
        write_bundle(diagnose(world), bundle)
        text = bundle.read_text()
        assert "marker" not in text.lower()
        private = [
            str(world.data_dir),
            *(world.keys.get(name) for name in (MARKED.api_key_name, MARKED.library_key_name)),
        ]
        assert not [word for word in private if word in text]


def plant_markers_in_logs(world):
    (world.data_dir / "service").mkdir()
    (world.data_dir / LOG_NAME).write_text(
        "2026-03-01T09:00:00Z ERROR vbdesk.outbox.courier.courier Something about marker-group [OSError x.py:1]\n"
        "a stray line of marker\n"
    )
    (world.data_dir / CRASH_NAME).write_text(
        'Fatal Python error: Aborted\n\nCurrent thread (most recent call first):\n  File "/home/marker/vbdesk/x.py", '
        "line 7 in run\nmarker\n"
    )
    (world.data_dir / "service" / "service.log").write_text(
        "2026-03-01 09:00:00,123 ERROR vbdesk.service.jobs: marker-job failed\nINFO: marker\n"
    )


def test_of_the_logs_places_and_kinds_come_through(world):
    plant_markers_in_logs(world)
    facts = diagnose(world).facts
    assert facts["log"] == [
        "2026-03-01T09:00:00Z ERROR vbdesk.outbox.courier.courier Something about … [OSError x.py:1]"
    ]
    assert facts["crashes"] == ["Aborted", "x.py:7 run"]
    assert facts["service_log"] == {"ERROR vbdesk.service.jobs": 1}


def test_the_host_of_a_service_is_named_only_if_its_owner_allows(world):
    assert diagnose(world, with_hosts=True).facts["profiles"][0]["host"] == "marker-host.test"


def test_a_computer_on_which_nothing_was_done_yet_is_fine(tmp_path, clock, service):
    diagnosis = diagnose(World(tmp_path / "data", tmp_path / "config", clock, service))
    assert diagnosis.ok
    assert found(diagnosis, "profiles").sentence == "No service is set up yet. Start the desk to do so."
    assert not (tmp_path / "data").exists()


def remove_sound(world):
    next((world.folder / "takes").glob("*.take")).unlink()


def damage_list(world):
    path = world.folder / "library.sqlite"
    path.write_bytes(path.read_bytes()[:5000] + bytes(2000))


def cut_audit(world):
    with closing(sqlite3.connect(world.folder / "library.sqlite", isolation_level=None)) as database:
        database.execute("DROP TRIGGER audit_is_never_shortened")
        database.execute("DELETE FROM audit WHERE seq = 4")


def change_row(world):
    with closing(sqlite3.connect(world.folder / "library.sqlite", isolation_level=None)) as database:
        database.execute("UPDATE recordings SET group_id = 'somebody-else'")


def remove_row(world):
    with closing(sqlite3.connect(world.folder / "library.sqlite", isolation_level=None)) as database:
        database.execute("DELETE FROM recordings")


def put_older_list_back(world):
    for log in world.folder.glob("library.sqlite-*"):
        log.unlink()
    older = (world.folder / "library.sqlite").read_bytes()
    with closing(HeldLibrary(MARKED, world.folder, world.keys, world.clock)) as library:
        library.note(Deed.EXPORTED)
    (world.folder / "library.sqlite").write_bytes(older)


class DatedService(httpx.BaseTransport):
    """A service that tells the time in each answer."""

    def __init__(self, real, date):
        self.real, self.date = real, date

    def handle_request(self, request):
        answer = self.real.handle_request(request)
        answer.headers["Date"] = self.date
        return answer


def set_clock_wrong(world):
    world.service = DatedService(world.service, "Sun, 01 Mar 2026 12:00:00 GMT")


@pytest.mark.parametrize(
    ("damage", "topic", "health", "words"),
    [
        (remove_sound, "recordings", Health.MEND, "sound is missing: 1"),
        (damage_list, "recordings", Health.MEND, "damaged"),
        (change_row, "recordings", Health.MEND, "Something other than vbdesk wrote"),
        (put_older_list_back, "recordings", Health.MEND, "Something other than vbdesk wrote"),
        (remove_row, "recordings", Health.MEND, "Something other than vbdesk wrote"),
        (cut_audit, "audit log", Health.MEND, "Entry 4 is missing at its end"),
        (lambda world: world.keys.delete(MARKED.api_key_name), "API key", Health.MEND, "Enter it in the desk"),
        (lambda world: world.keys.delete(MARKED.library_key_name), "key of the recordings", Health.MEND, "restore"),
        (lambda world: setattr(world, "keys", LockedVault()), "keyring", Health.MEND, "unlock it and try again"),
        (lambda world: setattr(world.service, "online", False), "service", Health.NOTICE, "cannot be reached"),
        (lambda world: setattr(world.service, "key", "new"), "service", Health.MEND, "does not accept"),
        (lambda world: setattr(world.service, "credits", 0), "service", Health.MEND, "Add credits"),
        (set_clock_wrong, "clock", Health.MEND, "180 minutes behind the service's"),
        (lambda world: setattr(world.lister, "names", ()), "microphones", Health.NOTICE, "Connect one"),
        (lambda world: (world.config_dir / "profiles.json").write_text("{"), "profiles", Health.MEND, "left as it is"),
        (
            lambda world: leave_take(world),
            "recordings",
            Health.NOTICE,
            "offers them at its next start",
        ),
        (
            lambda world: (world.folder / "recording" / "2.take").write_bytes(b"x"),
            "recordings",
            Health.MEND,
            "2.take). Nothing of it can be read. The file is not a recording of the desk, or its beginning is damaged.",
        ),
        (lambda world: flip(leave_take(world), 40_000), "recordings", Health.MEND, "It can be read from 0:00.0 to"),
        (
            lambda world: flip(next((world.folder / "takes").glob("*.take")), 40_000),
            "recordings",
            Health.MEND,
            "Recordings with damaged sound: 1 (marker-group, 2026-03-01T08:00)",
        ),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(world, damage, topic, health, words):
    damage(world)
    diagnosis = diagnose(world)
    said = [finding for finding in diagnosis.findings if finding.topic == topic and finding.health is health]
    assert any(words in finding.sentence for finding in said), diagnosis.findings
    assert diagnosis.ok is (health is Health.NOTICE)
    json.dumps(diagnosis.facts)


@pytest.mark.parametrize(
    "lose",
    [
        lambda world: world.keys.set(MARKED.library_key_name, b64encode(bytes(32)).decode()),
        lambda world: world.keys.delete(MARKED.library_key_name),
    ],
)
def test_without_their_key_recordings_are_not_said_to_be_in_good_order(world, lose):
    assert any("in good order" in finding.sentence for finding in diagnose(world).findings)
    lose(world)
    [said] = [finding for finding in diagnose(world).findings if finding.topic == "recordings"]
    assert said.health is Health.NOTICE
    assert "Without their key" in said.sentence


def test_a_keyring_that_does_not_open_is_said_once(world):
    world.keys = LockedVault()
    mend = [finding for finding in diagnose(world).findings if finding.health is Health.MEND]
    assert [(finding.topic, finding.profile) for finding in mend] == [("keyring", None)]


def test_it_works_while_the_desk_has_the_library_open_and_takes_nothing_from_it(world):
    with closing(HeldLibrary(MARKED, world.folder, world.keys, world.clock)) as library:
        version = library.store.version()
        diagnosis = diagnose(world)
        assert diagnosis.facts["profiles"][0]["library"]["open_elsewhere"]
        assert diagnosis.ok
        assert library.store.version() == version


def test_a_damaged_recording_is_named_to_the_person_and_only_counted_for_others(world):
    flip(leave_take(world), 40_000)
    diagnosis = diagnose(world)
    said = " ".join(finding.sentence for finding in diagnosis.findings)
    assert "A recording of marker-group that was broken off is damaged (2.take)." in said
    assert diagnosis.facts["profiles"][0]["sounds"] == {"damaged": 0, "damaged_leftovers": 1, "kept_damaged": 0}
    assert "marker" not in json.dumps(diagnosis.facts)


def test_sounds_are_left_out_where_that_is_wanted(world):
    flip(leave_take(world), 40_000)
    diagnosis = diagnose(world, read_sounds=False)
    assert diagnosis.ok
    assert diagnosis.facts["profiles"][0]["sounds"] is None
