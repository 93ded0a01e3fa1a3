"""A library of version 8, whose trash had a table of its own: the present version can restore each entry."""

import copy
import json
import shutil
import sys
import zipfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from days_of_use import use_daily
from list_by_hand import copies_of_conversion, everything_under, list_by_hand

sys.path.append(str(Path(__file__).parents[1] / "data" / "upgrade_base"))

from as_values import item_values, plain

from vbdesk.clock import ManualClock
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.integrity_check import ROWS_MISSING
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.outbox.library.rows import ROW_CHANGED
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.trash import ENTRY_CHANGED
from vbdesk.outbox.sync.upload_queue import UploadQueue

DATA = Path(__file__).parents[1] / "data" / "library_8"
KEY = bytes(range(32))
DAY = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
RECORDED = json.loads((DATA / "recorded.json").read_text(encoding="utf-8"))
TRASH, HERE = RECORDED["trash"], RECORDED["here"]
TAKEN = {"its time was taken", "taken in another subject"}
"""Recordings whose time another one has by now: version 8 refused to restore them."""


@pytest.fixture
def folder(tmp_path):
    with zipfile.ZipFile(DATA / "library.zip") as archive:
        archive.extractall(tmp_path / "library")
    return tmp_path / "library"


@pytest.fixture
def opened(folder):
    made = []

    def open_it():
        made.append(Library(folder, KEY, ManualClock(DAY)))
        return made[-1]

    yield open_it
    for library in made:
        library.close()


def values_of(library, take_id):
    """Everything that a library knows of a recording, as in the record."""
    item = library.get(take_id)
    event = library.store.rows("SELECT * FROM pending WHERE take_id = ?", (take_id,))
    sound = None
    if item.audio_gone_at is None:
        sound = plain(library.original(take_id)) if item.imported else library.whole_audio(take_id).sha256()
    return {
        "take_id": take_id,
        "item": item_values(item),
        "event": dict(event[0]) if event else None,
        "sound": sound,
        "opened": bool(library.store.rows("SELECT 1 FROM opened WHERE take_id = ?", (take_id,))),
    }


def by_hand(folder, statement, *values):
    with list_by_hand(folder) as opened:
        opened.execute("PRAGMA foreign_keys = OFF")
        assert opened.execute(statement, values).rowcount == 1


@pytest.mark.parametrize("name", sorted(TRASH))
def test_each_entry_comes_back_with_sound_result_and_place_in_the_queue(opened, folder, name):
    expected, library = copy.deepcopy(TRASH[name]), opened()
    assert library.warnings == ()
    deleted = {each.take_id: plain(each.deleted_at) for each in library.trash.items()}
    assert deleted == {each["take_id"]: each["deleted_at"] for each in TRASH.values()}
    assert {item.take_id for item in library.list()} == set(HERE.values())
    assert UploadQueue(library.store).events() == []
    assert set(library.changes_since(0).removed) == set(deleted)
    take_id = expected["take_id"]
    library.trash.restore(take_id)
    assert set(library.changes_since(0).removed) == set(deleted) - {take_id}
    found = values_of(library, take_id)
    if name in TAKEN:
        moment = datetime.fromisoformat(expected["item"]["recorded_at"]) + timedelta(microseconds=1)
        expected["item"]["recorded_at"] = moment.isoformat()
    del expected["deleted_at"]
    assert found == expected
    library.close()
    again = opened()
    assert again.warnings == ()
    assert values_of(again, take_id) == expected
    assert AuditReader(folder, KEY).verify().ok


def test_the_same_trash_of_version_9_comes_back_too(tmp_path):
    """Its consents are events already, so this step is the only one."""
    with zipfile.ZipFile(DATA / "library_9.zip") as archive:
        archive.extractall(tmp_path / "library")
    with closing(Library(tmp_path / "library", KEY, ManualClock(DAY))) as library:
        assert library.warnings == ()
        recorded = json.loads((DATA / "recorded_9.json").read_text(encoding="utf-8"))["trash"]
        assert recorded.keys() == TRASH.keys()
        for name, expected in recorded.items():
            library.trash.restore(expected["take_id"])
            found = values_of(library, expected["take_id"]) | {"deleted_at": expected["deleted_at"]}
            moment = found["item"].pop("recorded_at")
            assert (moment == expected["item"].pop("recorded_at")) == (name not in TAKEN)
            assert found == expected, name


def test_what_was_to_be_searched_first_still_is(opened):
    library = opened()
    for each in TRASH.values():
        library.trash.restore(each["take_id"])
    asked = {event.take_id for event in UploadQueue(library.store).events() if event.asked_at is not None}
    assert asked == {TRASH["waiting, an older list was accepted since"]["take_id"]}


def test_every_entry_can_still_be_destroyed(opened, folder):
    library = opened()
    keys = [library.store.row(each["take_id"])["take_key"] for each in TRASH.values()]
    library.trash.destroy([each["take_id"] for each in TRASH.values()])
    found = everything_under(folder)
    assert not any(key in found for key in keys if key is not None)
    assert {path.stem for path in library.store.takes_folder.iterdir()} == set(HERE.values())
    library.close()
    assert opened().warnings == ()


