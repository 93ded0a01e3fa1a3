"""A recording is moved, excluded, put back: in the end one group at the service holds it, whatever happens."""

import sys
from datetime import timedelta
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from service_in_process import Clock, ServiceInProcess
from simulated_laptop import MONDAY, BadNetwork, Fault, Laptop, Precision, World

from vbdesk.contract.limits import Plan
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.column_encryption import ColumnCipher
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.corrections import CorrectedRecording, CorrectionReason, CorrectionStep
from vbdesk.outbox.library.items import RecordingTarget
from vbdesk.outbox.library.library import NotAllowed
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import SEND
from vbdesk.outbox.sync.upload_queue import UploadQueue

A, B = "ward4-0172", "ward4-0173"
WRONG = CorrectionReason.WRONG_PERSON


class Ward:
    """A laptop with two finished recordings of one subject, and the service that has them."""

    def __init__(self, service: ServiceInProcess, clock: Clock, folder: Path, plan: Plan = Plan.ENTERPRISE) -> None:
        clock.moment += timedelta(minutes=10)  # all rate windows have passed
        self.service, self.world = service, World(clock)
        self.network = BadNetwork(service, self.world, reads_refs=True, precision=Precision.MICROSECONDS)
        self.credentials = service.add_account(plan, 1000)
        self.laptop = Laptop(folder, self.network, self.credentials, plan)
        for number in range(2):
            moment = clock.moment - timedelta(hours=2 - number)
            self.laptop.record(number, moment, A, RecordingTarget("sign", "fatigue"))
        self.work(lambda: self.states() == {OutboxState.DONE})
        self.first, self.second = self.laptop.takes

    @property
    def library(self):
        return self.laptop.library

    @property
    def corrections(self):
        return self.laptop.library.corrections

    def states(self):
        return {item.state for item in self.library.list()}

    def member(self, take_id=None):
        return self.corrections.member(take_id or self.first)

    def step(self):
        for job_id in self.service.queued():
            self.service.finish(job_id)
        due_s = self.laptop.do(self.laptop.sync_worker.step)
        self.world.advance(0.01 if due_s is None else min(max(float(due_s), 0.01), 20.0))

    def work(self, until, steps=600):
        for _ in range(steps):
            if until():
                return
            self.step()
        raise AssertionError("it never came to an end")

    def settle(self):
        self.work(lambda: not self.corrections.due() and self.world.idle)

    def groups_of(self, take_id=None):
        """The groups that hold a recording's job at the service."""
        job_id = self.library.get(take_id or self.first).job_id
        jobs = self.service.records.jobs(self.credentials.account_id)
        return sorted(job.group_id or "" for job in jobs if job.job_id == job_id)

    def audit(self, what):
        entries = AuditReader(self.library.store.folder, self.library.store.key).entries()
        return [(entry.take_id, entry.detail) for entry in entries if entry.what == what]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    clock = Clock(MONDAY)
    opened = ServiceInProcess(tmp_path_factory.mktemp("service"), clock)
    yield opened
    opened.close()


@pytest.fixture
def ward(service, folder_in_memory):
    opened = Ward(service, service.clock, folder_in_memory)
    yield opened
    opened.laptop.close()


def test_a_move_changes_this_computer_at_once_and_the_service_when_it_answers(ward):
    ward.network.online = False
    ward.corrections.move(ward.member(), B, WRONG)
    assert ward.library.get(ward.first).group_id == B
    assert ward.groups_of() == [A]
    for _ in range(20):
        ward.step()
    assert [entry.step for entry in ward.corrections.due()] == [CorrectionStep.CREATE]
    ward.network.online = True
    ward.settle()
    assert ward.groups_of() == [B]
    assert ward.groups_of(ward.second) == [A]
    assert ward.audit(AuditAction.MOVED) == [(ward.first, "wrong person")]
    assert ward.audit(AuditAction.CORRECTED_AT_SERVICE) == [(ward.first, "")]
    assert ward.library.verify_audit().ok
    ward.work(lambda: ward.library.responses.trajectory(B) is not None)


