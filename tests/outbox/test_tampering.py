"""An attacker writes to the closed database: every change is detected, and nothing changed is sent."""

import shutil
import sqlite3
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from list_by_hand import list_by_hand
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.corrections import CorrectionReason
from vbdesk.outbox.library.database import SCHEMA_VERSION, LibraryKeyWrong, LibraryUnreadable
from vbdesk.outbox.library.integrity_check import HELD, ROWS_MISSING, STRUCTURE_CHANGED
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.outbox.library.response_cache import ResponseCache
from vbdesk.outbox.library.rows import ROW_CHANGED
from vbdesk.outbox.library.states import Fix, IllegalStateChange, OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes
from vbdesk.outbox.sync.upload_queue import UploadQueue

EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
FILE = "library.sqlite"
NOT_PROVED = {"requests"}  # only paces our own requests
KEYS = {
    "recordings": ("take_id", "group_id"),
    "results": ("take_id",),
    "jobs": ("job_id",),
    "removed": ("take_id",),
    "subjects": ("group_id",),
    "opened": ("take_id",),
    "bundles": ("bundle_id",),
    "corrections_due": ("number",),
    "subject_keys": ("key_id",),
    "audit": ("seq",),
}
COVERED = {"audit": "WHERE subject_keys IS NOT NULL"}
"""Rows that an opening checks; the whole log is checked by `verify`."""


@contextmanager
def by_hand(folder):
    """The database of a closed library, as somebody with the key of its pages can write to it."""
    with list_by_hand(folder) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("PRAGMA ignore_check_constraints = ON")
        yield database


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "library"


@pytest.fixture
def full(library, new_take, folder):
    """A closed library with rows in every table; returns its take ids by kind."""
    names = ("waits", "uploaded", "asked", "followed", "done", "rests", "gone", "trashed")
    takes = {name: new_take(f"ward4-{number}", seconds=1) for number, name in enumerate(names)}
    for name in names[:5]:
        library.queue(takes[name])
    line = UploadQueue(library.store)
    events = {event.take_id: event for event in line.events()}
    for name in names[1:5]:
        line.begin_upload(events[takes[name]])
        line.store_upload(events[takes[name]], f"upload-of-{name}")
    for name in names[2:5]:
        assert line.mark_asked(events[takes[name]])
    for name in names[3:5]:
        line.mark_taken(events[takes[name]], f"job-{name}")
    store = library.store
    with store.changing():
        store.move(takes["done"], OutboxState.DONE)
        store.store_result(takes["done"], b'{"a": 1}', EIGHT)
        store.remove_event(takes["done"])
        store.store_trajectory("ward4-4", b"{}")
        store.add("bundles", "b-1", store.now(), 1, store.cipher.encrypt(b"{}", "bundles/b-1"))
    library.consents.give("ward4-1", ConsentKind.BOTH, wording="1", language="en", asked_by="N. N.")
    library.consents.withdraw("ward4-1", ConsentKind.RESEARCH)
    corrections = library.corrections
    excluded = corrections.exclude(corrections.member(takes["done"]), CorrectionReason.TEST)
    corrections.postpone(excluded, EIGHT, "The service did not answer.")
    corrections.move(corrections.member(takes["rests"]), "ward4-9", CorrectionReason.WRONG_PERSON)
    library.change_settings(paused=True)
    library.discard(takes.pop("gone"), at_once=True)
    library.discard(takes.pop("trashed"))
    notes = SubjectNotes(store)
    notes.store("ward4-1", SubjectNote("hoarse", ("left-handed",)))
    notes.open_subject("ward4-4")
    ResponseCache(store).store("credits", b"{}", 0)
    library.close()
    with by_hand(folder) as database:
        for table in tables_of(database):
            assert table in {"requests"} or database.execute(f"SELECT 1 FROM {table}").fetchone(), table
    return takes


def tables_of(database):
    return [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]