CHANGES = {
    "the document": ("sealed", "zeroblob(60)"),
    "an empty document": ("sealed", "zeroblob(0)"),
    "no document": ("sealed", "'text'"),
    "the document of another": ("sealed", "(SELECT sealed FROM trash WHERE take_id <> :take_id)"),
    "the key": ("take_key", "zeroblob(60)"),
    "the key of another": ("take_key", "(SELECT take_key FROM trash WHERE take_id <> :take_id)"),
    "an earlier deletion": ("deleted_at", "'2020-01-01T00:00:00.000000+00:00'"),
    "a deletion that is no time": ("deleted_at", "x'ff'"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["waiting", "done"])
def test_a_changed_entry_stays_a_named_finding(opened, folder, change, name):
    take_id, (column, value) = TRASH[name]["take_id"], CHANGES[change]
    with list_by_hand(folder) as written:
        statement = f"UPDATE trash SET {column} = {value} WHERE take_id = :take_id"
        assert written.execute(statement, {"take_id": take_id}).rowcount == 1
    library = opened()
    assert ROWS_MISSING in library.findings
    assert any("1 recording was changed" in sentence for sentence in library.warnings)
    faults = {each.take_id: each.fault for each in library.trash.items()}
    assert faults == {each["take_id"]: None for each in TRASH.values()} | {take_id: ENTRY_CHANGED}
    with pytest.raises(NotAllowed, match="changed by something other"):
        library.trash.restore(take_id)
    assert library.store.path(take_id).exists()
    library.accept_copy()
    use_daily(library, 100)
    while library.trash.destroy_due():
        pass
    assert [each.take_id for each in library.trash.items()] == [take_id], "only a person destroys it"
    library.discard(take_id, at_once=True)
    assert library.trash.items() == []
    assert not library.store.path(take_id).exists()
    library.close()
    assert opened().warnings == ()


def test_an_older_entry_of_a_recording_that_is_here_is_kept_and_named(opened, folder):
    """Only something else can put it there. The recording here is the one with the sound."""
    take_id, here = TRASH["done"]["take_id"], HERE["here"]
    library = opened()
    library.trash.restore(take_id)
    row = library.store.row(take_id)
    result = library.store.rows("SELECT * FROM results WHERE take_id = ?", (take_id,))[0]["sealed"]
    library.close()
    shutil.rmtree(folder)
    with zipfile.ZipFile(DATA / "library.zip") as archive:
        archive.extractall(folder)
    columns = {name: value for name, value in row.items() if name != "deleted_at"}
    marks = ", ".join("?" * len(columns))
    by_hand(folder, f"INSERT INTO recordings ({', '.join(columns)}) VALUES ({marks})", *columns.values())
    by_hand(folder, "INSERT INTO results VALUES (?, ?)", take_id, result)
    library = opened()
    assert ROWS_MISSING in library.findings
    assert [library.get(each).fault for each in (take_id, here)] == [None, None]
    (changed,) = [each for each in library.trash.items() if each.fault is not None]
    assert changed.take_id not in {take_id, *(each["take_id"] for each in TRASH.values())}
    assert library.store.row(changed.take_id)["take_key"] == row["take_key"], "nothing of it is lost"
    assert len(library.trash.items()) == len(TRASH)
    with pytest.raises(NotAllowed):
        library.trash.restore(changed.take_id)
    library.trash.destroy([changed.take_id])
    assert library.store.path(take_id).exists()
    assert library.store.row(take_id)["take_key"] == row["take_key"]


def test_an_event_that_another_recording_has_by_now_is_another_one_and_searched_first(opened, folder):
    event, here = TRASH["waiting"]["event"], HERE["has the time"]
    by_hand(
        folder,
        "INSERT INTO pending (event_id, take_id, kind) VALUES (?, ?, 'send')",
        event["event_id"],
        here,
    )
    library = opened()
    library.trash.restore(event["take_id"])
    rows = {row["take_id"]: row for row in library.store.rows("SELECT * FROM pending")}
    assert rows[here]["event_id"] == event["event_id"] != rows[event["take_id"]]["event_id"]
    assert rows[event["take_id"]]["asked_at"] is not None
    assert library.get(event["take_id"]).fault is None


def test_a_row_that_was_changed_before_the_conversion_stays_so(opened, folder):
    by_hand(folder, "UPDATE recordings SET state = 'failed' WHERE take_id = ?", HERE["here"])
    library = opened()
    assert {item.take_id: item.fault for item in library.list()} == dict.fromkeys(HERE.values()) | {
        HERE["here"]: ROW_CHANGED
    }


def test_a_conversion_killed_at_any_statement_loses_nothing(folder, tmp_path, monkeypatch):
    copies = copies_of_conversion(folder, tmp_path, monkeypatch, lambda: Library(folder, KEY, ManualClock(DAY)).close())
    assert len(copies) > 50
    for each in copies[:: len(copies) // 12] + copies[-1:]:
        with closing(Library(each, KEY, ManualClock(DAY))) as library:
            assert library.warnings == (), each.name
            assert {entry.take_id for entry in library.trash.items()} == {one["take_id"] for one in TRASH.values()}
            take_id = TRASH["done"]["take_id"]
            library.trash.restore(take_id)
            assert library.get(take_id).state is OutboxState.DONE
            assert library.whole_audio(take_id).sha256() == TRASH["done"]["sound"]
