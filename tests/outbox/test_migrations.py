"""A library of an earlier version opens completely; a failed or killed migration leaves it working."""

import re
import shutil
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.language import message
from vbdesk.outbox.library.audit import AuditReader
from vbdesk.outbox.library.column_encryption import ColumnCipher
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.database import SCHEMA_VERSION, LibraryKeyWrong, LibraryUnreadable
from vbdesk.outbox.library.integrity_check import ROWS_MISSING
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, details_json
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.migrations import LibraryMigrationFailed, migrate
from vbdesk.outbox.library.response_cache import ResponseCache
from vbdesk.outbox.library.rows import ROW_CHANGED
from vbdesk.outbox.library.settings import SendRule
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes
from vbdesk.outbox.sync.upload_queue import UploadQueue

KEY = bytes(range(32))
EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
RESULT = b'{"signal": {}}'

# A fixed copy, since libraries of that version will be opened for years.
TABLES_1 = """
CREATE TABLE library (schema_version INTEGER NOT NULL, version INTEGER NOT NULL, key_check BLOB NOT NULL);
CREATE TABLE recordings (
  take_id TEXT PRIMARY KEY, group_id TEXT NOT NULL, recorded_at TEXT NOT NULL, target TEXT NOT NULL,
  longitudinal INTEGER NOT NULL, duration_s REAL NOT NULL, imported INTEGER NOT NULL, details BLOB NOT NULL,
  state TEXT NOT NULL, reason TEXT, fix TEXT, job_id TEXT, result BLOB, created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL, version INTEGER NOT NULL, UNIQUE (group_id, recorded_at)
);
CREATE INDEX recordings_by_version ON recordings (version);
CREATE INDEX recordings_by_state ON recordings (state);
CREATE TABLE removed (take_id TEXT PRIMARY KEY, version INTEGER NOT NULL);
CREATE TABLE pending (
  event_id TEXT PRIMARY KEY, take_id TEXT NOT NULL UNIQUE REFERENCES recordings (take_id) ON DELETE CASCADE,
  kind TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, not_before TEXT, upload_ref TEXT, asked_at TEXT
);
CREATE TABLE jobs (job_id TEXT PRIMARY KEY, take_id TEXT NOT NULL);
"""


