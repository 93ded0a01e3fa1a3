"""The list of recordings on the disk: every page is encrypted and authenticated; an older list is encrypted once.

How it would break: somebody reads subjects, times or states from the file or its log; changes a page, or puts an older
page back; the conversion is cut off, has no room, gets another key, or loses or changes a row; the unencrypted list
stays beside the new one; a damaged list is said to belong to another key, or the other way round.
"""

import os
import re
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

import vbdesk
from list_by_hand import KEY, list_by_hand
from vbdesk.outbox.library import database as list_database
from vbdesk.outbox.library.database import LibraryKeyWrong, LibraryUnreadable
from vbdesk.outbox.library.encrypted_sqlite import connect, is_plain, key_mark
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.store import ROWS_MISSING

PAGE = 4096
FROZEN = Path(__file__).parents[1] / "data" / "upgrade_base" / "desk.zip"
NAME = "library.sqlite"


@pytest.fixture
def folder(library, new_take):
    """The folder of a closed library with recordings in several states."""
    for number in range(30):
        take_id = new_take(f"ward4-{number:04}", seconds=1, note="hoarse since Monday")
        if number % 2:
            library.queue(take_id)
    library.close()
    return library.store.folder


@pytest.fixture
def plain_folder(folder):
    """The same list as earlier versions wrote it: columns encrypted, pages not."""
    target = folder / "plain"
    with list_by_hand(folder) as database, closing(connect(target, None)) as plain:
        objects = database.rows(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type = 'trigger'"
        )
        for row in objects:
            plain.execute(row["sql"])
            if row["type"] == "table":
                for values in database.rows(f"SELECT * FROM {row['name']}"):
                    marks = ", ".join("?" * len(values))
                    plain.execute(f"INSERT INTO {row['name']} VALUES ({marks})", tuple(values))
    target.replace(folder / NAME)
    assert is_plain(folder / NAME)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.glob(f"{NAME}*")}


def groups(folder):
    with closing(Library(folder, KEY)) as opened:
        assert opened.warnings == ()
        return sorted((item.group_id, item.state, item.note, item.fault) for item in opened.list())


def test_nothing_is_readable_in_the_list_or_its_log(library, new_take):
    take_id = new_take("ward4-0172", seconds=1)
    library.queue(take_id)
    year = str(library.get(take_id).recorded_at.year).encode()
    files = contents(library.store.folder)
    assert files[NAME][:16] == key_mark(KEY)
    assert len(files[f"{NAME}-wal"]) > PAGE
    for content in files.values():
        for word in (b"ward4", b"SQLite", b"CREATE TABLE", b"waiting", year + b"-", take_id.encode()):
            assert word not in content


