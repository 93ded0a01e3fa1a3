"""A laptop whose clock anybody may set, which starts anew and sleeps, beside a service that knows the true time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from vbdesk.capture.boot_clock import BootTime
from vbdesk.capture.encrypted_take import SealedTakeWriter
from vbdesk.client import Client, Credentials, RetryRule
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.outbox.library.items import TakeMetadata, Target
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.recording_time import service_time_json
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.sync.sync_worker import Courier

KEY = bytes(range(32))
NOON = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)


class TrueTime:
    """The time of the world, which the service's clock shows."""

    def __init__(self, moment: datetime = NOON) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return (self.moment - NOON).total_seconds()

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


class SetClock:
    """The clocks of a computer: `wrong` is by how much its time of day is ahead."""

    def __init__(self, true: TrueTime, name: str = "laptop") -> None:
        self._true, self._name, self._starts = true, name, 0
        self.wrong = timedelta(0)
        self.restart()

    def restart(self) -> None:
        self._starts += 1
        self._began, self._slept_s, self._still_s = self._true.moment, 0.0, 0.0

    def sleep(self, seconds: float) -> None:
        self._true.advance(seconds)
        self._slept_s += seconds

    def stand_still(self, seconds: float) -> None:
        """As a virtual machine that is suspended by its host; its time of day is set right afterwards."""
        self._true.advance(seconds)
        self._still_s += seconds

    def set_to(self, moment: datetime) -> None:
        self.wrong = moment - self._true.moment

    def now(self) -> datetime:
        return self._true.moment + self.wrong

    def monotonic(self) -> float:
        return (self._true.moment - self._began).total_seconds() - self._slept_s - self._still_s

    def boot(self) -> BootTime:
        since_s = (self._true.moment - self._began).total_seconds() - self._still_s
        return BootTime(f"{self._name}-{self._starts}", since_s)


class ClockedLaptop:
    """A library, and a courier for each run of the desk.

    Attributes:
        began: when each take really began, by take id.
    """

    def __init__(self, folder: Path, service, name: str = "laptop") -> None:
        self.true = service.clock
        self.clock = SetClock(self.true, name)
        self.service = service
        self.began: dict[str, datetime] = {}
        self._folder = folder
        self._clients: list[Client] = []
        self.library = Library(folder, KEY, self.clock)

    def restart(self) -> None:
        """Switched off and on again."""
        self.close()
        self.clock.restart()
        self.library = Library(self._folder, KEY, self.clock)

    def close(self) -> None:
        self.library.close()
        for client in self._clients:
            client.close()
        self._clients = []

    def write(self, *, ends_at: timedelta | None = None) -> Path:
        """A take as the recorder seals it; the clock may be set before it ends."""
        at, boot = self.clock.now(), self.clock.boot()
        about = {
            "recorded_at": at.isoformat(),
            "boot": {"boot_id": boot.boot_id, "seconds": boot.seconds},
            "service_time": service_time_json(self.library.times.known().newest),
        }
        path = self.library.recording_folder / f"{new_id()}.take"
        writer = SealedTakeWriter(path, KEY, 1000, about)
        writer.append(np.random.default_rng(1).normal(0, 3000, 15_000).astype(np.int16))
        writer.close()
        self._last = (at, self.true.moment)
        self.true.advance(15)
        if ends_at is not None:
            self.clock.wrong = ends_at
        return path

    def take_in(self, path: Path, group_id: str = "ward4-0172", **more) -> str:
        recorded_at, began = self._last
        metadata = TakeMetadata(group_id, recorded_at, Target("model", "pulse"), **more)
        take_id = self.library.add_take(path, metadata)
        self.began[take_id] = began
        return take_id

    def record(self, group_id: str = "ward4-0172", *, send: bool = True, **more) -> str:
        take_id = self.take_in(self.write(**more), group_id)
        if send:
            self.library.queue(take_id)
        return take_id

    def run(self, seconds: float = 60.0, meanwhile=lambda courier: None, **more) -> Courier:
        """The desk is open, with a network, for so long."""
        courier = Courier(self.library, self._connect, self.clock, **{"plan": Plan.ENTERPRISE, **more})
        courier.recover()
        end = self.true.monotonic() + seconds
        while self.true.monotonic() < end:
            self.true.advance(max(courier.step(), 0.001))
            meanwhile(courier)
        courier.disconnect()
        return courier

    def get(self, take_id: str):
        return self.library.get(take_id)

    def state(self, take_id: str) -> OutboxState:
        return self.library.get(take_id).state

    def sent(self) -> list[datetime]:
        """The times that the service was told."""
        return [job["recorded_at"] for job in self.service.jobs.values()]

    def _connect(self) -> Client:
        credentials = Credentials("account", "right-key")
        self._clients.append(
            Client("http://service.test", credentials, retries=RetryRule.NEVER, transport=self.service)
        )
        return self._clients[-1]