@pytest.fixture
def folder_1(tmp_path):
    """A library of version 1: one waiting recording with an unanswered request, one with a result."""
    folder = tmp_path / "library"
    folder.mkdir()
    seal = ColumnCipher(KEY)
    database = sqlite3.connect(folder / "library.sqlite", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(TABLES_1)
    database.execute("INSERT INTO library VALUES (1, 7, ?)", (seal.encrypt(b"vbdesk", "library"),))
    for take_id, state, result in (("t-1", "waiting", None), ("t-2", "done", seal.encrypt(RESULT, "t-2/result"))):
        metadata = TakeMetadata("ward4-0172", EIGHT, RecordingTarget("model", "pulse"), note=f"note of {take_id}")
        details = seal.encrypt(details_json(metadata), f"{take_id}/details")
        moment = f"2026-03-01T08:00:0{take_id[-1]}.000000+00:00"
        row = (take_id, "ward4-0172", moment, "model:pulse", 1, 20.0, 0, details, state, None, None, "j-1", result)
        marks = ", ".join("?" * 16)
        database.execute(f"INSERT INTO recordings VALUES ({marks})", (*row, moment, moment, 3))
    database.execute(
        "INSERT INTO pending (event_id, take_id, kind, asked_at) VALUES ('e', 't-1', 'send', ?)", (moment,)
    )
    database.close()
    return folder


def table_shape(path):
    """Columns, indices and triggers, in no order."""
    database = sqlite3.connect(path)
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {(name, *row[1:]) for name in names for row in database.execute(f"PRAGMA table_info({name})")}
    others = set(database.execute("SELECT name, type, tbl_name FROM sqlite_master WHERE type <> 'table'"))
    database.close()
    return columns, others


def test_an_old_library_opens_with_all_that_was_in_it(folder_1, clock):
    library = Library(folder_1, KEY, clock)
    assert {item.take_id: item.note for item in library.list()} == {"t-1": "note of t-1", "t-2": "note of t-2"}
    assert library.get("t-2").result_json == RESULT
    assert library.store.asked("t-1")
    assert SubjectNotes(library.store).unread() == {}  # earlier results count as read
    library.close()


def test_a_migrated_library_has_the_tables_of_a_new_one(folder_1, tmp_path):
    Library(folder_1, KEY).close()
    Library(tmp_path / "new", KEY).close()
    migrated, new = (table_shape(folder / "library.sqlite") for folder in (folder_1, tmp_path / "new"))
    assert {column[:3] for column in migrated[0]} == {column[:3] for column in new[0]}
    assert migrated[1] == new[1]


def test_a_copy_is_made_before_anything_changes(folder_1, clock):
    Library(folder_1, KEY, clock).close()
    copy = sqlite3.connect(folder_1 / "library.sqlite.v1.bak")
    assert copy.execute("SELECT schema_version, version FROM library").fetchone() == (1, 7)
    assert copy.execute("SELECT COUNT(*) FROM recordings WHERE result IS NOT NULL").fetchone() == (1,)
    copy.close()


def test_another_key_migrates_nothing(folder_1):
    with pytest.raises(LibraryKeyWrong):
        Library(folder_1, bytes(32))
    assert not (folder_1 / "library.sqlite.v1.bak").exists()


def test_a_migration_that_fails_half_way_leaves_the_old_library(folder_1, clock):
    database = sqlite3.connect(folder_1 / "library.sqlite")
    database.execute("CREATE TABLE audit (seq INTEGER)")  # makes the last statement of the step fail
    database.close()
    before = table_shape(folder_1 / "library.sqlite")
    with pytest.raises(LibraryUnreadable, match="left as it was"):
        Library(folder_1, KEY, clock)
    assert table_shape(folder_1 / "library.sqlite") == before
    database = sqlite3.connect(folder_1 / "library.sqlite")
    assert database.execute("SELECT schema_version FROM library").fetchone() == (1,)
    database.execute("DROP TABLE audit")
    database.close()
    library = Library(folder_1, KEY, clock)
    assert library.counts()[OutboxState.DONE] == 1
    library.close()


def migrate_copying(folder, into, wanted, copied_at):
    """Migrate a copy of a library; its folder at the statements of these numbers, then at the end.

    One migration for all: what a power cut before a statement would leave is copied while that statement waits.
    """
    victim, copies, statements = into / "victim", [], 0
    shutil.copytree(folder, victim)

    def count(_statement):
        nonlocal statements
        statements += 1
        if copied_at(statements):
            copies.append(into / f"killed-at-{statements}")
            shutil.copytree(victim, copies[-1])

    database = sqlite3.connect(victim / "library.sqlite", isolation_level=None)
    database.row_factory = sqlite3.Row
    (version,) = database.execute("SELECT schema_version FROM library").fetchone()
    database.set_trace_callback(count)
    migrate(database, victim / "library.sqlite", ColumnCipher(KEY), version, wanted)
    database.close()
    return [*copies, victim]


def test_a_migration_killed_at_any_moment_can_begin_anew(folder_1, tmp_path, clock):
    killed = migrate_copying(folder_1, tmp_path, 2, lambda statement: statement < 30 and statement % 3 == 1)
    assert len(killed) == 11  # ten kills, and the end
    for found in killed:
        library = Library(found, KEY, clock)
        assert library.get("t-2").result_json == RESULT, found.name
        assert library.get("t-1").note == "note of t-1", found.name
        library.close()


def test_no_room_for_the_copy_changes_nothing(folder_1):
    (folder_1 / "library.sqlite.v1.bak.new").mkdir()
    database = sqlite3.connect(folder_1 / "library.sqlite", isolation_level=None)
    with pytest.raises(LibraryMigrationFailed, match="Make room"):
        migrate(database, folder_1 / "library.sqlite", ColumnCipher(KEY), 1, 2)
    database.close()
    assert ("recordings", "result") in {column[:2] for column in table_shape(folder_1 / "library.sqlite")[0]}


# Libraries that earlier versions of vbdesk wrote: see tests/data/make_old_library.py

DATA = Path(__file__).parents[1] / "data"
STATES = {
    "checked": OutboxState.CHECKED,
    "waiting": OutboxState.WAITING,
    "asked": OutboxState.UPLOADING,
    "uploaded": OutboxState.UPLOADING,
    "followed": OutboxState.SUBMITTED,
    "done": OutboxState.DONE,
    "stopped": OutboxState.NEEDS_ATTENTION,
    "retried": OutboxState.WAITING,
}
EVENT_COLUMNS = "event_id, take_id, kind, attempts, not_before, upload_ref, asked_at"


@pytest.fixture
def old_folder(tmp_path, request):
    folder = tmp_path / "library"
    with zipfile.ZipFile(DATA / f"library_{request.param}.zip") as archive:
        archive.extractall(folder)
    return folder


each_version = pytest.mark.parametrize("old_folder", [1, 2, 3, 6], indirect=True)
without_trash = pytest.mark.parametrize("old_folder", [1, 2, 3], indirect=True)
version_6 = pytest.mark.parametrize("old_folder", [6], indirect=True)
version_3 = pytest.mark.parametrize("old_folder", [3], indirect=True)
version_2 = pytest.mark.parametrize("old_folder", [2], indirect=True)


def events_of(folder):
    database = sqlite3.connect(folder / "library.sqlite")
    rows = database.execute(f"SELECT {EVENT_COLUMNS} FROM pending ORDER BY event_id").fetchall()
    database.close()
    return rows


def assert_complete(folder, clock):
    library = Library(folder, KEY, clock)
    items = {item.note: item for item in library.list()}
    assert {name: item.state for name, item in items.items()} == STATES
    assert {item.fault for item in items.values()} == {None}
    assert library.warnings == ()
    assert items["done"].result_json == RESULT
    assert all(library.whole_audio(item.take_id).duration_s == 1.0 for item in items.values())
    asked = {name for name, item in items.items() if library.store.asked(item.take_id)}
    assert asked == {"asked", "stopped"}
    line = UploadQueue(library.store)
    assert {name for name, item in items.items() if item.take_id in {event.take_id for event in line.events()}} == {
        "waiting",
        "asked",
        "uploaded",
        "followed",
        "retried",
    }
    assert all(line.is_known_job(f"job-{name}") for name in ("followed", "done", "retried"))
    library.close()
    library = Library(folder, KEY, clock)  # and its MACs are right
    assert library.warnings == ()
    library.close()


@each_version
def test_recordings_and_subjects_of_an_earlier_version_say_nothing_about_the_language(old_folder, clock):
    library = Library(old_folder, KEY, clock)
    items = library.list()
    assert items
    assert {(item.spoken, item.spoken_sent, item.fault) for item in items} == {(SpokenLanguage(), None, None)}
    group_id = next(item.group_id for item in items if item.state is OutboxState.CHECKED)
    note = library.subject_notes.note_of(group_id)
    library.subject_notes.keep(group_id, replace(note, spoken=SpokenLanguage("de", second_language=True)))
    library.close()
    again = Library(old_folder, KEY, clock)
    assert {item.spoken.language for item in again.list() if item.group_id == group_id} <= {None, "de"}
    assert again.subject_notes.note_of(group_id).text == note.text
    assert again.warnings == ()
    again.close()


@each_version
def test_a_library_that_an_earlier_version_wrote_is_kept_whole(old_folder, clock):
    before = events_of(old_folder)
    assert_complete(old_folder, clock)
    assert events_of(old_folder) == before


@without_trash
def test_its_recordings_go_to_the_trash_and_come_back(old_folder, clock):
    with closing(Library(old_folder, KEY, clock)) as library:
        assert library.trash.items() == []
        assert library.settings().trash_days == 7
        moved = [item.take_id for item in library.list() if item.note in ("checked", "waiting", "done")]
        before = {take_id: replace(library.get(take_id), version=0, encrypted_result=None) for take_id in moved}
        events = events_of(old_folder)
        for take_id in moved:
            library.discard(take_id)
    with closing(Library(old_folder, KEY, clock)) as library:
        assert len(library.trash.items()) == 3
        for take_id in moved:
            library.trash.restore(take_id)
        after = {take_id: replace(library.get(take_id), version=0, encrypted_result=None) for take_id in moved}
        assert after == before
    assert events_of(old_folder) == events
    assert_complete(old_folder, clock)


@each_version
def test_it_has_the_structure_of_a_new_library_and_keeps_it(old_folder, tmp_path, clock):
    Library(old_folder, KEY, clock).close()
    Library(tmp_path / "new", KEY, clock).close()
    shapes = []
    for folder in (old_folder, tmp_path / "new"):
        database = sqlite3.connect(folder / "library.sqlite")
        rows = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
        shapes.append({(*row[:3], "".join(re.sub("--.*", "", row[3] or "").split())) for row in rows})
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()
    assert shapes[0] == shapes[1]


@version_3
def test_a_tick_of_version_3_becomes_one_consent_event(old_folder, clock):
    library = Library(old_folder, KEY, clock)
    ticked = {item.group_id: item.consented_at for item in library.list() if item.consented_at}
    assert set(ticked) == {"ward4-0", "ward4-5"}  # the recordings keep their tick
    found = {
        group_id: [(event.at, event.kind) for event in known.events]
        for group_id, known in library.consents.all().items()
    }
    assert found == {group_id: [(moment, ConsentKind.NOT_STATED)] for group_id, moment in ticked.items()}
    for item in library.list():
        assert library.consents.status(item.group_id, item.recorded_at).in_force == (item.group_id in ticked)
    assert not library.consents.status("ward4-0", ticked["ward4-0"] + timedelta(days=2)).in_force  # asked again
    assert library.warnings == ()
    library.close()


@version_3
def test_a_tick_that_somebody_else_wrote_becomes_no_consent(old_folder, clock):
    database = sqlite3.connect(old_folder / "library.sqlite")
    database.execute("UPDATE recordings SET group_id = 'somebody-else' WHERE group_id = 'ward4-0'")
    database.commit()
    database.close()
    library = Library(old_folder, KEY, clock)
    assert set(library.consents.all()) == {"ward4-5"}
    assert {item.group_id for item in library.list() if item.fault} == {"somebody-else"}
    library.close()


@version_3
def test_a_list_of_version_3_with_a_removed_row_is_still_reported(old_folder, clock):
    database = sqlite3.connect(old_folder / "library.sqlite")
    database.execute("DELETE FROM subjects")
    database.commit()
    database.close()
    library = Library(old_folder, KEY, clock)
    assert any(sentence.startswith(ROWS_MISSING[:40]) for sentence in library.warnings)
    library.close()


@version_2
def test_what_version_2_kept_beside_the_recordings_is_still_there(old_folder, clock):
    library = Library(old_folder, KEY, clock)
    settings = library.settings()
    assert (settings.send_rule, settings.paused) == (SendRule.BY_HAND, True)
    notes = SubjectNotes(library.store)
    assert notes.all() == {"ward4-5": SubjectNote("hoarse", ("left-handed",))}
    assert notes.unread() == {}
    assert library.responses.trajectory("ward4-5")[0] == b'{"points": []}'
    assert ResponseCache(library.store).read("credits")[0] == b'{"credits": 7}'
    assert [item.note for item in library.list() if item.released and item.state is OutboxState.WAITING] == ["waiting"]
    assert len(library.changes_since(0).removed) == 1
    library.close()
    found = AuditReader(old_folder, KEY).verify()
    assert found.ok, found.sentence


@version_2
def test_a_row_that_version_2_had_not_written_gets_no_proof(old_folder, clock):
    database = sqlite3.connect(old_folder / "library.sqlite")
    database.execute("UPDATE recordings SET group_id = 'somebody-else' WHERE group_id = 'ward4-1'")
    database.execute("DELETE FROM recordings WHERE group_id = 'ward4-5'")
    database.commit()
    database.close()
    library = Library(old_folder, KEY, clock)
    assert {item.group_id: item.fault for item in library.list() if item.fault} == {"somebody-else": ROW_CHANGED}
    assert any(ROW_CHANGED in item.reason for item in library.list() if item.fault)
    assert any(sentence.startswith(ROWS_MISSING[:40]) for sentence in library.warnings)
    library.close()


@each_version
def test_a_trigger_in_an_old_library_never_fires(old_folder, clock):
    database = sqlite3.connect(old_folder / "library.sqlite")
    for number, event in enumerate(("INSERT", "UPDATE", "DELETE")):
        database.execute(
            f"CREATE TRIGGER enemy{number} AFTER {event} ON recordings "
            "BEGIN UPDATE recordings SET group_id = 'enemy' WHERE take_id <> 'x'; END"
        )
    database.commit()
    database.close()
    library = Library(old_folder, KEY, clock)
    assert {item.note: item.state for item in library.list()} == STATES
    assert {item.fault for item in library.list()} == {None}
    assert "enemy" not in library.groups()
    library.close()


@each_version
def test_a_migration_of_real_data_killed_at_any_statement_leaves_either_version(old_folder, tmp_path, clock):
    killed = migrate_copying(old_folder, tmp_path, SCHEMA_VERSION, lambda statement: statement % 7 == 0)
    assert len(killed) > 3
    for found in killed:
        assert_complete(found, clock)


@version_6
def test_sentences_of_version_6_are_kept_and_new_reasons_are_messages(old_folder, clock):
    with closing(Library(old_folder, KEY, clock)) as library:
        stopped = next(item for item in library.list() if item.note == "stopped")
        assert stopped.reason == "The service refused it."
        assert library.store.row(stopped.take_id)["reason"] == "The service refused it."
        trashed = {each.item.note: each.item for each in library.trash.items()}
        assert trashed["doubtful"].reason == "The clock here was wrong. Decide."
        library.trash.restore(trashed["doubtful"].take_id)
        assert library.get(trashed["doubtful"].take_id).reason == "The clock here was wrong. Decide."
        with library.store.changing():
            library.store.update(stopped.take_id, {"reason": message("It waits for {name}.", name="ward-4")})
    with closing(Library(old_folder, KEY, clock)) as library:
        assert library.warnings == ()
        again = library.get(stopped.take_id)
        assert (again.reason, again.reason.fields) == ("It waits for ward-4.", {"name": "ward-4"})
    with closing(sqlite3.connect(old_folder / "library.sqlite.v6.bak")) as copy:
        assert copy.execute("SELECT schema_version FROM library").fetchone() == (6,)