def test_each_changed_page_is_found(folder):
    whole = (folder / NAME).read_bytes()
    pages = range(len(whole) // PAGE)
    assert len(pages) > 20
    for page in pages:
        changed = bytearray(whole)
        changed[page * PAGE + 2000] ^= 1
        (folder / NAME).write_bytes(changed)
        with list_by_hand(folder) as database, pytest.raises(sqlite3.DatabaseError):
            assert database.rows("PRAGMA integrity_check")[0][0] == "ok"
            raise AssertionError(page)


def test_older_pages_of_the_same_number_are_found_by_the_sums(folder, new_take, reopen):
    """The authentication of a page does not stop them: the sums over all rows do."""
    before = (folder / NAME).read_bytes()
    with closing(Library(folder, KEY)) as opened:
        opened.discard(opened.list()[0].take_id, at_once=True)
        opened.store.scrub()
    after = (folder / NAME).read_bytes()
    length = min(len(before), len(after))
    changed = [page for page in range(length // PAGE) if before[page * PAGE :][:PAGE] != after[page * PAGE :][:PAGE]]
    assert len(changed) > 3
    found = []
    for page in changed[1:]:  # the first page counts the changes, so an old one would be an older list
        mixed = bytearray(after)
        mixed[page * PAGE : (page + 1) * PAGE] = before[page * PAGE : (page + 1) * PAGE]
        (folder / NAME).write_bytes(mixed)
        for log in folder.glob(f"{NAME}-*"):
            log.unlink()
        try:
            with closing(Library(folder, KEY)) as opened:
                faults = [item for item in opened.list() if item.fault is not None]
                found.append(ROWS_MISSING in opened.warnings or bool(opened.store.findings) or bool(faults))
        except LibraryUnreadable:
            found.append(True)
    assert any(found)


def test_an_earlier_list_is_encrypted_once_and_nothing_of_it_stays(plain_folder):
    assert b"ward4-0007" in (plain_folder / NAME).read_bytes()
    known = groups(plain_folder)
    assert [group for group, *_ in known] == [f"ward4-{number:04}" for number in range(30)]
    assert {(note, fault) for _, _, note, fault in known} == {("hoarse since Monday", None)}
    files = contents(plain_folder)
    assert files[NAME][:16] == key_mark(KEY)
    assert all(b"ward4-0007" not in content for content in files.values())
    assert groups(plain_folder) == known


def test_the_list_of_the_base_version_is_encrypted(tmp_path):
    with zipfile.ZipFile(FROZEN) as archive:
        archive.extractall(tmp_path)
    lists = list(tmp_path.rglob(NAME))
    assert len(lists) == 2
    assert all(is_plain(path) for path in lists), "the tests of the upgrade begin from it"


@pytest.mark.parametrize("step", ["write_encrypted", "_all_rows", "fsync", "replace"])
def test_a_conversion_cut_off_at_any_step_begins_again(plain_folder, monkeypatch, step):
    class Cut(BaseException):
        pass

    def cut(*_):
        raise Cut

    with monkeypatch.context() as patch:
        if step == "fsync":
            patch.setattr(os, "fsync", cut)
        elif step == "replace":
            patch.setattr(Path, "replace", cut)
        else:
            patch.setattr(list_database, step, cut)
        with pytest.raises(Cut):
            Library(plain_folder, KEY)
    assert is_plain(plain_folder / NAME)
    assert len(groups(plain_folder)) == 30
    assert not (plain_folder / f"{NAME}.encrypted").exists()


def test_a_copy_that_lost_a_row_is_never_used(plain_folder, monkeypatch):
    write = list_database.write_encrypted

    def lossy(plain, target, key):
        write(plain, target, key)
        with closing(connect(target, key)) as copy:
            copy.execute("DELETE FROM jobs WHERE rowid = 1")
            copy.execute("DELETE FROM recordings WHERE rowid = 7")

    monkeypatch.setattr(list_database, "write_encrypted", lossy)
    before = (plain_folder / NAME).read_bytes()
    with pytest.raises(LibraryUnreadable, match="Nothing is lost and nothing was changed"):
        Library(plain_folder, KEY)
    assert (plain_folder / NAME).read_bytes() == before


def test_a_full_disk_leaves_the_earlier_list_as_it_is(plain_folder, monkeypatch):
    def full(*_):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorname = "SQLITE_FULL"
        raise error

    before = (plain_folder / NAME).read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(list_database, "write_encrypted", full)
        with pytest.raises(LibraryUnreadable, match="make room"):
            Library(plain_folder, KEY)
    assert (plain_folder / NAME).read_bytes() == before
    assert len(groups(plain_folder)) == 30


def test_another_key_encrypts_nothing(plain_folder):
    before = (plain_folder / NAME).read_bytes()
    with pytest.raises(LibraryKeyWrong):
        Library(plain_folder, bytes(32))
    assert (plain_folder / NAME).read_bytes() == before


def test_another_key_and_a_damaged_list_are_told_apart(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "damaged")
    before = contents(folder)
    with pytest.raises(LibraryKeyWrong):
        Library(folder, bytes(32))
    assert contents(folder) == before
    content = bytearray((folder / NAME).read_bytes())
    content[:600] = bytes(600)
    (tmp_path / "damaged" / NAME).write_bytes(content)
    with pytest.raises(LibraryUnreadable):
        Library(tmp_path / "damaged", KEY)


def test_a_program_that_still_reads_the_earlier_list_delays_its_conversion(plain_folder):
    with closing(connect(plain_folder / NAME, None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN")
        other.rows("SELECT * FROM recordings")
        with closing(connect(plain_folder / NAME, None)) as writer:
            writer.execute("UPDATE library SET version = version")
        with pytest.raises(LibraryUnreadable, match="another program holds the list"):
            Library(plain_folder, KEY)
        other.execute("COMMIT")
    assert len(groups(plain_folder)) == 30


def test_undecodable_text_becomes_replacement_characters(tmp_path):
    with closing(connect(tmp_path / "a", KEY)) as database:
        database.execute("CREATE TABLE t (a INTEGER, b)")
        database.execute("INSERT INTO t VALUES (1, CAST(x'61ff62' AS TEXT)), (2, x'ff'), (3, NULL)")
        with pytest.raises(UnicodeDecodeError):
            database.execute("SELECT * FROM t")
        found = database.rows("SELECT t.*, a AS again FROM t WHERE a < ? ORDER BY a", (4,))
    assert [dict(row) for row in found] == [
        {"a": 1, "b": "a\N{REPLACEMENT CHARACTER}b", "again": 1},
        {"a": 2, "b": b"\xff", "again": 2},
        {"a": 3, "b": None, "again": 3},
    ]


def test_errors_are_those_of_the_standard_module(tmp_path):
    with closing(connect(tmp_path / "a", KEY)) as database:
        database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        database.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(sqlite3.IntegrityError) as twice:
            database.execute("INSERT INTO t VALUES (1)")
        assert twice.value.sqlite_errorname == "SQLITE_CONSTRAINT_PRIMARYKEY"
        database.execute("BEGIN IMMEDIATE")
        with (
            closing(connect(tmp_path / "a", KEY, timeout_s=0)) as other,
            pytest.raises(sqlite3.OperationalError) as busy,
        ):
            other.execute("BEGIN IMMEDIATE")
        assert busy.value.sqlite_errorname == "SQLITE_BUSY"
        database.execute("COMMIT")
        with (
            pytest.raises(sqlite3.OperationalError, match="readonly"),
            closing(connect(tmp_path / "a", KEY, read_only=True)) as reader,
        ):
            reader.execute("DELETE FROM t")
    with pytest.raises(sqlite3.Error):
        database.execute("SELECT 1")


def test_nothing_else_opens_a_database_of_a_library():
    """Two SQLite libraries in one process lose each other's locks on a file."""
    source = Path(vbdesk.__file__).parent
    opens = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"\bapsw\b|\bsqlite3\.connect\b", path.read_text(encoding="utf-8"))
    }
    assert opens == {"outbox/library/encrypted_sqlite.py", "service/kernel/db/backup.py"}
