"""State of the Outbox page: recordings, figures, banner and actions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.commands import Work
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import Failure
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.outbox.actions import STEPS, OutboxActions, Selection, selection_of, trash_selection
from vbdesk.desk.outbox.banner import BannerAction
from vbdesk.desk.outbox.commands import ChangeEach, Pause, SendAllNow, Step, TakeBack
from vbdesk.desk.outbox.reads import OutboxData, OutboxRead, TrashRead
from vbdesk.desk.outbox.rows import HEADINGS, OutboxRow, RowAction, RowContext, Show
from vbdesk.desk.outbox.sorting import STOPPED, Figures
from vbdesk.desk.outbox.trash_rows import TrashRow
from vbdesk.desk.results.correction_actions import CorrectionActions
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.routes import RecordingRoute, ReviewRoute
from vbdesk.language import _
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.states import OutboxState


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the page shows."""

    data: OutboxData | None = None
    trash: tuple[TrashRow, ...] = ()
    unreadable: Failure | None = None


class OutboxViewModel(QObject):
    """The outbox, read again after each change of the library.

    Attributes:
        table: the rows that are listed.
        actions: on recordings.
        bundles: export and import.
        corrections: corrections of a subject's course.

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

    def __init__(self, flow: Flow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.flow, self._navigator = flow, flow.navigator
        self._screen = flow.screen(self)
        self.table = CellTable(tuple(_(heading) for heading in HEADINGS), self)
        self.actions, self.bundles, self.corrections = OutboxActions(flow), Work(flow.commands), CorrectionActions(flow)
        for part in (self.actions, self.bundles, self.corrections):
            part.setParent(self)
        self._show = Show.ALL
        self._listed: tuple[Show, OutboxData] | None = None  # what the table shows
        self._state = _Shown()
        self._screen.changed.connect(self._on_changed)

    @property
    def show(self) -> Show:
        """The filter of the list."""
        return self._show

    @property
    def loading(self) -> bool:
        """Whether the recordings were not read yet."""
        return self._state.data is None

    @property
    def empty(self) -> bool:
        """Whether there is no recording at all."""
        return not self._data.arranged.items

    @property
    def trash_days(self) -> int:
        """How long the trash keeps a recording."""
        return self._data.trash_days

    @property
    def figures(self) -> Figures:
        """Numbers for the top of the page."""
        return self._data.figures

    @property
    def rows(self) -> Mapping[str, OutboxRow]:
        """The rows of all recordings, by take id."""
        return self._data.rows

    def choose(self, show: Show) -> None:
        """Set the filter of the list."""
        self._show = show
        if self._screen.read(OutboxRead) is not None:
            self._watch_trash()
        self._list()

    def set_shown(self, shown: bool) -> None:
        """Set whether the page is visible."""
        if shown:
            self._screen.show(OutboxRead())
            self._watch_trash()
        else:
            self._screen.clear()

    @Slot()
    def refresh(self) -> None:
        """Read changes."""
        self.flow.reads.refresh({Changed.LIBRARY})

    def choice(self, keys: Iterable[str]) -> Selection:
        """Actions that apply to these recordings."""
        if self._show is Show.TRASH:
            chosen = set(keys)
            return trash_selection([row.trashed for row in self._state.trash if row.key in chosen])
        return selection_of(self._items(keys), self._row_context())

    def ready_to_hand_over(self) -> int:
        """Number of recordings that can be exported."""
        return self.figures.waiting

    def perform(self, key: str) -> None:
        """Run the action of a row."""
        if self._show is Show.TRASH:
            self.actions.do(ChangeEach.alike(Step.RESTORE, [key]))
            return
        row = self.rows.get(key)
        match row.action if row else RowAction.NONE:
            case RowAction.TAKE_BACK:
                self.actions.do(TakeBack((key,)))
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
            case action if action in STEPS:
                self.actions.do(ChangeEach.alike(STEPS[action], [key]))

    def open(self, key: str) -> bool:
        """Show a recording's result, or its check while it is on hold; False if there is nothing to show."""
        item = self._data.arranged.items.get(key)
        if item is None:
            return False
        if item.state is OutboxState.DONE:
            self._navigator.open("result", RecordingRoute(key, item.job_id, item.group_id, item.recorded_at))
            return True
        if item.state in STOPPED | {OutboxState.CHECKED} and item.fault is None and item.audio_gone_at is None:
            self._navigator.open("record", ReviewRoute(key))
            return True
        return False

    def correct(self, key: str) -> None:
        """Ask what to do about a recording that does not belong into its subject's course."""
        item = self._data.arranged.items.get(key)
        if item is not None:
            self.corrections.ask(RecordingRoute(key, item.job_id, item.group_id, item.recorded_at))

    def perform_banner_action(self, action: BannerAction) -> None:
        """Run an action that the banner offered."""
        match action:
            case BannerAction.ACCOUNT:
                self._navigator.open("account")
            case BannerAction.TRY_NOW | BannerAction.UNLOCK:
                self.flow.context.connection.try_again()
            case BannerAction.LOG_IN:
                self.flow.context.connection.open_login_page()
            case BannerAction.PAUSE:
                self.actions.do(Pause(True))
            case BannerAction.GO_ON:
                self.actions.do(Pause(False))
            case BannerAction.SEND_NOW:
                self.actions.do(SendAllNow())
            case BannerAction.ACCEPT_COPY:
                self.actions.ask_to_accept_copy()

    def check_now(self) -> None:
        """Ask the service at once for results; the plan's limits still hold."""
        self.flow.context.connection.check_now()

    def record(self) -> None:
        """Go to the Record page."""
        self._navigator.open("record")

    def _items(self, keys: Iterable[str]) -> list[RecordingItem]:
        items = self._data.arranged.items
        return [items[key] for key in keys if key in items]

    @property
    def _data(self) -> OutboxData:
        return self._state.data or OutboxData()

    def _row_context(self) -> RowContext:
        context = self.flow.context
        return self._data.row_context or RowContext(context.clock.now(), context.sync.status, context.sync.settings)

    def _watch_trash(self) -> None:
        if self._show is Show.TRASH:
            self._screen.add(TrashRead())
        else:
            self._screen.drop(TrashRead)

    def _list(self) -> None:
        """Update the table, row by row if it shows the rows before in the same order."""
        data = self._data
        show, before = self._listed or (None, OutboxData())
        follows = (
            show is self._show and before.number == data.number - 1 and before.arranged.order is data.arranged.order
        )
        if self._show is Show.TRASH:
            self.table.show(self._state.trash)
        elif follows and data.changed_ids is not None:
            self.table.exchange(data.rows[key] for key in data.changed_ids if key in data.rows)
        elif (show, before) != (self._show, data):
            self.table.show([data.rows[key] for key in self._row_context().listed(self._show)])
        self._listed = (self._show, data)
        self.listed.emit()

    @Slot()
    def _on_changed(self) -> None:
        if self._screen.read(OutboxRead) is None:
            return
        before, first = self._data, self.loading
        snapshot, unreadable = self._screen.of(OutboxRead), self._state.unreadable
        trash = self._screen.of(TrashRead).value or ()
        listed = snapshot.value is not self._state.data or trash != self._state.trash
        self._state = _Shown(snapshot.value, trash, snapshot.unreadable)
        data = self._data
        if snapshot.value is not None and (first or data.figures != before.figures):
            self.figures_changed.emit(data.figures)
        if data.banner != before.banner:
            self.banner_changed.emit(data.banner)
        if snapshot.unreadable is not None and snapshot.unreadable is not unreadable:
            self.refused.emit(snapshot.unreadable.sentence)
        if listed:
            self._list()
