"""Consents of a subject, for each purpose, from its events."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.consent import ConsentChange, ConsentEvent, ConsentKind, SubjectConsent, status_of
from vbdesk.outbox.results.recording_details import consent_grants, with_consents, with_unreadable_consents
from vbdesk.report.subject_record import RecordSource, subject_record

DAY = timedelta(days=1)
FIRST = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


def event(number, change, kind, **more):
    return ConsentEvent(f"e{number}", "s-1", ConsentChange(change), ConsentKind(kind), FIRST + number * DAY, **more)


def grants(*events):
    return consent_grants(SubjectConsent(tuple(sorted(events, key=lambda one: one.at))))


def told(*events):
    return [(one.event_id, one.purpose, one.active) for one in grants(*events)]


def test_a_consent_for_both_is_two_that_end_apart():
    given, withdrawn = event(1, "given", "both"), event(2, "withdrawn", "research")
    assert told(given) == [("e1", "clinical", True), ("e1", "research", True)]
    assert told(given, withdrawn) == [("e1", "clinical", True), ("e1", "research", False)]
    assert grants(given, withdrawn)[1].until == withdrawn.at


def test_a_newer_consent_ends_the_older_one():
    old = event(1, "given", "clinical", expires=FIRST + 400 * DAY)
    new = event(2, "given", "clinical", expires=FIRST + 5 * DAY)
    first, second = grants(old, new)
    assert (first.active, first.until) == (False, new.at)
    assert (second.active, second.until) == (True, new.expires)


def test_a_withdrawal_without_a_consent_is_a_refusal():
    [refused] = grants(event(1, "withdrawn", "research"))
    assert (refused.purpose, refused.refused, refused.active) == ("research", True, False)
    assert [one.purpose for one in grants(event(1, "withdrawn", "both"))] == ["clinical", "research"]


def test_a_withdrawal_ends_a_tick_of_an_earlier_release():
    tick = event(1, "given", "not_stated", expires=FIRST + 2 * DAY)
    assert told(tick, event(2, "withdrawn", "research"))[0] == ("e1", "not_stated", False)


def test_what_is_active_is_what_the_desk_says():
    pool = [
        event(1, "given", "both"),
        event(2, "withdrawn", "research"),
        event(3, "given", "research"),
        event(4, "withdrawn", "both"),
        event(5, "given", "clinical"),
    ]
    for count in range(1, 6):
        for chosen in permutations(pool, count):
            active = {one.purpose for one in grants(*chosen) if one.active}
            kind = status_of(chosen, FIRST + 10 * DAY).kind
            assert active == {None: set(), "both": {"clinical", "research"}}.get(kind, {kind})


def test_a_consent_never_becomes_active_again():
    pool = [event(1, "given", "both"), event(2, "withdrawn", "both"), event(3, "given", "both")]
    for order in permutations(pool):
        ended = set()
        for count in range(1, 4):
            found = grants(*order[:count])
            assert not ended & {(one.event_id, one.purpose) for one in found if one.active}
            ended |= {(one.event_id, one.purpose) for one in found if not one.active}


def test_nothing_is_told_where_an_event_is_unreadable():
    assert consent_grants(SubjectConsent((event(1, "given", "both"),), unreadable=True)) == ()


@pytest.fixture
def records():
    return [subject_record(name, RecordSource("https://voice.example", "a"), []) for name in ("s-1", "s-2")]


def test_records_get_the_consents_of_their_subject_without_who_asked(library, records):
    library.consents.give("s-1", ConsentKind.BOTH, wording="2.0", language="de", asked_by="Nurse Joy")
    first, second = with_consents(library, records)
    assert [(one.purpose, one.wording, one.language) for one in first.consents] == [
        ("clinical", "2.0", "de"),
        ("research", "2.0", "de"),
    ]
    assert second.consents == ()
    assert "Joy" not in repr(first)


def test_a_changed_consent_is_named_and_left_out(library, records):
    library.consents.give("s-1", ConsentKind.BOTH)
    with library.store.changing():
        library.store.journal.note(AuditAction.CONSENT_TAKEN_IN, None, outlasts="s-1")  # nobody can read it
    assert with_unreadable_consents(library, ["s-1", "s-2"]) == ["s-1"]
    assert with_consents(library, records)[0].consents == ()