def test_an_excluded_recording_stays_a_recording_and_can_be_put_back(ward):
    entry = ward.corrections.exclude(ward.member(), CorrectionReason.UNUSUAL_DAY)
    ward.settle()
    item = ward.library.get(ward.first)
    assert (item.group_id, item.excluded, item.state) == (A, True, OutboxState.DONE)
    assert item.result is not None
    assert ward.groups_of() == [""]
    assert ward.corrections.in_force() == [ward.corrections.all()[-1]]
    with pytest.raises(NotAllowed, match="excluded from the course already"):
        ward.corrections.exclude(ward.member(), WRONG)
    ward.corrections.put_back(entry.number)
    assert ward.corrections.in_force() == []
    ward.settle()
    assert ward.groups_of() == [A]
    assert not ward.library.get(ward.first).excluded
    assert [what for what, _ in ward.audit(AuditAction.PUT_BACK)] == [ward.first]
    with pytest.raises(NotAllowed, match="corrected again since"):
        ward.corrections.put_back(entry.number)


def test_undo_of_a_move_that_has_only_begun_ends_where_it_was(ward):
    entry = ward.corrections.move(ward.member(), B, WRONG)
    ward.work(lambda: ward.corrections.all()[-1].step is CorrectionStep.REMOVE)
    assert ward.groups_of() == [A, B]
    ward.corrections.put_back(entry.number)
    assert ward.library.get(ward.first).group_id == A
    ward.settle()
    assert ward.groups_of() == [A]


def test_an_excluded_recording_that_is_moved_and_put_back_is_excluded_again(ward):
    out = ward.corrections.exclude(ward.member(), WRONG)
    there = ward.corrections.move(ward.member(), B, WRONG)
    ward.settle()
    assert (ward.groups_of(), ward.library.get(ward.first).excluded) == ([B], False)
    ward.corrections.put_back(there.number)
    ward.settle()
    assert (ward.groups_of(), ward.library.get(ward.first).excluded) == ([""], True)
    ward.corrections.put_back(out.number)
    ward.settle()
    assert (ward.groups_of(), ward.library.get(ward.first).excluded) == ([A], False)


def test_a_kill_at_any_moment_of_a_move_leaves_exactly_one_group(ward):
    killed_after, kills, here, there = 0, 0, A, B
    while True:
        killed_after += 1
        lives = ward.laptop.lives
        ward.corrections.move(ward.member(), there, WRONG)
        ward.laptop.tripwire.ends_in = killed_after
        while ward.laptop.lives == lives and ward.corrections.due():
            ward.step()
        with ward.laptop.tripwire.off():
            assert set(ward.groups_of()) <= {A, B} and ward.groups_of() != []
        if ward.laptop.lives == lives:
            break
        kills += 1
        ward.settle()
        assert ward.groups_of() == [there], killed_after
        assert ward.library.get(ward.first).group_id == there
        assert ward.library.warnings == ()
        here, there = there, here
    assert kills > 20  # before and after each request, and within each transaction
    assert ward.library.verify_audit().ok


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.LATE, Fault.CRASH, Fault.GATEWAY, Fault.ERROR_500, Fault.PAUSE])
def test_a_lost_or_late_answer_at_any_step_leaves_exactly_one_group(ward, fault):
    here, there = A, B
    for place in range(5):
        ward.corrections.move(ward.member(), there, WRONG)
        for _ in range(place):
            ward.work(lambda: True)
            ward.step()
        ward.network.faults["any"].extend([(fault, 7.0)] * 2)
        ward.settle()
        ward.network.faults["any"].clear()
        ward.world.advance(60)
        assert ward.groups_of() == [there], place
        here, there = there, here
    assert ward.network.met[fault] >= 5


def test_a_group_that_somebody_deletes_between_the_steps_is_created_again(ward):
    ward.corrections.move(ward.member(), B, WRONG)
    ward.work(lambda: ward.corrections.all()[-1].step is CorrectionStep.VERIFY)
    with ward.laptop._connect() as client:
        client.groups.delete(B)
    ward.step()
    assert ward.groups_of() == [A]
    assert "under its new subject" in ward.corrections.all()[-1].trouble
    ward.settle()
    assert ward.groups_of() == [B]


