"""An older list is detected, blocks sending, and can be accepted by a person."""

import shutil
from contextlib import closing
from datetime import UTC, datetime

import numpy as np
import pytest

from list_by_hand import list_by_hand
from patience import until
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.clock import ManualClock
from vbdesk.contract.ids import new_id
from vbdesk.outbox.bundles.bundle_errors import BundleError
from vbdesk.outbox.bundles.bundle_export import BundleOwner, export_bundle
from vbdesk.outbox.bundles.bundle_keys import PassphraseLock
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.integrity_check import (
    HELD,
    KEYRING_MARK_MISSING,
    KEYRING_REFUSED,
    MARK_MISSING,
    NOT_KNOWN,
    OLDER_COPY,
    ROWS_MISSING,
)
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.rollback_detection import ASK_AGAIN_S, FILE_NAME, MarkFile
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault, VaultLocked, VaultWaiting
from vbdesk.outbox.sync.upload_queue import UploadQueue

PROFILE = Profile("p1", "Ward 4", "service", "https://voice.example", "acc-1")
SESSION = Profile("p1", "Ward 4", "service", "https://voice.example", "acc-1", secrets="session")
EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
DATABASE = "library.sqlite"


class Keyring(MemoryVault):
    """A keyring that counts calls, and refuses on demand."""

    def __init__(self):
        super().__init__()
        self.marks = 0
        self.refusal = None
        self.reads_refused = None

    def get(self, name):
        if self.reads_refused is not None and name == PROFILE.high_water_name:
            raise self.reads_refused
        return super().get(name)

    def set_without_prompt(self, name, secret):
        if self.refusal is not None:
            raise self.refusal
        self.marks += 1
        super().set_without_prompt(name, secret)


@pytest.fixture
def keyring():
    return Keyring()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "library"


@pytest.fixture
def opened(folder, keyring):
    """Open the library as the desk does; closed by `with`."""

    def make(profile=PROFILE, vault=None):
        return closing(LockedLibrary(profile, folder, vault or keyring, ManualClock(EIGHT)))

    return make


def add(library, group_id="ward4-1", queue=True):
    path = library.recording_folder / f"{new_id()}.take"
    writer = EncryptedTakeWriter(path, library.store.key, 1000)
    writer.append(np.random.default_rng(1).integers(-3000, 3000, 15_000).astype(np.int16))
    writer.close()
    take_id = library.add_take(path, TakeMetadata(group_id, EIGHT, RecordingTarget("model", "pulse")))
    if queue:
        library.queue(take_id)
    return take_id


def nothing_is_sent(library):
    """Whether nothing can be sent or handed over."""
    line = UploadQueue(library.store)
    with pytest.raises(BundleError):
        export_bundle(
            library, BundleOwner("https://voice.example", "acc-1"), library.store.folder, PassphraseLock("x" * 12)
        )
    return [event for event in line.events() if not event.follows] == [] and line.handed_over() == []


PUT_BACK = {
    "the database": (lambda old, now: shutil.copy(old / DATABASE, now / DATABASE), OLDER_COPY),
    "the database, without the mark": (
        lambda old, now: (shutil.copy(old / DATABASE, now / DATABASE), (now / FILE_NAME).unlink()),
        OLDER_COPY,
    ),
    "database and mark": (
        lambda old, now: [shutil.copy(old / name, now / name) for name in (DATABASE, FILE_NAME)],
        OLDER_COPY,
    ),
    "the whole folder": (lambda old, now: (shutil.rmtree(now), shutil.copytree(old, now)), OLDER_COPY),
    "no mark": (lambda old, now: (now / FILE_NAME).unlink(), MARK_MISSING),
    "a damaged mark": (lambda old, now: (now / FILE_NAME).write_bytes(b"x" * 48), MARK_MISSING),
    "an empty mark": (lambda old, now: (now / FILE_NAME).write_bytes(b""), MARK_MISSING),
    "no database": (lambda old, now: (now / DATABASE).unlink(), OLDER_COPY),
}


