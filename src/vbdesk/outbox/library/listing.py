"""Read the library: lists, counts, changes, versions of a recording."""

from collections.abc import Collection

from vbdesk.outbox.library.items import Changes, ItemFilter, RecordingItem
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import Store


class RecordingList:
    """Reads the recordings of one library.

    Attributes:
        store: the database.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def get(self, take_id: str) -> RecordingItem:
        """One recording. Raises UnknownTake."""
        return self.store.get(take_id)

    def of_job(self, job_id: str) -> RecordingItem | None:
        """The recording of this computer with this job; None if there is none."""
        return next(iter(self.store.items("job_id = ?", (job_id,))), None)

    def list(self, only: ItemFilter | None = None) -> list[RecordingItem]:
        """Recordings, newest first."""
        only = only or ItemFilter()
        conditions = ["instr(lower(group_id), lower(?)) + (? = '') > 0"]
        values: list[object] = [only.search, only.search]
        if only.group_id is not None:
            conditions.append("group_id = ?")
            values.append(only.group_id)
        if only.states is not None:
            faulty = self.store.faulty  # these need attention, even if their rows have another state
            conditions.append(f"(state IN ({_marks(only.states)}) OR take_id IN ({_marks(faulty)}))")
            values.extend([*only.states, *faulty])
        where = " AND ".join(conditions)
        items = self.store.items(where, tuple(values), "recorded_at DESC, take_id DESC")
        return items if only.states is None else [item for item in items if item.state in only.states]

    def versions(self, take_id: str) -> "tuple[RecordingItem, ...]":
        """Every version of a recording, oldest first: those it replaces, itself, and those that replace it.

        A deleted version leaves a gap; the versions on both sides still belong together.
        """
        siblings = self.list(ItemFilter(group_id=self.get(take_id).group_id))
        together = {take_id}
        grew = True
        while grew:
            linked = [item for item in siblings if item.take_id in together or item.retake_of in together]
            more = {item.take_id for item in linked} | {item.retake_of for item in linked if item.retake_of is not None}
            grew = not more <= together
            together |= more
        return tuple(sorted((item for item in siblings if item.take_id in together), key=lambda item: item.recorded_at))

    def groups(self) -> tuple[str, ...]:
        """Every group id with a recording here, for completion."""
        rows = self.store.rows("SELECT DISTINCT group_id FROM recordings ORDER BY group_id")
        return tuple(row["group_id"] for row in rows)

    def counts(self) -> dict[OutboxState, int]:
        """Number of recordings in each state; every state is present."""
        faulty = self.store.faulty
        rows = self.store.rows(
            f"SELECT state, COUNT(*) AS n FROM recordings WHERE take_id NOT IN ({_marks(faulty)}) GROUP BY state",  # noqa: S608
            tuple(faulty),
        )
        found = {row["state"]: row["n"] for row in rows}
        counts = {state: found.get(state, 0) for state in OutboxState}
        everything: int = self.store.rows("SELECT COUNT(*) AS n FROM recordings")[0]["n"]
        counts[OutboxState.NEEDS_ATTENTION] += everything - sum(counts.values())  # rows that somebody else changed
        return counts

    def changes_since(self, version: int) -> Changes:
        """What changed after `version`; 0 gives everything. Recordings being uploaded are always included."""
        now = self.store.version()
        moving = self.store.in_progress()
        items = self.store.items(f"version > ? OR take_id IN ({_marks(moving)})", (version, *moving))
        query = "SELECT take_id FROM removed WHERE version > ? UNION ALL SELECT take_id FROM trash WHERE version > ?"
        gone = self.store.rows(query, (version, version))
        return Changes(now, items, [row["take_id"] for row in gone])


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))
