"""The subjects of Cohort: cached, from the library, and read from the service.

No Qt. Every method that reads blocks on the disk or the network: call it in tasks.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from vbdesk.client.errors import NotFound
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.cohort.subject_summary import SubjectSummary, from_json, labels_of, of_items, of_trajectory, to_json
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.subject_data.subject_list import STORED_AS, AtService, StoredList
from vbdesk.outbox.library.items import ItemFilter, RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.response_cache import STORED_COHORT
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.results.repository import ResultReader, ResultRepository

RESULTS_BACK = 3
"""Of a subject whose history was never read, so many newest results of this computer are looked at."""

_SLACK = timedelta(seconds=1)  # services may round times


class CohortCache:
    """Summaries of all subjects. Thread-safe.

    Attributes:
        complete: whether everything here is read; not only what was kept from the last session.
        fetching: whether the service is being read.
    """

    def __init__(self, library: Library, results: ResultRepository, now: Callable[[], datetime]) -> None:
        self._library, self._results, self._now = library, results, now
        self._reads = library.responses
        self._lock, self._reading = threading.Lock(), threading.Lock()
        self._stored_read = self.complete = self.fetching = False
        self._summaries: dict[str, SubjectSummary] = {}
        self._since: dict[str, int] = {}  # the number of erasures when the reading of a summary began
        self._labels: dict[str, str] = {}
        self._groups: Mapping[str, AtService] = {}
        self._tags: dict[str, tuple[str, ...]] = {}
        self._asked: set[str] = set()
        self._counts: Mapping[str, int] = {}
        self._marks: dict[str, object] = {}  # what each summary was made of

    def known(self) -> tuple[list[SubjectSummary], dict[str, str]]:
        """All subjects with a result, and the names of signs."""
        with self._lock:
            counted = [
                replace(entry, recordings=self._counts.get(entry.group_id, entry.recordings))
                for entry in self._summaries.values()
                if not self._reads.is_erased(entry.group_id, self._since.get(entry.group_id, 0))
            ]
            return counted, dict(self._labels)

    def tagged(self, tag: str) -> frozenset[str]:
        """The subjects with a tag."""
        with self._lock:
            return frozenset(group_id for group_id, tags in self._tags.items() if tag in tags)

    def tags(self) -> tuple[str, ...]:
        """Every tag in use."""
        with self._lock:
            return tuple(sorted({tag for tags in self._tags.values() for tag in tags}, key=str.lower))

    def read(self, context: TaskContext) -> bool:
        """Read the cached summaries, or add what is new here since; returns whether everything here is read by now."""
        with self._reading:
            if self._stored_read:
                self._read_library(context)
                self.complete = True
            else:
                self._read_stored()
                self._stored_read = True
            return self.complete

    def _read_stored(self) -> None:
        since = self._reads.erasures
        stored = self._reads.read(STORED_COHORT)
        if stored is not None:
            summaries, labels = from_json(stored[0])
            with self._lock:
                self._summaries, self._labels = summaries | self._summaries, labels | self._labels
                self._since = dict.fromkeys(summaries, since) | self._since

    def _read_library(self, context: TaskContext) -> None:
        """Add new results of this computer and histories that the sync worker has read."""
        since = self._reads.erasures
        notes = self._library.subject_notes.all()
        stored = self._reads.read(STORED_AS)
        groups = {} if stored is None else StoredList.from_json(stored[0], {}, {}, self._now()).groups
        if stored is not None:
            done = {group_id: group.done_jobs for group_id, group in groups.items()}
            self._results.counts.listed(done, stored[1], stored=True)
        counts = self._results.counts.all()
        with self._lock:
            self._tags = {group_id: note.tags for group_id, note in notes.items()}
            self._groups, self._counts = groups, counts
            self._summaries = {
                group_id: entry
                for group_id, entry in self._summaries.items()
                if not self._reads.is_erased(group_id, self._since.get(group_id, 0))
            }
        here, times = self._here(), self._results.trajectory_times()
        corrected = self._corrections()
        changed = 0
        for group_id in {*here, *times, *corrected, *self._summaries}:
            context.check()
            changed += self._update(
                group_id, here.get(group_id, ()), times.get(group_id), corrected.get(group_id), since
            )
        if changed:
            self.store()

    def missing(self) -> list[str]:
        """Subjects with newer results at the service, newest first."""
        with self._lock:
            found = [
                (group.latest, group_id)
                for group_id, group in self._groups.items()
                if group.done_jobs and group_id not in self._asked and _lacks(self._summaries.get(group_id), group)
            ]
        found.sort(key=lambda entry: (entry[0] is not None, entry[0]), reverse=True)
        return [group_id for _, group_id in found]

    def fetch(self, reader: ResultReader, group_id: str) -> None:
        """Read a subject's history from the service. Raises ClientError, but not for NotFound."""
        since = self._reads.erasures
        try:
            read = reader.trajectory(group_id)
        except NotFound:
            read = None
        with self._lock:
            self._asked.add(group_id)
        if isinstance(read, TrajectoryRead):  # otherwise the service is still computing it
            self._take(of_trajectory(read, self._now()), labels_of(read), since)

    def store(self) -> None:
        """Store all summaries."""
        since = self._reads.erasures
        self._reads.store(STORED_COHORT, to_json(*self.known()), since)

    def _take(self, summary: SubjectSummary | None, labels: Mapping[str, str], since: int) -> None:
        if summary is not None:
            with self._lock:
                self._summaries[summary.group_id] = summary
                self._since[summary.group_id] = since
                self._labels.update(labels)

    def _update(
        self,
        group_id: str,
        items: Sequence[RecordingItem],
        read_at: datetime | None,
        corrections: object,
        since: int,
    ) -> bool:
        """Summarise a subject again if its history, its results here or its corrections changed."""
        mark = (read_at, corrections, [(item.take_id, item.version) for item in items[:RESULTS_BACK]], len(items))
        before = self._summaries.get(group_id)
        first = group_id not in self._marks
        if not first and self._marks[group_id] == mark:
            return False
        self._marks[group_id] = mark
        if first and before is not None and corrections is None and _holds(before, items, read_at):
            return False
        summary, labels = self._summary(group_id, items, read_at, corrections)
        if summary is None:
            if read_at is None and corrections is None and not items and before is not None and before.whole:
                return False  # read by Cohort in an earlier release, and never stored as a trajectory
            with self._lock:
                return self._summaries.pop(group_id, None) is not None
        self._take(summary, labels, since)
        return True

    def _summary(
        self, group_id: str, items: Sequence[RecordingItem], read_at: datetime | None, corrections: object
    ) -> tuple[SubjectSummary | None, Mapping[str, str]]:
        """From the history; from the newest results here if they are newer, or if there is no history."""
        stored = None if read_at is None else self._results.stored_trajectory(group_id)
        whole = None if stored is None or read_at is None else of_trajectory(stored.value, read_at)
        mine = self._results.counts.current(group_id, items, read_at)[:RESULTS_BACK]
        if mine and (whole is None or mine[0].recorded_at - whole.recorded_at > _SLACK):
            return of_items(mine, self._now())
        if whole is None and corrections is not None:
            stored = self._results.history(group_id)
            if stored is not None:
                whole = of_trajectory(stored.value, self._now(), whole=False)
        return whole, {} if stored is None else labels_of(stored.value)

    def _here(self) -> dict[str, list[RecordingItem]]:
        found: dict[str, list[RecordingItem]] = {}
        for item in self._library.list(ItemFilter(states=frozenset({OutboxState.DONE}))):
            if item.encrypted_result is not None and not item.excluded:
                found.setdefault(item.group_id, []).append(item)
        return found

    def _corrections(self) -> dict[str, list[tuple[int, bool]]]:
        """The corrections of each subject, and whether the service has done them."""
        found: dict[str, list[tuple[int, bool]]] = {}
        for entry in self._library.corrections.all():
            for group_id in (entry.source, entry.target):
                if group_id is not None:
                    found.setdefault(group_id, []).append((entry.number, entry.settled))
        return found


def _holds(known: SubjectSummary, items: Sequence[RecordingItem], read_at: datetime | None) -> bool:
    """Whether a summary of an earlier run is still right, as far as times tell."""
    if read_at is not None and not (known.whole and known.read_at >= read_at):
        return False
    if not items:
        return known.take_id is None
    return items[0].recorded_at - known.recorded_at <= _SLACK


def _lacks(known: SubjectSummary | None, group: AtService) -> bool:
    if known is None or not known.whole:
        return True
    return group.latest is not None and group.latest - known.recorded_at > _SLACK