@pytest.mark.parametrize("what", PUT_BACK)
def test_what_is_put_back_is_noticed_and_nothing_is_sent_before_a_person_accepts_it(opened, folder, tmp_path, what):
    with opened() as library:
        first = add(library)
    yesterday = tmp_path / "yesterday"
    shutil.copytree(folder, yesterday)
    with opened() as library:
        library.cancel(first)
        second = add(library, "ward4-2")
    put_back, finding = PUT_BACK[what]
    put_back(yesterday, folder)
    for _ in range(2):  # opening it again changes nothing
        with opened() as library:
            assert finding in library.findings
            assert library.findings[-1] == HELD
            assert nothing_is_sent(library)
    with opened() as library:
        third = add(library, "ward4-3")  # recording still works
        assert nothing_is_sent(library)
        library.accept_copy()
        assert library.findings == ()
        searched = {event.take_id for event in UploadQueue(library.store).events() if event.asked_at is not None}
        assert searched == {take_id for take_id in (first, second, third) if _is_waiting(library, take_id)}
    with opened() as library:
        assert library.findings == ()
        found = AuditReader(folder, library.store.key)
        assert [entry.what for entry in found.entries()].count(AuditAction.COPY_ACCEPTED) == 1
        assert found.verify().ok


def test_a_person_reads_that_subjects_erased_since_an_older_copy_are_back_and_erases_them_again(
    opened, folder, tmp_path
):
    with opened() as library:
        add(library)
        library.subject_notes.store("ward4-1", SubjectNote(alias="Harbour"))
    yesterday = tmp_path / "yesterday"
    shutil.copytree(folder, yesterday)
    with opened() as library:
        assert erase_subject(library, "ward4-1").erased == 1
    shutil.rmtree(folder)
    shutil.copytree(yesterday, folder)
    with opened() as library:
        assert "Subjects that were erased since an older copy was made are in it again" in library.findings[-1]
        library.accept_copy()
        assert [item.group_id for item in library.list()] == ["ward4-1"]
        assert erase_subject(library, "ward4-1").erased == 1
        assert library.list() == []
        assert library.subject_notes.note_of("ward4-1").alias == ""
    with opened() as library:
        assert library.findings == ()
        assert AuditReader(folder, library.store.key).verify().ok


def _is_waiting(library, take_id):
    return take_id in {item.take_id for item in library.list() if item.state is OutboxState.WAITING}


def test_after_a_copy_was_accepted_the_newer_list_counts_as_older_too(opened, folder, tmp_path):
    with opened() as library:
        add(library)
    shutil.copytree(folder, tmp_path / "yesterday")
    with opened() as library:
        for number in range(5):
            add(library, f"ward4-{number}")
    shutil.copytree(folder, tmp_path / "newer")
    shutil.copy(tmp_path / "yesterday" / DATABASE, folder / DATABASE)
    with opened() as library:
        library.accept_copy()
    shutil.copy(tmp_path / "newer" / DATABASE, folder / DATABASE)
    with opened() as library:
        assert OLDER_COPY in library.findings


def test_the_mark_of_the_keyring_alone_removed_is_a_finding(opened, keyring):
    with opened() as library:
        add(library)
    assert keyring.get(PROFILE.high_water_name) is not None
    keyring.delete(PROFILE.high_water_name)
    with opened() as library:
        assert library.findings == (KEYRING_MARK_MISSING, HELD)
        library.accept_copy()
    with opened() as library:
        assert library.findings == ()


def test_both_marks_removed_are_two_findings(opened, keyring, folder):
    with opened() as library:
        add(library)
    keyring.delete(PROFILE.high_water_name)
    (folder / FILE_NAME).unlink()
    with opened() as library:
        assert set(library.findings) == {MARK_MISSING, KEYRING_MARK_MISSING, HELD}


