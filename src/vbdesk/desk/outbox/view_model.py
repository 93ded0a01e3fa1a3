"""State of the Outbox page: recordings, figures, banner and actions."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.clock import Clock
from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.models.course_actions import CourseActions
from vbdesk.desk.outbox.actions import OutboxActions, Selection, selection_of, trash_selection
from vbdesk.desk.outbox.banner import BannerAction, OutboxBanner, banner_of
from vbdesk.desk.outbox.bundles import BundleWork
from vbdesk.desk.outbox.rows import HEADINGS, OutboxRow, RowAction, RowContext, Show
from vbdesk.desk.outbox.sorting import STOPPED, Figures, Rank, SortedOutbox
from vbdesk.desk.outbox.trash_rows import TrashRow
from vbdesk.desk.ports import AccountConnection
from vbdesk.desk.tasks import Failure, TaskContext, TaskOwner
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.routes import RecordingRoute, ReviewRoute
from vbdesk.language import _, translated
from vbdesk.outbox.library.course_corrections import CourseCorrection
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import TRASH_DAYS
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.sync.forecast import approximate_duration

_RATE_OVER_S = 0.5
_LOOK_AGAIN_MS = 5000  # estimates count down without changes of the library


@dataclass(frozen=True, slots=True)
class _Sent:
    """Progress of an upload at a moment, and its earlier speed."""

    at: float
    sent: int
    rate: float


@dataclass(frozen=True)
class _Read:
    """The library as last read. One task passes it to the next; never two at a time.

    Attributes:
        trash: the deleted recordings, read while they are shown.
        changed_ids: take ids whose rows differ from the previous read; None for all.
    """

    around: RowContext | None = None
    rows: dict[str, OutboxRow] = field(default_factory=dict)
    sent: dict[str, _Sent] = field(default_factory=dict)
    figures: Figures = field(default_factory=Figures)
    news: OutboxBanner | None = None
    trash: tuple[TrashRow, ...] = ()
    trash_days: int = TRASH_DAYS
    changed_ids: frozenset[str] | None = None

    @property
    def arranged(self) -> SortedOutbox:
        """The recordings in their order."""
        return SortedOutbox() if self.around is None else self.around.arranged


class OutboxViewModel(QObject):
    """The outbox, read again after each change of the library.

    Attributes:
        table: the rows that are listed.
        actions: on recordings.
        bundles: export and import.
        course: corrections of a subject's course.

    Signals:
        figures_changed: (Figures).
        banner_changed: (OutboxBanner | None) the banner changed.
        listed: the table was updated.
        refused: (str) why the list cannot be read.
    """

    figures_changed = Signal(object)
    banner_changed = Signal(object)
    listed = Signal()
    refused = Signal(str)

    def __init__(
        self,
        library: Library,
        sync: SyncState,
        connection: AccountConnection,
        tasks: TaskOwner,
        navigator: Navigator,
        clock: Clock,
        actions: OutboxActions,
        bundles: BundleWork,
        course: CourseActions,
    ) -> None:
        super().__init__()
        self._library, self._sync, self._connection = library, sync, connection
        self._tasks, self._navigator, self._clock = tasks, navigator, clock
        self.table = CellTable(tuple(_(heading) for heading in HEADINGS), self)
        self.actions, self.bundles, self.course = actions, bundles, course
        for part in (actions, bundles, course):
            part.setParent(self)
        self.figures = Figures()
        self.news: OutboxBanner | None = None
        self._show = Show.ALL
        self._listed: tuple[Show, list[Rank]] | None = None  # filter and order
        self._read = _Read()
        self._reading = False
        self._again = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_LOOK_AGAIN_MS)
        self._timer.timeout.connect(self.refresh)
        self._shown = False
        sync.library_changed.connect(self.refresh)
        sync.status_changed.connect(self.refresh)
        sync.network_changed.connect(self.refresh)

    @property
    def show(self) -> Show:
        """The filter of the list."""
        return self._show

    @property
    def loading(self) -> bool:
        """Whether the recordings were not read yet."""
        return self._read.around is None

    @property
    def empty(self) -> bool:
        """Whether there is no recording at all."""
        return not self._read.arranged.items

    @property
    def trash_days(self) -> int:
        """How long the trash keeps a recording."""
        return self._read.trash_days

    def choose(self, show: Show) -> None:
        """Set the filter of the list."""
        self._show = show
        self._list()
        if show is Show.TRASH:
            self.refresh()

    def set_shown(self, shown: bool) -> None:
        """Set whether the page is visible: estimates count down only then."""
        self._shown = shown
        if shown:
            self.refresh()
        else:
            self._timer.stop()

    @Slot()
    def refresh(self) -> None:
        """Read changes, one read at a time; repeat if more changed in the meantime."""
        if self._reading:
            self._again = True
            return
        self._reading, self._again = True, False
        before, with_trash = self._read, self._show is Show.TRASH

        def work(context: TaskContext) -> _Read:
            read = self._update(before)
            return replace(read, trash=self._trash()) if with_trash else read

        self._tasks.start(work, self._on_read, self._on_failed, name="outbox")

    def choice(self, keys: Iterable[str]) -> Selection:
        """Actions that apply to these recordings."""
        if self._show is Show.TRASH:
            chosen = set(keys)
            return trash_selection([row.trashed for row in self._read.trash if row.key in chosen])
        return selection_of(self._items(keys), self._around())

    def ready_to_hand_over(self) -> int:
        """Number of recordings that can be exported."""
        return self.figures.waiting

    def send(self, keys: Iterable[str]) -> None:
        """Send these recordings."""
        self.actions.send(self._items(keys), self._around())

    def act(self, key: str) -> None:
        """Run the action of a row."""
        if self._show is Show.TRASH:
            self.actions.restore([key])
            return
        row = self._read.rows.get(key)
        match row.action if row else RowAction.NONE:
            case RowAction.CANCEL:
                self.actions.cancel([key])
            case RowAction.SEND | RowAction.SEND_NOW | RowAction.RETRY:
                self.send([key])
            case RowAction.TAKE_BACK:
                self.actions.take_back([key])
            case RowAction.CORRECT if row is not None:
                self.actions.ask_for_time(row.item)
            case RowAction.DECIDE if row is not None:
                self.actions.ask_to_send_again(row.item)
            case RowAction.REVIEW:
                self._navigator.open("record", ReviewRoute(key))
            case RowAction.ACCOUNT:
                self._navigator.open("account")
            case RowAction.OPEN:
                self.open(key)

    def open(self, key: str) -> None:
        """Show a recording's result, or its check while it is on hold."""
        item = self._read.arranged.items.get(key)
        if item is None:
            return
        if item.state is OutboxState.DONE:
            self._navigator.open("result", RecordingRoute(key, item.job_id, item.group_id, item.recorded_at))
        elif item.state in STOPPED | {OutboxState.CHECKED} and item.fault is None and item.audio_gone_at is None:
            self._navigator.open("record", ReviewRoute(key))

    def correct(self, key: str) -> None:
        """Ask what to do about a recording that does not belong into its subject's course."""
        item = self._read.arranged.items.get(key)
        if item is not None:
            self.course.ask(RecordingRoute(key, item.job_id, item.group_id, item.recorded_at))

    def act_on_banner(self, action: BannerAction) -> None:
        """Run an action that the banner offered."""
        match action:
            case BannerAction.ACCOUNT:
                self._navigator.open("account")
            case BannerAction.TRY_NOW | BannerAction.UNLOCK:
                self._connection.try_again()
            case BannerAction.LOG_IN:
                self._connection.open_login_page()
            case BannerAction.PAUSE:
                self.actions.pause(True)
            case BannerAction.GO_ON:
                self.actions.pause(False)
            case BannerAction.SEND_NOW:
                self.actions.send_all_now()
            case BannerAction.ACCEPT_COPY:
                self.actions.ask_to_accept_copy()

    def check_now(self) -> None:
        """Ask the service at once for results; the plan's limits still hold."""
        self._connection.check_now()

    def record(self) -> None:
        """Go to the Record page."""
        self._navigator.open("record")

    def _items(self, keys: Iterable[str]) -> list[RecordingItem]:
        items = self._read.arranged.items
        return [items[key] for key in keys if key in items]

    def _around(self) -> RowContext:
        return self._read.around or RowContext(self._clock.now(), self._sync.status, self._sync.settings)

    def _row_context(self, arranged: SortedOutbox, sent: dict[str, _Sent]) -> RowContext:
        return RowContext(
            now=self._clock.now(),
            status=self._sync.status,
            settings=self._library.settings(),
            metered=self._sync.network.state().metered,
            forecast=self._connection.forecast(),
            rates={take_id: entry.rate for take_id, entry in sent.items()},
            arranged=arranged,
            held=" ".join(translated(finding) for finding in self._library.findings),
            consents=self._library.consent_gate.all(),
            corrections=self._waiting_corrections(),
            subject=self._library.subject_notes.shown,
        )

    def _waiting_corrections(self) -> dict[str, CourseCorrection]:
        """On a worker: what the service has not done yet, the newest of each recording."""
        entries = self._library.corrections.all()
        return {entry.member.take_id: entry for entry in entries if not entry.settled and entry.member.take_id}

    def _update(self, before: _Read) -> _Read:
        """Compute the next state of the list, on a worker."""
        changes = self._library.changes_since(before.arranged.version)
        arranged = before.arranged.after(changes)
        sent = _speeds(before.sent, changes.items)
        around = self._row_context(arranged, sent)
        changed_ids = _changed_rows(before, around, changes.items)
        rows = {**before.rows} if changed_ids is not None else {}
        for take_id in changes.removed:
            rows.pop(take_id, None)
        items = arranged.items
        for take_id in items.keys() if changed_ids is None else changed_ids & items.keys():
            rows[take_id] = OutboxRow(items[take_id], around)
        figures = around.figures()
        return _Read(
            around,
            rows,
            sent,
            figures,
            banner_of(figures, around),
            trash_days=around.settings.trash_days,
            changed_ids=changed_ids,
        )

    def _trash(self) -> tuple[TrashRow, ...]:
        now = self._clock.now()
        return tuple(TrashRow.of(each, now, self._library.subject_notes) for each in self._library.trash.items())

    def _list(self) -> None:
        """Update the table, row by row if the order is unchanged."""
        read = self._read
        show, order = self._listed or (None, None)
        if self._show is Show.TRASH:
            self.table.show(read.trash)
        elif show is self._show and order is read.arranged.order and read.changed_ids is not None:
            self.table.exchange(read.rows[key] for key in read.changed_ids if key in read.rows)
        else:
            self.table.show([read.rows[key] for key in self._around().listed(self._show)])
        self._listed = (self._show, read.arranged.order)
        self.listed.emit()

    @Slot(object)
    def _on_read(self, read: _Read) -> None:
        first = self.loading
        self._reading, self._read = False, read
        if first or read.figures != self.figures:
            self.figures = read.figures
            self.figures_changed.emit(read.figures)
        if read.news != self.news:
            self.news = read.news
            self.banner_changed.emit(read.news)
        self._list()
        if self._again:
            self.refresh()
        elif self._shown and read.figures.waiting + read.figures.uploading + read.figures.running:
            self._timer.start()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._reading = False
        self.refused.emit(failure.sentence)


def _changed_rows(before: _Read, around: RowContext, changed: list[RecordingItem]) -> frozenset[str] | None:
    """Rows whose text changed; None for all."""
    earlier = before.around
    if earlier is None or earlier.now.astimezone().date() != around.now.astimezone().date():
        return None
    if (earlier.consents, earlier.corrections, earlier.language) != (
        around.consents,
        around.corrections,
        around.language,
    ):
        return None
    changed_ids = {item.take_id for item in changed}
    if _holds_the_line(earlier) != _holds_the_line(around) or earlier.arranged.order is not around.arranged.order:
        changed_ids |= {*around.arranged.of_states(ON_THEIR_WAY)}
    return frozenset(changed_ids)


def _holds_the_line(around: RowContext) -> tuple[object, ...]:
    """The state that all rows in progress depend on."""
    seconds = None if around.forecast is None else around.forecast.whole_s
    words = None if seconds is None else approximate_duration(seconds)
    return around.status, around.settings, around.metered, around.ranks_that_stay, words


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
