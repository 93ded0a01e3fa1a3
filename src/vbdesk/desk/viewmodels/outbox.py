"""State of the Outbox page: every recording, the figures, one banner, and what the buttons do."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.models.cell_table import CellTable
from vbdesk.desk.places import Recording, ReviewTake
from vbdesk.desk.tasks import Failure, TaskContext
from vbdesk.desk.viewmodels.outbox_rows import (
    HEADINGS,
    SHOWN,
    Circumstances,
    Deed,
    Figures,
    OutboxRow,
    Show,
    figures_of,
    ordered,
    places_in_line,
    row_of,
    whole_line_s,
)
from vbdesk.desk.viewmodels.time_words import in_about
from vbdesk.desk.workspace import Workspace
from vbdesk.outbox.courier import CourierStatus
from vbdesk.outbox.items import RecordingItem
from vbdesk.outbox.states import Fix, OutboxState

_RATE_OVER_S = 0.5


@dataclass(frozen=True, slots=True)
class News:
    """What the banner says; `act` is the words of its button."""

    sentence: str
    warning: bool = False
    act: str = ""


@dataclass(frozen=True, slots=True)
class _Sent:
    """How far an upload was at a moment, and how fast it went before."""

    at: float
    sent: int
    rate: float


@dataclass(frozen=True)
class _Read:
    """The library as it was last read. Made by one task, handed to the next; never by two at once."""

    version: int = 0
    items: dict[str, RecordingItem] = field(default_factory=dict)
    rows: dict[str, OutboxRow] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    sent: dict[str, _Sent] = field(default_factory=dict)
    figures: Figures = field(default_factory=Figures)
    news: News | None = None


class OutboxViewModel(QObject):
    """The outbox, read from the library whenever that changes.

    Signals:
        figures_changed: (Figures) the figures differ.
        news_changed: (News | None) the banner has something else to say.
        listed: the table was brought up to date.
        refused: (str) why what was asked was not done.
    """

    figures_changed = Signal(object)
    news_changed = Signal(object)
    listed = Signal()
    refused = Signal(str)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.table = CellTable(HEADINGS, self)
        self.figures = Figures()
        self.news: News | None = None
        self._show = Show.ALL
        self._status: CourierStatus = workspace.status
        self._read = _Read()
        self._reading = False
        self._again = False
        workspace.library_changed.connect(self.refresh)
        workspace.status_changed.connect(self._on_status)
        self.refresh()

    @property
    def show(self) -> Show:
        """Which recordings are listed."""
        return self._show

    @property
    def empty(self) -> bool:
        """Whether there is no recording at all."""
        return not self._read.items

    def choose(self, show: Show) -> None:
        """List other recordings."""
        self._show = show
        self._list()

    @Slot()
    def refresh(self) -> None:
        """Read what changed; one read at a time, and another one after it if there was cause meanwhile."""
        if self._reading:
            self._again = True
            return
        self._reading, self._again = True, False
        before, status = self._read, self._status

        def work(context: TaskContext) -> _Read:
            return self._update(before, status)

        self._workspace.tasks.start(work, self._on_read, self._on_failed, name="outbox")

    def act(self, key: str) -> None:
        """Do what the button of a row says."""
        row = self._read.rows.get(key)
        library = self._workspace.library
        match row.deed if row else Deed.NONE:
            case Deed.CANCEL:
                self._do(lambda: library.cancel(key))
            case Deed.SEND:
                self._do(lambda: library.queue(key))
            case Deed.RETRY:
                self._do(lambda: library.retry(key))
            case Deed.REVIEW:
                self._workspace.navigator.open("record", ReviewTake(key))
            case Deed.ACCOUNT:
                self._workspace.navigator.open("account")
            case Deed.OPEN:
                self.open(key)

    def open(self, key: str) -> None:
        """Show a recording's result, or its check while it has none."""
        item = self._read.items.get(key)
        if item is None:
            return
        if item.state is OutboxState.DONE:
            self._workspace.navigator.open("result", Recording(key, item.job_id, item.group_id, item.recorded_at))
        elif item.state in (OutboxState.CHECKED, OutboxState.NEEDS_ATTENTION):
            self._workspace.navigator.open("record", ReviewTake(key))

    def act_on_news(self) -> None:
        """Do what the banner's button says."""
        if self._status.on_hold in (Fix.ENTER_KEY, Fix.ADD_CREDITS):
            self._workspace.navigator.open("account")
        else:
            self._workspace.try_again()

    def record(self) -> None:
        """Go to the Record page."""
        self._workspace.navigator.open("record")

    def _do(self, deed: Callable[[], None]) -> None:
        def work(context: TaskContext) -> None:
            deed()

        self._workspace.tasks.start(work, failed=self._on_failed_deed, name="outbox-act")

    def _update(self, before: _Read, status: CourierStatus) -> _Read:
        """On a worker: the next state of the list."""
        changes = self._workspace.library.changes_since(before.version)
        items = {**before.items, **{item.take_id: item for item in changes.items}}
        for take_id in changes.removed:
            items.pop(take_id, None)
        sent = _speeds(before.sent, changes.items)
        now = self._workspace.outside.clock.now()
        around = Circumstances(
            now,
            status,
            self._workspace.profile.plan,
            {take_id: entry.rate for take_id, entry in sent.items()},
            places_in_line(items.values()),
        )
        changed = {item.take_id for item in changes.items}
        settled = {OutboxState.DONE, OutboxState.CHECKED, OutboxState.FAILED, OutboxState.TIMED_OUT}
        rows = {
            take_id: before.rows[take_id]
            if take_id in before.rows and take_id not in changed and item.state in settled
            else row_of(item, around)
            for take_id, item in items.items()
        }
        order = tuple(item.take_id for item in ordered(items.values()))
        figures = figures_of(items.values(), now)
        return _Read(changes.version, items, rows, order, sent, figures, _news(figures, around))

    def _list(self) -> None:
        states = SHOWN[self._show]
        rows = self._read.rows
        self.table.show([rows[key] for key in self._read.order if rows[key].state in states])
        self.listed.emit()

    @Slot(object)
    def _on_read(self, read: _Read) -> None:
        self._reading, self._read = False, read
        if read.figures != self.figures:
            self.figures = read.figures
            self.figures_changed.emit(read.figures)
        if read.news != self.news:
            self.news = read.news
            self.news_changed.emit(read.news)
        self._list()
        if self._again:
            self.refresh()

    @Slot(object)
    def _on_status(self, status: CourierStatus) -> None:
        self._status = status
        self.refresh()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._reading = False
        self.refused.emit(failure.sentence)

    @Slot(object)
    def _on_failed_deed(self, failure: Failure) -> None:
        self.refused.emit(failure.sentence)


def _speeds(before: dict[str, _Sent], items: list[RecordingItem]) -> dict[str, _Sent]:
    """How fast each upload goes, over at least half a second."""
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


def _news(figures: Figures, around: Circumstances) -> News | None:
    moving = figures.waiting + figures.uploading + figures.running
    if around.status.on_hold is not None:
        acts = {Fix.ENTER_KEY: "Enter key", Fix.ADD_CREDITS: "Add credits", Fix.UNLOCK_KEYRING: "Unlock"}
        return News(around.status.sentence, warning=True, act=acts.get(around.status.on_hold, "Try again"))
    if not moving:
        return None
    if around.status.connected is False:
        return News(around.status.sentence, warning=True, act="Try now")
    them = "The one" if moving == 1 else f"All {moving}"
    return News(
        f"{them} on {'its' if moving == 1 else 'their'} way should be done in {in_about(whole_line_s(around))}. "
        "You can close this window; sending goes on next time it opens."
    )