def test_a_spoilt_mark_of_the_keyring_is_none(opened, keyring):
    with opened() as library:
        add(library)
    keyring.set(PROFILE.high_water_name, "a lot")
    with opened() as library:
        assert library.findings == (KEYRING_MARK_MISSING, HELD)


def test_a_mark_behind_its_database_is_no_finding(opened, keyring, folder):
    """A crash between the two writes."""
    with opened() as library:
        add(library)
        mark = (folder / FILE_NAME).read_bytes()
        add(library, "ward4-2")
    (folder / FILE_NAME).write_bytes(mark)
    keyring.set(PROFILE.high_water_name, "1")
    with opened() as library:
        assert library.warnings == ()


def test_a_program_killed_at_any_moment_of_its_first_minute_leaves_no_finding(folder, keyring, tmp_path):
    """Kill: copy the folder and the keyring at each commit."""
    found = []
    with closing(LockedLibrary(PROFILE, folder, keyring, ManualClock(EIGHT))) as library:
        for number in range(3):
            add(library, f"ward4-{number}")
            copy = tmp_path / f"killed-{number}"
            shutil.copytree(folder, copy)
            found.append((copy, dict(keyring._secrets)))
    for copy, secrets in found:
        vault = Keyring()
        vault._secrets.update(secrets)
        with closing(LockedLibrary(PROFILE, copy, vault, ManualClock(EIGHT))) as library:
            assert library.warnings == ()


def test_a_copy_made_during_a_session_that_a_power_cut_ended_is_noticed(folder, keyring, tmp_path):
    """A counter that moved at the opening and the closing alone would not tell it from the newest list."""
    copy = tmp_path / "copy"
    with closing(LockedLibrary(PROFILE, folder, keyring, ManualClock(EIGHT))) as library:
        add(library)
        shutil.copytree(folder, copy)
        add(library, "ward4-2")
        library._mark_thread.write_now()  # a minute has passed
        until(lambda: keyring.get(PROFILE.high_water_name) == str(library.store.version()), "the mark in the keyring")
        at_the_cut = dict(keyring._secrets)
    vault = Keyring()
    vault._secrets.update(at_the_cut)
    with closing(LockedLibrary(PROFILE, copy, vault, ManualClock(EIGHT))) as library:
        assert OLDER_COPY in library.findings


def test_a_profile_without_a_keyring_notices_all_but_the_whole_folder(opened, folder, tmp_path):
    vault = MemoryVault()
    with opened(SESSION, vault) as library:
        add(library)
    assert vault.get(PROFILE.high_water_name) is None
    shutil.copytree(folder, tmp_path / "yesterday")
    with opened(SESSION, vault) as library:
        add(library, "ward4-2")
    shutil.copytree(folder, tmp_path / "today")
    shutil.copy(tmp_path / "yesterday" / DATABASE, folder / DATABASE)
    with opened(SESSION, vault) as library:
        assert OLDER_COPY in library.findings
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "yesterday", folder)
    with opened(SESSION, vault) as library:
        assert library.findings == ()  # a documented limit, see docs/security.md


@pytest.mark.parametrize("refusal", [VaultLocked("The keyring is locked."), VaultWaiting("It has not answered.")])
def test_a_keyring_that_does_not_answer_holds_the_line_until_it_does(opened, keyring, refusal, monkeypatch):
    monkeypatch.setattr("vbdesk.outbox.library.rollback_detection.ASK_AGAIN_S", 0.02)
    with opened() as library:
        waits = add(library)
    keyring.reads_refused = refusal
    with opened() as library:
        assert library.warnings == (f"{refusal} {NOT_KNOWN}",)
        assert library.findings == ()
        assert nothing_is_sent(library)
        with pytest.raises(NotAllowed):
            library.accept_copy()
        told = []
        library.subscribe(lambda: told.append(library.warnings))
        keyring.reads_refused = None
        until(lambda: library.warnings == () and told)
        assert [event.take_id for event in UploadQueue(library.store).events()] == [waits]
    assert ASK_AGAIN_S > 1


