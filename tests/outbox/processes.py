"""Real processes around the outbox: `vbdesk serve`, two flaky proxies, and `vbdesk sync`, which is killed.

Only the speaker is not real: takes are cut from the tests' recordings.
"""

import base64
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import soundfile as sf
from service_records import ServiceRecords, samples_sha256
from socket_keyring import KeyringServer

from free_ports import free_port
from patience import HANGS_S, until

sys.path.append(str(Path(__file__).parents[1] / "service" / "support"))

from served import Served

from list_by_hand import list_by_hand
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.contract.limits import Plan
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, library_folder

TESTS = Path(__file__).parents[1]
FLAKY_PROXY = TESTS / "e2e" / "rig" / "flaky-proxy"
SPEECH = TESTS / "data" / "speech_kathleen_20s.flac"
KEY = bytes(range(32))
TARGET, COST = RecordingTarget("sign", "stress"), 10
CREDITS = 10_000
MONDAY = datetime(2026, 3, 2, 9, 0, 12, 345678, tzinfo=UTC)
TAKE_S = 15.5
ON_THEIR_WAY = "SELECT count(*) FROM recordings WHERE state IN ('waiting', 'uploading', 'submitted', 'running')"


class Proxy:
    """A flaky proxy as a process."""

    def __init__(self, folder: Path, name: str, port: int) -> None:
        self._control = folder / f"{name}.control"
        command = [sys.executable, FLAKY_PROXY, "--to", f"127.0.0.1:{port}", "--control", self._control]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address = f"http://{self._process.stdout.readline().strip()}"
        self._process.stdout.close()

    def say(self, *words: str) -> dict[str, object]:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(HANGS_S)
            line.connect(str(self._control))
            line.sendall((" ".join(words) + "\n").encode())
            answer = line.makefile().readline()
        assert not answer.startswith("error"), answer
        status: dict[str, object] = json.loads(answer)
        return status

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


class ProcessChain:
    """One service behind flaky proxies, for all schedules."""

    def __init__(self, folder: Path) -> None:
        self._ports = (free_port(), free_port())
        self.api, self.storage = (
            Proxy(folder, name, port) for name, port in zip(("api", "storage"), self._ports, strict=True)
        )
        self.service = Served(
            folder, port=self._ports[0], storage_port=self._ports[1], storage_url=self.storage.address
        )
        self.service.start()
        self.records = ServiceRecords(self.service.data_dir)

    def close(self) -> None:
        self.records.close()
        self.service.stop()
        self.api.stop()
        self.storage.stop()

    def repair(self) -> None:
        """Make the network reliable, and drop the open connections."""
        for proxy in (self.api, self.storage):
            proxy.say("reset", "cut")


class Sender:
    """`vbdesk sync` on one laptop, with its folder and keyring; `kill` acts like a power cut."""

    def __init__(self, folder: Path, chain: ProcessChain) -> None:
        account_id = chain.service.headers["X-Account-ID"]
        profile = Profile("field", "Field", "service", chain.api.address, account_id, plan=Plan.ENTERPRISE)
        ProfileStore(folder).save(profile)
        secrets = {
            profile.library_key_name: base64.b64encode(KEY).decode(),
            profile.api_key_name: chain.service.headers["X-API-Key"],
        }
        self._keyring = KeyringServer(folder / "keyring.socket", secrets)
        self._log, self._folder = folder / "sync.log", folder
        self._process: subprocess.Popen[bytes] | None = None
        self.kills = 0

    def start(self) -> None:
        command = [sys.executable, "-m", "vbdesk", "sync", "--keep-trying", "--profile", "field"]
        environment = {**os.environ, **self._keyring.environment}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--data-dir", self._folder], stdout=log, stderr=log, env=environment
            )

    def kill(self) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self.kills += 1
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        else:
            assert self._process.returncode == 0, f"it ended with {self._process.returncode}: {self._log.read_text()}"

    def finish(self) -> None:
        """Wait until it ends normally, when nothing waits any more."""
        assert self._process is not None
        self._process.wait(HANGS_S)
        self.kill()
        assert "Traceback" not in self._log.read_text(), self._log.read_text()

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._keyring.shutdown()
        self._keyring.server_close()


@dataclass
class Tally:
    """Counts over all schedules."""

    schedules: int = 0
    takes: int = 0
    kills: int = 0
    service_kills: int = 0
    faulted: int = 0
    looks: int = 0
    seconds: float = 0.0
    roads: Counter[str] = field(default_factory=Counter)


def play(chain: ProcessChain, folder: Path, chance: random.Random, tally: Tally) -> None:
    """One schedule: takes made offline, faults and kills, then a reliable network; AssertionError on a loss.

    `chance` decides the schedule; the timing of the processes is not reproducible.
    """
    began = time.monotonic()
    chain.service.make_account(CREDITS)
    chain.repair()
    library = library_folder(folder, "field")
    library.mkdir(parents=True)
    digests = record(library, chance)
    sender = Sender(folder, chain)
    try:
        sender.start()
        for _ in range(chance.randint(2, 6)):
            bad_road(chain, chance, tally)
            time.sleep(chance.uniform(0.3, 3.0))
            if chance.random() < 0.5:
                sender.kill()
                time.sleep(chance.uniform(0.0, 0.3))
                sender.start()
            if chance.random() < 0.06:
                chain.service.kill()
                chain.service.start()
                tally.service_kills += 1
            look(library, chain, tally)
        chain.repair()
        if chance.random() < 0.7:  # else it detects that itself
            sender.kill()
            sender.start()
        settle(library, chain, tally)
        sender.finish()
    finally:
        sender.close()
    judge(library, chain, digests)
    tally.schedules += 1
    tally.takes += len(digests)
    tally.kills += sender.kills
    tally.seconds += time.monotonic() - began


