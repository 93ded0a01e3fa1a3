"""An import while it is edited: every reason at once, edits of many rows, undo, nothing lost."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from vbdesk.outbox.imports.import_draft import ImportDraft, RowField
from vbdesk.outbox.imports.import_row import FileFacts, ImportRow, KnownRecordings
from vbdesk.outbox.imports.name_pattern import NamePattern
from vbdesk.outbox.library.items import RecordingTarget
from vbdesk.outbox.library.typed_subjects import TypedSubject, TypedSubjects

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
WRITTEN = datetime(2026, 11, 20, 9, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
NAMES = ("s1_2026-11-01_14-30", "s2_20261102", "s3_03-04-2026", "plain")


def as_typed(text):
    """A subject without names in other scripts."""
    return TypedSubject(text.strip())


def draft(names=NAMES, group_id="", known=KnownRecordings(), zone=BERLIN, find=as_typed):
    rows = [
        ImportRow(number, Path(f"/visit/{name}.wav"), group_id, WRITTEN, RecordingTarget("model", "pulse"))
        for number, name in enumerate(names, start=1)
    ]
    made = ImportDraft(rows, known, zone, lambda: NOON, find)
    made.set_facts({row.number: FileFacts(20.0, f"digest {row.number}") for row in rows})
    return made


def times(made):
    return [made.text_of(row, RowField.TIME) for row in made.rows]


def test_a_row_tells_all_its_faults_at_once():
    made = draft(["a"])
    made.edit([1], RowField.TIME, "2027-01-01 12:00")
    made.edit([1], RowField.PROTOCOL, "yodel")
    made.set_facts({1: FileFacts(4.0, "x")})
    told = made.rows[0].error
    for words in ("Enter a subject.", "in the future", "no protocol yodel", "4 s long"):
        assert words in told


def test_names_give_times_and_only_an_unclear_one_is_asked_for():
    made = draft(group_id="s")
    made.apply(NamePattern(), range(1, 5))
    assert times(made) == ["2026-11-01 14:30", "2026-11-02", "", "2026-11-20 10:00"]
    assert made.rows[0].recorded_at == datetime(2026, 11, 1, 13, 30, tzinfo=UTC)
    assert [bool(row.faults) for row in made.rows] == [False, True, True, False]
    assert "time of day is missing" in made.rows[1].error
    assert "exchanged" in made.rows[2].error
    assert made.rows[3].notes == ("Recorded when the file was last written.",)


def test_a_day_in_the_name_keeps_the_time_at_which_the_file_was_written_that_day():
    made = draft(["s_2026-11-20"], group_id="s")
    made.apply(NamePattern(), [1])
    assert made.rows[0].recorded_at == WRITTEN


def test_a_pattern_fills_what_it_finds_and_leaves_the_rest():
    made = draft(group_id="typed")
    found = made.preview(NamePattern("{subject}_{date}*"), range(1, 5))
    assert (found.rows, found.subjects, found.times) == (4, 2, 0)
    assert (found.example, found.found_subject) == ("s1_2026-11-01_14-30.wav", "s1")
    assert (found.missed, found.reason) == ("s3_03-04-2026.wav", "The name does not fit the pattern.")
    made.apply(NamePattern("{subject}_{date}_{time}"), range(1, 5))
    assert [row.group_id for row in made.rows] == ["s1", "typed", "typed", "typed"]
    assert times(made)[0] == "2026-11-01 14:30"
    with pytest.raises(ValueError, match="not known"):
        made.apply(NamePattern("{who}"), [1])
    assert made.rows[0].group_id == "s1"


def test_a_time_of_day_keeps_the_day_of_each_row_and_a_day_keeps_its_time():
    made = draft(group_id="s")
    made.apply(NamePattern(), range(1, 5))
    made.edit([1, 2], RowField.TIME, "9:15")
    assert times(made)[:2] == ["2026-11-01 09:15", "2026-11-02 09:15"]
    made.edit([1, 2], RowField.TIME, "05.11.2026")
    assert times(made)[:2] == ["2026-11-05 09:15"] * 2


def test_what_was_typed_stays_in_the_cell_even_if_it_is_wrong_or_empty():
    made = draft(["a"], group_id="s")
    made.edit([1], RowField.TIME, "03/04/2026")
    made.edit([1], RowField.SUBJECT, "Hans Müller")
    assert times(made) == ["03/04/2026"]
    assert made.text_of(made.rows[0], RowField.SUBJECT) == "Hans Müller"
    made.edit([1], RowField.TIME, "")
    assert "Enter the time" in made.rows[0].error


def test_many_rows_are_edited_at_once_and_each_edit_can_be_undone():
    made = draft()
    made.edit([1, 3], RowField.SUBJECT, "p-1")
    made.edit([1, 2, 3, 4], RowField.TAGS, "pilot; ward, pilot")
    assert [row.group_id for row in made.rows] == ["p-1", "", "p-1", ""]
    assert {row.tags for row in made.rows} == {("pilot", "ward")}
    made.leave_out([2, 4])
    assert [row.number for row in made.rows] == [1, 3]
    made.set_facts({4: FileFacts(30.0, "later")})
    for _ in range(3):
        made.undo()
    assert [row.group_id for row in made.rows] == ["", "", "", ""]
    assert [row.duration_s for row in made.rows] == [20.0, 20.0, 20.0, 30.0]
    assert not made.can_undo


def test_the_zone_counts_for_times_without_an_offset_only():
    made = draft(["a", "b", "c"], group_id="s")
    made.edit([1], RowField.TIME, "2026-11-01 12:00")
    made.edit([2], RowField.TIME, "2026-11-01 12:00+05:00")
    made.set_zone(UTC)
    assert [row.recorded_at.hour for row in made.rows] == [12, 7, 9]
    made.set_zone(ZoneInfo("America/New_York"))
    assert [row.recorded_at.hour for row in made.rows] == [17, 7, 9]
    made.edit([1], RowField.TIME, "2026-11-01 01:30")
    assert "occurred twice in America/New_York" in made.rows[0].error


def test_duplicates_are_named():
    seen = KnownRecordings(frozenset({"old"}), frozenset({("s9", WRITTEN)}))
    made = draft(["a", "b", "c", "d"], group_id="s", known=seen)
    made.set_facts({2: FileFacts(20.0, "digest 1"), 3: FileFacts(20.0, "old")})
    made.edit([4], RowField.SUBJECT, "s9")
    assert made.rows[0].faults == ()
    assert made.rows[1].error == "This is the same recording as in row 1."
    assert made.rows[2].error == "This recording is in the library already."
    assert any("The library has a recording" in note for note in made.rows[3].notes)
    assert any("Same subject and time as row 1" in note for note in made.rows[1].notes)
    made.leave_out([1])
    assert made.rows[0].faults == ()


def test_a_name_is_the_same_subject_however_it_is_written_and_after_an_undo(library):
    find = TypedSubjects(library.subject_notes).find
    made = draft(["a", "b", "c"], find=find)
    made.edit([1], RowField.SUBJECT, "Übung 7")
    made.edit([2], RowField.SUBJECT, "ÜBUNG  7")
    made.edit([3], RowField.SUBJECT, "Ｐ-0042")
    first, second, third = made.rows
    assert first.group_id == second.group_id
    assert first.alias == made.text_of(first, RowField.SUBJECT) == "Übung 7"
    assert (third.group_id, third.alias) == ("P-0042", "")
    made.edit([1], RowField.SUBJECT, "x")
    made.undo()
    assert made.rows[0].group_id == second.group_id
    library.subject_notes.store_alias("s-known", "Übung 7")  # as another page may do meanwhile
    made.know(KnownRecordings())
    assert {row.group_id for row in made.rows} == {"s-known", "P-0042"}
    assert library.subject_notes.note_of(first.group_id).alias == ""
