"""One laptop in the field, and two computers that send: every recording reaches the service once."""

import errno
import io
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import soundfile as sf

from vbdesk.contract.limits import MIN_DURATION_S
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.outbox.bundles.bundle_errors import (
    BundleAccountWrong,
    BundleCancelled,
    BundleDiskFull,
    BundleError,
    BundleOutdated,
    BundleUnfinished,
    NothingToExport,
)
from vbdesk.outbox.bundles.bundle_export import (
    PART,
    UNKNOWN,
    BundleOwner,
    bundles,
    export_bundle,
    exportable_recordings,
    owner_of,
    settle,
    still_handed_over,
    take_back,
)
from vbdesk.outbox.bundles.bundle_file import read_head
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, public_key, secret_of
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.corrections import CorrectionReason
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata, metadata_of
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.upload_queue import UploadQueue

OWNER = BundleOwner("https://voice.example", "acc-1")
PROFILE = Profile("p1", "Office", "service", "https://voice.example", "acc-1")
WAITING, HANDED_OVER, DONE = OutboxState.WAITING, OutboxState.HANDED_OVER, OutboxState.DONE


@pytest.fixture
def stick(tmp_path):
    folder = tmp_path / "stick"
    folder.mkdir()
    return folder


@pytest.fixture
def vault():
    return MemoryVault()


@pytest.fixture
def lock(vault):
    return KeyLock(public_key(vault, PROFILE))


@pytest.fixture
def secret(vault):
    return secret_of(vault, PROFILE, None)


@pytest.fixture
def new_library(tmp_path, clock):
    opened = []

    def make(name, owner_key=bytes(reversed(range(32)))):
        opened.append(Library(tmp_path / name, owner_key, clock))
        return opened[-1]

    yield make
    for library in opened:
        library.close()


@pytest.fixture
def office(new_library):
    return new_library("office")


@pytest.fixture
def queued(library, new_take):
    """Takes that wait on the field laptop."""

    def make(count=1, **more):
        take_ids = [new_take(recorded_at=datetime(2026, 3, 1, 8, 30, n, 7, tzinfo=UTC), **more) for n in range(count)]
        for take_id in take_ids:
            library.queue(take_id)
        return take_ids

    return make


@pytest.fixture
def hand_over(library, stick, lock):
    return lambda **more: export_bundle(library, OWNER, stick, lock, **more)


@pytest.fixture
def take_in(office, secret):
    return lambda path, into=None: import_bundle(into or office, OWNER, path, secret)


def states(library):
    return {item.take_id: item.state for item in library.list()}


def pending(library, take_id):
    return dict(library.store.rows("SELECT * FROM pending WHERE take_id = ?", (take_id,))[0])


# Handing over


def test_what_waits_is_handed_over_and_nothing_else(library, queued, new_take, hand_over, stick):
    waiting = queued(2)
    checked = new_take("ward4-0173")
    done = hand_over()
    assert states(library) == {waiting[0]: HANDED_OVER, waiting[1]: HANDED_OVER, checked: OutboxState.CHECKED}
    assert done.take_ids == tuple(waiting)
    assert [path.name for path in stick.iterdir()] == [done.path.name]
    assert read_head(done.path).size == done.path.stat().st_size
    assert library.get(waiting[0]).bundle_id == done.bundle_id


def test_the_name_and_the_bytes_of_the_file_tell_of_nobody(queued, hand_over):
    queued(note="Mrs Smith")
    path = hand_over().path
    assert path.name.startswith("vbdesk-20260301-0900-")
    assert all(word not in path.read_bytes() for word in (b"ward4", b"Smith", b"acc-1", b"voice.example"))


def test_what_the_service_may_have_already_stays_and_the_reason_is_said(library, queued, hand_over):
    first, second, third = queued(3)
    line = UploadQueue(library.store)
    for take_id in (first, second):
        asked = next(event for event in line.events() if event.take_id == take_id)
        line.begin_upload(asked)
        line.store_upload(asked, "ref")
        line.mark_asked(asked)
        if take_id == first:
            line.requeue(asked)
    assert [item.take_id for item in exportable_recordings(library).items] == [third]
    done = hand_over()
    assert done.take_ids == (third,)
    reasons = {left.item.take_id: left.reason for left in done.left_out}
    assert "may have it already" in reasons[first]
    assert "may have it already" in reasons[second]
    with pytest.raises(NothingToExport, match="may have it already"):
        hand_over()


