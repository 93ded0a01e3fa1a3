"""Any sequence of bundle operations on three computers, with any interruptions: one job per recording."""

import shutil
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.client import Client, Credentials, RetryRule
from vbdesk.clock import ManualClock
from vbdesk.contract.limits import Plan
from vbdesk.outbox.bundles.bundle_errors import BundleError
from vbdesk.outbox.bundles.bundle_export import BundleOwner, export_bundle, settle, take_back
from vbdesk.outbox.bundles.bundle_import import import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, public_key, secret_of
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library, NotAllowed
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import MemoryVault
from vbdesk.outbox.sync.sync_worker import SyncWorker

MORNING = datetime(2026, 3, 1, 8, 30, 0, 123456, tzinfo=UTC)
OWNER = BundleOwner("http://service.test", "account")
FIELD, OFFICE, CLINIC = "field", "office", "clinic"
TAKES = 3


class Killed(BaseException):
    """The program is killed."""


class Computer:
    """A library with its sync worker; it can be killed, and its disk restored to that moment."""

    def __init__(self, folder, number, clock, connect):
        self.folder, self.clock, self.connect = folder, clock, connect
        self.key = bytes([number]) * 32
        self.start()

    def start(self):
        self.library = Library(self.folder, self.key, self.clock)
        self.sync_worker = SyncWorker(self.library, self.connect, self.clock, plan=Plan.ENTERPRISE)
        self.sync_worker.recover()

    def stop(self):
        self.sync_worker.disconnect()
        self.library.close()

    def restart(self):
        self.stop()
        self.start()

    def killed_within(self, work, stick, nth):
        """Do `work(progress)`, and restore disk and stick to the moment of the n-th progress call."""
        images = self.folder.with_name("image"), stick.with_name("image of the stick")
        calls = 0

        def photograph(done, total):
            nonlocal calls
            calls += 1
            if calls == nth:
                for folder, image in zip((self.folder, stick), images, strict=True):
                    shutil.copytree(folder, image)
                raise Killed

        try:
            work(photograph)
        except Killed:
            self.stop()
            for folder, image in zip((self.folder, stick), images, strict=True):
                shutil.rmtree(folder)
                image.rename(folder)
            self.start()

    def go(self, steps):
        for _ in range(steps):
            try:
                self.clock.advance(max(self.sync_worker.step(), 0.001))
            except Killed:
                self.restart()


