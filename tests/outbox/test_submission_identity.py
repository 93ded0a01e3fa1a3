"""Whole runs in which an enemy, a careless nurse or a gateway would double a recording or pay for it twice.

- A gateway drops request headers that it does not know, such as `Idempotency-Key`, and keeps those of answers.
- A gateway drops the headers of answers, so that no announcement arrives.
- A bundle is carried to two computers, and nobody can find the job: the group was deleted meanwhile.
- A library is restored from a copy, or two copies of it run at once.
- A nurse presses "try again" and "send again" on each copy.
- Somebody had the job erased, and a copy sends it again.
"""

import shutil
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

sys.path.append(str(Path(__file__).parent))

from service_in_process import API, Clock, ServiceInProcess
from simulated_laptop import MONDAY, BadNetwork, Fault, Laptop, Precision, World

from vbdesk.client import Client, FileToSubmit, RetryRule, submit_files
from vbdesk.client.errors import ClientError, NotFound
from vbdesk.clock import ManualClock
from vbdesk.contract.limits import Plan
from vbdesk.outbox.bundles.bundle_export import BundleOwner, export_bundle, settle, take_back
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, public_key, secret_of
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.service.erasure.service import Eraser
from vbdesk.service.groups.waiting_jobs import GroupHistories

GROUP, FATIGUE = "ward4-0172", RecordingTarget("sign", "fatigue")
DONE, FAILED, NEEDS_ATTENTION = OutboxState.DONE, OutboxState.FAILED, OutboxState.NEEDS_ATTENTION
GATEWAYS = ["", "requests", "answers"]


class Ward:
    """One account at one service, and the computers that send to it."""

    def __init__(self, service, folder, drops=""):
        service.clock.moment += timedelta(days=1)
        self.service, self.folder, self.drops = service, folder, drops
        self.world = World(service.clock)
        self.credentials = service.add_account(Plan.ENTERPRISE, 1000)
        self.computers = []
        self.first = self.open("first")

    def open(self, name, copy_of=None):
        network = BadNetwork(self.service, self.world, reads_refs=True, precision=Precision.MICROSECONDS)
        network.drops = self.drops
        folder = self.folder / name
        folder.mkdir()
        if copy_of is not None:
            shutil.copytree(copy_of.folder, folder / "library-0")
        computer = Laptop(folder, network, self.credentials, Plan.ENTERPRISE)
        self.computers.append(computer)
        return computer

    def record(self, number=0):
        moment = self.service.clock.moment - timedelta(hours=2 - number)
        self.first.record(number, moment, GROUP, FATIGUE)
        return list(self.first.takes)[-1]

    def import_file(self):
        """A file whose time a person entered: nothing but the reference identifies it."""
        path = self.folder / "entered.wav"
        sf.write(path, np.random.default_rng(1).normal(0, 0.1, 20 * 8000), 8000)
        moment = self.service.clock.moment - timedelta(hours=1)
        take_id = self.first.library.import_file(path, TakeMetadata(GROUP, moment.replace(microsecond=5), FATIGUE))
        self.first.library.queue(take_id)
        return take_id

    def work(self, computer, until=None, ends_as="done"):
        """Let a computer work until all its recordings rest."""
        rest = {DONE, FAILED, NEEDS_ATTENTION, OutboxState.HANDED_OVER}
        until = until or (lambda: {item.state for item in computer.library.list()} <= rest)
        for _ in range(2000):
            if until():
                return
            due_s = computer.do(computer.sync_worker.step)
            self.world.advance(0.01 if due_s is None else min(max(float(due_s), 0.01), 20.0))
            for job_id in self.service.queued():
                self.service.finish(job_id, ends_as)
        raise AssertionError([(item.state, item.reason) for item in computer.library.list()])

    def hide_jobs(self):
        """Delete the group: nobody finds a job by its group and time any more."""
        with self.client() as client, suppress(NotFound):
            client.groups.delete(GROUP)

    def client(self, *faults):
        network = BadNetwork(self.service, self.world, reads_refs=True, precision=Precision.MICROSECONDS)
        network.drops = self.drops
        network.faults["analyze"].extend((fault, 1.0) for fault in faults)
        return Client(API, self.credentials, retries=RetryRule.NEVER, transport=network)

    def jobs(self):
        return [job.job_id for job in self.service.records.jobs(self.credentials.account_id)]

    def paid(self):
        with self.client() as client:
            return 1000 - client.account.credits()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    opened = ServiceInProcess(tmp_path_factory.mktemp("service"), Clock(MONDAY))
    yield opened
    opened.close()


@pytest.fixture
def make_ward(service, tmp_path):
    made = []

    def make(drops=""):
        made.append(Ward(service, tmp_path, drops))
        return made[-1]

    yield make
    for ward in made:
        for computer in ward.computers:
            computer.close()