def test_a_running_upload_stops_when_its_recording_is_handed_over(library, queued, hand_over):
    (take_id,) = queued()
    line = UploadQueue(library.store)
    event = line.events()[0]
    line.begin_upload(event)
    assert hand_over().take_ids == (take_id,)
    assert not line.is_wanted(event)
    line.store_upload(event, "ref")
    assert not line.mark_asked(event)
    line.requeue(event, failed=True)
    line.need_attention(event, "It is damaged.", Fix.REVIEW_TAKE)
    assert states(library) == {take_id: HANDED_OVER}
    assert take_back(library, [take_id]) == (take_id,)
    assert [event.shared for event in line.events()] == [True]


def test_only_some_can_be_handed_over(library, queued, hand_over):
    first, second = queued(2)
    hand_over(take_ids=[second])
    assert states(library) == {first: WAITING, second: HANDED_OVER}


def test_a_sound_that_cannot_be_read_keeps_no_other_back(library, queued, hand_over):
    damaged, missing, good = queued(3)
    path = library.store.path(damaged)
    path.write_bytes(path.read_bytes()[:100] + bytes(1000))
    library.store.path(missing).unlink()
    done = hand_over()
    assert done.take_ids == (good,)
    assert {left.item.take_id for left in done.left_out} == {damaged, missing}
    assert states(library) == {damaged: WAITING, missing: WAITING, good: HANDED_OVER}


def test_recordings_for_the_service_of_this_computer_are_not_handed_over(library, queued, stick, lock):
    queued()
    profile = Profile("p2", "This computer", "local", None, "acc-3")
    with pytest.raises(BundleError, match="no other computer can reach"):
        export_bundle(library, owner_of(profile), stick, lock)
    assert set(states(library).values()) == {WAITING}


def test_too_little_room_is_said_before_anything_is_written(library, queued, hand_over, stick):
    queued()
    with pytest.raises(BundleDiskFull, match=r"needs \d+ MB.*has 1 MB left"):
        hand_over(free=lambda folder: 1_000_000)
    assert list(stick.iterdir()) == []
    assert set(states(library).values()) == {WAITING}


def test_a_stick_that_takes_no_large_files_is_said(library, queued, hand_over, stick):
    queued()

    def refuse(done, total):
        if list(stick.iterdir()):
            raise OSError(errno.EFBIG, "File too large")

    with pytest.raises(BundleDiskFull, match="4 GB"):
        hand_over(progress=refuse)
    assert list(stick.iterdir()) == []
    assert set(states(library).values()) == {WAITING}


def test_a_stop_at_any_moment_leaves_no_file_and_everything_waiting(library, queued, hand_over, stick):
    class Stop:
        looks = 0

        def is_set(self):
            self.looks += 1
            return self.looks > self.allowed

    queued(2)
    stop = Stop()
    stop.allowed = 0
    while stop.allowed < 1000:
        try:
            hand_over(cancel=stop)
        except BundleCancelled:
            assert list(stick.iterdir()) == []
            assert set(states(library).values()) == {WAITING}
            stop.allowed, stop.looks = stop.allowed + 17, 0
        else:
            break
    assert stop.allowed > 100  # cancelled while hashing, writing and reading back
    assert set(states(library).values()) == {HANDED_OVER}


def test_the_progress_ends_at_the_whole(queued, hand_over):
    queued()
    seen = []
    hand_over(progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1][0] == pytest.approx(seen[-1][1], rel=0.01)


def test_a_recording_that_began_to_be_sent_meanwhile_undoes_all(library, queued, hand_over, stick):
    first, _ = queued(2)
    line = UploadQueue(library.store)
    events = {event.take_id: event for event in line.events()}

    def begin(done, total):
        if line.begin_upload(events[first]):
            line.mark_asked(events[first])

    with pytest.raises(BundleOutdated, match="Nothing was handed over"):
        hand_over(progress=begin)
    assert list(stick.iterdir()) == []
    assert HANDED_OVER not in states(library).values()