def seen_by_a_person(library):
    """Everything that the library shows, and everything that it would send."""
    line = UploadQueue(library.store)
    notes = SubjectNotes(library.store)
    return (
        {
            item.take_id: (item.group_id, item.recorded_at, item.target, item.state, item.note, item.result_json)
            for item in library.list()
        },
        sorted(map(repr, line.events())),
        library.settings(),
        notes.all(),
        notes.unread(),
        library.responses.trajectory("ward4-4"),
        ResponseCache(library.store).read("credits"),
        sorted(row["job_id"] for row in library.store.rows("SELECT job_id FROM jobs")),
        sorted(row["take_id"] for row in library.store.rows("SELECT take_id FROM removed")),
        sorted(tuple(row) for row in library.store.rows("SELECT * FROM bundles")),
        library.consents.all(),
        library.corrections.all(),
        [(each.take_id, each.fault, each.item and each.item.note) for each in library.trash.items()],
    )


def assert_noticed(library, before):
    """Every change is reported: for the list as a whole, on the take, or in the audit log."""
    try:
        now = seen_by_a_person(library)
    except LibraryUnreadable:
        return
    if now == before or library.findings:
        return
    items = {item.take_id: item for item in library.list()}
    renamed = [item for item in items.values() if item.take_id not in before[0]]
    assert all(item.fault for item in renamed)
    assert len(items) == len(before[0])
    for take_id, known in before[0].items():
        assert take_id in items or renamed
        assert take_id not in items or now[0][take_id] == known or items[take_id].fault, take_id
    faulty = {take_id for take_id, item in items.items() if item.fault}
    for event in UploadQueue(library.store).events():
        searched_first = event.asked_at is not None and event.upload_ref is None
        assert event.take_id not in faulty
        assert repr(event) in before[1] or searched_first or event.follows, event  # restored for a known job
    for index in (2, 3, 7, 8, 9, 10, 11):
        assert now[index] == before[index], index
    assert len(now[12]) == len(before[12])
    assert all(entry in before[12] or (entry[1] and library.warnings) for entry in now[12])
    assert faulty or now[4] == before[4]  # an entry with another id counts as unread
    for index in (5, 6):  # cached answers: read again
        assert now[index] in (before[index], None), index


@pytest.fixture
def before(full, folder, tmp_path, library):
    shutil.copytree(folder, tmp_path / "before")
    with closing(Library(tmp_path / "before", library.store.key, library.store.clock)) as opened:
        assert opened.warnings == ()
        return seen_by_a_person(opened)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_byte_flipped_in_any_value_of_any_row_is_noticed(library_to_flip, data):
    folder, library, before = library_to_flip
    with TemporaryDirectory(dir=folder.parent) as place:
        copy = Path(place) / "library"
        shutil.copytree(folder, copy)
        with by_hand(copy) as database:
            database.execute("DROP TRIGGER audit_is_never_changed")
            table = data.draw(st.sampled_from([name for name in tables_of(database) if name not in NOT_PROVED]))
            rows = database.execute(f"SELECT rowid AS place, * FROM {table}").fetchall()
            row = data.draw(st.sampled_from(rows))
            columns = [name for name in row.keys()[1:] if row[name] is not None]
            column = data.draw(st.sampled_from(columns))
            try:
                database.execute(
                    f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (flipped(row[column], data), row["place"])
                )
            except sqlite3.IntegrityError:
                return
            database.execute(
                "CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit\n"
                "BEGIN SELECT RAISE (ABORT, 'the audit log is append-only'); END"
            )
        try:
            opened = Library(copy, library.store.key, library.store.clock)
        except (LibraryUnreadable, LibraryKeyWrong):
            return
        with closing(opened):
            assert STRUCTURE_CHANGED not in opened.findings
            assert_noticed(opened, before)


@pytest.fixture
def library_to_flip(full, before, folder, library):
    return folder, library, before


def flipped(value, data):
    if isinstance(value, int):
        return value ^ (1 << data.draw(st.integers(0, 40)))
    if isinstance(value, float):
        return value + data.draw(st.sampled_from([-1.0, 0.5, 100.0]))
    content = bytearray(value if isinstance(value, bytes) else value.encode())
    if not content:
        return b"x" if isinstance(value, bytes) else "x"
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 6))
    return bytes(content) if isinstance(value, bytes) else content.decode("utf-8", "replace")


