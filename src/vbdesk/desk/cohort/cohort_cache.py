"""The subjects of Cohort: cached, from the library, and read from the service.

No Qt. Every method that reads blocks on the disk or the network: call it in tasks.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from vbdesk.client.errors import NotFound
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.cohort.subject_summary import SubjectSummary, from_json, labels_of, of_items, of_trajectory, to_json
from vbdesk.desk.models.subject_list import KEPT_AS, AtService, KeptList
from vbdesk.desk.tasks import TaskContext
from vbdesk.outbox.library.items import ItemFilter, RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.results.repository import ResultReader, ResultRepository

KEPT_COHORT = "cohort"
RESULTS_BACK = 3
"""Of a subject whose history was never read, so many newest results of this computer are looked at."""

_SLACK = timedelta(seconds=1)  # services may round times


class CohortCache:
    """Summaries of all subjects. Thread-safe."""

    def __init__(self, library: Library, results: ResultRepository, now: Callable[[], datetime]) -> None:
        self._library, self._results, self._now = library, results, now
        self._reads = library.responses
        self._lock = threading.Lock()
        self._summaries: dict[str, SubjectSummary] = {}
        self._labels: dict[str, str] = {}
        self._groups: Mapping[str, AtService] = {}
        self._tags: dict[str, tuple[str, ...]] = {}
        self._asked: set[str] = set()

    def known(self) -> tuple[list[SubjectSummary], dict[str, str]]:
        """All subjects with a result, and the names of signs."""
        with self._lock:
            return list(self._summaries.values()), dict(self._labels)

    def tagged(self, tag: str) -> frozenset[str]:
        """The subjects with a tag."""
        with self._lock:
            return frozenset(group_id for group_id, tags in self._tags.items() if tag in tags)

    def tags(self) -> tuple[str, ...]:
        """Every tag in use."""
        with self._lock:
            return tuple(sorted({tag for tags in self._tags.values() for tag in tags}, key=str.lower))

    def read_kept(self) -> None:
        """Read the cached summaries."""
        kept = self._reads.read(KEPT_COHORT)
        if kept is not None:
            summaries, labels = from_json(kept[0])
            with self._lock:
                self._summaries, self._labels = summaries | self._summaries, labels | self._labels

    def read_library(self, context: TaskContext) -> None:
        """Add new results of this computer and histories that the sync worker has read."""
        notes = self._library.subject_notes.all()
        kept = self._reads.read(KEPT_AS)
        groups = {} if kept is None else KeptList.from_json(kept[0], {}, {}, self._now()).groups
        with self._lock:
            self._tags = {group_id: note.tags for group_id, note in notes.items()}
            self._groups = groups
        changed = self._read_histories(context) + self._read_results(context)
        if changed:
            self.keep()

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
        try:
            read = reader.trajectory(group_id)
        except NotFound:
            read = None
        with self._lock:
            self._asked.add(group_id)
        if isinstance(read, TrajectoryRead):  # otherwise the service is still computing it
            self._take(of_trajectory(read, self._now()), labels_of(read))

    def keep(self) -> None:
        """Store all summaries."""
        summaries, labels = self.known()
        self._reads.keep(KEPT_COHORT, to_json(summaries, labels))

    def _take(self, summary: SubjectSummary | None, labels: Mapping[str, str]) -> None:
        if summary is not None:
            with self._lock:
                self._summaries[summary.group_id] = summary
                self._labels.update(labels)

    def _read_histories(self, context: TaskContext) -> int:
        known, changed = dict(self._summaries), 0
        for group_id, read_at in self._results.trajectory_times().items():
            before = known.get(group_id)
            if before is not None and before.whole and before.read_at >= read_at:
                continue
            context.check()
            stored = self._results.stored_trajectory(group_id)
            if stored is not None:
                self._take(of_trajectory(stored.value, read_at), labels_of(stored.value))
                changed += 1
        return changed

    def _read_results(self, context: TaskContext) -> int:
        """Read local results that are newer than the history, or of subjects without one."""
        changed = 0
        for group_id, items in self._newest_results().items():
            known = self._summaries.get(group_id)
            if known is not None and items[0].recorded_at - known.recorded_at <= _SLACK:
                continue
            context.check()
            self._take(*of_items(items, self._now()))
            changed += 1
        return changed

    def _newest_results(self) -> dict[str, Sequence[RecordingItem]]:
        found: dict[str, list[RecordingItem]] = {}
        for item in self._library.list(ItemFilter(states=frozenset({OutboxState.DONE}))):
            mine = found.setdefault(item.group_id, [])
            if len(mine) < RESULTS_BACK and item.encrypted_result is not None:
                mine.append(item)
        return {group_id: items for group_id, items in found.items() if items}


def _lacks(known: SubjectSummary | None, group: AtService) -> bool:
    if known is None or not known.whole:
        return True
    return group.latest is not None and group.latest - known.recorded_at > _SLACK
