"""The consent policy of a profile binds recording, importing, sending and handing over."""

import contextlib
import json
import os
import threading
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import soundfile as sf

from vbdesk.desk.outbox.banner import banner_of
from vbdesk.desk.outbox.rows import RowContext
from vbdesk.desk.outbox.sorting import SortedOutbox
from vbdesk.outbox.bundles.bundle_export import exportable_recordings
from vbdesk.outbox.imports.file_import import import_rows, preview_files
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import NotAllowed
from vbdesk.outbox.library.settings import (
    ConsentRules,
    LibrarySettings,
    Retention,
    RetentionRule,
    SendRule,
    SubjectDetail,
    read_settings,
    write_settings,
)
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.sync.connectivity import ConnectivityState, SyncStatus
from vbdesk.outbox.sync.upload_queue import UploadQueue

TARGET = RecordingTarget("model", "pulse")
REQUIRED = ConsentRules(policy=ConsentPolicy.REQUIRED)


@pytest.fixture
def required(library):
    library.change_settings(consent=REQUIRED)
    return library


def take_ids_to_send(library):
    return {event.take_id for event in UploadQueue(library.store).events()}


def test_the_rules_survive_and_old_settings_mean_reminded():
    rules = ConsentRules(ConsentPolicy.OFF, ConsentKind.BOTH, 365, "N. N.")
    assert read_settings(write_settings(LibrarySettings(consent=rules))).consent == rules
    old = b'{"send_rule": "at_once", "retention": {"rule": "for_ever", "days": 0}, "paused": false}'
    assert read_settings(old).consent.policy is ConsentPolicy.REMINDED


def test_required_a_recording_without_consent_is_kept_but_not_queued(required, new_take):
    take_id = new_take()
    with pytest.raises(NotAllowed, match="No consent of this subject is noted"):
        required.queue(take_id)
    assert required.get(take_id).state is OutboxState.CHECKED
    required.consents.give("ward4-0172", ConsentKind.CLINICAL)
    required.queue(take_id)
    assert take_ids_to_send(required) == {take_id}


@pytest.mark.parametrize("policy", [ConsentPolicy.REMINDED, ConsentPolicy.OFF])
def test_reminded_and_off_let_it_go(library, new_take, policy):
    library.change_settings(consent=ConsentRules(policy=policy))
    take_id = new_take()
    library.queue(take_id)
    assert take_ids_to_send(library) == {take_id}
    assert library.consent_gate.all().is_missing(library.get(take_id)) == (policy is ConsentPolicy.REMINDED)


def test_a_policy_that_becomes_required_stops_what_waits_already(library, waiting):
    take_id = waiting()
    event = UploadQueue(library.store).events()[0]
    library.change_settings(consent=REQUIRED)
    assert take_ids_to_send(library) == set()
    assert not UploadQueue(library.store).begin_upload(event)
    assert library.get(take_id).state is OutboxState.WAITING
    assert library.consent_gate.held_back() == 1
    (left_out,) = exportable_recordings(library).left_out
    assert "requires" in left_out.reason
    library.consents.give("ward4-0172", ConsentKind.CLINICAL)
    assert take_ids_to_send(library) == {take_id}
    assert library.consent_gate.held_back() == 0


def test_what_the_service_has_is_followed_without_consent(library, waiting):
    take_id = waiting()
    queue = UploadQueue(library.store)
    (event,) = queue.events()
    queue.begin_upload(event)
    queue.store_upload(event, "ref")
    queue.mark_asked(event)
    queue.mark_taken(event, "job")
    library.change_settings(consent=REQUIRED)
    library.withdraw_consent("ward4-0172")
    assert take_ids_to_send(library) == {take_id}


def test_a_withdrawal_calls_back_what_waits_under_any_policy(library, waiting):
    take_id, other = waiting(), waiting("ward4-9", recorded_at=datetime(2026, 3, 1, 7, 0, tzinfo=UTC))
    library.consents.give("ward4-0172", ConsentKind.BOTH)
    library.withdraw_consent("ward4-0172", ConsentKind.RESEARCH)
    assert library.get(take_id).state is OutboxState.WAITING  # clinical consent remains
    library.withdraw_consent("ward4-0172")
    assert library.get(take_id).state is OutboxState.CHECKED
    assert take_ids_to_send(library) == {other}


def test_a_running_upload_ends_with_the_withdrawal(library, waiting):
    waiting()
    queue = UploadQueue(library.store)
    (event,) = queue.events()
    queue.begin_upload(event)
    library.withdraw_consent("ward4-0172")
    assert not queue.mark_asked(event)


def test_an_expired_consent_covers_what_was_recorded_before(required, new_take, clock):
    required.consents.give("ward4-0172", ConsentKind.BOTH, expires=clock.now() + timedelta(days=1))
    covered = new_take(recorded_at=clock.now())
    clock.advance(2 * 86400)
    required.queue(covered)
    late = new_take(recorded_at=clock.now())
    with pytest.raises(NotAllowed, match="has expired"):
        required.queue(late)