@pytest.mark.parametrize("change", ["subject", "time"])
def test_a_recording_that_is_corrected_meanwhile_is_not_handed_over_as_it_was(
    library, queued, hand_over, stick, change
):
    first, _ = queued(2)
    corrections, before = library.corrections, library.get(first)

    def correct(done, total):
        if library.get(first) != before:
            return
        if change == "subject":
            corrections.move(corrections.member(first), "another-person", CorrectionReason.WRONG_PERSON)
        else:
            library.set_recorded_at(first, before.recorded_at - timedelta(hours=1))

    with pytest.raises(BundleOutdated, match="were changed"):
        hand_over(progress=correct)
    assert list(stick.iterdir()) == []
    assert HANDED_OVER not in states(library).values()


def test_a_kill_before_the_hand_over_leaves_a_file_that_nobody_reads(
    library, queued, hand_over, stick, tmp_path, take_in, new_library
):
    take_ids = queued(2)
    images = []

    def photograph(done, total):
        if done == total or not images:
            images.append(tmp_path / f"image{len(images)}")
            shutil.copytree(tmp_path / "library", images[-1] / "library")
            shutil.copytree(stick, images[-1] / "stick")

    hand_over(progress=photograph)
    for image in images:
        killed = new_library(image / "library", bytes(range(32)))
        assert states(killed) == dict.fromkeys(take_ids, WAITING)
        assert settle(killed) == []
        for left in (image / "stick").iterdir():
            assert left.name.endswith(PART)
            with pytest.raises(BundleUnfinished, match="delete the file"):
                take_in(left)


def test_a_kill_between_the_hand_over_and_the_last_byte_is_made_good(
    library, queued, hand_over, stick, tmp_path, take_in, new_library
):
    take_ids = queued(2)
    image = tmp_path / "image"

    def photograph():
        if not image.exists() and set(states(library).values()) == {HANDED_OVER}:
            shutil.copytree(tmp_path / "library", image)
            shutil.copytree(stick, tmp_path / "stick of then")

    library.subscribe(photograph)
    done = hand_over()
    shutil.rmtree(stick)
    shutil.copytree(tmp_path / "stick of then", stick)  # restore the state after the kill
    left = next(stick.iterdir())
    with pytest.raises(BundleUnfinished):
        take_in(left)
    killed = new_library(image, bytes(range(32)))
    assert settle(killed) == []
    assert [path.name for path in stick.iterdir()] == [done.path.name]
    assert take_in(done.path).added == take_ids


def test_a_stick_that_was_pulled_too_early_is_finished_when_it_is_back(library, queued, hand_over, stick, tmp_path):
    queued()
    away = tmp_path / "pulled"

    def pull():
        if set(states(library).values()) == {HANDED_OVER} and stick.exists():
            stick.rename(away)

    leave = library.subscribe(pull)
    with pytest.raises(Exception, match="Put the stick back"):
        hand_over()
    leave()
    assert [each.settled for each in bundles(library)] == [False]
    away.rename(stick)
    assert settle(library) == []
    assert [each.settled for each in bundles(library)] == [True]
    assert read_head(bundles(library)[0].path).size


# Import


def test_a_recording_arrives_as_it_was(library, queued, hand_over, office, take_in):
    (take_id,) = queued(note="a note", tags=("tea",), protocol="reading", trim_s=(1.0, 19.0), quality={"snr_db": 21.5})
    sent = library.get(take_id)
    assert take_in(hand_over().path).added == [take_id]
    got = office.get(take_id)
    assert metadata_of(got) == replace(metadata_of(sent), capture={})  # the sound has what the recorder noted
    assert (got.state, got.duration_s, got.recorded_at) == (WAITING, sent.duration_s, sent.recorded_at)
    assert office.whole_audio(take_id).sha256() == library.whole_audio(take_id).sha256()
    assert pending(office, take_id)["event_id"] == pending(library, take_id)["event_id"]
    assert pending(office, take_id)["asked_at"] is not None
    assert not list(office.store.takes_folder.glob("*.arriving"))


def test_a_recording_arrives_with_its_language(library, queued, hand_over, office, take_in):
    spoken = SpokenLanguage("pt-BR", second_language=True)
    library.subject_notes.store("ward4-0172", SubjectNote(spoken=spoken))
    (take_id,) = queued(group_id="ward4-0172")
    take_in(hand_over().path)
    assert office.get(take_id).spoken == spoken