@pytest.mark.parametrize("table", ["settings", *KEYS])
def test_a_row_removed_from_any_table_is_noticed(full, before, folder, reopen, table):
    with by_hand(folder) as database:
        database.execute("DROP TRIGGER audit_is_never_shortened")
        database.execute(f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table} {COVERED.get(table, '')})")
    assert_noticed(opened := reopen(), before)
    assert opened.findings or any(item.fault for item in opened.list())


@pytest.mark.parametrize("table", ["pending", *KEYS])
def test_a_row_added_to_any_table_is_noticed(full, before, folder, reopen, table):
    with by_hand(folder) as database:
        row = dict(database.execute(f"SELECT * FROM {table} {COVERED.get(table, '')}").fetchone())
        new = 99 if table in ("corrections_due", "audit") else "new"
        row.update(dict.fromkeys(("event_id", "take_id") if table == "pending" else KEYS[table], new))
        if table in ("pending", "results"):
            row["take_id"] = full["rests"]
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
    opened = reopen()
    assert ROWS_MISSING in opened.findings or any(item.fault for item in opened.list())
    assert full["rests"] not in {event.take_id for event in UploadQueue(opened.store).events()}


# Events: what is sent, for whom, with which upload

REPOINTED = {
    "the upload of another take": "UPDATE pending SET upload_ref = 'upload-of-uploaded', "
    "uploaded_at = '2026-03-01T08:59:00+00:00' WHERE take_id = :waits",
    "the event id of another request": "UPDATE pending SET event_id = 'e' WHERE take_id = :waits",
    "not asked": "UPDATE pending SET asked_at = NULL WHERE take_id = :asked",
    "asked at another time": "UPDATE pending SET asked_at = '2026-03-01T07:00:00+00:00' WHERE take_id = :asked",
    "a promise of the service": "UPDATE pending SET key_kept_s = 86400 WHERE take_id = :asked",
    "the service's time": "UPDATE pending SET asked_service_at = '2026-03-01T07:00:00+00:00' WHERE take_id = :asked",
    "released": "UPDATE pending SET released = 1 - released WHERE take_id = :waits",
    "many attempts": "UPDATE pending SET attempts = 6 WHERE take_id = :waits",
    "another kind": "UPDATE pending SET kind = 'follow' WHERE take_id = :waits",
}


@pytest.mark.parametrize("what", REPOINTED)
def test_a_changed_event_is_a_fault_of_its_take_and_of_no_other(full, folder, reopen, what):
    with by_hand(folder) as database:
        database.execute(REPOINTED[what], full)
    opened = reopen()
    changed = full["asked"] if ":asked" in REPOINTED[what] else full["waits"]
    assert {item.take_id: item.fault for item in opened.list() if item.fault} == {changed: ROW_CHANGED}
    line = UploadQueue(opened.store)
    assert changed not in {event.take_id for event in line.events()}
    assert opened.get(changed).state is OutboxState.NEEDS_ATTENTION
    with pytest.raises(NotAllowed):
        opened.retry(changed)


def test_an_event_pointed_at_another_take_is_noticed_at_both(full, folder, reopen):
    with by_hand(folder) as database:
        database.execute("UPDATE pending SET take_id = ? WHERE take_id = ?", (full["rests"], full["uploaded"]))
    opened = reopen()
    assert opened.get(full["rests"]).fault == ROW_CHANGED
    (event,) = [event for event in UploadQueue(opened.store).events() if event.take_id == full["uploaded"]]
    assert (event.asked_at is not None, event.upload_ref) == (True, None)  # restored; the service is searched first


def test_two_events_that_change_places_are_noticed(full, folder, reopen):
    first, second = full["waits"], full["uploaded"]
    with by_hand(folder) as database:
        for before, after in ((first, "x"), (second, first), ("x", second)):
            database.execute("UPDATE pending SET take_id = ? WHERE take_id = ?", (after, before))
    opened = reopen()
    assert {item.take_id for item in opened.list() if item.fault} == {first, second}
    assert {first, second}.isdisjoint(event.take_id for event in UploadQueue(opened.store).events())


