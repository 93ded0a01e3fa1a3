"""A library whose structure somebody changed is repaired completely or stays as it was; older ones are refused."""

import shutil
from contextlib import closing

import pytest

from list_by_hand import KEY, list_by_hand, trace_statements
from vbdesk.outbox.library.conversion import FIRST_VERSION
from vbdesk.outbox.library.database import SCHEMA_VERSION, LibraryKeyWrong, LibraryUnreadable
from vbdesk.outbox.library.encrypted_sqlite import connect
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.repair import repair

COPY = f"library.sqlite.v{SCHEMA_VERSION}.bak"


def change(folder, *statements):
    with list_by_hand(folder) as database:
        for statement in statements:
            database.execute(statement)


def objects_of(path):
    with closing(connect(path, KEY)) as database:
        return {tuple(row) for row in database.rows("SELECT type, name, sql FROM sqlite_master")}


@pytest.fixture
def changed(library, new_take):
    """The folder of a closed library with a recording, and a changed structure."""
    new_take("ward4-0172", seconds=1)
    library.close()
    change(
        library.store.folder,
        "DROP INDEX recordings_by_time",
        "ALTER TABLE pending ADD COLUMN enemy TEXT",
        "CREATE TRIGGER enemy AFTER UPDATE ON recordings BEGIN DELETE FROM results; END",
    )
    return library.store.folder


def test_a_copy_is_made_before_anything_changes(changed, reopen):
    before = objects_of(changed / "library.sqlite")
    reopen()
    assert objects_of(changed / COPY) == before
    assert objects_of(changed / "library.sqlite") != before


def test_another_key_repairs_nothing(changed):
    before = objects_of(changed / "library.sqlite")
    with pytest.raises(LibraryKeyWrong):
        Library(changed, bytes(32))
    assert not (changed / COPY).exists()
    assert objects_of(changed / "library.sqlite") == before


def test_no_room_for_the_copy_changes_nothing(changed, reopen):
    before = objects_of(changed / "library.sqlite")
    (changed / f"{COPY}.new").mkdir()
    with pytest.raises(LibraryUnreadable, match="Make room"):
        reopen()
    assert objects_of(changed / "library.sqlite") == before
    (changed / f"{COPY}.new").rmdir()
    assert len(reopen().list()) == 1


def test_a_repair_that_fails_half_way_changes_nothing(changed, reopen):
    change(changed, "CREATE TABLE before_rebuild_pending (a)", "CREATE INDEX b ON before_rebuild_pending (a)")
    before = objects_of(changed / "library.sqlite")
    with list_by_hand(changed) as database:
        database._connection.set_progress_handler(lambda: database.in_transaction, 300)
        with pytest.raises(Exception, match="left as it was"):
            repair(database, changed / "library.sqlite", KEY, SCHEMA_VERSION)
    assert objects_of(changed / "library.sqlite") == before
    assert len(reopen().list()) == 1


def test_a_repair_killed_at_any_statement_leaves_a_library_that_opens(changed, tmp_path, library):
    """One repair for all: what a power cut before a statement would leave is copied while that statement waits."""
    copies = []

    def copy_before(_statement):
        copies.append(tmp_path / f"killed-{len(copies)}")
        shutil.copytree(changed, copies[-1])

    with list_by_hand(changed) as database:
        trace_statements(database, copy_before)
        assert repair(database, changed / "library.sqlite", KEY, SCHEMA_VERSION)
    assert len(copies) > 10
    for folder in [*copies, changed]:
        with closing(Library(folder, library.store.key)) as opened:
            assert [item.fault for item in opened.list()] == [None], folder.name


def test_a_library_from_before_the_first_release_is_refused_and_stays_as_it_is(library, new_take, reopen):
    new_take("ward4-0172", seconds=1)
    library.close()
    change(library.store.folder, f"UPDATE library SET schema_version = {FIRST_VERSION - 1}")
    before = (library.store.folder / "library.sqlite").read_bytes()
    with pytest.raises(LibraryUnreadable, match=r"before its first release.*Nothing was changed"):
        reopen()
    assert (library.store.folder / "library.sqlite").read_bytes() == before