ROADS: tuple[Callable[[random.Random], tuple[str, ...]], ...] = (
    lambda _: ("reset",),
    lambda _: ("reset", "latency=120", "jitter=80"),
    lambda chance: ("reset", f"rate={chance.choice((40_000, 200_000))}"),
    lambda _: ("link=down",),
    lambda _: ("reset", "link=stall"),
    lambda _: ("reset", "cut"),
    lambda chance: ("reset", f"up_limit={chance.choice((0, 200, 3000, 100_000))}", "then=rst", "faults=2"),
    lambda chance: ("reset", f"down_limit={chance.choice((0, 30, 200))}", "then=fin", "faults=2"),
    lambda chance: ("reset", f"up_limit={chance.choice((300, 5000))}", "then=stall", "faults=1"),
    lambda chance: ("reset", "lose_reply=1", f"faults={chance.randint(1, 4)}"),
    lambda _: ("reset", "lose_reply=1", "faults=-1", "latency=40"),
)


def bad_road(chain: ProcessChain, chance: random.Random, tally: Tally) -> None:
    for proxy in (chain.api, chain.storage):
        words = chance.choice(ROADS)(chance)
        tally.roads[" ".join(words)] += 1
        tally.faulted += int(str(proxy.say("status")["faulted"]))
        proxy.say("link=up", *words)


def record(folder: Path, chance: random.Random) -> dict[str, str]:
    """One to three takes, queued; the digest of each one's samples."""
    speech, rate = sf.read(SPEECH, dtype="int16")
    library = Library(folder, KEY)
    digests = {}
    for number in range(chance.randint(1, 3)):
        path = library.recording_folder / f"{number}.take"
        first = chance.randrange(len(speech) - round(TAKE_S * rate))
        writer = EncryptedTakeWriter(path, KEY, rate)
        writer.append(speech[first : first + round(TAKE_S * rate) + number])
        writer.close()
        subject = chance.choice(("ward4-0172", "ward4-0063"))
        take_id = library.add_take(path, TakeMetadata(subject, MONDAY + timedelta(days=number), TARGET))
        digests[take_id] = library.audio(take_id).sha256()
        library.queue(take_id)
    library.close()
    return digests


def look(library: Path, chain: ProcessChain, tally: Tally) -> None:
    """Everything reported as sent is at the service, exactly once."""
    tally.looks += 1
    here = rows(library, "SELECT state, job_id, recorded_at FROM recordings")
    there = {job.job_id: job for job in chain.records.jobs(chain.service.headers["X-Account-ID"])}
    assert len({job.recorded_at for job in there.values()}) == len(there) <= len(here), "sent twice"
    for state, job_id, _ in here:
        assert job_id is None or job_id in there, "a job here that the service does not have"
        assert (job_id is None) == (state in ("waiting", "uploading")), f"{state} with job {job_id}"
        assert state != "done" or there[job_id].status == "done", "done here, and not there"


def settle(library: Path, chain: ProcessChain, tally: Tally) -> None:
    def settled() -> bool:
        look(library, chain, tally)
        return rows(library, ON_THEIR_WAY) == [(0,)]

    def what() -> str:
        return f"all recordings to be sent: {rows(library, 'SELECT state, reason FROM recordings')}"

    until(settled, what, look_every_s=0.25)


def judge(folder: Path, chain: ProcessChain, digests: dict[str, str]) -> None:
    """Each take is there once, with its sound, paid once, done on both sides."""
    account_id = chain.service.headers["X-Account-ID"]
    jobs = {job.job_id: job for job in chain.records.jobs(account_id)}
    library = Library(folder, KEY)
    items = library.list()
    left = library.store.rows("SELECT 1 FROM pending")
    library.close()
    assert {item.take_id for item in items} == digests.keys(), "a take is lost, or twice"
    assert len(jobs) == len(items), f"{len(jobs)} jobs for {len(items)} takes"
    assert not left, "something is still to be done"
    for item in items:
        job = jobs[str(item.job_id)]
        assert (item.state, job.status) == ("done", "done"), f"{item.state} here, {job.status} there: {item.reason}"
        assert samples_sha256(chain.records.audio(job)) == digests[item.take_id], "another sound"
    balance, entries = chain.records.ledger(account_id)
    assert balance == CREDITS - COST * len(items), "paid more or less than once"
    paid = sorted([f"hold {COST}", f"capture {COST}"])
    assert all(sorted(entries[job_id]) == paid for job_id in jobs), entries


def rows(library: Path, query: str) -> list[tuple]:
    with list_by_hand(library, KEY, read_only=True) as database:
        return [tuple(row) for row in database.rows(query)]


def environment_is_quiet() -> None:
    """A service without the environment's settings."""
    for name in [name for name in os.environ if name.startswith("VBDESK_")]:
        del os.environ[name]
