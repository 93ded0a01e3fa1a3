"""What the base version of all upgrades has left on a desk opens whole: every field is as it was recorded."""

import json
import sys
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pyrage
import pytest

from list_by_hand import copies_of_conversion, list_by_hand

sys.path.append(str(Path(__file__).parents[1] / "data" / "upgrade_base"))

from as_values import library_values, plain

from vbdesk.clock import ManualClock
from vbdesk.outbox.bundles.bundle_export import owner_of
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import unlock_identity
from vbdesk.outbox.library import database
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.corrections import CorrectionReason
from vbdesk.outbox.library.database import LibraryUnreadable
from vbdesk.outbox.library.encrypted_sqlite import connect
from vbdesk.outbox.library.integrity_check import ROWS_MISSING, STRUCTURE_CHANGED
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.rollback_detection import read_keyring
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.profiles.app_lock import AppLockSwitch, LockableVault
from vbdesk.outbox.profiles.encrypted_vault import EncryptedVault, UnlockableVault
from vbdesk.outbox.profiles.profiles import ProfileStore, library_folder, library_key
from vbdesk.outbox.profiles.service_key import LockState, ServiceKeyStore
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.upload_queue import UploadQueue

DATA = Path(__file__).parents[1] / "data" / "upgrade_base"
NOW = datetime(2026, 8, 30, 8, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def record():
    return json.loads((DATA / "recorded.json").read_text(encoding="utf-8"))


class Desk:
    """The folders and the keyring of the computer, with the app lock on."""

    def __init__(self, home: Path) -> None:
        with zipfile.ZipFile(DATA / "desk.zip") as archive:
            archive.extractall(home)
        self.config, self.data, self.service = home / "config", home / "data", home / "service"
        self.keyring, self.unlocked = MemoryVault(), UnlockableVault()
        for name, secret in json.loads((DATA / "keyring.json").read_text()).items():
            self.keyring.set(name, secret)
        self.vault = LockableVault(self.keyring, self.unlocked)
        self.profiles = ProfileStore(self.config)
        self.service_key = ServiceKeyStore(self.service)

    def unlock(self, passphrase: str) -> None:
        """As at the start of the desk."""
        opened = self.service_key.unlock(passphrase)
        self.unlocked.unlock(EncryptedVault(self.service, opened.key))
        AppLockSwitch(self.data, self.service, self.config, self.keyring, self.unlocked).key_was_opened(opened.key)

    def open_library(self, profile_id: str) -> tuple[Library, Path, bytes]:
        profile = self.profiles.get(profile_id)
        assert profile is not None
        folder = library_folder(self.data, profile_id)
        key = library_key(self.vault, profile, folder)
        mark = read_keyring(self.vault, profile.high_water_name)
        local = profile.kind == "local"
        return Library(folder, key, ManualClock(NOW), keyring=mark, erases_at_service=local), folder, key


@pytest.fixture
def desk(tmp_path, record):
    made = Desk(tmp_path)
    made.unlock(record["passphrases"]["desk"])
    return made


def test_the_record_has_something_of_everything(record):
    ward = record["ward"]
    assert {item["state"] for item in ward["recordings"]} == {state.value for state in OutboxState}
    empty = {part for part, values in ward.items() if not values}
    assert empty == {"erasures", "warnings", "findings"}
    assert record["local"]["erasures"]
    fields = {name for item in ward["recordings"] for name, value in item.items() if value not in (None, "", [], {}, 0)}
    assert set(ward["recordings"][0]) - fields == {"fault"}


def test_the_profiles_and_their_secrets_are_as_they_were(desk, record):
    assert plain(desk.profiles.all()) == record["profiles"]
    assert desk.profiles.current().profile_id == "ward"
    assert desk.service_key.lock_state() is LockState.ON
    secrets = [desk.vault.get(f"profile/{profile_id}/api-key") for profile_id in ("ward", "local")]
    assert secrets == ["key-of-ward", "key-of-local"]
    assert json.loads(desk.vault.get("profile/ward/fhir-login")) == {"user": "reader", "password": "fhir"}


def test_the_recovery_key_opens_the_same_secrets(tmp_path, record):
    desk = Desk(tmp_path)
    desk.service_key.recover(record["recovery_key"], desk.keyring, "a new long passphrase")
    desk.unlock("a new long passphrase")
    assert desk.vault.get("profile/ward/api-key") == "key-of-ward"


@pytest.mark.parametrize("profile_id", ["ward", "local"])
def test_every_field_of_a_library_is_as_it_was(desk, record, profile_id):
    library, folder, key = desk.open_library(profile_id)
    values, recorded = library_values(library, folder, key), dict(record[profile_id])
    before = len(recorded["audit"])
    assert values["audit"][:before] == recorded.pop("audit")
    assert AuditReader(folder, key).verify().ok
    for part, expected in recorded.items():
        assert values[part] == expected, part
    library.close()


# The conversion: the library of the base version has its corrections in a table of their own


@pytest.fixture
def ward(desk):
    """The folder of the ward's library, and its key."""
    profile = desk.profiles.get("ward")
    folder = library_folder(desk.data, "ward")
    return folder, library_key(desk.vault, profile, folder)


def by_hand(folder, *statements):
    """Run statements in the list of the base version, whose pages are not encrypted."""
    with closing(connect(folder / "library.sqlite", None)) as opened:
        return [[tuple(row) for row in opened.rows(statement)] for statement in statements]


def test_the_conversion_keeps_the_old_log_and_says_in_it_that_it_was_whole(ward, record):
    folder, key = ward
    old = AuditReader(folder, key)
    assert old.verify().ok
    before = old.entries()
    [[(version,)]] = by_hand(folder, "SELECT version FROM library")
    with closing(Library(folder, key, ManualClock(NOW))) as library:
        assert library.store.version() > version, "an older copy is noticed"
    log = AuditReader(folder, key)
    entries = log.entries()
    assert entries[: len(before)] == before
    assert log.verify().ok
    converted = entries[len(before) :]
    assert {entry.what for entry in converted} == {AuditAction.CONVERTED, AuditAction.CONSENT_TAKEN_IN}
    assert converted[0].detail == f"version 7, log of {len(before)} whole"
    consents = sum(len(subject["events"]) for subject in record["ward"]["consents"].values())
    assert len(converted) == 1 + len(record["ward"]["corrections"]) + consents
    with list_by_hand(folder, key) as opened:
        tables = {row["name"] for row in opened.rows("SELECT name FROM sqlite_master")}
    assert not {"corrections", "consents"} & tables
    assert (folder / "library.sqlite.v7.bak").exists(), "the copy before the conversion"
    with closing(Library(folder, key, ManualClock(NOW))) as library:
        assert library.findings == ()
    assert log.entries() == entries, "it is converted once"


def test_an_earlier_release_refuses_the_converted_library(ward, monkeypatch):
    folder, key = ward
    Library(folder, key, ManualClock(NOW)).close()
    monkeypatch.setattr(database, "SCHEMA_VERSION", 7)
    before = (folder / "library.sqlite").read_bytes()
    with pytest.raises(LibraryUnreadable, match="newer version"):
        Library(folder, key, ManualClock(NOW))
    assert (folder / "library.sqlite").read_bytes() == before


def test_a_log_that_was_changed_before_the_conversion_stays_so(ward):
    folder, key = ward
    trigger = "SELECT sql FROM sqlite_master WHERE name = 'audit_is_never_changed'"
    [[(sql,)], *_] = by_hand(
        folder, trigger, "DROP TRIGGER audit_is_never_changed", "UPDATE audit SET what = 'x' WHERE seq = 3"
    )
    by_hand(folder, sql)
    with closing(Library(folder, key, ManualClock(NOW))):
        pass
    log = AuditReader(folder, key)
    assert log.verify().broken_at == 3
    assert any(entry.detail.endswith("changed at 3") for entry in log.entries())


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        (
            "UPDATE corrections SET sealed = zeroblob(0) WHERE number = 2",
            ROWS_MISSING,
        ),  # as after an erasure, but by hand
        ("DELETE FROM corrections WHERE number = 2", ROWS_MISSING),
        ("CREATE TRIGGER enemy AFTER INSERT ON audit BEGIN DELETE FROM results; END", STRUCTURE_CHANGED),
    ],
)
def test_what_was_changed_before_the_conversion_is_a_finding_after_it(ward, record, statement, finding):
    folder, key = ward
    by_hand(folder, statement)
    with closing(Library(folder, key, ManualClock(NOW))) as library:
        assert finding in library.findings
        numbers = [entry["number"] for entry in record["ward"]["corrections"]]
        left = [entry.number for entry in library.corrections.all()]
        assert left == [number for number in numbers if number != 2 or finding == STRUCTURE_CHANGED]
        assert len(library.store.rows("SELECT 1 FROM results")) > 0
        item = next(item for item in library.list() if item.state is OutboxState.DONE and not item.excluded)
        made = library.corrections.exclude(library.corrections.member(item.take_id), CorrectionReason.TEST)
        assert made.number == max(numbers) + 1, "no number is given again"
        assert AuditReader(folder, key).verify().ok