@pytest.mark.parametrize("drops", GATEWAYS)
@pytest.mark.parametrize("fault", [Fault.LOST, Fault.GATEWAY, Fault.CRASH, Fault.STALL])
def test_a_gateway_doubles_nothing(make_ward, drops, fault):
    ward = make_ward(drops)
    take_id = ward.record()
    ward.first.network.faults["analyze"].extend([(fault, 1.0)] * 2)
    ward.work(ward.first)
    assert ward.first.library.get(take_id).state is DONE
    assert (len(ward.jobs()), ward.paid()) == (1, 10)


@pytest.mark.parametrize("drops", GATEWAYS)
def test_only_where_no_announcement_arrives_a_person_is_asked(make_ward, drops):
    ward = make_ward(drops)
    take_id = ward.import_file()
    ward.first.network.faults["analyze"].append((Fault.LOST, 1.0))
    ward.work(ward.first)
    item = ward.first.library.get(take_id)
    assert (item.state, item.fix) == ((NEEDS_ATTENTION, Fix.SEND_AGAIN) if drops == "answers" else (DONE, None))
    assert (len(ward.jobs()), ward.paid()) == (1, 10)


def test_a_request_that_arrives_long_after_it_was_given_up_pays_once(make_ward):
    ward = make_ward("requests")
    ward.record()
    ward.first.network.faults["analyze"].append((Fault.LATE, 3600.0))
    ward.work(ward.first)
    ward.world.advance(7200)
    assert (len(ward.jobs()), ward.paid()) == (1, 10)


@pytest.mark.parametrize("drops", ["", "requests"])
def test_a_restored_copy_gets_the_first_job_also_when_nobody_can_find_it(make_ward, drops):
    ward = make_ward(drops)
    take_id = ward.record()
    copy = ward.open("copy", ward.first)
    ward.work(ward.first)
    ward.hide_jobs()
    ward.world.advance(400 * 86_400)
    ward.work(copy)
    assert copy.library.get(take_id).job_id == ward.first.library.get(take_id).job_id
    assert (len(ward.jobs()), ward.paid()) == (1, 10)


def test_two_copies_at_once_make_one_job(make_ward):
    ward = make_ward("requests")
    take_id = ward.record()
    copy = ward.open("copy", ward.first)
    for computer in (ward.first, copy):
        computer.network.faults["analyze"].append((Fault.LOST, 1.0))
    for _ in range(40):
        for computer in (ward.first, copy):
            computer.do(computer.sync_worker.step)
            ward.world.advance(0.5)
    for computer in (copy, ward.first):
        ward.work(computer)
    assert len({computer.library.get(take_id).job_id for computer in (copy, ward.first)}) == 1
    assert (len(ward.jobs()), ward.paid()) == (1, 10)


def test_try_again_after_a_failure_makes_one_job_more_however_many_copies_do_it(make_ward):
    ward = make_ward("requests")
    take_id = ward.record()
    ward.work(ward.first, ends_as="failed")
    copy = ward.open("copy", ward.first)
    for computer in (ward.first, copy):
        computer.library.retry(take_id)
        assert computer.library.get(take_id).attempt == 2
        ward.work(computer)
        ward.hide_jobs()
    assert copy.library.get(take_id).job_id == ward.first.library.get(take_id).job_id
    assert (len(ward.jobs()), ward.paid()) == (2, 10)


def test_send_again_on_each_copy_pays_once_more(make_ward):
    ward = make_ward("answers")
    take_id = ward.import_file()
    ward.first.network.faults["analyze"].append((Fault.LOST, 1.0))
    ward.work(ward.first)
    copy = ward.open("copy", ward.first)
    for computer in (ward.first, copy):
        computer.network.drops = ""
        assert computer.library.get(take_id).fix is Fix.SEND_AGAIN
        computer.library.send_again(take_id)
        ward.work(computer)
    assert copy.library.get(take_id).job_id == ward.first.library.get(take_id).job_id
    assert (len(ward.jobs()), ward.paid()) == (2, 20)


def test_refusals_raise_no_number(make_ward):
    ward = make_ward()
    take_id = ward.record()
    before = ward.first.library.get(take_id).client_ref
    ward.service.spend(ward.credentials.account_id, 1000)
    ward.work(ward.first, lambda: ward.first.network.statuses["analyze", 402])
    ward.service.grant(ward.credentials.account_id, 1000)
    ward.first.sync_worker.resume()
    ward.work(ward.first)
    item = ward.first.library.get(take_id)
    assert (item.state, item.client_ref) == (DONE, before)


