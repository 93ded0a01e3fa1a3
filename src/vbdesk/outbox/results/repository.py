"""The one place that reads jobs, results and trajectories from the service and stores them.

Trajectories and aggregates are stored encrypted in the library. Jobs of other computers stay in memory, because no
erasure would find them on the disk. Results of recordings of this computer are in the library itself.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from pydantic import BaseModel

from vbdesk.client import Client
from vbdesk.contract.groups import GroupJobItem, GroupList
from vbdesk.contract.jobs import Job
from vbdesk.contract.longitudinal import AggregateRead, DataPoint, TrajectoryRead, TrajectoryRunning
from vbdesk.outbox.library.items import ItemFilter, RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.response_cache import aggregate_name
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.results.recording_counts import RecordingCounts
from vbdesk.outbox.results.subject_history import corrected, left_and_joined, point_of, with_results

_JOBS_IN_MEMORY = 200

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Stored(Generic[T]):
    """A stored answer of the service, and when it was read."""

    value: T
    read_at: datetime


class ResultRepository:
    """Jobs and trajectories of one account. Safe to use from several threads; blocks on the disk or the network.

    Attributes:
        counts: how many recordings count in each subject's course.

    Methods named `stored_` answer from this computer. Methods named `fetch_` ask the service, and raise ClientError
    and VaultError.
    """

    def __init__(self, library: Library, connect: Callable[[], Client]) -> None:
        """Read nothing yet; `connect` makes a client of the account."""
        self._library, self._responses = library, library.responses
        self.counts = RecordingCounts(library)
        self._connect = connect
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._subscribers: list[Callable[[str], None]] = []

    def subscribe(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Have `callback` called with the group id of every new trajectory, in the thread that read it.

        Returns:
            A function that ends the subscription.
        """
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def stored_trajectory(self, group_id: str) -> Stored[TrajectoryRead] | None:
        """The trajectory as it was last read, with later corrections of the course.

        None if there is none, or another version of vbdesk stored it.
        """
        stored = _parsed(TrajectoryRead, self._responses.trajectory(group_id))
        return None if stored is None else Stored(self.corrected(stored.value, stored.read_at), stored.read_at)

    def history(self, group_id: str) -> Stored[TrajectoryRead] | None:
        """The trajectory with the newer results of this computer; see `subject_history`. None without any result."""
        stored = _parsed(TrajectoryRead, self._responses.trajectory(group_id))
        read, read_at = (None, None) if stored is None else (stored.value, stored.read_at)
        now = self._library.store.clock.now()
        whole = with_results(group_id, read, read_at, self._done(group_id), self._library.corrections.all(), now)
        return None if whole is None else Stored(whole, read_at or whole.computed_at)

    def corrected(self, read: TrajectoryRead, read_at: datetime | None = None) -> TrajectoryRead:
        """A trajectory with the corrections of the course that it may not know; `read_at` is now if None."""
        entries = self._library.corrections.all()
        if not entries:
            return read
        return corrected(read, read_at or self._library.store.clock.now(), self._done(read.group_id), entries)

    def excluded(self, group_id: str) -> list[DataPoint]:
        """Readings of the recordings that a person has excluded from a subject's course and that can be put back."""
        here = {item.take_id: item for item in self._done(group_id)}
        found = []
        for entry in self._library.corrections.in_force():
            if entry.source != group_id or entry.target is not None:
                continue
            item = here.get(entry.member.take_id or "")
            if item is not None and item.encrypted_result is not None:
                found.append(point_of(item))
            elif entry.member.reading is not None:
                found.append(DataPoint.model_validate(entry.member.reading))
        return found

    def left(self, group_id: str) -> frozenset[str]:
        """Jobs that a correction takes out of a group, although the service may still list them."""
        now = self._library.store.clock.now()
        return left_and_joined(group_id, self._library.corrections.all(), now)[0]

    def newest_listed(self, listed: Mapping[str, datetime | None]) -> dict[str, datetime | None]:
        """When each subject's newest recording was made, by the service's list of subjects.

        If that recording was excluded or moved since, the list is too old: the subject's history has the newest.
        """
        newest = dict(listed)
        entries = self._library.corrections.all()
        for group_id in {entry.source for entry in entries if entry.source is not None} & newest.keys():
            left, _ = left_and_joined(group_id, entries, None)
            times = {_second(entry.member.recorded_at) for entry in entries if left.intersection(entry.member.job_ids)}
            last = newest[group_id]
            if last is not None and _second(last) in times:
                history = self.history(group_id)
                points = [] if history is None else history.value.data_points
                newest[group_id] = max((point.recorded_at for point in points), default=None)
        return newest

    def is_joined(self, group_id: str) -> bool:
        """Whether a recording was moved to a group that the service may not have yet."""
        return any(entry.target == group_id and not entry.settled for entry in self._library.corrections.all())

    def _done(self, group_id: str) -> list[RecordingItem]:
        return self._library.list(ItemFilter(states=frozenset({OutboxState.DONE}), group_id=group_id))

    def trajectory_times(self) -> dict[str, datetime]:
        """When each stored trajectory was read, by group id."""
        return self._responses.trajectories()

    def stored_aggregate(self, group_id: str) -> Stored[AggregateRead] | None:
        """The aggregate as it was last read; None if there is none, or another version of vbdesk stored it."""
        return _parsed(AggregateRead, self._responses.read(aggregate_name(group_id)))

    def last_job(self, job_id: str) -> Job | None:
        """A job as it was last read since the program started."""
        with self._lock:
            return self._jobs.get(job_id)

    def finished_job(self, job_id: str) -> Job | None:
        """A finished job that was read since the program started."""
        job = self.last_job(job_id)
        return job if job is not None and job.status.terminal else None

    def fetch_job(self, job_id: str) -> Job:
        """Read a job, and remember it."""
        with self.reader() as reader:
            job = reader.get(job_id)
        with self._lock:
            known = self._jobs.get(job_id)
            if known is not None and known.status.terminal:
                return known
            self._jobs[job_id] = job
            while len(self._jobs) > _JOBS_IN_MEMORY:
                self._jobs.popitem(last=False)
        return job

    def fetch_trajectory(self, group_id: str) -> TrajectoryRead | TrajectoryRunning:
        """Read and store a trajectory; `TrajectoryRunning` while the service computes it."""
        with self.reader() as reader:
            return reader.trajectory(group_id)

    def fetch_aggregate(self, group_id: str) -> AggregateRead:
        """Read and store an aggregate."""
        with self.reader() as reader:
            return reader.aggregate(group_id)

    @contextmanager
    def reader(self) -> Iterator["ResultReader"]:
        """A connection for several reads."""
        with self._connect() as client:
            yield self.reader_of(client)

    def reader_of(self, client: Client) -> "ResultReader":
        """Reads with a client that the caller opened and closes: the sync worker counts its requests itself."""
        return ResultReader(client, self)

    @property
    def erasures(self) -> int:
        """See `ResponseCache.erasures`."""
        return self._responses.erasures

    def store_trajectory(self, read: TrajectoryRead, since: int) -> None:
        """Store a trajectory, and call the subscribers.

        Nothing happens if the subject was erased since `erasures` was `since`.
        """
        with self._library.store.reading():
            if not self._responses.store_trajectory(read.group_id, _body(read), since):
                return
            self.counts.store(read, since)
        for callback in tuple(self._subscribers):
            callback(read.group_id)

    def take_list(self, listed: GroupList) -> None:
        """Take over the numbers of a page of the service's list."""
        done = {group.group_id: group.done_job_count for group in listed.groups}
        self.counts.listed(done, self._library.store.clock.now())

    def store_aggregate(self, read: AggregateRead, since: int) -> None:
        """Store an aggregate, unless the subject was erased since `erasures` was `since`."""
        self._responses.store(aggregate_name(read.group_id), _body(read), since)