class Region:
    """A laptop in the field, two computers with network, a USB stick, and a service that charges for every job."""

    def __init__(self, folder, service_of):
        self.clock = ManualClock(MORNING + timedelta(hours=1))
        self.service = service_of(self.clock)
        self.stick = folder / "stick"
        self.stick.mkdir()
        self.vault = MemoryVault()
        self.bundles = []
        self.clients = []
        self.computers = {
            name: Computer(folder / name, number, self.clock, self._connect)
            for number, name in enumerate((FIELD, OFFICE, CLINIC))
        }
        self.field = self.computers[FIELD]
        self.take_ids = [self._record(number) for number in range(TAKES)]

    def close(self):
        for computer in self.computers.values():
            computer.stop()
        for client in self.clients:
            client.close()

    def _connect(self):
        credentials = Credentials("account", "right-key")
        client = Client("http://service.test", credentials, retries=RetryRule.NEVER, transport=self.service)
        self.clients.append(client)
        return client

    def _record(self, number):
        library = self.field.library
        path = library.recording_folder / f"{number}.take"
        writer = EncryptedTakeWriter(path, self.field.key, 8000)
        writer.append(np.random.default_rng(number).normal(0, 3000, 16 * 8000).astype(np.int16))
        writer.close()
        take_id = library.add_take(
            path, TakeMetadata(f"subject-{number % 2}", MORNING, RecordingTarget("model", "pulse"))
        )
        library.queue(take_id)
        return take_id

    # Actions of people

    def hand_over(self, name, kill_at):
        computer = self.computers[name]
        lock = KeyLock(public_key(self.vault, Profile("p", "Any", "service", OWNER.service, OWNER.account_id)))

        def work(progress):
            try:
                export_bundle(computer.library, OWNER, self.stick, lock, progress=progress)
            except BundleError:
                return

        computer.killed_within(work, self.stick, kill_at)
        settle(computer.library)
        self.bundles = sorted(self.stick.iterdir())

    def take_over(self, name, which, kill_at):
        if not self.bundles:
            return
        path = self.bundles[which % len(self.bundles)]
        computer = self.computers[name]
        secret = secret_of(self.vault, Profile("p", "Any", "service", OWNER.service, OWNER.account_id), None)

        def work(progress):
            try:
                import_bundle(computer.library, OWNER, path, secret, progress=progress)
            except BundleError:
                return

        computer.killed_within(work, self.stick, kill_at)

    def take_back(self, name):
        library = self.computers[name].library
        take_back(library, [item.take_id for item in library.list() if item.state is OutboxState.HANDED_OVER])

    def delete(self, name, which):
        library = self.computers[name].library
        items = library.list()
        if name != FIELD and items:
            try:
                library.discard(items[which % len(items)].take_id, at_once=True)
            except NotAllowed:
                return

    def lose(self, kind, fault):
        self.service.faults[kind].append(Killed() if fault == "killed" else fault)

    def wait(self, minutes):
        self.clock.advance(60.0 * minutes)

    def carry_on(self):
        """End all faults, take everything back, and wait."""
        for faults in self.service.faults.values():
            faults.clear()
        for name in (OFFICE, CLINIC, FIELD):
            self.take_back(name)
            computer = self.computers[name]
            for _ in range(400):
                computer.go(1)
                if all(item.state is OutboxState.DONE for item in computer.library.list()):
                    break


somebody = st.sampled_from((FIELD, OFFICE, CLINIC))
number = st.integers(0, 3)
kill_at = st.integers(1, 90)  # an export reports progress about 150 times, an import 50: half complete
deeds = st.one_of(
    st.tuples(st.just("hand_over"), somebody, kill_at | st.just(-1)),
    st.tuples(st.just("take_over"), somebody, number, kill_at | st.just(-1)),
    st.tuples(st.just("take_over"), somebody, number, st.just(-1)),
    st.tuples(st.just("take_back"), somebody),
    st.tuples(st.just("delete"), somebody, number),
    st.tuples(st.just("lose"), st.just("analyze"), st.sampled_from(("lost", "killed", "unreachable", 500))),
    st.tuples(st.just("lose"), st.sampled_from(("mint", "put")), st.sampled_from(("killed", "unreachable"))),
    st.tuples(st.just("wait"), st.sampled_from((1, 11))),
    st.tuples(st.just("go"), somebody, st.integers(1, 12)),
    st.tuples(st.just("go"), somebody, st.integers(1, 12)),
)


@pytest.fixture
def service_of(service):
    """Makes the service of a region, without state shared between regions."""
    return type(service)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(schedule=st.lists(deeds, min_size=3, max_size=14))
def test_every_recording_becomes_one_job(service_of, schedule):
    with tempfile.TemporaryDirectory() as folder:
        region = Region(Path(folder), service_of)
        try:
            region.hand_over(FIELD, -1)
            for name, *arguments in schedule:
                if name == "go":
                    region.computers[arguments[0]].go(arguments[1])
                else:
                    getattr(region, name)(*arguments)
            region.carry_on()
            items = [region.field.library.get(take_id) for take_id in region.take_ids]
            assert [item.state for item in items] == [OutboxState.DONE] * TAKES
            made = Counter((job["group_id"], job["recorded_at"]) for job in region.service.jobs.values())
            assert made == {(item.group_id, item.recorded_at): 1 for item in items}
        finally:
            region.close()
