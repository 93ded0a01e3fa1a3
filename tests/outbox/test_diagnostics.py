import json
import re
import shutil
import tempfile
from base64 import b64encode
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import keyring
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keyring.backend import KeyringBackend

from list_by_hand import list_by_hand
from patience import HANGS_S
from vbdesk.capture.devices import Device
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.client import Client, RetryRule
from vbdesk.clock import ManualClock
from vbdesk.contract.limits import Plan
from vbdesk.outbox.diagnostics.diagnostics import FindingStatus, diagnose, write_bundle
from vbdesk.outbox.diagnostics.list_check import LIST_MISSING, STRUCTURE_DIFFERS
from vbdesk.outbox.diagnostics.log_file import CRASH_NAME, LOG_NAME
from vbdesk.outbox.library.audit import AuditAction, AuditPart
from vbdesk.outbox.library.database import LibraryKeyWrong, LibraryUnreadable
from vbdesk.outbox.library.integrity_check import KEYRING_MARK_MISSING, MARK_MISSING, NOT_KNOWN, OLDER_COPY
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.managed_policy import ManagedPolicy
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.store import ROWS_MISSING
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, known_library_key, library_folder
from vbdesk.outbox.profiles.vault import MemoryVault, VaultLocked, VaultWaiting

API_KEY = "marker-api-key"
MARKED = Profile(
    "marker-profile-id", "Marker clinic", "service", "http://marker-host.test", "marker-account", plan=Plan.ENTERPRISE
)


class SystemKeyring(KeyringBackend):
    """The system's keyring; only its kind is reported."""

    priority = -1  # never selected automatically

    def get_password(self, service, username):
        raise AssertionError("the keys of this test are elsewhere")

    set_password = get_password


class LockedVault(MemoryVault):
    """A keyring whose dialog was dismissed."""

    def get(self, name):
        raise VaultLocked("The keyring is locked. Nothing was changed; unlock it and try again.")


class Microphones:
    """Devices with names that their owner chose."""

    names = ("Marker's headset",)

    def devices(self):
        return [Device(name, "ALSA", False) for name in self.names]


@dataclass
class World:
    """The desk's dependencies, configured by a test."""

    data_dir: Path
    config_dir: Path
    clock: ManualClock
    service: object
    keys: MemoryVault = field(default_factory=MemoryVault)
    lister: Microphones = field(default_factory=Microphones)
    policy: ManagedPolicy = field(default_factory=ManagedPolicy)

    def connect(self, base_url, credentials):
        return Client(base_url, credentials, retries=RetryRule.NEVER, transport=self.service)

    def vault(self, secrets):
        return self.keys

    @property
    def key(self):
        return known_library_key(self.keys, MARKED)

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
    with closing(LockedLibrary(MARKED, world.folder, world.keys, world.clock, AuditPart.DESK)) as library:
        path = library.recording_folder / "1.take"
        writer = EncryptedTakeWriter(
            path, library.store.key, 8000, {"group_id": "marker-group", "device": "marker-mic"}
        )
        writer.append(np.zeros(160_000, np.int16))
        writer.close()
        facts = TakeMetadata(
            "marker-group",
            datetime(2026, 3, 1, 8, tzinfo=UTC),
            RecordingTarget("model", "marker-model"),
            note="marker-note",
            tags=("marker-tag",),
            retake_of="marker-take",
        )
        take_id = library.add_take(path, facts)
        library.queue(take_id)
        library.note(AuditAction.EXPORTED, take_id, "marker-detail")
        with library.store.changing():
            library.store.update(take_id, {"reason": "marker-reason", "job_id": "marker-job"})
    return take_id


def leave_take(world):
    """A take that a crash left."""
    path = world.folder / "recording" / "2.take"
    key = known_library_key(world.keys, MARKED)
    writer = EncryptedTakeWriter(path, key, 8000, {"group_id": "marker-group", "note": "marker-note"})
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
    """Put a marker wherever people's words are stored; none may appear in the bundle."""
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
        "2026-03-01T09:00:00Z ERROR vbdesk.outbox.sync.sync_worker Something about marker-group [OSError x.py:1]\n"
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
        "2026-03-01T09:00:00Z ERROR vbdesk.outbox.sync.sync_worker Something about … [OSError x.py:1]"
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
    with list_by_hand(world.folder, world.key) as database:
        database.execute("DROP TRIGGER audit_is_never_shortened")
        database.execute("DELETE FROM audit WHERE seq = 4")


