"""What a recording says about its language: where it comes from, when it changes, and to whom it is sent."""

from dataclasses import replace
from datetime import timedelta

import pytest

from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.outbox.library.corrections import CorrectionReason
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, metadata_of
from vbdesk.outbox.library.recording_language import with_language_of_other, with_language_of_subject
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote

A, B = "ward4-0172", "ward4-0173"
READS_SECOND = SpokenLanguage("pt-BR", second_language=True)
NOBODY = SpokenLanguage()


def metadata(moment, protocol, prompts=None, spoken=NOBODY):
    capture = {} if prompts is None else {"language": prompts}
    return TakeMetadata(A, moment, RecordingTarget("model", "pulse"), protocol, capture=capture, spoken=spoken)


@pytest.mark.parametrize(
    ("protocol", "prompts", "subject", "spoken"),
    [
        ("reading", "en", READS_SECOND, SpokenLanguage("en", second_language=True)),
        ("reading", "de", NOBODY, SpokenLanguage("de")),
        ("free", "en", READS_SECOND, READS_SECOND),
        ("free", "de", NOBODY, SpokenLanguage("de")),
        ("reading", None, READS_SECOND, READS_SECOND),
        ("", None, NOBODY, NOBODY),
    ],
)
def test_words_that_are_read_have_the_language_of_the_protocol(clock, protocol, prompts, subject, spoken):
    assert with_language_of_subject(metadata(clock.now(), protocol, prompts), subject).spoken == spoken


def test_what_a_list_states_stays_and_the_rest_follows_the_subject(clock):
    stated = metadata(clock.now(), "", spoken=SpokenLanguage("fr"))
    told = with_language_of_subject(stated, READS_SECOND)
    assert told.spoken == SpokenLanguage("fr", second_language=True)
    assert with_language_of_other(told, READS_SECOND, NOBODY).spoken == SpokenLanguage("fr")


@pytest.fixture
def noted(library):
    def note(spoken, group_id=A):
        known = library.subject_notes.note_of(group_id)
        library.subject_notes.store(group_id, replace(known, spoken=spoken))

    return note


def test_the_field_of_a_subject_survives_a_restart_and_other_changes(library, noted, reopen):
    noted(READS_SECOND)
    library.subject_notes.tag_many([A], ["ENT"], added=True)
    library.close()
    assert reopen().subject_notes.note_of(A) == SubjectNote("", ("ENT",), spoken=READS_SECOND)


def test_what_was_not_sent_follows_its_subject_and_what_was_asked_does_not(library, new_take, noted):
    noted(SpokenLanguage("de"))
    here, asked, sent, other = new_take(A), new_take(A), new_take(A), new_take(B)
    library.queue(asked)
    with library.store.changing():
        library.store.write_event_of(asked, {"asked_at": library.store.now()})
        for state in ("waiting", "uploading", "submitted"):
            library.store.move(sent, OutboxState(state))
    noted(READS_SECOND)
    assert library.get(here).spoken == READS_SECOND
    assert library.get(asked).spoken == library.get(sent).spoken == SpokenLanguage("de")
    assert library.get(other).spoken == NOBODY
    assert library.store.findings == ()


def test_a_recording_that_gets_another_subject_says_what_is_known_of_that_one(library, new_take, noted):
    noted(READS_SECOND, A)
    take_id = new_take(A)
    corrections = library.corrections
    corrections.move(corrections.member(take_id), B, next(iter(CorrectionReason)))
    assert library.get(take_id).spoken == NOBODY


@pytest.mark.parametrize("reads", [True, False])
def test_only_a_service_that_reads_the_fields_is_sent_them(
    library, all_done, waiting, noted, sync_worker, service, drive, reads
):
    noted(READS_SECOND)
    service.reads_language = reads
    take_id = waiting(A)
    drive(sync_worker, all_done)
    [fields] = service.asked_fields
    told = {name: fields[name] for name in ("language", "second_language") if name in fields}
    assert told == ({"language": "pt-BR", "second_language": "true"} if reads else {})
    assert library.get(take_id).spoken_sent is reads


@pytest.mark.parametrize("reads_at_first", [True, False])
def test_a_request_is_repeated_with_its_reference_as_it_was(
    library, all_done, waiting, noted, new_sync_worker, service, drive, reads_at_first
):
    noted(READS_SECOND)
    service.clock_ahead, service.reads_refs, service.reads_language = timedelta(), True, reads_at_first
    service.faults["analyze"].append(KeyboardInterrupt())
    waiting(A)
    with pytest.raises(KeyboardInterrupt):
        drive(new_sync_worker())
    service.reads_language = True
    drive(new_sync_worker(), all_done)
    said = ["language" in fields for fields in service.asked_fields]
    assert said and set(said) == {reads_at_first}
    assert len(service.jobs) == 1


def test_a_recording_of_an_earlier_release_says_nothing(library, new_take):
    take_id = new_take(A)
    item = library.get(take_id)
    assert (item.spoken, item.spoken_sent) == (NOBODY, None)
    assert metadata_of(item).spoken == NOBODY
