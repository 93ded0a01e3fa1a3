"""Takes of equal length on several computers of one account: each done take holds its own result.

A hypothesis state machine against the real service in process. Recordings differ only in their samples: length, size,
rate and target are the same, there are two subjects, and imported files share their capture times. Two desks and one
computer that sends a folder with `submit_files` use one account, exchange bundles, lose answers, are killed and
restored; groups are deleted meanwhile. The service reads references of submissions, or does not know them; a gateway
may drop the headers of requests.

After each step, a take with a job has one with its own sound, and no sound has more jobs than people requested. At the
end every take is done, if needed after a person has sent it again. One case cannot be detected: a take was handed over,
another computer has sent it, and its group was deleted since. It may be sent once more, so such a deletion counts as a
request.
"""

import hashlib
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import httpx
import numpy as np
import soundfile as sf
from fault_schedules import FaultsOfOurs
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from service_in_process import API, Clock, ServiceInProcess
from service_records import samples_sha256
from simulated_laptop import KEY, MONDAY, BadNetwork, Fault, Laptop, Precision, World, kind_of

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.client import Client, FileToSubmit, RetryRule, submit_files
from vbdesk.client.errors import ClientError
from vbdesk.contract.limits import Plan
from vbdesk.outbox.bundles.bundle_errors import BundleError
from vbdesk.outbox.bundles.bundle_export import BundleOwner, export_bundle, settle, take_back
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, public_key, secret_of
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import NotAllowed
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault

RATE = 8000
SECONDS = 15.2
SUBJECTS = ("mrs-x", "mr-y")
PULSE = RecordingTarget("model", "pulse")
WHOLE_SECOND = MONDAY.replace(microsecond=0)
SUPPLIED = MONDAY.replace(microsecond=123456)
MOST_TAKES = 5
MOST_STEPS = 3000
QUICK = Path("/dev/shm")

_LOST = (Fault.LOST, Fault.STALL, Fault.CUT_DOWN, Fault.GATEWAY, Fault.CRASH)
_NOT_TAKEN = (Fault.REFUSED, Fault.CONNECT_TIMEOUT, Fault.CUT_UP, Fault.ERROR_500, Fault.ERROR_503, Fault.PORTAL)

desks = st.sampled_from((0, 1))
subjects = st.sampled_from(SUBJECTS)
moments = st.sampled_from((WHOLE_SECOND, SUPPLIED))