def test_an_imported_file_arrives_as_it_was(library, hand_over, office, take_in, tmp_path, speech_file):
    moment = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    take_id = library.import_file(speech_file, TakeMetadata("ward4-0172", moment, RecordingTarget("sign", "fatigue")))
    library.queue(take_id)
    take_in(hand_over().path)
    assert office.original(take_id) == speech_file.read_bytes()
    assert sf.info(io.BytesIO(office.original(take_id))).duration > MIN_DURATION_S


def test_a_second_import_and_one_after_a_deletion_bring_nothing(library, queued, hand_over, office, take_in):
    first, second = queued(2)
    path = hand_over().path
    take_in(path)
    with office.store.changing():
        office.store.move(first, OutboxState.CHECKED)
        office.store.remove_event(first)
    office.discard(first, at_once=True)
    again = take_in(path)
    assert (again.added, again.known, again.deleted) == ([], [second], [first])
    assert list(states(office)) == [second]


def test_the_bundle_of_a_library_brings_nothing_to_itself(library, queued, hand_over, secret):
    take_ids = queued(2)
    taken = import_bundle(library, OWNER, hand_over().path, secret)
    assert (taken.added, taken.known) == ([], take_ids)
    assert set(states(library).values()) == {HANDED_OVER}


@pytest.mark.parametrize(
    "other", [BundleOwner("https://voice.example", "acc-2"), BundleOwner("https://else.example", "acc-1")]
)
def test_recordings_of_another_account_or_service_are_refused(queued, hand_over, office, secret, other):
    queued()
    with pytest.raises(BundleAccountWrong, match=f"this profile is {other.account_id} at {other.service}"):
        import_bundle(office, other, hand_over().path, secret)
    assert office.list() == []


def test_too_little_room_here_is_said_and_leaves_nothing(queued, hand_over, office, secret):
    queued()
    with pytest.raises(BundleDiskFull, match="import the bundle again"):
        import_bundle(office, OWNER, hand_over().path, secret, free=lambda folder: 0)
    assert list(office.store.takes_folder.iterdir()) == []


def test_an_import_killed_at_any_moment_brings_each_recording_once(
    queued, hand_over, office, secret, tmp_path, new_library
):
    take_ids = queued(2)
    path = hand_over().path
    images = []

    def photograph(done, total):
        if done > len(images) * total / 4:
            images.append(tmp_path / f"image{len(images)}")
            shutil.copytree(tmp_path / "office", images[-1])

    import_bundle(office, OWNER, path, secret, progress=photograph)
    assert len(images) > 3
    for image in images:
        killed = new_library(image)
        assert killed.list() == []
        assert list(killed.store.takes_folder.iterdir()) == []
        assert list(killed.recording_folder.iterdir()) == []  # nothing that looks like a new take
        assert import_bundle(killed, OWNER, path, secret).added == take_ids


def test_an_import_killed_before_the_last_names_is_whole_after_a_restart(
    queued, hand_over, office, take_in, tmp_path, new_library, library
):
    (take_id,) = queued()
    take_in(hand_over().path)
    sound = office.store.path(take_id)
    sound.rename(sound.with_suffix(".arriving"))
    office.close()
    restarted = new_library("office")
    assert restarted.whole_audio(take_id).sha256() == library.whole_audio(take_id).sha256()


def test_a_last_name_that_the_disk_refuses_is_no_failure_of_an_import(queued, hand_over, office, take_in, new_library):
    take_ids = queued(2)
    in_the_way = office.store.path(take_ids[0])
    in_the_way.mkdir()
    assert take_in(hand_over().path).added == take_ids
    in_the_way.rmdir()
    assert all(office.whole_audio(take_id).duration_s == 20.0 for take_id in take_ids)
    office.close()
    assert new_library("office").whole_audio(take_ids[0]).duration_s == 20.0
    assert in_the_way.is_file()