def test_a_conversion_killed_at_any_statement_leaves_a_library_that_opens(ward, record, tmp_path, monkeypatch):
    folder, key = ward
    copies = copies_of_conversion(folder, tmp_path, monkeypatch, lambda: Library(folder, key, ManualClock(NOW)).close())
    assert len(copies) > 20
    numbers = [entry["number"] for entry in record["ward"]["corrections"]]
    for copy in copies[:: max(1, len(copies) // 12)] + copies[-1:]:
        with closing(Library(copy, key, ManualClock(NOW))) as opened:
            assert opened.findings == (), copy.name
            assert [entry.number for entry in opened.corrections.all()] == numbers
        assert AuditReader(copy, key).verify().ok


def test_what_waited_can_be_sent_restored_and_put_back(desk, record):
    library, _folder, _key = desk.open_library("ward")
    ids = record["ids"]
    library.queue(ids["checked"])
    library.trash.restore(ids["trashed with result"])
    excluded = next(entry for entry in library.corrections.in_force() if entry.member.take_id == ids["excluded"])
    library.corrections.put_back(excluded.number)
    assert library.get(ids["checked"]).state is OutboxState.WAITING
    assert library.get(ids["trashed with result"]).state is OutboxState.DONE
    assert not library.get(ids["excluded"]).excluded
    library.close()


def test_numbers_of_submissions_begin_with_the_first_and_nothing_old_is_named(desk, record):
    """What the base version has requested is searched for; its next submission has the number 2."""
    library, _folder, _key = desk.open_library("ward")
    assert {item.attempt for item in library.list()} == {1}
    assert not any(event.named for event in UploadQueue(library.store).events())
    ended = next(item for item in library.list() if item.state is OutboxState.FAILED)
    library.retry(ended.take_id)
    assert library.get(ended.take_id).attempt == 2
    library.close()
    reopened, _folder, _key = desk.open_library("ward")
    assert reopened.get(ended.take_id).attempt == 2
    assert reopened.get(ended.take_id).client_ref != ended.client_ref
    reopened.close()


@pytest.mark.parametrize("name", ["key.vbundle", "passphrase.vbundle"])
def test_a_bundle_of_the_base_version_is_taken_in(tmp_path, record, name):
    identity = pyrage.x25519.Identity.from_str(record["bundle_key"])

    def secret(locked):
        return unlock_identity(locked, record["passphrases"]["bundle"]) if locked else identity

    key = bytes(range(32))
    profile = Desk(tmp_path / "home").profiles.get("ward")
    library = Library(tmp_path / "library", key, ManualClock(NOW))
    import_bundle(library, owner_of(profile), DATA / name, secret)
    values = library_values(library, tmp_path / "library", key)
    library.close()
    assert record[name]["recordings"]
    for part, expected in record[name].items():
        assert values[part] == expected, part


def trash_of(library):
    return {each.take_id: each.item for each in library.trash.items()}


def restored_digests(library, folder, key):
    """The sound of every recording of the trash after its restore, by take id; None if it had none any more."""
    found = {}
    for take_id, item in trash_of(library).items():
        library.trash.restore(take_id)
        gone = item.audio_gone_at is not None
        found[take_id] = None if gone else library.whole_audio(take_id).sha256()
    return found


@pytest.mark.parametrize("crash_at", range(4))
def test_the_trash_of_the_base_version_is_whole_after_a_crash_at_any_step(desk, record, crash_at, monkeypatch):
    """The base version renamed the sound of a deleted recording; opening gives it back its name."""
    takes = library_folder(desk.data, "ward") / "takes"
    renamed = {path.stem for path in takes.glob("*.away")}
    before = {path.stem: path.read_bytes() for path in takes.glob("*.away")}
    assert len(renamed) >= 2, "the old library has sounds in the trash"
    steps, replace = [], Path.replace

    def die(self, target):
        if self.suffix == ".away":
            steps.append(self)
            if len(steps) > crash_at:
                raise OSError("the power failed")
        return replace(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", die)
        if crash_at < len(renamed):
            with pytest.raises(OSError, match="the power failed"):
                desk.open_library("ward")
            assert len(list(takes.glob("*.away"))) == len(renamed) - crash_at
    library, folder, key = desk.open_library("ward")
    assert library.warnings == ()
    assert set(trash_of(library)) >= renamed
    assert list(takes.glob("*.away")) == []
    assert {take_id: (takes / f"{take_id}.take").read_bytes() for take_id in renamed} == before
    digests = restored_digests(library, folder, key)
    assert {take_id for take_id, digest in digests.items() if digest is not None} >= renamed
    assert trash_of(library) == {}
    library.close()
    reopened, _folder, _key = desk.open_library("ward")
    assert reopened.warnings == ()
    reopened.close()