class ResultReader:
    """Reads with one client; stores trajectories and aggregates."""

    def __init__(self, client: Client, repository: ResultRepository) -> None:
        self._client = client
        self._repository = repository

    def get(self, job_id: str) -> Job:
        """One job."""
        return self._client.jobs.get(job_id)

    def groups(self, page: int) -> GroupList:
        """One page of the account's groups; pages count from 0."""
        listed = self._client.groups.list(page)
        self._repository.take_list(listed)
        return listed

    def all_jobs(self, group_id: str) -> Iterator[GroupJobItem]:
        """Every job of a group, but for those that a correction takes out of it."""
        left = self._repository.left(group_id)
        return (job for job in self._client.groups.all_jobs(group_id) if job.job_id not in left)

    def trajectory(self, group_id: str) -> TrajectoryRead | TrajectoryRunning:
        """The trajectory, or how long to wait while the service computes it."""
        since = self._repository.erasures
        read = self._client.groups.trajectory(group_id)
        if not isinstance(read, TrajectoryRead):
            return read
        self._repository.store_trajectory(read, since)
        return self._repository.corrected(read)

    def wait_trajectory(self, group_id: str, *, timeout_s: float | None = None) -> TrajectoryRead:
        """The trajectory, once the service has computed it. Raises TimeoutError."""
        since = self._repository.erasures
        read = self._client.groups.wait_trajectory(group_id, timeout_s=timeout_s)
        self._repository.store_trajectory(read, since)
        return self._repository.corrected(read)

    def aggregate(self, group_id: str) -> AggregateRead:
        """The group as a cohort."""
        since = self._repository.erasures
        read = self._client.groups.aggregate(group_id)
        self._repository.store_aggregate(read, since)
        return read


def _second(moment: datetime) -> datetime:
    """Services may cut times to the second."""
    return moment.astimezone(UTC).replace(microsecond=0)


def _body(read: BaseModel) -> bytes:
    return read.model_dump_json(by_alias=True).encode()


def _parsed(model: type[T], stored: tuple[bytes, datetime] | None) -> Stored[T] | None:
    if stored is None:
        return None
    try:
        return Stored(model.model_validate_json(stored[0]), stored[1])
    except ValueError:
        return None
