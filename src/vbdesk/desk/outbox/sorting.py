"""All recordings in list order, updated by changes only: the cost does not depend on the number.

No Qt. One task makes a new version and passes it to the next; unchanged parts are shared.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time

from vbdesk.outbox.library.items import Changes, RecordingItem
from vbdesk.outbox.library.states import OutboxState

_S = OutboxState

STOPPED = frozenset({_S.NEEDS_ATTENTION, _S.FAILED, _S.TIMED_OUT})
"""States in which a recording waits for a person."""

Rank = tuple[int, float, str]
"""Place of a state in the list, seconds by which its recordings are ordered, take id."""

# moving, waiting, exported, needs attention, on hold, done
_PLACE = {
    _S.UPLOADING: 0,
    _S.RUNNING: 1,
    _S.SUBMITTED: 1,
    _S.WAITING: 2,
    _S.HANDED_OVER: 3,
    _S.NEEDS_ATTENTION: 4,
    _S.TIMED_OUT: 4,
    _S.FAILED: 4,
    _S.CHECKED: 5,
    _S.DONE: 6,
}
_MANY = 200  # with more changes, sorting everything is faster than inserting each


@dataclass(frozen=True, slots=True)
class Figures:
    """The five numbers at the top of the page."""

    waiting: int = 0
    uploading: int = 0
    running: int = 0
    attention: int = 0
    done_today: int = 0


@dataclass(frozen=True)
class SortedOutbox:
    """All recordings of a library, in the order of the list.

    Attributes:
        version: of the library that this shows.
        items: by take id.
        order: ranks, ascending; queued recordings are in the order of sending.
    """

    version: int = 0
    items: Mapping[str, RecordingItem] = field(default_factory=dict)
    order: list[Rank] = field(default_factory=list)
    _counts: Counter[OutboxState] = field(default_factory=Counter)
    _done_at: list[float] = field(default_factory=list)  # ascending

    def after(self, changes: Changes) -> "SortedOutbox":
        """Return a copy with the changes applied."""
        moved = [item for item in changes.items if self._moves(item)]
        items = {**self.items, **{item.take_id: item for item in changes.items}}
        gone = [take_id for take_id in changes.removed if items.pop(take_id, None) is not None]
        if not moved and not gone:
            return SortedOutbox(changes.version, items, self.order, self._counts, self._done_at)
        if len(moved) + len(gone) >= _MANY:
            return SortedOutbox._sort_all(changes.version, items)
        after = SortedOutbox(changes.version, items, self.order[:], self._counts.copy(), self._done_at[:])
        for take_id in {*(item.take_id for item in moved), *gone} & self.items.keys():
            after._remove(self.items[take_id])
        for item in moved:
            if item.take_id in items:
                after._insert(item)
        return after

    def figures(self, now: datetime, held_back: int = 0) -> Figures:
        """Numbers for the top of the page; queued recordings that are `held_back` need attention."""
        midnight = datetime.combine(now.astimezone(), time.min).timestamp()  # its offset from UTC may be another
        count = self._counts
        return Figures(
            waiting=count[_S.WAITING] - held_back,
            uploading=count[_S.UPLOADING],
            running=count[_S.RUNNING] + count[_S.SUBMITTED],
            attention=sum(count[state] for state in STOPPED) + held_back,
            done_today=len(self._done_at) - bisect_left(self._done_at, midnight),
        )

    def place_in_line(self, item: RecordingItem) -> int:
        """Place of a waiting recording, from 1."""
        return bisect_left(self.order, rank_of(item)) - bisect_left(self.order, (_PLACE[_S.WAITING],)) + 1

    def of_states(self, states: Iterable[OutboxState]) -> list[str]:
        """Take ids of the recordings in these states, in the order of the list."""
        wanted = frozenset(states)
        return [take_id for _, _, take_id in self.order if self.items[take_id].state in wanted]

    @classmethod
    def _sort_all(cls, version: int, items: Mapping[str, RecordingItem]) -> "SortedOutbox":
        done_at = sorted(item.updated_at.timestamp() for item in items.values() if item.state is _S.DONE)
        counts = Counter(item.state for item in items.values())
        return cls(version, items, sorted(map(rank_of, items.values())), counts, done_at)

    def _moves(self, item: RecordingItem) -> bool:
        before = self.items.get(item.take_id)
        return (
            before is None
            or (before.state, before.updated_at) != (item.state, item.updated_at)
            or (rank_of(before) != rank_of(item))
        )

    def _remove(self, item: RecordingItem) -> None:
        del self.order[bisect_left(self.order, rank_of(item))]
        self._counts[item.state] -= 1
        if item.state is _S.DONE:
            del self._done_at[bisect_left(self._done_at, item.updated_at.timestamp())]

    def _insert(self, item: RecordingItem) -> None:
        insort(self.order, rank_of(item))
        self._counts[item.state] += 1
        if item.state is _S.DONE:
            insort(self._done_at, item.updated_at.timestamp())


def rank_of(item: RecordingItem) -> Rank:
    """Sort key: moving ones by duration, queued ones in sending order, others newest first."""
    if item.state is _S.WAITING:
        return _PLACE[item.state], item.recorded_at.timestamp(), item.take_id
    if _PLACE[item.state] < _PLACE[_S.WAITING]:
        return _PLACE[item.state], item.updated_at.timestamp(), item.take_id
    return _PLACE[item.state], -item.recorded_at.timestamp(), item.take_id