def test_an_event_of_another_library_of_the_same_key_is_noticed(full, folder, reopen, library, tmp_path, new_take):
    other = Library(tmp_path / "other", library.store.key, library.store.clock)
    shutil.copytree(folder / "takes", tmp_path / "other" / "takes", dirs_exist_ok=True)
    other.close()
    shutil.copy(folder / FILE, tmp_path / "other" / FILE)
    other = Library(tmp_path / "other", library.store.key, library.store.clock)
    with other.store.changing():
        other.store.add_event(full["waits"], "send", {"event_id": "of-the-other", "upload_ref": "theirs"})
    other.close()
    with by_hand(tmp_path / "other") as database:
        row = dict(database.execute("SELECT * FROM pending WHERE take_id = ?", (full["waits"],)).fetchone())
    with by_hand(folder) as database:
        names = ", ".join(f"{name} = ?" for name in row)
        database.execute(f"UPDATE pending SET {names} WHERE take_id = ?", (*row.values(), full["waits"]))
    opened = reopen()
    assert opened.get(full["waits"]).fault == ROW_CHANGED


def test_an_event_put_back_in_an_older_form_is_noticed(full, folder, reopen):
    with by_hand(folder) as database:
        older = dict(database.execute("SELECT * FROM pending WHERE take_id = ?", (full["waits"],)).fetchone())
    with closing(reopen()) as opened, opened.store.changing():
        opened.store.write_event_of(full["waits"], {"upload_ref": "newer", "uploaded_at": opened.store.now()})
    with by_hand(folder) as database:
        names = ", ".join(f"{name} = ?" for name in older)
        database.execute(f"UPDATE pending SET {names} WHERE take_id = ?", (*older.values(), full["waits"]))
    assert reopen().get(full["waits"]).fault == ROW_CHANGED


def test_a_changed_event_cannot_be_written_over_unnoticed(full, folder, reopen):
    with by_hand(folder) as database:
        database.execute("UPDATE pending SET upload_ref = 'x' WHERE take_id = ?", (full["waits"],))
        (event_id,) = database.execute("SELECT event_id FROM pending WHERE take_id = ?", (full["waits"],)).fetchone()
    opened = reopen()
    with pytest.raises(IllegalStateChange), opened.store.changing():
        opened.store.write_event(event_id, {"attempts": 1})
    line = UploadQueue(opened.store)
    line.recover()
    line.retry_postponed()
    opened.send_now()
    assert opened.get(full["waits"]).fault == ROW_CHANGED


def test_an_event_changed_while_the_library_is_open_is_not_sent(full, folder, reopen):
    opened = reopen()
    line = UploadQueue(opened.store)
    assert full["waits"] in {event.take_id for event in line.events()}
    with by_hand(folder) as database:
        database.execute("UPDATE pending SET upload_ref = 'x' WHERE take_id = ?", (full["waits"],))
    assert full["waits"] not in {event.take_id for event in line.events()}
    assert opened.get(full["waits"]).fault == ROW_CHANGED
    assert any("1 recording was changed" in sentence for sentence in opened.warnings)


def test_a_trigger_put_into_the_open_library_never_fires_and_holds_the_line(full, folder, reopen):
    opened = reopen()
    opened.change_settings(paused=False)
    line = UploadQueue(opened.store)
    event = next(event for event in line.events() if event.take_id == full["waits"])
    with by_hand(folder) as database:
        database.execute(
            "CREATE TRIGGER enemy AFTER UPDATE ON recordings "
            "BEGIN UPDATE recordings SET group_id = 'enemy' WHERE take_id <> new.take_id; END"
        )
    assert not line.begin_upload(event)
    assert opened.findings == (STRUCTURE_CHANGED, HELD)
    assert "enemy" not in opened.groups()
    assert all(event.follows for event in line.events())
    opened.accept_copy()
    assert full["waits"] in {event.take_id for event in line.events()}
    opened.close()
    assert reopen().warnings == ()