class Bench:
    """One service for all machines, each with an account of its own, and counts of events."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="vbdesk-identity-", dir=QUICK if QUICK.is_dir() else None)
        self.folder = Path(folder)
        self.clock = Clock(MONDAY)
        (self.folder / "service").mkdir()
        self.service = ServiceInProcess(self.folder / "service", self.clock)
        self.tally: Counter[str] = Counter()

    def close(self) -> None:
        self.service.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class _Interrupting(httpx.BaseTransport):
    """The network of the computer without a desk: ends its program during a submit, or loses its answer."""

    def __init__(self, network: BadNetwork) -> None:
        self.network = network
        self.ends = 0  # number of submits after which the program ends

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.network.handle_request(request)
        if kind_of(request) == "analyze" and self.ends:
            self.ends -= 1
            raise KeyboardInterrupt
        return answer


class _WorldsTime:
    """The clock of a client: a wait advances the simulation."""

    def __init__(self, world: World) -> None:
        self._world = world

    def monotonic(self) -> float:
        return self._world.clock.moment.timestamp()

    def sleep(self, seconds: float, cancel=None) -> None:
        self._world.advance(seconds)


class IdentityMachine(RuleBasedStateMachine):
    """See the module. The test sets `bench`."""

    bench: Bench

    @initialize(
        reads_refs=st.booleans(),
        drops=st.sampled_from(("", "requests")),
        precision=st.sampled_from((*[Precision.MICROSECONDS] * 3, *Precision)),
        first=st.lists(
            st.tuples(st.sampled_from(("record", "import", "folder")), desks, subjects, moments), min_size=2, max_size=3
        ),
    )
    def begin(self, reads_refs: bool, drops: str, precision: Precision, first: list) -> None:
        bench = self.bench
        bench.clock.moment += timedelta(days=3)  # no earlier event counts any more
        bench.tally["schedules"] += 1
        bench.tally["with references" if reads_refs else "without references"] += 1
        self.reads_refs = reads_refs
        self.world = World(bench.clock)
        self.credentials = bench.service.add_account(Plan.ENTERPRISE, 1_000_000)
        self.folder = Path(tempfile.mkdtemp(dir=bench.folder))
        self.owner = BundleOwner(API, self.credentials.account_id)
        self.profile = Profile("p", "Any", "service", API, self.credentials.account_id)
        self.vault = MemoryVault()
        networks = [BadNetwork(bench.service, self.world, reads_refs=reads_refs, precision=precision) for _ in range(3)]
        for network in networks:
            network.drops = drops  # a gateway drops the headers of requests
        self.laptops = []
        for number in (0, 1):
            (self.folder / f"desk-{number}").mkdir()
            laptop = Laptop(self.folder / f"desk-{number}", networks[number], self.credentials, Plan.ENTERPRISE)
            self.laptops.append(laptop)
        self.faults_of_ours = FaultsOfOurs()
        self.way = _Interrupting(networks[2])
        self.journal = self.folder / "submitted.jsonl"
        self.files: dict[str, FileToSubmit] = {}  # by the digest of their samples
        self.submitted: dict[str, str] = {}  # job id by digest
        self.sound_of: dict[str, str] = {}  # digest of its samples by take id
        self.allowed: Counter[str] = Counter()  # jobs by digest: one, plus one per request of a person
        self.shared: set[str] = set()  # digests of recordings that were in a bundle
        self.group_of: dict[str, str] = {}  # by digest
        self.deleted: Counter[str] = Counter()  # deletions by group
        self.number = 0
        (self.folder / "stick").mkdir()
        for way, desk, subject, moment in first:
            if way == "record":
                self.record(desk, subject)
            elif way == "import":
                self.import_file(desk, subject, moment)
            else:
                self.add_to_folder(subject, moment)

    # What people do

    def _new_sound(self) -> tuple[np.ndarray, str]:
        self.number += 1
        samples = np.random.default_rng(self.number).integers(-300, 300, round(SECONDS * RATE)).astype(np.int16)
        digest = hashlib.sha256(samples.astype("<i2").tobytes()).hexdigest()
        self.allowed[digest] = 1
        self.bench.tally["takes"] += 1
        return samples, digest

    @precondition(lambda self: self.number < MOST_TAKES)
    @rule(desk=desks, subject=subjects)
    def record(self, desk: int, subject: str) -> None:
        """All times differ, as with real microphones."""
        samples, digest = self._new_sound()
        laptop = self.laptops[desk]
        moment = MONDAY + timedelta(seconds=7 * self.number, microseconds=self.number)
        with laptop.tripwire.off():
            path = laptop.library.recording_folder / f"{self.number}.take"
            writer = EncryptedTakeWriter(path, KEY, RATE)
            writer.append(samples)
            writer.close()
            take_id = laptop.library.add_take(path, TakeMetadata(subject, moment, PULSE))
            laptop.library.queue(take_id)
        self.sound_of[take_id], self.group_of[digest] = digest, subject

    @precondition(lambda self: self.number < MOST_TAKES)
    @rule(desk=desks, subject=subjects, moment=moments)
    def import_file(self, desk: int, subject: str, moment) -> None:
        samples, digest = self._new_sound()
        laptop = self.laptops[desk]
        path = self._wav(samples)
        with laptop.tripwire.off():
            take_id = laptop.library.import_file(path, TakeMetadata(subject, moment, PULSE))
            laptop.library.queue(take_id)
        self.sound_of[take_id], self.group_of[digest] = digest, subject

    @precondition(lambda self: self.number < MOST_TAKES)
    @rule(subject=subjects, moment=moments)
    def add_to_folder(self, subject: str, moment) -> None:
        samples, digest = self._new_sound()
        self.files[digest] = FileToSubmit(self._wav(samples), subject, moment, PULSE, duration_s=SECONDS)

    def _wav(self, samples: np.ndarray) -> Path:
        path = self.folder / f"{self.number}.wav"
        sf.write(path, samples, RATE, subtype="PCM_16")
        return path

    @rule(desk=desks, steps=st.integers(1, 14))
    def work(self, desk: int, steps: int) -> None:
        for _ in range(steps):
            self._step(self.laptops[desk])

    def _step(self, laptop: Laptop, longest_s: float = 20.0) -> None:
        due_s = laptop.do(laptop.sync_worker.step)
        self.world.advance(0.01 if due_s is None else min(max(float(str(due_s)), 0.01), longest_s))

    @precondition(lambda self: self.files)
    @rule(ends=st.integers(0, 2), faults=st.lists(st.sampled_from((*_LOST, *_NOT_TAKEN)), max_size=3))
    def submit_folder(self, ends: int, faults: list[Fault]) -> None:
        self.way.ends = ends
        self.way.network.faults["analyze"].extend((fault, 1.0) for fault in faults)
        self._count(faults)
        self._submit(self.files.values())

    def _submit(self, files) -> None:
        by_path = {file.path: digest for digest, file in self.files.items()}
        with (
            Client(
                API, self.credentials, retries=RetryRule.NEVER, clock=_WorldsTime(self.world), transport=self.way
            ) as client,
            suppress(ClientError, KeyboardInterrupt),
        ):
            for done in submit_files(client, list(files), self.journal, clock=_WorldsTime(self.world)):
                if done.job_id is not None:
                    self.submitted[by_path[done.file.path]] = done.job_id
                elif done.unproven:
                    self.bench.tally["asked a person"] += 1

    @rule(
        desk=desks,
        fault=st.sampled_from((*_LOST, *_LOST, *_NOT_TAKEN, Fault.SLOW)),
        kind=st.sampled_from(("analyze", "analyze", "analyze", "any", "group", "put")),
        times=st.sampled_from((1, 1, 2, 7)),
    )
    def meet(self, desk: int, fault: Fault, kind: str, times: int) -> None:
        self.laptops[desk].network.faults[kind].extend([(fault, 1.0)] * times)
        self._count([fault] * times)

    @precondition(lambda self: self.reads_refs)
    @rule(desk=desks, seconds=st.sampled_from((1.0, 4.0, 40.0)))
    def meet_late(self, desk: int, seconds: float) -> None:
        """A request that arrives long after its caller gave up; without references it makes a second job."""
        self.laptops[desk].network.faults["analyze"].append((Fault.LATE, seconds))
        self._count([Fault.LATE])

    def _count(self, faults: list[Fault]) -> None:
        self.bench.tally["faults"] += len(faults)

    @rule(desk=desks, after=st.sampled_from((0, 1, 3, 7, 15, 40)))
    def kill(self, desk: int, after: int) -> None:
        self.bench.tally["kills"] += 1
        laptop = self.laptops[desk]
        if after:
            laptop.tripwire.ends_in = after
        else:
            laptop.kill()

    @rule(seconds=st.sampled_from((1.0, 61.0, 3600.0, 23.2 * 3600, 25 * 3600.0)))
    def wait(self, seconds: float) -> None:
        self.world.advance(seconds)

    @rule(count=st.integers(1, 4))
    def analyse(self, count: int) -> None:
        for job_id in self.bench.service.queued()[:count]:
            self.bench.service.finish(job_id)

    @rule(desk=desks)
    def hand_over(self, desk: int) -> None:
        """Hand the waiting recordings of one desk to the other in a bundle."""
        giver, taker = self.laptops[desk], self.laptops[1 - desk]
        lock = KeyLock(public_key(self.vault, self.profile))
        with giver.tripwire.off(), taker.tripwire.off():
            try:
                made = export_bundle(giver.library, self.owner, self.folder / "stick", lock)
            except BundleError:
                return
            settle(giver.library)
            with suppress(BundleError):
                import_bundle(taker.library, self.owner, made.path, secret_of(self.vault, self.profile, None))
        self.shared |= {self.sound_of[take_id] for take_id in made.take_ids}
        self.bench.tally["bundles"] += 1

    @rule(desk=desks)
    def take_back(self, desk: int) -> None:
        laptop = self.laptops[desk]
        with laptop.tripwire.off():
            handed = [item.take_id for item in laptop.library.list() if item.state is OutboxState.HANDED_OVER]
            take_back(laptop.library, handed)

    @rule(subject=subjects)
    def delete_group(self, subject: str) -> None:
        """Delete the subject's group from elsewhere; its jobs stay."""
        way = _Direct(self.bench.service)
        with Client(API, self.credentials, retries=RetryRule.NEVER, transport=way) as client, suppress(ClientError):
            client.groups.delete(subject)
            self.deleted[subject] += 1
            self.bench.tally["groups deleted"] += 1

    @rule(desk=desks)
    def look_again(self, desk: int) -> None:
        laptop = self.laptops[desk]
        with laptop.tripwire.off():
            for item in self._undecided(laptop):
                with suppress(NotAllowed):
                    laptop.library.retry(item.take_id)

    @rule(desk=desks)
    def send_again(self, desk: int) -> None:
        laptop = self.laptops[desk]
        with laptop.tripwire.off():
            for item in self._undecided(laptop):
                self.allowed[self.sound_of[item.take_id]] += 1
                self.bench.tally["asked a person"] += 1
                laptop.library.send_again(item.take_id)

    def _undecided(self, laptop: Laptop):
        return [item for item in laptop.library.list() if item.fix is Fix.SEND_AGAIN]

    # Invariants

    @invariant()
    def every_job_is_of_its_own_sound(self) -> None:
        jobs = {job.job_id: job for job in self.bench.service.records.jobs(self.credentials.account_id)}
        sounds = {job_id: samples_sha256(self.bench.service.records.audio(job)) for job_id, job in jobs.items()}
        self.bench.tally["checks"] += 1
        for laptop in self.laptops:
            with laptop.tripwire.off():
                items = laptop.library.list()
            for item in items:
                if item.job_id is not None:
                    assert sounds[item.job_id] == self.sound_of[item.take_id], f"another's job: {item.state}"
                assert (item.state is OutboxState.DONE) <= (item.result_json is not None)
                assert item.fault is None, item.fault
        for digest, job_id in self.submitted.items():
            assert sounds[job_id] == digest, "another's job was written down"
        for digest, count in Counter(sounds.values()).items():
            unseen = self.deleted[self.group_of[digest]] if digest in self.shared else 0
            allowed = self.allowed[digest] + unseen
            assert count <= allowed, f"{count} jobs for one sound, {allowed} were asked for"

    def teardown(self) -> None:
        if not hasattr(self, "laptops"):
            return
        try:
            self._settle()
            self.every_job_is_of_its_own_sound()
        finally:
            for laptop in self.laptops:
                laptop.close()
            for job_id in self.bench.service.queued():
                self.bench.service.finish(job_id)
            shutil.rmtree(self.folder, ignore_errors=True)

    def _settle(self) -> None:
        """End all faults and make all decisions; then everything arrives."""
        for laptop in self.laptops:
            laptop.network.faults = {kind: type(queue)() for kind, queue in laptop.network.faults.items()}
            laptop.tripwire.ends_in = None
        self.way.ends = 0
        self.way.network.faults["analyze"].clear()
        for _ in range(2):
            for desk, laptop in enumerate(self.laptops):
                self._settle_desk(desk, laptop)
        self._submit(self.files.values())
        for digest in self.files.keys() - self.submitted.keys():
            self.allowed[digest] += 1
            file = self.files[digest]
            self._submit([FileToSubmit(file.path, file.group_id, file.recorded_at, PULSE, False, False, SECONDS, 2)])
        assert self.submitted.keys() == self.files.keys(), "a file was not sent"
        states = Counter()
        done = set()
        for laptop in self.laptops:
            for item in laptop.library.list():
                states[item.state] += 1
                done.add(item.take_id)
        assert set(states) <= {OutboxState.DONE}, f"not everything arrived: {states}"
        assert done == self.sound_of.keys(), "a take is gone"
        self.bench.tally["done"] += len(done) + len(self.submitted)

    def _settle_desk(self, desk: int, laptop: Laptop) -> None:
        self.take_back(desk)
        for _ in range(MOST_STEPS):
            self._step(laptop, longest_s=60.0)
            for job_id in self.bench.service.queued():
                self.bench.service.finish(job_id)
            self.send_again(desk)
            items = laptop.library.list()
            for item in items:
                if item.state is OutboxState.NEEDS_ATTENTION:
                    assert item.fix in (Fix.SEND_AGAIN, Fix.TRY_AGAIN), item.reason
                    if item.fix is Fix.TRY_AGAIN:
                        laptop.library.retry(item.take_id)
            if self.world.idle and all(item.state is OutboxState.DONE for item in items):
                return
        raise AssertionError(f"nothing moves any more: {[(i.state, i.reason) for i in laptop.library.list()]}")


class _Direct(httpx.BaseTransport):
    """The service, called directly."""

    def __init__(self, service: ServiceInProcess) -> None:
        self._service = service

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._service.exchange(request, b"".join(request.stream))
