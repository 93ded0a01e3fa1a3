"""What the Outbox reads: the recordings with the state of the queue, and the trash."""

import time
from dataclasses import dataclass, field, replace

from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.outbox.banner import OutboxBanner, banner_of
from vbdesk.desk.outbox.rows import OutboxRow, RowContext
from vbdesk.desk.outbox.sorting import Figures, SortedOutbox
from vbdesk.desk.outbox.trash_rows import TrashRow
from vbdesk.language import translated
from vbdesk.outbox.library.corrections import Correction
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.pending_erasures import ErasureScope
from vbdesk.outbox.library.settings import TRASH_DAYS
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.sync.forecast import approximate_duration

_RATE_OVER_S = 0.5


@dataclass(frozen=True, slots=True)
class _Sent:
    """Progress of an upload at a moment, and its earlier speed."""

    at: float
    sent: int
    rate: float


@dataclass(frozen=True, eq=False)
class OutboxData:
    """The library as last read; each is made from the one before and the changes since.

    Attributes:
        number: of this one; `changed_ids` is the difference to the one before.
        changed_ids: take ids whose rows differ; None for all.
    """

    row_context: RowContext | None = None
    rows: dict[str, OutboxRow] = field(default_factory=dict)
    sent: dict[str, _Sent] = field(default_factory=dict)
    figures: Figures = field(default_factory=Figures)
    banner: OutboxBanner | None = None
    trash_days: int = TRASH_DAYS
    number: int = 0
    changed_ids: frozenset[str] | None = None

    @property
    def arranged(self) -> SortedOutbox:
        """The recordings in their order."""
        return SortedOutbox() if self.row_context is None else self.row_context.arranged


@dataclass(frozen=True)
class OutboxRead(Read[OutboxData]):
    """Every recording made here; estimates count down while something is on its way."""

    refresh_every_s = 5.0
    topics = frozenset({Changed.LIBRARY, Changed.STATUS})

    def here(self, context: DeskContext, before: OutboxData | None, task: TaskContext) -> OutboxData:  # noqa: D102
        before = before or OutboxData()
        changes = context.library.changes_since(before.arranged.version)
        arranged = before.arranged.after(changes)
        sent = _speeds(before.sent, changes.items)
        row_context = _row_context(context, arranged, sent)
        changed_ids = _changed_rows(before, row_context, changes.items)
        rows = {**before.rows} if changed_ids is not None else {}
        for take_id in changes.removed:
            rows.pop(take_id, None)
        items = arranged.items
        for take_id in items.keys() if changed_ids is None else changed_ids & items.keys():
            rows[take_id] = OutboxRow(items[take_id], row_context)
        figures = row_context.figures()
        return OutboxData(
            row_context,
            rows,
            sent,
            figures,
            banner_of(figures, row_context),
            trash_days=row_context.settings.trash_days,
            number=before.number + 1,
            changed_ids=changed_ids,
        )

    def moves(self, value: OutboxData) -> bool:  # noqa: D102
        return bool(value.figures.waiting + value.figures.uploading + value.figures.running)


@dataclass(frozen=True)
class TrashRead(Read[tuple[TrashRow, ...]]):
    """The deleted recordings."""

    topics = frozenset({Changed.LIBRARY})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> tuple[TrashRow, ...]:  # noqa: D102
        now, notes = context.clock.now(), context.library.subject_notes
        return tuple(TrashRow.of(each, now, notes) for each in context.library.trash.items())


@dataclass(frozen=True, slots=True)
class Deletion:
    """What was moved to the trash together, and for how many days it keeps it."""

    take_ids: tuple[str, ...]
    days: int


@dataclass(frozen=True)
class UndoableRead(Read[tuple[Deletion, ...]]):
    """What of these deletions is still in the trash."""

    deletions: tuple[Deletion, ...]
    cached = False
    topics = frozenset({Changed.LIBRARY})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> tuple[Deletion, ...]:  # noqa: D102
        holds = context.library.trash.holds
        left = [replace(each, take_ids=tuple(filter(holds, each.take_ids))) for each in self.deletions]
        return tuple(each for each in left if each.take_ids)


@dataclass(frozen=True, slots=True)
class RemovedHere:
    """Recordings removed here, and those that the local service still has."""

    what: ErasureScope
    take_ids: tuple[str, ...]
    at_service: tuple[str, ...]


@dataclass(frozen=True)
class UnconfirmedRead(Read[int]):
    """How many of the recordings that were removed here the service on this computer has not erased yet."""

    removed: tuple[RemovedHere, ...]
    cached = False
    topics = frozenset({Changed.LIBRARY})

    @property
    def at_service(self) -> frozenset[str]:
        """The recordings that it had."""
        return frozenset(take_id for each in self.removed for take_id in each.at_service)

    def here(self, context: DeskContext, before: object, task: TaskContext) -> int:  # noqa: D102
        erasures = context.library.erasures
        return 0 if erasures is None else len({each.take_id for each in erasures.due()} & self.at_service)


def _row_context(context: DeskContext, arranged: SortedOutbox, sent: dict[str, _Sent]) -> RowContext:
    library, sync = context.library, context.sync
    return RowContext(
        now=context.clock.now(),
        status=sync.status,
        settings=library.settings(),
        metered=sync.network.state().metered,
        forecast=context.connection.forecast(),
        rates={take_id: entry.rate for take_id, entry in sent.items()},
        arranged=arranged,
        held=" ".join(translated(finding) for finding in library.findings),
        consents=library.consent_gate.all(),
        corrections=_waiting_corrections(library),
        subject=library.subject_notes.shown,
    )


def _waiting_corrections(library: Library) -> dict[str, Correction]:
    """What the service has not done yet, the newest of each recording."""
    entries = library.corrections.all()
    return {entry.member.take_id: entry for entry in entries if not entry.settled and entry.member.take_id}


def _changed_rows(before: OutboxData, row_context: RowContext, changed: list[RecordingItem]) -> frozenset[str] | None:
    """Rows whose text changed; None for all."""
    earlier = before.row_context
    if earlier is None or earlier.now.astimezone().date() != row_context.now.astimezone().date():
        return None
    if (earlier.consents, earlier.corrections, earlier.language) != (
        row_context.consents,
        row_context.corrections,
        row_context.language,
    ):
        return None
    changed_ids = {item.take_id for item in changed}
    if (
        _holds_the_line(earlier) != _holds_the_line(row_context)
        or earlier.arranged.order is not row_context.arranged.order
    ):
        changed_ids |= {*row_context.arranged.of_states(ON_THEIR_WAY)}
    return frozenset(changed_ids)


def _holds_the_line(row_context: RowContext) -> tuple[object, ...]:
    """The state that all rows in progress depend on."""
    seconds = None if row_context.forecast is None else row_context.forecast.whole_s
    text = None if seconds is None else approximate_duration(seconds)
    return row_context.status, row_context.settings, row_context.metered, row_context.ranks_that_stay, text


def _speeds(before: dict[str, _Sent], items: list[RecordingItem]) -> dict[str, _Sent]:
    """Speed of each upload, over at least half a second."""
    now = time.monotonic()
    speeds: dict[str, _Sent] = {}
    for item in items:
        if item.state is not OutboxState.UPLOADING or not item.bytes_total:
            continue
        last = before.get(item.take_id, _Sent(now, item.bytes_sent, 0.0))
        if now - last.at >= _RATE_OVER_S:
            last = _Sent(now, item.bytes_sent, max(0.0, (item.bytes_sent - last.sent) / (now - last.at)))
        speeds[item.take_id] = last
    return speeds