def test_a_keyring_that_answers_late_still_tells_of_an_older_copy(opened, keyring, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("vbdesk.outbox.library.rollback_detection.ASK_AGAIN_S", 0.02)
    with opened() as library:
        add(library)
    shutil.copytree(folder, tmp_path / "yesterday")
    with opened() as library:
        add(library, "ward4-2")
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "yesterday", folder)
    keyring.reads_refused = VaultWaiting("It has not answered.")
    with opened() as library:
        assert nothing_is_sent(library)
        keyring.reads_refused = None
        until(lambda: OLDER_COPY in library.findings)
        assert nothing_is_sent(library)


def test_a_keyring_that_takes_no_mark_is_said_and_loses_nothing(opened, keyring):
    keyring.refusal = VaultLocked("The keyring is locked.")
    with opened() as library:
        until(lambda: library.warnings == (KEYRING_REFUSED,))
        waits = add(library)
        assert [event.take_id for event in UploadQueue(library.store).events()] == [waits]
    keyring.refusal = None
    with opened() as library:
        assert library.findings == ()


def test_the_keyring_is_written_at_the_opening_and_the_closing_and_not_for_each_change(opened, keyring):
    with opened() as library:
        until(lambda: keyring.marks == 1)
        for number in range(5):
            add(library, f"ward4-{number}")
        assert keyring.marks == 1
        version = library.store.version()
    assert keyring.marks == 2
    assert int(keyring.get(PROFILE.high_water_name)) >= version


def test_one_table_put_back_as_it_was_yesterday_is_noticed(opened, folder, tmp_path):
    with opened() as library:
        first = add(library)
        line = UploadQueue(library.store)
        (event,) = line.events()
        line.begin_upload(event)
        line.mark_taken(event, "job-1")
    shutil.copytree(folder, tmp_path / "yesterday")
    tables = ("recordings", "pending", "jobs", "removed", "settings", "subjects", "opened", "bundles", "results")
    with opened() as library:
        _change_every_table(library, first)
    for table in tables:
        now = tmp_path / f"now-{table}"
        shutil.copytree(folder, now)
        with list_by_hand(now, library.store.key) as database:
            with list_by_hand(tmp_path / "yesterday", library.store.key) as old:
                rows = old.rows(f"SELECT * FROM {table}")
            before = database.execute(f"SELECT * FROM {table}").fetchall()
            database.execute(f"DELETE FROM {table}")
            for row in rows:
                database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", tuple(row))
            assert database.execute(f"SELECT * FROM {table}").fetchall() != before, table
        with closing(Library(now, library.store.key, library.store.clock)) as merged:
            items = merged.list()
            assert ROWS_MISSING in merged.findings or any(item.fault for item in items), table
            assert OLDER_COPY not in merged.findings


def _change_every_table(library, first):
    from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes

    second, third = add(library, "ward4-2"), add(library, "ward4-3", queue=False)
    line = UploadQueue(library.store)
    event = next(event for event in line.events() if event.take_id == second)
    line.begin_upload(event)
    line.mark_taken(event, "job-2")
    library.discard(third, at_once=True)
    library.change_settings(paused=True)
    SubjectNotes(library.store).store("ward4-1", SubjectNote("hoarse"))
    with library.store.changing():
        library.store.move(first, OutboxState.DONE)
        library.store.store_result(first, b"{}", EIGHT)
        library.store.remove_event(first)
        library.store.add("bundles", "b", library.store.now(), 1, b"sealed")
    SubjectNotes(library.store).open_subject("ward4-1")


def test_the_mark_file_keeps_its_size_and_is_never_empty(tmp_path):
    library = Library(tmp_path, bytes(32))
    mark = MarkFile(tmp_path, library.store.cipher)
    sizes = set()
    for version in (1, 9, 10**6, 10**18):
        mark.write(version)
        assert mark.read() == version
        sizes.add((tmp_path / FILE_NAME).stat().st_size)
    assert len(sizes) == 1
    library.close()