def change_row(world):
    with list_by_hand(world.folder, world.key) as database:
        database.execute("UPDATE recordings SET group_id = 'somebody-else'")


def remove_row(world):
    with list_by_hand(world.folder, world.key) as database:
        database.execute("DELETE FROM recordings")


def put_older_list_back(world):
    for log in world.folder.glob("library.sqlite-*"):
        log.unlink()
    older = (world.folder / "library.sqlite").read_bytes()
    with closing(LockedLibrary(MARKED, world.folder, world.keys, world.clock)) as library:
        library.note(AuditAction.EXPORTED)
    (world.folder / "library.sqlite").write_bytes(older)


class DatedService(httpx.BaseTransport):
    """A service that sends the time in each answer."""

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
        (remove_sound, "recordings", FindingStatus.REPAIR, "sound is missing: 1"),
        (damage_list, "recordings", FindingStatus.REPAIR, "damaged"),
        (change_row, "recordings", FindingStatus.REPAIR, "Something other than vbdesk wrote"),
        (put_older_list_back, "recordings", FindingStatus.REPAIR, "Something other than vbdesk wrote"),
        (remove_row, "recordings", FindingStatus.REPAIR, "Something other than vbdesk wrote"),
        (cut_audit, "audit log", FindingStatus.REPAIR, "Entry 4 is missing at its end"),
        (lambda world: world.keys.delete(MARKED.api_key_name), "API key", FindingStatus.REPAIR, "Enter it in the desk"),
        (
            lambda world: world.keys.delete(MARKED.library_key_name),
            "key of the recordings",
            FindingStatus.REPAIR,
            "restore",
        ),
        (
            lambda world: setattr(world, "keys", LockedVault()),
            "keyring",
            FindingStatus.REPAIR,
            "unlock it and try again",
        ),
        (lambda world: setattr(world.service, "online", False), "service", FindingStatus.NOTICE, "cannot be reached"),
        (lambda world: setattr(world.service, "key", "new"), "service", FindingStatus.REPAIR, "does not accept"),
        (lambda world: setattr(world.service, "credits", 0), "service", FindingStatus.REPAIR, "Add credits"),
        (set_clock_wrong, "clock", FindingStatus.REPAIR, "180 minutes behind the service's"),
        (lambda world: setattr(world.lister, "names", ()), "microphones", FindingStatus.NOTICE, "Connect one"),
        (
            lambda world: (world.config_dir / "profiles.json").write_text("{"),
            "profiles",
            FindingStatus.REPAIR,
            "left as it is",
        ),
        (
            lambda world: leave_take(world),
            "recordings",
            FindingStatus.NOTICE,
            "offers them at its next start",
        ),
        (
            lambda world: (world.folder / "recording" / "2.take").write_bytes(b"x"),
            "recordings",
            FindingStatus.REPAIR,
            "2.take). Nothing of it can be read. The file is not a recording of the desk, or its beginning is damaged.",
        ),
        (
            lambda world: flip(leave_take(world), 40_000),
            "recordings",
            FindingStatus.REPAIR,
            "It can be read from 0:00.0 to",
        ),
        (
            lambda world: flip(next((world.folder / "takes").glob("*.take")), 40_000),
            "recordings",
            FindingStatus.REPAIR,
            "Recordings with damaged sound: 1 (marker-group, 2026-03-01T08:00)",
        ),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(world, damage, topic, health, words):
    damage(world)
    diagnosis = diagnose(world)
    said = [finding for finding in diagnosis.findings if finding.topic == topic and finding.health is health]
    assert any(words in finding.sentence for finding in said), diagnosis.findings
    assert diagnosis.ok is (health is FindingStatus.NOTICE)
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
    assert said.health is FindingStatus.NOTICE
    assert "Without their key" in said.sentence


def test_a_keyring_that_does_not_open_is_said_once(world):
    world.keys = LockedVault()
    to_repair = [finding for finding in diagnose(world).findings if finding.health is FindingStatus.REPAIR]
    assert [(finding.topic, finding.profile) for finding in to_repair] == [("keyring", None)]


def test_it_works_while_the_desk_has_the_library_open_and_takes_nothing_from_it(world):
    with closing(LockedLibrary(MARKED, world.folder, world.keys, world.clock)) as library:
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


# Detect what blocks the next opening


