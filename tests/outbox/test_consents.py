"""Consent events: what is in force, for which recording, whatever the order in which they arrive."""

import itertools
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from list_by_hand import log_by_hand
from vbdesk.data_files import DataFileError
from vbdesk.outbox.library.consent import (
    ConsentChange,
    ConsentEvent,
    ConsentKind,
    ConsentState,
    event_of_tick,
    status_of,
)
from vbdesk.outbox.library.consent_wordings import consent_wordings
from vbdesk.resource_files import resource

EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def event(change, kind, at, expires=None, event_id="e"):
    return ConsentEvent(event_id, "p-1", change, kind, at, expires=expires)


def given(kind, at, expires=None):
    return event(ConsentChange.GIVEN, kind, at, expires)


def withdrawn(kind, at):
    return event(ConsentChange.WITHDRAWN, kind, at)


def test_without_events_there_is_no_consent():
    assert status_of([], EIGHT).state is ConsentState.NONE


def test_a_consent_ends_at_its_expiry_and_a_recording_made_before_stays_covered():
    events = [given(ConsentKind.CLINICAL, EIGHT, EIGHT + DAY)]
    assert status_of(events, EIGHT + DAY - timedelta(microseconds=1)).kind is ConsentKind.CLINICAL
    assert status_of(events, EIGHT + DAY).state is ConsentState.EXPIRED


def test_a_withdrawal_counts_for_earlier_recordings_too():
    events = [given(ConsentKind.BOTH, EIGHT), withdrawn(ConsentKind.BOTH, EIGHT + DAY)]
    assert status_of(events, EIGHT).state is ConsentState.WITHDRAWN


def test_a_withdrawal_for_research_leaves_clinical_consent():
    events = [given(ConsentKind.BOTH, EIGHT), withdrawn(ConsentKind.RESEARCH, EIGHT + DAY)]
    assert status_of(events, EIGHT + 2 * DAY).kind is ConsentKind.CLINICAL


def test_a_second_kind_does_not_replace_the_first():
    events = [given(ConsentKind.CLINICAL, EIGHT), given(ConsentKind.RESEARCH, EIGHT + DAY, EIGHT + 2 * DAY)]
    assert status_of(events, EIGHT + DAY).kind is ConsentKind.BOTH
    assert status_of(events, EIGHT + 2 * DAY).kind is ConsentKind.CLINICAL


@pytest.mark.parametrize("kind", list(ConsentKind))
def test_any_withdrawal_ends_a_consent_whose_kind_is_not_known(kind):
    events = [given(ConsentKind.NOT_STATED, EIGHT), withdrawn(kind, EIGHT + DAY)]
    assert not status_of(events, EIGHT).in_force


def test_of_two_at_the_same_moment_the_withdrawal_wins_in_any_order():
    events = [given(ConsentKind.BOTH, EIGHT), withdrawn(ConsentKind.BOTH, EIGHT), given(ConsentKind.CLINICAL, EIGHT)]
    for order in itertools.permutations(events):
        assert status_of(order, EIGHT).state is ConsentState.WITHDRAWN


def test_the_order_of_arrival_never_matters():
    events = [
        given(ConsentKind.BOTH, EIGHT, EIGHT + 9 * DAY),
        withdrawn(ConsentKind.RESEARCH, EIGHT + DAY),
        given(ConsentKind.RESEARCH, EIGHT + 2 * DAY),
        withdrawn(ConsentKind.CLINICAL, EIGHT + 3 * DAY),
    ]
    for days in range(12):
        assert len({status_of(order, EIGHT + days * DAY).kind for order in itertools.permutations(events)}) == 1


def test_a_tick_of_an_earlier_release_is_the_same_event_on_any_computer():
    one, other = event_of_tick("p-1", EIGHT), event_of_tick("p-1", EIGHT.astimezone())
    assert one == other
    assert one.event_id != event_of_tick("p-2", EIGHT).event_id


def test_wordings_are_found_by_language_and_a_file_may_be_named_for_a_region(tmp_path):
    english = (resource("consent") / "en.toml").read_text(encoding="utf-8")
    for name, tag in (("en", "en"), ("pt_BR", "pt-BR")):
        (tmp_path / f"{name}.toml").write_text(english.replace('language = "en"', f'language = "{tag}"'), "utf-8")
    found = consent_wordings(tmp_path)
    assert list(found) == ["en", "pt-BR"]
    assert [found["pt-BR"].is_for(tag) for tag in ("pt", "pt_PT", "en", "p")] == [True, True, False, False]
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "de.toml").write_text(english, "utf-8")
    with pytest.raises(DataFileError, match="named for another language"):
        consent_wordings(wrong)


# In the library


def test_events_survive_a_new_start_and_are_in_the_audit_log_without_the_subject(library, reopen):
    noted = library.consents.give(
        "ward4-1", ConsentKind.RESEARCH, wording="1", language="en", asked_by=" N. N. ", expires=EIGHT + 400 * DAY
    )
    library.close()
    opened = reopen()
    assert opened.consents.of("ward4-1").events == (noted,)
    assert noted.asked_by == "N. N."
    entries = [entry for entry in opened_entries(opened) if entry.what == "consent noted"]
    assert [entry.detail for entry in entries] == [f"given, research, {noted.event_id}"]
    assert "ward4-1" not in repr(entries)
    assert opened.warnings == ()


def opened_entries(library):
    from vbdesk.outbox.library.audit_reader import AuditReader

    return AuditReader(library.store.folder, library.store.key).entries()


def test_what_was_written_is_not_readable_in_the_file(library):
    library.consents.give("ward4-1", ConsentKind.RESEARCH, asked_by="Dr Wintergreen")
    library.close()
    assert b"Wintergreen" not in b"".join(path.read_bytes() for path in library.store.folder.glob("library.sqlite*"))


def test_a_withdrawal_here_beats_a_consent_of_a_clock_that_was_years_ahead(library):
    library.consents.take_in([given(ConsentKind.BOTH, EIGHT + 3000 * DAY)])
    library.consents.withdraw("p-1")
    assert library.consents.status("p-1").state is ConsentState.WITHDRAWN
    library.consents.give("p-1", ConsentKind.CLINICAL)
    assert library.consents.status("p-1").in_force


def test_known_events_are_not_taken_in_twice(library):
    events = [given(ConsentKind.BOTH, EIGHT)]
    assert (library.consents.take_in(events), library.consents.take_in(events)) == (1, 0)


def test_events_can_be_neither_changed_nor_removed(library):
    library.consents.give("ward4-1", ConsentKind.BOTH)
    for statement in ("DELETE FROM audit", "UPDATE audit SET subject_keys = 'x'"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"), library.store.changing() as database:
            database.execute(statement)
    assert library.consents.status("ward4-1").in_force


def test_an_event_moved_to_another_subject_is_unreadable_there_and_sending_is_held(library, reopen):
    library.consents.give("ward4-1", ConsentKind.BOTH)
    library.consents.give("ward4-2", ConsentKind.BOTH)
    library.close()
    with log_by_hand(library.store.folder) as database:
        database.execute("UPDATE audit SET subject_keys = (SELECT subject_keys FROM audit WHERE seq = 2) WHERE seq = 1")
    opened = reopen()
    assert opened.consents.status("ward4-2").state is ConsentState.UNREADABLE
    assert opened.consents.status("ward4-1").state is ConsentState.NONE
    assert opened.findings