def test_rows_removed_from_the_open_library_hold_the_line(full, folder, reopen):
    opened = reopen()
    line = UploadQueue(opened.store)
    event = next(event for event in line.events() if event.take_id == full["waits"])
    with by_hand(folder) as database:
        database.execute("DELETE FROM jobs")
    assert not line.begin_upload(event)
    assert opened.findings == (ROWS_MISSING, HELD)
    opened.close()
    opened = reopen()
    assert opened.findings == (ROWS_MISSING, HELD)
    opened.accept_copy()
    opened.close()
    assert reopen().warnings == ()


def test_a_recording_changed_while_the_library_is_open_is_not_sent(full, folder, reopen):
    opened = reopen()
    opened.list()
    line = UploadQueue(opened.store)
    event = next(event for event in line.events() if event.take_id == full["waits"])
    with by_hand(folder) as database:
        database.execute("UPDATE recordings SET group_id = 'ward4-9' WHERE take_id = ?", (full["waits"],))
    assert not line.begin_upload(event)
    assert opened.get(full["waits"]).fault == ROW_CHANGED


def test_jobs_that_were_removed_are_known_again_and_nothing_is_sent(full, folder, reopen):
    with by_hand(folder) as database:
        database.execute("DELETE FROM jobs")
    opened = reopen()
    assert opened.findings == (ROWS_MISSING, HELD)
    line = UploadQueue(opened.store)
    assert all(event.follows for event in line.events())
    assert all(line.is_known_job(job_id) for job_id in ("job-followed", "job-done"))


def test_settings_that_were_removed_do_not_let_a_paused_line_go_on(full, folder, reopen):
    with by_hand(folder) as database:
        database.execute("DELETE FROM settings")
    opened = reopen()
    assert not opened.settings().paused
    assert opened.findings == (ROWS_MISSING, HELD)
    assert all(event.follows for event in UploadQueue(opened.store).events())


# Structure

STRUCTURES = {
    "a trigger on what is inserted": "CREATE TRIGGER enemy AFTER INSERT ON recordings "
    "BEGIN UPDATE recordings SET group_id = 'enemy' WHERE take_id = new.take_id; END",
    "a trigger on every change": "CREATE TRIGGER enemy AFTER UPDATE ON library BEGIN DELETE FROM pending; END",
    "a trigger on jobs": "CREATE TRIGGER enemy BEFORE INSERT ON jobs BEGIN SELECT RAISE (IGNORE); END",
    "a view": "CREATE VIEW enemy AS SELECT * FROM recordings",
    "a table": "CREATE TABLE enemy (a UNIQUE)",
    "an index": "CREATE UNIQUE INDEX enemy ON pending (kind, released, take_id)",
    "an index that is missing": "DROP INDEX recordings_by_time",
    "a trigger that is missing": "DROP TRIGGER audit_is_never_changed",
    "a column": "ALTER TABLE recordings ADD COLUMN enemy TEXT",
    "a name that must be quoted": 'CREATE TABLE "en""emy; DROP TABLE jobs" (a)',
}


@pytest.mark.parametrize("what", STRUCTURES)
def test_a_changed_structure_is_said_put_right_and_never_acts(full, before, folder, reopen, what, new_structure):
    with by_hand(folder) as database:
        database.execute(STRUCTURES[what])
    opened = reopen()
    assert opened.findings == (STRUCTURE_CHANGED, HELD)
    assert seen_by_a_person(opened)[0] == before[0]
    assert all(event.follows for event in UploadQueue(opened.store).events())
    assert structure_of(folder) == new_structure
    opened.accept_copy()
    assert {event.take_id for event in UploadQueue(opened.store).events()} == {
        full[name] for name in ("waits", "uploaded", "asked", "followed")
    }
    opened.close()
    assert reopen().findings == ()


