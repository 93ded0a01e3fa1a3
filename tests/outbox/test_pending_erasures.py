"""Removals in the library of a local service are journalled until that service has erased them too."""

import numpy as np
import pytest

from days_of_use import use_daily
from list_by_hand import everything_under, list_by_hand
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.pending_erasures import ErasureScope, PendingErasure
from vbdesk.outbox.library.retention import SoundRetention
from vbdesk.outbox.library.settings import Retention, RetentionRule
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import SEND
from vbdesk.outbox.library.subject_erasure import erase_subject

KEY = bytes(range(32))


@pytest.fixture
def own_library(tmp_path, clock):
    """Open the library of a profile with a local service; again after a crash or a close."""
    opened = []

    def make():
        opened.append(Library(tmp_path / "own", KEY, clock, erases_at_service=True))
        return opened[-1]

    yield make
    for library in opened:
        library.close()


def put(library, new_take, state=OutboxState.CHECKED, jobs=()):
    take_id = new_take(seconds=1, library=library)
    with library.store.changing():
        for job_id in jobs:
            library.store.add("jobs", job_id, take_id)
    if state is OutboxState.CHECKED:
        return take_id
    library.queue(take_id)
    with library.store.changing():
        library.store.move(take_id, OutboxState.SUBMITTED)
        library.store.move(take_id, state)
        library.store.remove_event(take_id)
        if state is OutboxState.DONE:
            library.store.store_result(take_id, b'{"a": 1}', None)
    return take_id


@pytest.fixture
def new_own_take(own_library, tmp_path):
    numbers = iter(range(100))

    def make(*, library, seconds):
        path = library.recording_folder / f"{next(numbers)}.take"
        writer = EncryptedTakeWriter(path, KEY, 8000)
        writer.append(np.arange(seconds * 8000, dtype=np.int16))
        writer.close()
        return library.add_take(
            path, TakeMetadata("ward4-0172", library.store.clock.now(), RecordingTarget("model", "pulse"))
        )

    return make


def test_every_job_that_ever_spoke_for_a_deleted_recording_is_owed_until_it_is_confirmed(own_library, new_own_take):
    library = own_library()
    take_id = put(library, new_own_take, OutboxState.FAILED, ["job-1", "job-2"])
    library.discard(take_id, at_once=True)
    library.close()
    library = own_library()  # after a crash before the service was asked
    erasure = PendingErasure(take_id, "ward4-0172", ErasureScope.EVERYTHING, ("job-1", "job-2"), ())
    assert library.erasures.due() == [erasure]
    with library.store.changing():
        library.store.store_trajectory("ward4-0172", b"with the reading of this recording")
    library.erasures.settle(erasure)
    assert library.erasures.due() == []
    assert library.responses.trajectory("ward4-0172") is None
    last = library.store.rows("SELECT what, take_id, detail FROM audit ORDER BY seq DESC LIMIT 1")[0]
    assert tuple(last) == (AuditAction.ERASED_AT_SERVICE, take_id, "everything")
    assert library.findings == ()


def test_the_removal_and_its_entry_are_one_transaction(own_library, new_own_take, monkeypatch):
    library = own_library()
    take_id = put(library, new_own_take, OutboxState.DONE, ["job-1"])

    def break_off(*_, **__):
        raise RuntimeError("a crash")

    monkeypatch.setattr(library.store, "note", break_off)
    for remove in (lambda: library.discard(take_id, at_once=True), lambda: library.remove_sounds([take_id])):
        with pytest.raises(RuntimeError):
            remove()
    monkeypatch.undo()
    assert library.erasures.due() == []
    assert library.get(take_id).audio_gone_at is None
    assert library.audio(take_id).duration_s == pytest.approx(1)


def test_the_sound_alone_leaves_the_result(own_library, new_own_take):
    library = own_library()
    take_id = put(library, new_own_take, OutboxState.DONE, ["job-1"])
    library.remove_sounds([take_id], part=None)
    assert library.erasures.due() == [PendingErasure(take_id, "ward4-0172", ErasureScope.SOUND, ("job-1",), ())]
    assert library.get(take_id).result_json == b'{"a": 1}'
    assert not library.store.path(take_id).exists()


def test_everything_takes_the_place_of_the_sound_also_while_that_is_under_way(own_library, new_own_take):
    library = own_library()
    take_id = put(library, new_own_take, OutboxState.DONE, ["job-1"])
    library.remove_sounds([take_id])
    under_way = library.erasures.due()[0]
    library.discard(take_id, at_once=True)
    library.erasures.settle(under_way)
    assert [erasure.what for erasure in library.erasures.due()] == [ErasureScope.EVERYTHING]


def test_sounds_that_the_rule_removes_are_owed_too(own_library, new_own_take):
    library = own_library()
    take_id = put(library, new_own_take, OutboxState.DONE, ["job-1"])
    library.change_settings(retention=Retention(RetentionRule.AFTER_RESULT, 0))
    assert SoundRetention(library).step(None)
    assert library.erasures.due() == [PendingErasure(take_id, "ward4-0172", ErasureScope.SOUND, ("job-1",), ())]


