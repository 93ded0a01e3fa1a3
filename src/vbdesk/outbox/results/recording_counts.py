"""How many recordings count in each subject's course: the one source of this number for every page.

The newest answer of the service is the base: a subject's trajectory, or its entry in the list of subjects. Corrections
and results of this computer that came later are added to it.
"""

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.outbox.library.corrections import Correction
from vbdesk.outbox.library.items import ItemFilter, RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.response_cache import trajectory_name
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.results.subject_history import in_trajectory, is_newer, left_and_joined


@dataclass(frozen=True, slots=True)
class _TrajectoryJobs:
    """What a stored trajectory says about the number of recordings."""

    read_at: datetime
    jobs: frozenset[str]
    done: int


class RecordingCounts:
    """Counts of one account. Thread-safe; every method reads the disk."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._trajectories: dict[str, _TrajectoryJobs] = {}
        self._listed: dict[str, tuple[int, datetime]] = {}

    def listed(self, done_jobs: Mapping[str, int], at: datetime, *, stored: bool = False) -> None:
        """Take over the service's list of subjects, as of `at`; a `stored` copy replaces nothing that is newer."""
        with self._lock:
            for group_id, done in done_jobs.items():
                known = self._listed.get(group_id)
                if known is None or not stored:
                    self._listed[group_id] = (done, at)

    def store(self, read: TrajectoryRead, since: int) -> None:
        """Store what a new trajectory says, so that no list has to read the whole of it; see `ResponseCache.store`."""
        jobs = [point.job_id for point in read.data_points]
        body = json.dumps({"jobs": jobs, "done": read.done_job_count})
        self._library.responses.store(trajectory_name(read.group_id), body.encode(), since)
        with self._lock:
            self._trajectories.pop(read.group_id, None)

    def of(self, group_id: str) -> int:
        """The number of one subject."""
        items = self._library.list(ItemFilter(states=frozenset({OutboxState.DONE}), group_id=group_id))
        times = self._library.responses.trajectories()
        return self._count(group_id, items, times.get(group_id), self._library.corrections.all())

    def all(self) -> dict[str, int]:
        """The number of every subject that is known."""
        here: dict[str, list[RecordingItem]] = {}
        for item in self._library.list(ItemFilter(states=frozenset({OutboxState.DONE}))):
            here.setdefault(item.group_id, []).append(item)
        times, entries = self._library.responses.trajectories(), self._library.corrections.all()
        with self._lock:
            groups = {*here, *times, *self._listed, *(entry.target for entry in entries if entry.target)}
        concerning = _by_group(entries)
        return {
            group_id: self._count(group_id, here.get(group_id, []), times.get(group_id), concerning.get(group_id, ()))
            for group_id in groups
        }

    def current(self, group_id: str, items: Iterable[RecordingItem], read_at: datetime | None) -> list[RecordingItem]:
        """Those recordings of this computer that count: the trajectory of `read_at` lists them, or is older."""
        mine, trajectory = in_trajectory(items), self._trajectory(group_id, read_at)
        if trajectory is None:
            return mine
        joined = left_and_joined(group_id, self._library.corrections.all(), trajectory.read_at)[1]
        return [
            item
            for item in mine
            if item.job_id in trajectory.jobs or item.job_id in joined or item.updated_at > trajectory.read_at
        ]

    def _count(
        self,
        group_id: str,
        items: Sequence[RecordingItem],
        read_at: datetime | None,
        entries: Sequence[Correction],
    ) -> int:
        trajectory, mine = self._trajectory(group_id, read_at), in_trajectory(items)
        with self._lock:
            listed = self._listed.get(group_id)
        if listed is not None and (trajectory is None or listed[1] > trajectory.read_at):
            return _from_list(group_id, *listed, mine, entries)
        left, joined = left_and_joined(group_id, entries, None if trajectory is None else trajectory.read_at)
        jobs = set() if trajectory is None else set(trajectory.jobs) - left
        newer = {
            item.job_id or item.take_id for item in mine if trajectory is None or item.updated_at > trajectory.read_at
        }
        older = 0 if trajectory is None else max(0, trajectory.done - len(trajectory.jobs))
        return len(jobs | joined.keys() | newer) + older

    def _trajectory(self, group_id: str, read_at: datetime | None) -> _TrajectoryJobs | None:
        """What the trajectory that was read at `read_at` says."""
        if read_at is None:
            return None
        with self._lock:
            known = self._trajectories.get(group_id)
        if known is None or known.read_at != read_at:
            known = self._read(group_id, read_at)
            if known is not None:
                with self._lock:
                    self._trajectories[group_id] = known
        return known

    def _read(self, group_id: str, read_at: datetime) -> _TrajectoryJobs | None:
        response = self._library.responses.read(trajectory_name(group_id))
        if response is not None and response[1] >= read_at:
            document = json.loads(response[0])
            return _TrajectoryJobs(read_at, frozenset(document["jobs"]), document["done"])
        since = self._library.responses.erasures
        stored = self._library.responses.trajectory(group_id)  # of an earlier version of vbdesk
        try:
            read = None if stored is None else TrajectoryRead.model_validate_json(stored[0])
        except ValueError:
            return None
        if read is None:
            return None
        self.store(read, since)
        return _TrajectoryJobs(read_at, frozenset(point.job_id for point in read.data_points), read.done_job_count)


def _from_list(
    group_id: str,
    done: int,
    at: datetime,
    mine: Sequence[RecordingItem],
    entries: Sequence[Correction],
) -> int:
    """The number in the service's list, with what has changed since."""
    before: dict[str, bool] = {}
    after: dict[str, bool] = {}
    for entry in entries:
        if entry.settled_at is not None and entry.settled_at <= at:
            continue
        job_id = entry.member.finished
        if job_id is not None and is_newer(entry, at) and group_id in (entry.source, entry.target):
            before.setdefault(job_id, entry.source == group_id)
            after[job_id] = entry.target == group_id
    newer = {item.job_id for item in mine if item.updated_at > at} - before.keys()
    return max(0, done + len(newer) + sum(after.values()) - sum(before.values()))


def _by_group(entries: Iterable[Correction]) -> dict[str, list[Correction]]:
    found: dict[str, list[Correction]] = {}
    for entry in entries:
        for group_id in {entry.source, entry.target} - {None}:
            found.setdefault(str(group_id), []).append(entry)
    return found