def test_a_recording_of_the_same_subject_and_moment_is_left_with_its_maker(queued, hand_over, office, secret, new_take):
    take_ids = queued(2)
    path = hand_over().path
    moment = datetime(2026, 3, 1, 8, 30, 0, 7, tzinfo=UTC)
    metadata = TakeMetadata("ward4-0172", moment, RecordingTarget("model", "pulse"))
    with office.store.changing():
        office.store.insert("01a1ff52-3e1b-7000-83e1-14138e067edf", metadata, 20.0, imported=False)
    taken = import_bundle(office, OWNER, path, secret)
    assert (taken.added, [take.take_id for take in taken.clashing]) == (take_ids[1:], take_ids[:1])


def test_the_moment_is_kept_where_another_subject_has_the_same(library, queued, hand_over, office, take_in):
    (take_id,) = queued()
    metadata = TakeMetadata("ward9-0001", library.get(take_id).recorded_at, RecordingTarget("model", "pulse"))
    with office.store.changing():
        office.store.insert("01a1ff52-3e1b-7000-83e1-14138e067edf", metadata, 20.0, imported=False)
    take_in(hand_over().path)
    assert office.get(take_id).recorded_at == library.get(take_id).recorded_at


# Take back


def test_what_is_taken_back_waits_with_a_search_first_and_can_be_handed_over_again(library, queued, hand_over, take_in):
    take_ids = queued(2)
    first = hand_over()
    assert still_handed_over(library, first.bundle_id) == tuple(take_ids)
    assert take_back(library, take_ids) == tuple(take_ids)
    assert set(states(library).values()) == {WAITING}
    assert all(library.store.asked(take_id) for take_id in take_ids)
    assert take_back(library, take_ids) == ()
    second = hand_over()  # the first stick is lost, and there is still no network
    assert second.take_ids == tuple(take_ids)
    assert [each.states for each in bundles(library)] == [{HANDED_OVER: 2}, {}]
    assert take_in(first.path).added == take_ids  # the first stick was found
    assert take_in(second.path).added == []


def test_a_bundle_whose_entry_was_spoilt_can_still_be_taken_back(library, queued, hand_over):
    take_ids = queued(2)
    bundle_id = hand_over().bundle_id
    with library.store.changing() as database:
        database.execute("UPDATE bundles SET sealed = ?, made_at = 'x'", (bytes(40),))
    (known,) = bundles(library)
    assert (known.bundle_id, known.path, known.recordings) == (bundle_id, Path(UNKNOWN), 2)
    assert settle(library) == []
    assert take_back(library, still_handed_over(library, bundle_id)) == tuple(take_ids)


def test_who_did_what_is_in_the_audit_log(library, queued, hand_over, office, take_in):
    (take_id,) = queued()
    take_in(hand_over().path)
    take_back(library, [take_id])
    there = [row["what"] for row in library.store.rows("SELECT what FROM audit WHERE take_id = ?", (take_id,))]
    here = [row["what"] for row in office.store.rows("SELECT what FROM audit WHERE take_id = ?", (take_id,))]
    assert there[-2:] == [AuditAction.HANDED_OVER, AuditAction.TAKEN_BACK]
    assert here == [AuditAction.TAKEN_IN]


def test_the_field_looks_once_after_a_start_and_hears_of_what_the_office_sent(
    library, queued, hand_over, office, take_in, new_sync_worker, drive, service
):
    queued(2)
    path = hand_over().path
    field_sync_worker, office_sync_worker = new_sync_worker(), new_sync_worker(office)
    assert not field_sync_worker.has_checked_service()
    drive(field_sync_worker, until=field_sync_worker.has_checked_service, seconds=5)
    assert field_sync_worker.has_checked_service()
    assert (set(states(library).values()), service.jobs) == ({HANDED_OVER}, {})

    take_in(path)
    drive(office_sync_worker, until=lambda: set(states(office).values()) == {DONE})
    again = new_sync_worker()  # on the field laptop, back later
    drive(again, until=lambda: set(states(library).values()) == {DONE})
    assert len(service.jobs) == 2
    assert service.count("mint") == 2


def test_what_arrives_is_searched_for_once_before_it_is_sent(
    queued, hand_over, office, take_in, new_sync_worker, drive, service
):
    (take_id,) = queued()
    take_in(hand_over().path)
    sync_worker = new_sync_worker(office)
    drive(sync_worker, until=lambda: office.get(take_id).state is DONE, seconds=5)
    assert office.get(take_id).state is DONE
