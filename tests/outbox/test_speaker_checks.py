"""Every recording is compared with its subject's earlier ones, whichever way it came in; nothing of it leaves."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import soundfile as sf

from vbdesk.outbox.bundles.bundle_manifest import BundledTake
from vbdesk.outbox.imports import speaker_checks
from vbdesk.outbox.imports.speaker_checks import SpeakerChecks, confirm_voice
from vbdesk.outbox.imports.speaker_comparison import SpeakerComparison, comparison_rules, raises_question, sounds_unlike
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.items import RecordingTarget, SpeakerFinding, TakeMetadata, metadata_of
from vbdesk.outbox.library.states import OutboxState

DATA = Path(__file__).parents[1] / "data"
HER, HIM = "speech_kathleen_20s.flac", "speech_male_20s.flac"
MONDAY = datetime(2026, 3, 2, 9, 0, 0, 1, tzinfo=UTC)


@pytest.fixture
def visit(library, tmp_path):
    """Import ten seconds of a voice as a recording of a day; returns its take id."""

    def make(voice, day, group_id="ward4-0172", half=0, **more):
        samples, rate = sf.read(DATA / voice, dtype="int16")
        path = tmp_path / f"{voice}-{day}-{half}.flac"
        sf.write(path, samples[10 * rate * half : 10 * rate * (half + 1)], rate)
        moment = MONDAY + timedelta(days=day)
        return library.import_file(path, TakeMetadata(group_id, moment, RecordingTarget("model", "pulse"), **more))

    return make


def run(library):
    checks = SpeakerChecks(library)
    while checks.step():
        pass
    return checks


def unlike(library, *take_ids):
    return [sounds_unlike(library.get(take_id)) for take_id in take_ids]


def test_another_voice_raises_the_question_and_the_same_does_not(library, visit):
    first, same, other, later = visit(HER, 0), visit(HER, 1, half=1), visit(HIM, 2), visit(HER, 3)
    run(library)
    assert unlike(library, first, same, other, later) == [False, False, True, False]
    assert library.get(first).speaker is None
    assert library.get(other).speaker.earlier == (same, first)
    assert library.get(later).speaker.similarity > comparison_rules().unlike_below


def test_a_second_try_of_the_same_visit_proves_nothing(library, visit):
    visit(HER, 0)
    wrong = visit(HIM, 1)
    again = visit(HIM, 1, half=1, retake_of=wrong)
    run(library)
    assert unlike(library, wrong, again) == [True, True]


def test_the_question_goes_when_the_wrong_one_is_moved_excluded_or_deleted(library, visit):
    for number, correct in enumerate(("move", "exclude", "delete")):
        group_id = f"ward{number}"
        wrong, right = visit(HIM, 0, group_id), visit(HER, 1, group_id)
        run(library)
        assert unlike(library, right) == [True]
        if correct == "delete":
            library.discard(wrong)
        else:
            details = {"group_id": "elsewhere"} if correct == "move" else {"excluded": True}
            with library.store.changing():
                library.store.store_details(wrong, replace(metadata_of(library.get(wrong)), **details))
                if correct == "move":
                    library.store.update(wrong, {"group_id": "elsewhere"})
        checks = run(library)
        assert library.get(right).speaker is None, correct
        assert unlike(library, right) == [False]
        assert not checks.step()


def test_a_recording_that_moves_to_another_subject_is_compared_with_that_one(library, visit):
    visit(HER, 0, "ward1")
    visit(HIM, 0, "ward2", half=1)
    wrong = visit(HIM, 1, "ward1")
    run(library)
    assert unlike(library, wrong) == [True]
    with library.store.changing():
        library.store.store_details(wrong, replace(metadata_of(library.get(wrong)), group_id="ward2"))
        library.store.update(wrong, {"group_id": "ward2"})
    assert unlike(library, wrong) == [False], "not before it is compared again"
    run(library)
    assert library.get(wrong).speaker.group_id == "ward2"
    assert unlike(library, wrong) == [False]


def test_what_was_found_outlives_the_sound_and_a_restart(library, visit, reopen):
    visit(HER, 0)
    other = visit(HIM, 1)
    run(library)
    library.queue(other)
    with library.store.changing():
        for state in (OutboxState.SUBMITTED, OutboxState.DONE):
            library.store.move(other, state)
        library.store.store_result(other, b"{}", None)
        library.store.remove_event(other)
    library.remove_sounds([other])
    library.close()
    again = reopen()
    run(again)
    assert unlike(again, other) == [True]
    assert again.warnings == ()


def test_nothing_is_compared_twice(library, visit, monkeypatch):
    visit(HER, 0)
    visit(HIM, 1)
    run(library)
    monkeypatch.setattr(speaker_checks.SpeakerComparison, "finding", lambda *_: pytest.fail("compared again"))
    run(library)


def test_a_recording_without_speech_is_tried_once(library, visit, new_take):
    visit(HER, 0)
    silent = new_take(recorded_at=MONDAY + timedelta(days=1))
    checks = run(library)
    assert library.get(silent).speaker is None
    version = library.store.version()
    assert not checks.step()
    assert library.store.version() == version


def test_a_trim_asks_again(library, visit, new_take):
    visit(HER, 0)
    other = visit(HIM, 1)
    run(library)
    library.set_trim(other, (1.0, 9.0))
    assert library.get(other).speaker is None
    run(library)
    assert unlike(library, other) == [True]


def test_it_is_stored_encrypted_and_neither_handed_over_nor_in_plain_text(library, visit):
    visit(HER, 0)
    other = visit(HIM, 1)
    run(library)
    row = library.store.row(other)
    text = json.dumps({name: value for name, value in row.items() if not isinstance(value, bytes)})
    assert "similarity" not in text
    library.store.scrub()
    everything = b"".join(path.read_bytes() for path in library.store.folder.rglob("*") if path.is_file())
    assert b"similarity" not in everything
    assert "speaker" not in BundledTake.model_fields


def test_a_finding_of_another_subject_says_nothing(library, visit):
    take_id = visit(HER, 0)
    with library.store.changing():
        found = SpeakerFinding(0.0, "somebody-else", ("x",))
        library.store.store_details(take_id, replace(metadata_of(library.get(take_id)), speaker=found))
    assert unlike(library, take_id) == [False]


def asks(library, *take_ids):
    return [raises_question(library.get(take_id)) for take_id in take_ids]


def test_a_confirmed_voice_is_not_asked_about_again_and_counts_for_later_ones(library, visit, reopen):
    visit(HER, 0)
    other, again = visit(HIM, 1), visit(HIM, 2, half=1)
    run(library)
    assert asks(library, other, again) == [True, True]
    assert other not in library.get(again).speaker.earlier, "a voice in question proves nothing about another one"
    assert SpeakerComparison(library).compare(library.audio(again), "ward4-0172", again).warning is not None
    confirm_voice(library, other)
    confirm_voice(library, other)
    noted = library.store.rows("SELECT take_id FROM audit WHERE what = ?", (AuditAction.VOICE_CONFIRMED,))
    assert [row["take_id"] for row in noted] == [other]
    assert SpeakerComparison(library).compare(library.audio(again), "ward4-0172", again).warning is None
    checks = run(library)
    assert asks(library, other, again) == [False, False]
    assert other in library.get(again).speaker.earlier
    assert not checks.step()
    library.close()
    later = reopen()
    run(later)
    assert asks(later, other, again) == [False, False]
    assert later.warnings == ()


def test_a_confirmation_is_for_one_person_and_outlives_a_new_comparison(library, visit):
    first, right = visit(HER, 0), visit(HER, 1, half=1)
    other = visit(HIM, 2)
    run(library)
    confirm_voice(library, other)
    library.discard(right)  # compared again, with the first one only
    run(library)
    assert library.get(other).speaker.earlier == (first,)
    assert asks(library, other) == [False]
    visit(HER, 0, "elsewhere", half=1)
    move(library, other, "elsewhere")
    run(library)
    assert asks(library, other) == [True], "nobody said that it is this person"
    move(library, other, "ward4-0172")
    run(library)
    assert asks(library, other) == [False]


def test_a_confirmation_that_helps_nothing_is_tried_once(library, visit):
    """The voice of a confirmed recording may be unlike the next one too."""
    visit(HIM, 0)
    mistaken, other = visit(HER, 1), visit(HIM, 2, half=1)
    confirm_voice(library, mistaken)
    checks = run(library)
    version = library.store.version()
    assert asks(library, mistaken, other) == [False, False]
    assert not checks.step()
    assert library.store.version() == version


def move(library, take_id, group_id):
    with library.store.changing():
        library.store.store_details(take_id, replace(metadata_of(library.get(take_id)), group_id=group_id))
        library.store.update(take_id, {"group_id": group_id})
