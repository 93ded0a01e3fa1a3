"""Consent travels in bundles: both computers agree, and the newest withdrawal wins on both."""

from datetime import UTC, datetime

import pytest

from vbdesk.outbox.bundles.bundle_export import BundleOwner, export_bundle, take_back
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, public_key, secret_of
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy, ConsentState
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.upload_queue import UploadQueue

OWNER = BundleOwner("https://voice.example", "acc-1")
PROFILE = Profile("p1", "Office", "service", "https://voice.example", "acc-1")
VAULT = MemoryVault()
REQUIRED = ConsentRules(policy=ConsentPolicy.REQUIRED)
SUBJECT = "ward4-0172"


@pytest.fixture
def office(tmp_path, clock):
    opened = Library(tmp_path / "office", bytes(reversed(range(32))), clock)
    yield opened
    opened.close()


@pytest.fixture
def hand_over(library, tmp_path):
    stick = tmp_path / "stick"
    stick.mkdir()
    return lambda **more: export_bundle(library, OWNER, stick, KeyLock(public_key(VAULT, PROFILE)), **more)


@pytest.fixture
def take_in(office):
    return lambda path: import_bundle(office, OWNER, path, secret_of(VAULT, PROFILE, None))


@pytest.fixture
def queued(library, new_take):
    def make(group_id=SUBJECT, minute=30):
        take_id = new_take(group_id, seconds=15, recorded_at=datetime(2026, 3, 1, 8, minute, 0, 7, tzinfo=UTC))
        library.queue(take_id)
        return take_id

    return make


def test_the_events_of_the_subjects_arrive_and_no_others(library, office, queued, hand_over, take_in):
    library.consents.give(SUBJECT, ConsentKind.BOTH, wording="1", language="en", asked_by="N. N.")
    library.consents.give("somebody-else", ConsentKind.BOTH)
    take_id = queued()
    taken = take_in(hand_over().path)
    assert taken.added == [take_id]
    assert office.consents.all() == {SUBJECT: library.consents.of(SUBJECT)}
    assert "consent taken in" in {entry.what for entry in audit_of(office)}


def audit_of(library):
    return AuditReader(library.store.folder, library.store.key).entries()


def test_a_bundle_without_consents_is_one_that_earlier_versions_read(queued, hand_over, take_in, monkeypatch):
    from vbdesk.outbox.bundles import bundle_export

    written = []
    keep = bundle_export.BundleManifest
    monkeypatch.setattr(bundle_export, "BundleManifest", lambda **parts: written.append(keep(**parts)) or written[-1])
    queued()
    take_in(hand_over().path)
    document = written[0].model_dump(mode="json")
    assert document["format"] == 1
    assert not {"consents", "aliases"} & document.keys()


def test_required_without_consent_a_recording_stays_out_until_it_is_noted(office, queued, hand_over, take_in):
    office.change_settings(consent=REQUIRED)
    take_id = queued()
    path = hand_over().path
    taken = take_in(path)
    assert taken.added == []
    assert [take.take_id for take in taken.without_consent] == [take_id]
    assert list(office.store.takes_folder.iterdir()) == []
    office.consents.give(SUBJECT, ConsentKind.CLINICAL)
    assert take_in(path).added == [take_id]


def test_a_consent_that_comes_with_the_bundle_is_enough(library, office, queued, hand_over, take_in):
    office.change_settings(consent=REQUIRED)
    library.consents.give(SUBJECT, ConsentKind.CLINICAL)
    take_id = queued()
    assert take_in(hand_over().path).added == [take_id]


@pytest.mark.parametrize("policy", [ConsentPolicy.REQUIRED, ConsentPolicy.REMINDED])
def test_a_withdrawal_at_the_receiver_wins_over_an_older_consent(
    library, office, queued, hand_over, take_in, clock, policy
):
    office.change_settings(consent=ConsentRules(policy=policy))
    library.consents.give(SUBJECT, ConsentKind.BOTH)
    queued()
    clock.advance(60)
    office.withdraw_consent(SUBJECT)
    assert take_in(hand_over().path).added == []
    assert office.consents.status(SUBJECT).state is ConsentState.WITHDRAWN


def test_a_later_withdrawal_reaches_the_computer_that_has_the_earlier_bundle(
    library, office, queued, hand_over, take_in, clock
):
    library.consents.give(SUBJECT, ConsentKind.BOTH)
    first = queued()
    take_in(hand_over().path)
    clock.advance(60)
    library.withdraw_consent(SUBJECT)
    other = queued("ward4-9", minute=40)
    taken = take_in(hand_over().path)
    assert taken.added == [other]
    item = office.get(first)
    assert (item.state, "withdrawn consent" in item.reason) == (OutboxState.NEEDS_ATTENTION, True)
    assert {event.take_id for event in UploadQueue(office.store).events()} == {other}


def test_a_withdrawal_travels_also_after_the_recordings_were_taken_back(
    library, office, queued, hand_over, take_in, clock
):
    library.consents.give(SUBJECT, ConsentKind.CLINICAL)
    take_id = queued()
    take_in(hand_over().path)
    clock.advance(60)
    take_back(library, [take_id])
    library.consents.withdraw(SUBJECT)
    queued("ward4-0200", 31)
    library.consents.give("ward4-0200", ConsentKind.CLINICAL)
    take_in(hand_over().path)
    assert office.consents.status(SUBJECT).state is ConsentState.WITHDRAWN


def test_a_consent_newer_than_the_withdrawal_counts_again_on_both(library, office, queued, hand_over, take_in, clock):
    office.withdraw_consent(SUBJECT)
    clock.advance(60)
    library.consents.give(SUBJECT, ConsentKind.BOTH)
    take_id = queued()
    assert take_in(hand_over().path).added == [take_id]
    assert office.consents.status(SUBJECT).in_force


def test_what_stayed_out_can_be_taken_back_where_it_was_recorded(library, office, queued, hand_over, take_in):
    office.change_settings(consent=REQUIRED)
    take_id = queued()
    take_in(hand_over().path)
    assert take_back(library, [take_id]) == (take_id,)


def test_events_that_no_bundle_takes_keep_their_recordings_here(library, queued, hand_over, clock):
    library.consents.give(SUBJECT, ConsentKind.BOTH, at=datetime(1999, 1, 1, tzinfo=UTC))
    queued()
    other = queued("ward4-9", minute=40)
    bundle = hand_over()
    assert bundle.take_ids == (other,)
    assert "the time of its consent" in bundle.left_out[0].reason