def contents(folder):
    """Every file below `folder` with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def database_of(world):
    return world.folder / "library.sqlite"


def execute(*statements):
    def damage(world):
        with list_by_hand(world.folder, world.key) as database:
            for statement in statements:
                database.execute(statement)

    return damage


def remove(*names):
    def damage(world):
        for name in names:
            (world.folder / name).unlink()

    return damage


def put_older_folder_back(world):
    older = world.data_dir / "older"
    shutil.copytree(world.folder, older)
    with closing(LockedLibrary(MARKED, world.folder, world.keys, world.clock)) as library:
        library.note(AuditAction.EXPORTED)
    shutil.rmtree(world.folder)
    older.rename(world.folder)


def empty_keyring_of_marks(world):
    world.keys.delete(MARKED.high_water_name)


def lose_every_mark(world):
    remove("library.sqlite", "library.mark")(world)
    empty_keyring_of_marks(world)


REFUSED_OR_HELD = {
    "no list": (remove("library.sqlite"), LIST_MISSING),
    "no list and no mark": (remove("library.sqlite", "library.mark"), LIST_MISSING),
    "no folder": (lambda world: shutil.rmtree(world.folder), LIST_MISSING),
    "no mark": (remove("library.mark"), MARK_MISSING),
    "another mark": (lambda world: (world.folder / "library.mark").write_bytes(bytes(range(48))), MARK_MISSING),
    "no mark in the keyring": (empty_keyring_of_marks, KEYRING_MARK_MISSING),
    "an older list": (put_older_list_back, OLDER_COPY),
    "an older folder": (put_older_folder_back, OLDER_COPY),
    "rows removed": (remove_row, ROWS_MISSING),
    "a trigger": (
        execute("CREATE TRIGGER t AFTER INSERT ON jobs BEGIN DELETE FROM recordings; END"),
        STRUCTURE_DIFFERS,
    ),
    "a table": (execute("CREATE TABLE more (value TEXT)"), STRUCTURE_DIFFERS),
    "no index": (execute("DROP INDEX recordings_by_state"), STRUCTURE_DIFFERS),
    "a view in place of a table": (
        execute("DROP TABLE jobs", "CREATE VIEW jobs AS SELECT 1 AS job_id, 2 AS take_id"),
        "cannot be read",
    ),
    "a newer version": (execute("UPDATE library SET schema_version = 9999"), "newer version of vbdesk"),
    "no row in library": (execute("DELETE FROM library"), "cannot be read"),
}


def opens_freely(world):
    """Whether an opening allows sending."""
    try:
        with closing(LockedLibrary(MARKED, world.folder, world.keys, world.clock)) as library:
            return not library.store.sending_blocked
    except (LibraryKeyWrong, LibraryUnreadable):
        return False


@pytest.mark.parametrize("what", REFUSED_OR_HELD)
def test_what_the_next_opening_refuses_or_holds_is_said_before_it_and_nothing_is_changed(world, what):
    assert diagnose(world).ok
    damage, words = REFUSED_OR_HELD[what]
    damage(world)
    before = contents(world.data_dir)
    for _ in range(2):
        diagnosis = diagnose(world)
        said = [finding.sentence for finding in diagnosis.findings if finding.health is FindingStatus.REPAIR]
        assert any(words in sentence for sentence in said), diagnosis.findings
        assert not any(re.search(r"vbdesk-\w{8}", sentence) for sentence in said)  # no name of the temporary copy
        assert not any("in good order" in finding.sentence for finding in diagnosis.findings)
        json.dumps(diagnosis.facts)
    assert contents(world.data_dir) == before
    assert not opens_freely(world)


def test_a_keyring_that_does_not_tell_its_mark_is_said(world):
    class Silent(type(world.keys)):
        def get_without_prompt(self, name):
            raise VaultWaiting("The keyring has not answered.")

    world.keys.__class__ = Silent
    diagnosis = diagnose(world)
    assert not diagnosis.ok
    assert f"The keyring has not answered. {NOT_KNOWN}" in [finding.sentence for finding in diagnosis.findings]


def test_the_mark_is_read_without_a_dialog(world):
    asked = []

    class Watched(type(world.keys)):
        def get(self, name):
            asked.append(name)
            return super().get(name)

        def get_without_prompt(self, name):
            return self._secrets.get(name)

    world.keys.__class__ = Watched
    assert diagnose(world).ok
    assert asked
    assert MARKED.high_water_name not in asked


def test_files_that_no_recording_owns_are_named_even_after_the_list_is_accepted(world):
    [orphan] = (world.folder / "takes").glob("*.take")
    lose_every_mark(world)
    assert LIST_MISSING in [finding.sentence for finding in diagnose(world).findings]
    with closing(LockedLibrary(MARKED, world.folder, world.keys, world.clock)) as library:
        assert any("no recording of the list owns" in sentence for sentence in library.warnings)
    [note] = [finding for finding in diagnose(world).findings if "no recording of the list owns" in finding.sentence]
    assert note.health is FindingStatus.NOTICE
    assert orphan.name in note.sentence
    assert orphan.exists()


def test_bytes_added_to_a_file_of_a_recording_are_named_and_its_sound_stays_good(world):
    [take] = (world.folder / "takes").glob("*.take")
    with take.open("ab") as file:
        file.write(b"x")
    diagnosis = diagnose(world)
    [note] = [finding for finding in diagnosis.findings if "added bytes" in finding.sentence]
    assert note.health is FindingStatus.NOTICE
    assert "(marker-group, 2026-03-01T08:00)" in note.sentence
    assert diagnosis.ok


def test_a_journal_of_junk_is_no_fault_of_the_disk(world):
    (world.folder / "library.sqlite-journal").write_bytes(b"junk" * 300)
    before = contents(world.data_dir)
    diagnosis = diagnose(world)
    assert diagnosis.ok, diagnosis.findings
    assert contents(world.data_dir) == before
    assert opens_freely(world)


def test_changes_that_a_killed_desk_left_in_the_log_of_the_database_count(world):
    """The database of a running desk with its log, as after a power cut."""
    with closing(LockedLibrary(MARKED, world.folder, world.keys, world.clock)) as library:
        library.note(AuditAction.EXPORTED)
        left = world.data_dir / "left"
        shutil.copytree(world.folder, left)
    assert (left / "library.sqlite-wal").stat().st_size
    shutil.rmtree(world.folder)
    left.rename(world.folder)
    before = contents(world.data_dir)
    assert diagnose(world).facts["profiles"][0]["proofs"]["audit"]["entries"] == 6
    assert contents(world.data_dir) == before


def test_no_copy_of_the_list_is_left(world, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    execute("CREATE TABLE more (value TEXT)")(world)
    diagnose(world)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_temporary_folder_without_room_is_named(world, disk_of, monkeypatch):
    full = disk_of("16k")
    monkeypatch.setattr(tempfile, "tempdir", str(full))
    diagnosis = diagnose(world)
    assert f"{full} has no room for a copy" in found(diagnosis, "recordings").sentence
    assert not diagnosis.ok
    assert list(full.iterdir()) == []


DAMAGE_TO_FILES = st.lists(
    st.tuples(
        st.sampled_from(["library.sqlite", "library.sqlite-wal", "library.mark", "library.sqlite-journal"]),
        st.sampled_from(["flip", "cut", "append"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(1, 255),
    ),
    min_size=1,
    max_size=12,
)


@pytest.fixture
def running(world):
    """The folder and the keyring of a running desk, with changes in the database's log."""
    with closing(LockedLibrary(MARKED, world.folder, world.keys, world.clock)) as library:
        library.mark_thread.ask_to_stop()  # writes its mark, and records that in the list
        library.mark_thread.wait(HANGS_S)
        library.note(AuditAction.EXPORTED)
        whole = contents(world.folder)
    assert whole["library.sqlite-wal"]
    names = (MARKED.library_key_name, MARKED.api_key_name, MARKED.high_water_name)
    return world, whole, {name: world.keys.get(name) for name in names}


@given(DAMAGE_TO_FILES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_bytes_are_damaged_it_ends_with_sentences_and_refusals_are_foretold(running, damages):
    world, whole, secrets = running
    shutil.rmtree(world.folder)
    for name, secret in secrets.items():  # an opening has written its mark
        world.keys.set(name, secret)
    for name, content in whole.items():
        (world.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (world.folder / name).write_bytes(content)
    for name, how, place, mask in damages:
        path = world.folder / name
        content = bytearray(path.read_bytes()) if path.exists() else bytearray()
        where = int(place * len(content))
        if how == "cut":
            del content[where:]
        elif how == "append" or not content:
            content += bytes([mask]) * mask
        else:
            content[where] ^= mask
        path.write_bytes(content)
    before = contents(world.folder)
    diagnosis = diagnose(world, read_sounds=False)
    assert diagnosis.findings
    json.dumps(diagnosis.facts)
    assert contents(world.folder) == before
    if diagnosis.ok:
        assert opens_freely(world)
