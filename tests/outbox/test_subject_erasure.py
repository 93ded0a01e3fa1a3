"""What is left of a subject on this computer after an erasure."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.outbox.actions import OutboxActions, selection_of
from vbdesk.desk.outbox.rows import RowContext
from vbdesk.desk.subject.consent_model import SubjectConsentViewModel
from vbdesk.outbox.bundles.bundle_export import BundleOwner, export_bundle, take_back
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, public_key, secret_of
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.states import NotAllowed, OutboxState
from vbdesk.outbox.library.store import UnknownTake
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.connectivity import ConnectivityState, SyncStatus
from vbdesk.outbox.sync.network import UnknownNetwork
from vbdesk.outbox.sync.upload_queue import UploadQueue

OWNER = BundleOwner("https://voice.example", "acc-1")
PROFILE = Profile("p1", "Office", "service", "https://voice.example", "acc-1")
VAULT = MemoryVault()
CONNECTED = SyncStatus(True, "Connected.", None, 3, ConnectivityState.CONNECTED)
SUBJECT = "ward4-0172"

NOTE = SubjectNote("Hoarse since May.", ("ENT",), "Übung 7", "1956")


@pytest.fixture(autouse=True)
def known(library):
    """What the desk knows of a subject."""
    library.subject_notes.store("ward4-0172", NOTE)
    library.responses.store_trajectory("ward4-0172", b"{}", 0)
    library.consents.give("ward4-0172", ConsentKind.CLINICAL)


def test_an_erasure_deletes_history_and_names_and_keeps_the_consent(library):
    erase_subject(library, "ward4-0172")
    assert library.responses.trajectory("ward4-0172") is None
    assert library.subject_notes.note_of("ward4-0172") == SubjectNote()
    assert library.subject_notes.group_id_of("Übung 7") is None
    assert len(library.consents.of("ward4-0172").events) == 1


def test_what_cannot_be_erased_keeps_its_names(library, new_take, monkeypatch):
    def refuse(take_id, **options):
        raise NotAllowed("It is being analysed.")

    new_take()
    monkeypatch.setattr(library, "discard", refuse)
    assert erase_subject(library, "ward4-0172").left == ("It is being analysed.",)
    assert library.subject_notes.note_of("ward4-0172") == NOTE


# Handed over, taken back, or without an answer


@pytest.fixture
def required(library):
    library.change_settings(consent=ConsentRules(policy=ConsentPolicy.REQUIRED))
    return library


@pytest.fixture
def hand_over(required, tmp_path):
    stick = tmp_path / "stick"
    stick.mkdir()
    return lambda: export_bundle(required, OWNER, stick, KeyLock(public_key(VAULT, PROFILE)))


def is_gone(library, take_id):
    with pytest.raises(UnknownTake):
        library.get(take_id)
    return not library.store.path(take_id).exists() and not library.trash.holds(take_id)


def ask_without_an_answer(library):
    queue = UploadQueue(library.store)
    (event,) = queue.events()
    queue.begin_upload(event)
    queue.store_upload(event, "ref")
    assert queue.mark_asked(event)
    queue.requeue(event)


def chosen(library, take_id):
    return selection_of([library.get(take_id)], RowContext(library.store.clock.now(), CONNECTED))


def test_a_withdrawal_erases_what_was_handed_over(required, waiting, hand_over, reopen):
    take_id = waiting(rate=8000)
    hand_over()
    with pytest.raises(NotAllowed, match="Take it back"):
        required.discard(take_id, at_once=True)  # only a withdrawal does not wait for the other computer
    required.withdraw_consent(SUBJECT)
    erasure = erase_subject(required, SUBJECT)
    assert (erasure.erased, erasure.left, erasure.in_bundles) == (1, (), 1)
    assert is_gone(required, take_id)
    assert required.subject_notes.note_of(SUBJECT) == SubjectNote()
    required.close()
    assert reopen().warnings == ()


@pytest.mark.parametrize("withdrawn_first", [True, False])
def test_what_was_taken_back_can_be_deleted_and_restored(required, waiting, hand_over, withdrawn_first):
    take_id = waiting(rate=8000)
    hand_over()
    if withdrawn_first:
        required.withdraw_consent(SUBJECT)
    take_back(required, [take_id])
    if not withdrawn_first:
        required.withdraw_consent(SUBJECT)
    assert chosen(required, take_id).delete == chosen(required, take_id).undoable == (take_id,)
    required.discard(take_id)
    required.trash.restore(take_id)
    assert required.store.asked(take_id)  # the other computer may have sent it, so the service is still asked first
    assert UploadQueue(required.store).events() == []
    erasure = erase_subject(required, SUBJECT)
    assert (erasure.erased, erasure.in_bundles) == (1, 1)  # the file on the stick is still there
    assert is_gone(required, take_id)


def test_what_misses_an_answer_waits_for_it_until_consent_is_withdrawn(required, waiting, hand_over):
    take_id = waiting(rate=8000)
    hand_over()
    take_back(required, [take_id])
    queue = UploadQueue(required.store)
    queue.mark_not_asked(queue.events()[0])  # the search found nothing, so it is sent from here
    ask_without_an_answer(required)
    assert required.get(take_id).bundle_id is not None
    assert chosen(required, take_id).delete == ()
    with pytest.raises(NotAllowed, match="Wait until that is known"):
        required.discard(take_id)
    required.withdraw_consent(SUBJECT)
    assert erase_subject(required, SUBJECT).left == ()
    assert is_gone(required, take_id)


def test_what_a_service_certainly_has_stays_until_its_result(required, waiting):
    take_id = waiting(rate=8000)
    ask_without_an_answer(required)
    queue = UploadQueue(required.store)
    queue.mark_taken(queue.events()[0], "job-1")
    required.withdraw_consent(SUBJECT)
    erasure = erase_subject(required, SUBJECT)
    assert erasure.erased == 0 and "Wait for the result" in erasure.left[0]
    assert required.get(take_id).state is OutboxState.SUBMITTED


def test_the_service_on_this_computer_has_to_answer_before_it_can_erase(tmp_path, clock, library, waiting):
    take_id = waiting(rate=8000)
    ask_without_an_answer(library)
    library.close()
    own = Library(tmp_path / "library", bytes(range(32)), clock, erases_at_service=True)
    own.withdraw_consent(SUBJECT)
    erasure = erase_subject(own, SUBJECT)
    assert erasure.erased == 0 and len(erasure.left) == 1
    assert own.get(take_id).state is OutboxState.NEEDS_ATTENTION
    own.close()


def test_the_withdrawal_of_what_was_erased_still_reaches_the_other_computer(
    required, waiting, hand_over, tmp_path, clock
):
    office = Library(tmp_path / "office", bytes(reversed(range(32))), clock)
    take_id = waiting(rate=8000)
    secret = secret_of(VAULT, PROFILE, None)
    assert import_bundle(office, OWNER, hand_over().path, secret).added == [take_id]
    assert [event.take_id for event in UploadQueue(office.store).events()] == [take_id]
    clock.advance(60)
    required.withdraw_consent(SUBJECT)
    erase_subject(required, SUBJECT)
    required.consents.give("ward4-0200", ConsentKind.CLINICAL)
    other = waiting("ward4-0200", rate=8000, recorded_at=datetime(2026, 3, 2, 8, 30, 0, 7, tzinfo=UTC))
    assert import_bundle(office, OWNER, hand_over().path, secret).added == [other]
    assert [event.take_id for event in UploadQueue(office.store).events()] == [other]
    office.close()


class Tasks:
    """Runs tasks when a test says so."""

    def __init__(self):
        self.waiting = []

    def start(self, work, done=None, failed=None, progressed=None, finished=None, name="task"):
        def run():
            result = work(None)
            if done is not None:
                done(result)
            if finished is not None:
                finished()

        self.waiting.append(run)

    def run(self):
        while self.waiting:
            self.waiting.pop(0)()


def flow_of(library, tasks, clock=None):
    """What pages read and change, without a service."""
    sync = SyncState(UnknownNetwork())
    sync.settings = library.settings()
    return Flow(DeskContext(SimpleNamespace(clock=clock), PROFILE, library, None, None, sync, None), tasks)


def test_the_page_names_the_copies_that_stay(required, waiting, hand_over, clock):
    waiting(rate=8000)
    hand_over()
    tasks, said = Tasks(), []
    flow = flow_of(required, tasks, clock)
    model = SubjectConsentViewModel(flow)
    model.open(SUBJECT)
    tasks.run()
    assert "1 of them was handed over: its bundle is another copy" in model.erasure_text()
    model.done.connect(lambda subject, sentence: said.append(sentence))
    model.withdraw(ConsentKind.BOTH, erase=True)
    tasks.run()
    assert "1 recording is erased" in said[0]
    assert "its bundle is another copy" in said[0] and "could not be erased" not in said[0]
    assert "ask its operator" in said[0]


def test_deleting_what_is_handed_over_says_to_take_it_back(required, waiting, hand_over):
    take_id = waiting(rate=8000)
    hand_over()
    flow, told = flow_of(required, Tasks()), []
    actions = OutboxActions(flow)
    actions.noticed.connect(told.append)
    actions.delete(chosen(required, take_id))
    assert "Take it back, then delete it" in told[0].sentence