def test_a_file_needs_consent_now_whenever_it_was_recorded(required, clock, tmp_path, fixture_file):
    rows = preview_files([fixture_file], "ward4-1", TARGET, clock=clock).rows
    common = TakeMetadata("", clock.now(), TARGET)
    (refused,) = import_rows(required, rows, common, queue=True)
    assert "requires it" in refused.error
    assert required.list() == []
    required.consents.give("ward4-1", ConsentKind.BOTH)
    (done,) = import_rows(required, rows, common, queue=True)
    assert done.error is None
    assert take_ids_to_send(required) == {done.take_id}


@pytest.fixture
def fixture_file(tmp_path):
    path = tmp_path / "in" / "a.wav"
    path.parent.mkdir()
    sf.write(path, np.random.default_rng(1).normal(0, 0.1, 20 * 8000), 8000)
    os.utime(path, (1_772_000_000, 1_772_000_000))
    return path


def test_a_recording_restored_from_the_trash_after_a_withdrawal_is_not_sent(library, waiting):
    take_id = waiting()
    library.trash.put(take_id)
    library.withdraw_consent("ward4-0172")
    library.trash.restore(take_id)
    assert take_ids_to_send(library) == set()
    assert library.get(take_id).state in (OutboxState.CHECKED, OutboxState.NEEDS_ATTENTION)


CONNECTED = SyncStatus(True, "Connected.", None, 3, ConnectivityState.CONNECTED)


def banner_now(library, forecast=None):
    now, arranged = library.store.clock.now(), SortedOutbox().after(library.changes_since(0))
    consents = library.consent_gate.all()
    context = RowContext(
        now, CONNECTED, library.settings(), forecast=forecast, arranged=arranged, consents=consents, metered=False
    )
    return banner_of(context.figures(), context)


def test_what_waits_for_consent_is_not_counted_as_being_sent(library, waiting, new_sync_worker):
    worker = new_sync_worker()
    for minute in range(3):
        waiting(recorded_at=datetime(2026, 3, 1, 8, minute, tzinfo=UTC))
    library.change_settings(consent=REQUIRED)
    assert worker.forecast().recordings == 0
    assert banner_now(library).sentence == "3 recordings wait for consent and are not sent."
    library.consents.give("ward4-0200", ConsentKind.CLINICAL)
    waiting("ward4-0200", recorded_at=datetime(2026, 3, 1, 9, tzinfo=UTC))
    forecast = worker.forecast()
    assert forecast.recordings == 1
    sentence = banner_now(library, forecast).sentence
    assert sentence.startswith("1 recording, less than a minute.")
    assert sentence.endswith("3 recordings wait for consent and are not sent.")
    library.consents.give("ward4-0172", ConsentKind.CLINICAL)
    assert banner_now(library, worker.forecast()).sentence.startswith("4 recordings, ")


def test_by_hand_only_what_has_consent_is_offered_to_be_sent(library, waiting):
    library.consents.give("ward4-0200", ConsentKind.CLINICAL)
    library.change_settings(send_rule=SendRule.BY_HAND)
    waiting()
    waiting("ward4-0200", recorded_at=datetime(2026, 3, 1, 9, tzinfo=UTC))
    library.change_settings(consent=REQUIRED)
    assert banner_now(library).sentence.startswith("1 recording waits until you send it.")
    library.change_settings(paused=True)
    assert banner_now(library).sentence.startswith("Paused. 1 recording waits")


def test_changes_of_the_rules_at_one_time_keep_each_other(library):
    both_have_read = threading.Barrier(2, timeout=0.5)

    def change(**field):
        def changed(rules):
            with contextlib.suppress(threading.BrokenBarrierError):
                both_have_read.wait()  # two changes meet here only if nothing keeps them apart
            return replace(rules, **field)

        library.change_consent_rules(changed)

    fields = ({"policy": ConsentPolicy.REQUIRED}, {"valid_days": 365})
    threads = [threading.Thread(target=change, kwargs=field) for field in fields]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rules = library.settings().consent
    assert (rules.policy, rules.valid_days) == (ConsentPolicy.REQUIRED, 365)


def test_every_setting_is_stored_and_has_a_default_for_older_libraries():
    changed = LibrarySettings(
        send_rule=SendRule.BY_HAND,
        retention=Retention(RetentionRule.AFTER_RESULT, 3),
        paused=True,
        consent=ConsentRules(ConsentPolicy.OFF, valid_days=30, asked_by="Dr. Ada"),
        trash_days=30,
        detail=SubjectDetail.INITIALS,
    )
    assert read_settings(write_settings(changed)) == changed
    for field in fields(LibrarySettings):
        assert getattr(changed, field.name) != getattr(LibrarySettings(), field.name), "a value that is not the default"
        document = json.loads(write_settings(changed))
        del document[field.name]
        assert read_settings(json.dumps(document).encode()) == replace(
            changed, **{field.name: getattr(LibrarySettings(), field.name)}
        )