@pytest.fixture
def new_structure(tmp_path, library):
    Library(tmp_path / "new", library.store.key).close()
    return structure_of(tmp_path / "new")


def structure_of(folder):
    with by_hand(folder) as database:
        return {tuple(row) for row in database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")}


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("released INTEGER NOT NULL DEFAULT 0", "released INTEGER NOT NULL DEFAULT 1"),
        ("attempts INTEGER NOT NULL DEFAULT 0", "attempts INTEGER NOT NULL DEFAULT 5"),
        ("take_id TEXT NOT NULL UNIQUE", "take_id TEXT NOT NULL"),
        ("kind TEXT NOT NULL", "kind TEXT NOT NULL DEFAULT ('--' || 'follow')"),
        ("asked_at TEXT,", "asked_at TEXT /* -- */ DEFAULT 'x',"),
    ],
)
def test_a_changed_default_is_said_and_put_right(full, folder, reopen, new_structure, text, instead):
    with by_hand(folder) as database:
        (sql,) = database.execute("SELECT sql FROM sqlite_master WHERE name = 'pending'").fetchone()
        assert text in sql
        rows = [tuple(row) for row in database.execute("SELECT * FROM pending")]
        database.execute("ALTER TABLE pending RENAME TO old")
        database.execute(sql.replace(text, instead))
        database.execute("INSERT INTO pending SELECT * FROM old")
        database.execute("DROP TABLE old")
    opened = reopen()
    assert opened.findings == (STRUCTURE_CHANGED, HELD)
    assert structure_of(folder) == new_structure
    with by_hand(folder) as database:
        assert len(database.execute("SELECT * FROM pending").fetchall()) == len(rows)
    assert {item.fault for item in opened.list()} == {None}


def test_a_view_in_the_place_of_a_table_opens_nothing_and_changes_nothing(full, folder, reopen):
    with by_hand(folder) as database:
        database.execute("PRAGMA legacy_alter_table = ON")
        database.execute("ALTER TABLE jobs RENAME TO hidden")
        database.execute("CREATE VIEW jobs AS SELECT * FROM hidden WHERE 0")
        before = structure_of(folder)
    with pytest.raises(LibraryUnreadable, match="nothing was changed"):
        reopen()
    assert structure_of(folder) == before


def test_a_second_row_of_the_library_opens_nothing(full, folder, reopen):
    with by_hand(folder) as database:
        database.execute("INSERT INTO library SELECT * FROM library")
    with pytest.raises(LibraryUnreadable):
        reopen()


OTHER_VERSIONS = [*range(-1, SCHEMA_VERSION), SCHEMA_VERSION + 1, SCHEMA_VERSION + 0.5]


@pytest.mark.parametrize("value", [*OTHER_VERSIONS, str(SCHEMA_VERSION), None])
def test_a_false_version_of_the_structure_loses_nothing(full, folder, reopen, value):
    with by_hand(folder) as database:
        database.execute("PRAGMA writable_schema = ON")
        try:
            database.execute("UPDATE library SET schema_version = ?", (value,))
        except sqlite3.IntegrityError:
            return
    if value == str(SCHEMA_VERSION):  # SQLite keeps it as the number
        assert reopen().findings == ()
        return
    with pytest.raises(LibraryUnreadable):
        reopen()
    with by_hand(folder) as database:
        database.execute(f"UPDATE library SET schema_version = {SCHEMA_VERSION}")
    assert reopen().warnings == ()


def test_what_is_put_aside_by_a_person_is_still_proved(library, new_take, reopen):
    """Every path through the states keeps the MACs right."""
    take_id = new_take(seconds=1)
    library.discard(take_id)
    library.trash.restore(take_id)
    library.queue(take_id)
    library.cancel(take_id)
    library.queue(take_id)
    line = UploadQueue(library.store)
    (event,) = line.events()
    line.begin_upload(event)
    line.need_attention(event, "No.", Fix.TRY_AGAIN)
    library.retry(take_id)
    library.close()
    opened = reopen()
    assert opened.warnings == ()
    assert [item.fault for item in opened.list()] == [None]