def test_a_recording_that_the_service_no_longer_has_settles_without_it(ward):
    member = ward.member()
    gone = type(member)(None, A, member.recorded_at, ("no-such-job",), "no-such-job")
    ward.corrections.move(gone, B, WRONG)
    ward.settle()
    assert ward.groups_of() == [A]


def test_a_standard_plan_is_kept_within_its_limits(service, folder_in_memory):
    ward = Ward(service, service.clock, folder_in_memory, Plan.STANDARD)
    try:
        ward.corrections.move(ward.member(), B, WRONG)
        ward.corrections.exclude(ward.member(ward.second), WRONG)
        ward.settle()
        assert ward.groups_of() == [B]
        assert ward.groups_of(ward.second) == [""]
        assert not any(status == 429 for _, status in ward.network.statuses)
    finally:
        ward.laptop.close()


# On this computer only


@pytest.mark.parametrize(
    "correct",
    [
        lambda library, member: library.corrections.move(member, B, WRONG),
        lambda library, member: library.corrections.exclude(member, WRONG),
    ],
)
def test_a_recording_that_was_sent_while_a_person_was_asked_is_corrected_at_the_service_too(library, waiting, correct):
    take_id = waiting(A)
    member = library.corrections.member(take_id)
    line = UploadQueue(library.store)
    (event,) = line.events()
    assert line.begin_upload(event)
    line.mark_taken(event, "job-1")
    correct(library, member)
    (entry,) = library.corrections.due()
    assert (entry.source, entry.member.job_ids) == (A, ("job-1",))


def test_a_recording_that_was_not_sent_is_moved_by_its_subject_alone(library, new_take):
    take_id = new_take(A, seconds=1)
    entry = library.corrections.move(library.corrections.member(take_id), B, WRONG)
    assert entry.settled
    assert library.get(take_id).group_id == B
    assert library.corrections.due() == []
    library.corrections.put_back(entry.number)
    assert library.get(take_id).group_id == A
    with pytest.raises(NotAllowed, match="Only a recording that the service has"):
        library.corrections.exclude(library.corrections.member(take_id), WRONG)


def test_a_refused_correction_changes_nothing_and_says_what_to_do(library, new_take, waiting):
    one, other = new_take(A, seconds=1), new_take(B, seconds=1)
    with library.store.changing():
        moment = library.store.row(one)["recorded_at"]
        library.store.update(other, {"recorded_at": moment})
    version = library.store.version()
    corrections = library.corrections
    member = corrections.member(one)
    for group_id, error, words in (
        (A, NotAllowed, "belongs to ward4-0172 already"),
        (B, NotAllowed, "of exactly this time already"),
        ("été", ValueError, "starts with a letter"),
        ("", ValueError, "Give a group id"),
    ):
        with pytest.raises(error, match=words):
            corrections.move(member, group_id, WRONG)
    asked = waiting(A)
    with library.store.changing():
        library.store.add_event(asked, SEND, {"asked_at": library.store.now()})
    with pytest.raises(NotAllowed, match="may have this recording already"):
        corrections.move(corrections.member(asked), B, WRONG)
    assert [library.get(take_id).group_id for take_id in (one, asked)] == [A, A]
    assert corrections.all() == []
    assert library.store.version() > version  # only the preparations above


def test_a_recording_needs_the_consent_of_its_new_subject_and_leaves_the_tick_of_the_old_one(library, new_take):
    take_id = new_take(A, seconds=1, consented_at=library.store.clock.now())
    library.change_settings(consent=ConsentRules(policy=ConsentPolicy.REQUIRED))
    corrections = library.corrections
    with pytest.raises(NotAllowed, match=r"^ward4-0173: No consent of this subject is noted"):
        corrections.move(corrections.member(take_id), B, WRONG)
    library.consents.give(B, ConsentKind.CLINICAL, at=library.get(take_id).recorded_at)
    corrections.move(corrections.member(take_id), B, WRONG)
    assert library.get(take_id).consented_at is None
    assert library.consents.of(A).events != ()