def test_after_an_erasure_a_copy_is_refused_and_asks(make_ward):
    ward = make_ward()
    take_id = ward.record()
    copy = ward.open("copy", ward.first)
    ward.work(ward.first)
    context = ward.service.context
    eraser = Eraser(context.database, context.storage, GroupHistories.of(context), context.clock)
    eraser.erase_job(ward.credentials.account_id, ward.first.library.get(take_id).job_id)
    ward.work(copy)
    item = copy.library.get(take_id)
    assert (item.state, item.fix) == (NEEDS_ATTENTION, Fix.SEND_AGAIN)
    assert (ward.jobs(), ward.paid()) == ([], 10)
    copy.library.send_again(take_id)
    ward.work(copy)
    assert (copy.library.get(take_id).state, len(ward.jobs()), ward.paid()) == (DONE, 1, 20)


def test_a_used_reference_is_searched_for_before_a_person_is_asked(make_ward):
    """A copy says another language of the recording."""
    ward = make_ward()
    take_id = ward.record()
    copy = ward.open("copy", ward.first)
    ward.work(ward.first)
    with copy.library.store.changing():
        copy.library.store.update(take_id, {"longitudinal": not copy.library.get(take_id).longitudinal})
    ward.work(copy)
    assert copy.network.statuses["analyze", 409] == 1
    assert copy.library.get(take_id).job_id == ward.first.library.get(take_id).job_id
    assert (len(ward.jobs()), ward.paid()) == (1, 10)


@pytest.mark.parametrize("attempt", [1, 2])
def test_a_bundle_that_is_carried_twice_makes_one_job_of_each_recording(make_ward, attempt):
    ward = make_ward("requests")
    take_ids = [ward.record(0), ward.record(1)]
    if attempt == 2:
        ward.work(ward.first, ends_as="failed")
        for take_id in take_ids:
            ward.first.library.retry(take_id)
        ward.hide_jobs()  # those that failed, too
    owner, vault = BundleOwner(API, ward.credentials.account_id), MemoryVault()
    profile = Profile("p", "Any", "service", API, ward.credentials.account_id)
    (ward.folder / "stick").mkdir()
    made = export_bundle(ward.first.library, owner, ward.folder / "stick", KeyLock(public_key(vault, profile)))
    settle(ward.first.library)
    others = [ward.open("office"), ward.open("clinic")]
    for other in others:
        import_bundle(other.library, owner, made.path, secret_of(vault, profile, None))
        assert {other.library.get(each).attempt for each in take_ids} == {attempt}
        ward.work(other)
        ward.hide_jobs()
    take_back(ward.first.library, take_ids)
    ward.work(ward.first)
    computers = [*others, ward.first]
    for take_id in take_ids:
        assert len({computer.library.get(take_id).client_ref for computer in computers}) == 1
        assert len({computer.library.get(take_id).job_id for computer in computers}) == 1
    assert (len(ward.jobs()), ward.paid()) == (2 * attempt, 20)


def test_what_an_earlier_version_requested_is_searched_for_first(make_ward):
    """Its request named nothing: a repeat by the reference would be another job."""
    ward = make_ward("answers")
    take_id = ward.record()
    ward.first.network.faults["analyze"].append((Fault.LOST, 1.0))
    ward.work(ward.first, lambda: ward.jobs())
    ward.first.network.drops = ""
    assert not ward.first.library.get(take_id).named
    ward.work(ward.first)
    assert ward.first.network.statuses["group", 200] == 1
    assert ward.first.network.statuses["analyze", 200] == 1
    assert (len(ward.jobs()), ward.paid()) == (1, 10)


@pytest.mark.parametrize("drops", GATEWAYS)
def test_submit_files_pays_once_also_with_a_copy_of_its_journal(make_ward, drops):
    ward = make_ward(drops)
    path = ward.folder / "a.wav"
    sf.write(path, np.random.default_rng(1).normal(0, 0.1, 20 * 8000), 8000)
    file = FileToSubmit(path, GROUP, ward.service.clock.moment.replace(microsecond=0), FATIGUE, duration_s=20.0)
    journals = [ward.folder / name for name in ("journal.jsonl", "copy.jsonl")]

    def send(journal):
        with ward.client(Fault.LOST) as client:
            try:
                return list(submit_files(client, [file], journal, clock=ManualClock(ward.service.clock.now())))
            except ClientError:
                return []

    [first] = send(journals[0]) or send(journals[0])
    shutil.copy(journals[0], journals[1])
    lines = journals[1].read_text().splitlines()
    journals[1].write_text(lines[0] + "\n")  # as it was before anything was sent
    again = send(journals[1]) or send(journals[1])
    assert first.job_id is not None
    assert [each.job_id for each in again] == [first.job_id]
    assert (ward.jobs(), ward.paid()) == ([first.job_id], 10)


def test_a_reference_depends_on_the_take_the_target_and_the_number_alone(make_ward):
    ward = make_ward()
    take_id = ward.record()
    item = ward.first.library.get(take_id)
    assert len(item.client_ref) == 64
    copy = ward.open("copy", ward.first)
    assert copy.library.get(take_id).client_ref == item.client_ref
    ward.work(ward.first)
    assert ward.first.library.get(take_id).client_ref == item.client_ref