def test_an_upload_that_never_became_a_job_is_owed(own_library, new_own_take):
    library = own_library()
    take_id = put(library, new_own_take)
    library.queue(take_id)
    with library.store.changing():
        library.store.add_event(take_id, SEND, {"upload_ref": "up-1"})
        library.store.move(take_id, OutboxState.NEEDS_ATTENTION)
    library.discard(take_id, at_once=True)
    assert library.erasures.due() == [PendingErasure(take_id, "ward4-0172", ErasureScope.EVERYTHING, (), ("up-1",))]


def test_what_the_service_never_had_is_not_owed(own_library, new_own_take):
    library = own_library()
    library.discard(put(library, new_own_take), at_once=True)
    assert library.erasures.due() == []


def test_what_can_be_restored_is_not_erased_before_it_is_destroyed_here(own_library, new_own_take, clock):
    library = own_library()
    kept, gone = (put(library, new_own_take, jobs=[f"job-{number}"]) for number in (1, 2))
    library.discard(kept)
    library.discard(gone)
    assert library.erasures.due() == []
    library.trash.restore(kept)
    library.close()
    library = own_library()
    assert library.erasures.due() == []
    use_daily(library, 7)
    assert library.trash.destroy_due()
    assert library.erasures.due() == [PendingErasure(gone, "ward4-0172", ErasureScope.EVERYTHING, ("job-2",), ())]
    assert library.audio(kept).duration_s == pytest.approx(1)


def test_the_upload_of_a_recording_in_the_trash_is_owed_with_it(own_library, new_own_take):
    library = own_library()
    take_id = put(library, new_own_take)
    library.queue(take_id)
    with library.store.changing():
        library.store.add_event(take_id, SEND, {"upload_ref": "up-1"})
    library.discard(take_id)
    assert library.erasures.due() == []
    library.discard(take_id, at_once=True)
    assert library.erasures.due() == [PendingErasure(take_id, "ward4-0172", ErasureScope.EVERYTHING, (), ("up-1",))]


def test_the_erasure_of_a_sound_does_not_wait_for_the_trash(own_library, new_own_take):
    library = own_library()
    take_id = put(library, new_own_take, OutboxState.DONE, ["job-1"])
    library.remove_sounds([take_id])
    library.discard(take_id)
    assert [erasure.what for erasure in library.erasures.due()] == [ErasureScope.SOUND]
    library.trash.restore(take_id)
    assert [erasure.what for erasure in library.erasures.due()] == [ErasureScope.SOUND]


def test_an_entry_that_somebody_else_wrote_erases_nothing(own_library, new_own_take):
    library = own_library()
    library.discard(put(library, new_own_take, OutboxState.DONE, ["job-1"]), at_once=True)
    library.store._database.execute("UPDATE settings SET sealed = zeroblob(80) WHERE name LIKE 'erasure/%'")
    assert library.erasures.due() == []


def test_the_library_of_a_service_elsewhere_owes_nothing(library, new_own_take):
    assert library.erasures is None
    library.discard(put(library, new_own_take, OutboxState.DONE, ["job-1"]), at_once=True)
    assert library.store.rows("SELECT 1 FROM settings WHERE name LIKE 'erasure/%'") == []


@pytest.mark.parametrize("trashed", [False, True])
def test_a_changed_entry_erases_nothing_of_another_recording(own_library, new_own_take, trashed):
    """What the service made of it is known from the table of jobs, which the checksums cover."""
    library = own_library()
    take_id, other = (put(library, new_own_take, OutboxState.DONE, [f"job-{number}"]) for number in (1, 2))
    if trashed:
        library.discard(take_id)
    library.close()
    with list_by_hand(library.store.folder) as database:
        database.execute("UPDATE recordings SET job_id = 'job-2', group_id = 'x' WHERE take_id = ?", (take_id,))
    library = own_library()
    library.discard(take_id, at_once=True)
    assert library.erasures.due() == [PendingErasure(take_id, "", ErasureScope.EVERYTHING, ("job-1",), ())]
    assert library.get(other).fault is None


def test_the_group_of_an_erased_subject_is_owed_too(own_library, new_own_take):
    library = own_library()
    put(library, new_own_take, OutboxState.DONE, ["job-1"])
    erase_subject(library, "ward4-0172")
    of_recording, of_group = sorted(library.erasures.due(), key=lambda erasure: not erasure.job_ids)
    assert (of_recording.job_ids, of_group.job_ids, of_group.upload_refs) == (("job-1",), (), ())
    for erasure in (of_recording, of_group):
        library.erasures.settle(erasure)
    assert library.erasures.due() == []
    assert b"ward4-0172" not in everything_under(library.store.folder)