def test_a_refusal_calls_a_subject_by_its_alias(library, new_take):
    notes = library.subject_notes
    notes.store_alias("s-1", "Übung 7")
    notes.store_alias("s-2", "Übung 8")
    one, other = new_take("s-1", seconds=1), new_take("s-2", seconds=1)
    with library.store.changing():
        library.store.update(other, {"recorded_at": library.store.row(one)["recorded_at"]})
    corrections = library.corrections
    for group_id, name in (("s-1", "Übung 7"), ("s-2", "Übung 8")):
        with pytest.raises(NotAllowed, match=name) as refused:
            corrections.move(corrections.member(one), group_id, WRONG)
        assert "s-" not in str(refused.value)
    library.change_settings(consent=ConsentRules(policy=ConsentPolicy.REQUIRED))
    with pytest.raises(NotAllowed, match=r"^\u2068Übung 8\u2069: No consent of this subject is noted"):
        corrections.move(corrections.member(one), "s-2", WRONG)


def test_nothing_of_a_person_is_in_the_clear(library, new_take, tmp_path):
    take_id = new_take("alias-of-jane", seconds=1)
    library.corrections.move(library.corrections.member(take_id), B, WRONG)
    rows = library.store.rows("SELECT * FROM audit WHERE sealed IS NOT NULL")
    assert len(rows) == 1
    assert b"jane" not in bytes(rows[0]["sealed"])
    assert "jane" not in " ".join(f"{tuple(row)}" for row in library.store.rows("SELECT * FROM audit"))


def of_service(number, group_id=A):
    """A recording that only the service has."""
    recorded_at = MONDAY + timedelta(minutes=number)
    return CorrectedRecording(None, group_id, recorded_at, (f"job-{number}",), f"job-{number}")


def test_each_version_of_an_entry_is_decrypted_once_however_often_it_is_asked_for(library, reopen, monkeypatch):
    decrypted, real = [], ColumnCipher.decrypt

    def counted(cipher, sealed, place):
        decrypted.append(place)
        return real(cipher, sealed, place)

    for number in range(30):
        library.corrections.exclude(of_service(number), WRONG)
    library.close()
    again = reopen()
    monkeypatch.setattr(ColumnCipher, "decrypt", counted)
    for _ in range(5):  # each wake of the sync worker, each read of a trajectory
        assert len(again.corrections.all()) == len(again.corrections.due()) == len(again.corrections.in_force()) == 30
    assert len(decrypted) == len(set(decrypted)) == 31, "every event, and the key of the subject"
    assert sorted(int(place.split("/")[1]) for place in decrypted if place.startswith("audit/")) == list(range(1, 31))
    again.corrections.advance(again.corrections.due()[7], CorrectionStep.SETTLED)
    assert len(again.corrections.due()) == 29
    assert [place.split("/")[:2] for place in decrypted[31:]] == [["audit", "31"]], "only what is new"
    assert again.corrections.all()[7].settled


def test_entries_of_one_recording_wait_for_each_other_and_for_nothing_else(library):
    corrections = library.corrections
    first, other = corrections.exclude(of_service(1), WRONG), corrections.exclude(of_service(2), WRONG)
    back = corrections.put_back(first.number)
    moved = corrections.move(of_service(1), B, WRONG)
    for expected in (first, back, moved):
        assert [entry.number for entry in corrections.due()] == sorted([expected.number, other.number])
        corrections.advance(expected, CorrectionStep.SETTLED)
    assert [entry.number for entry in corrections.due()] == [other.number]
    assert [entry.number for entry in corrections.in_force()] == [other.number, moved.number]


def test_an_entry_that_somebody_else_wrote_is_not_done(ward):
    ward.corrections.move(ward.member(), B, WRONG)
    ward.library.store._database.execute("DROP TRIGGER audit_is_never_changed")
    ward.library.store._database.execute("UPDATE audit SET sealed = zeroblob(200) WHERE sealed IS NOT NULL")
    assert ward.corrections.due() == []
    assert ward.groups_of() == [A]
