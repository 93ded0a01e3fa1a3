"""State of the Subjects page: everyone known here or at the service, one list."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.client.errors import ClientError
from vbdesk.contract.groups import Group, group_id_fault
from vbdesk.contract.levels import Level
from vbdesk.desk.models.cell_table import CellTable
from vbdesk.desk.models.cells import Cell, LevelMark, TwoLines, Words
from vbdesk.desk.tasks import Failure, TaskContext
from vbdesk.desk.viewmodels.levels import level_of
from vbdesk.desk.viewmodels.time_words import counted, day_and_time
from vbdesk.desk.workspace import Workspace
from vbdesk.outbox.items import RecordingItem
from vbdesk.outbox.states import ON_THEIR_WAY, OutboxState

HEADINGS = ("Subject", "Last recording", "Last level", "Recordings", "On this computer")

PAGES_AT_ONCE = 2
"""Pages of groups asked for at a time: the plan's requests belong to the recordings first."""

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One subject.

    Attributes:
        level: of the newest result, where that is on this computer.
        at_service: the service has results.
        recordings: at the service where that is known, else here.
        here: recordings on this computer.
        moving: of these, on their way.
    """

    key: str
    last: datetime | None
    level: Level | None
    at_service: bool
    recordings: int
    here: int
    moving: int
    now: datetime = field(compare=False)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """As the table shows it; made when it is painted."""
        here = counted(self.here, "recording") if self.here else ""
        moving = f"{self.moving} on the way" if self.moving else here
        return (
            TwoLines(self.key, ""),
            Words(day_and_time(self.last, self.now) if self.last else "No recording yet"),
            LevelMark(self.level, "Open to see" if self.at_service else "No result yet"),
            Words(f"{self.recordings:,}".replace(",", " "), "text"),
            Words(moving, "text3"),
        )


@dataclass(frozen=True)
class _AtTheService:
    """Groups read so far, and how many pages there are in all."""

    groups: Mapping[str, Group]
    pages_read: int = 0
    pages: int = 1

    @property
    def complete(self) -> bool:
        """Whether every page was read."""
        return self.pages_read >= self.pages


class SubjectsViewModel(QObject):
    """All subjects, newest recording first.

    Signals:
        listed: the table was brought up to date.
        offline: (str) why the service's subjects are missing; empty when they are not.
    """

    listed = Signal()
    offline = Signal(str)

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.table = CellTable(HEADINGS, self)
        self._search = ""
        self._rows: list[SubjectRow] = []
        self._service = _AtTheService({})
        self._busy = False
        self._reading_here = False
        self._again = False
        self._seen = False
        workspace.library_changed.connect(self._on_library_changed)

    @property
    def caption(self) -> str:
        """How many subjects are listed, and whether there are more."""
        count = counted(len(self._rows), "subject")
        if self._service.complete:
            return count
        return f"{count} read so far; scroll down for more"

    @property
    def search(self) -> str:
        """What is searched for."""
        return self._search

    def can_record_search(self) -> bool:
        """Whether what is searched for would do as a new subject."""
        return bool(self._search) and group_id_fault(self._search) is None

    def look_for(self, text: str) -> None:
        """List subjects whose id holds `text`."""
        self._search = text.strip()
        self._list()

    def show(self) -> None:
        """The page is seen: read what is here, then what is at the service."""
        self._seen = True
        self.refresh()
        self.ask_service()

    def leave(self) -> None:
        """The page is no longer seen; nothing is read until it is again."""
        self._seen = False

    def ask_service(self) -> None:
        """Read the service's list from its beginning."""
        if not self._busy:
            self._fetch(_AtTheService({}))

    def more(self) -> None:
        """Read on in the service's list."""
        if not self._busy and not self._service.complete:
            self._fetch(self._service)

    def open(self, group_id: str) -> None:
        """Show one subject."""
        self._workspace.navigator.open("subject", group_id)

    def record(self) -> None:
        """Record what is searched for, or anybody."""
        self._workspace.navigator.open("record", self._search if self.can_record_search() else None)

    @Slot()
    def _on_library_changed(self) -> None:
        if self._seen:
            self.refresh()

    def refresh(self) -> None:
        """Read this computer's recordings again; one read at a time."""
        if self._reading_here:
            self._again = True
            return
        self._reading_here, self._again = True, False
        service = self._service

        def work(context: TaskContext) -> tuple[_AtTheService, list[SubjectRow]]:
            return service, self._merged(service)

        self._workspace.tasks.start(work, self._on_rows, self._on_failed_here, name="subjects")

    def _fetch(self, before: _AtTheService) -> None:
        self._busy = True

        def work(context: TaskContext) -> tuple[_AtTheService, list[SubjectRow], str]:
            service, fault = self._read_pages(before, context)
            return service, self._merged(service), fault

        self._workspace.tasks.start(work, self._on_service, self._on_failed, name="groups")

    def _read_pages(self, before: _AtTheService, context: TaskContext) -> tuple[_AtTheService, str]:
        """On a worker: the next pages; what was read stays when one fails."""
        groups = dict(before.groups)
        read, pages = before.pages_read, before.pages
        try:
            with self._workspace.client() as client:
                for _ in range(PAGES_AT_ONCE):
                    context.check()
                    if read >= pages:
                        break
                    page = client.groups.list(read)
                    groups.update((group.group_id, group) for group in page.groups)
                    read, pages = read + 1, page.total_pages
        except ClientError as error:
            return _AtTheService(groups, read, pages), error.sentence
        return _AtTheService(groups, read, pages), ""

    def _merged(self, service: _AtTheService) -> list[SubjectRow]:
        """On a worker: the service's groups and this computer's, one row each."""
        return merged(self._workspace.library.list(), service.groups, self._workspace.outside.clock.now())

    def _list(self) -> None:
        wanted = self._search.lower()
        self.table.show([row for row in self._rows if wanted in row.key.lower()])
        self.listed.emit()

    @Slot(object)
    def _on_rows(self, read: tuple[_AtTheService, list[SubjectRow]]) -> None:
        self._reading_here = False
        service, rows = read
        current = service is self._service  # else the service answered meanwhile, and the rows lack its groups
        if current:
            self._rows = rows
            self._list()
        if self._again or not current:
            self.refresh()

    @Slot(object)
    def _on_service(self, read: tuple[_AtTheService, list[SubjectRow], str]) -> None:
        self._busy = False
        self._service, self._rows, fault = read
        self._list()
        self.offline.emit(f"{fault} The list shows what is known on this computer." if fault else "")

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._busy = False
        self.offline.emit(failure.sentence)

    @Slot(object)
    def _on_failed_here(self, failure: Failure) -> None:
        self._reading_here = False
        self.offline.emit(failure.sentence)


def merged(items: Iterable[RecordingItem], groups: Mapping[str, Group], now: datetime) -> list[SubjectRow]:
    """One row a subject, newest recording first, then by name. `items` come newest first."""
    here: dict[str, list[RecordingItem]] = {}
    for item in items:
        here.setdefault(item.group_id, []).append(item)
    rows = [_row(group_id, here.get(group_id, []), groups.get(group_id), now) for group_id in {*here, *groups}]
    rows.sort(key=lambda row: row.key)
    rows.sort(key=lambda row: row.last or _LONG_AGO, reverse=True)
    return rows


def _row(group_id: str, items: list[RecordingItem], group: Group | None, now: datetime) -> SubjectRow:
    done = next((item for item in items if item.state is OutboxState.DONE), None)
    times = [item.recorded_at for item in items[:1]]
    if group is not None and group.latest_recorded_at is not None:
        times.append(group.latest_recorded_at)
    newest_there = times[-1].replace(microsecond=0) if group is not None and times else None
    seen_here = done is not None and (newest_there is None or newest_there <= done.recorded_at)
    return SubjectRow(
        key=group_id,
        last=max(times, default=None),
        level=level_of(done) if done is not None and seen_here else None,
        at_service=group is not None and group.done_job_count > 0,
        recordings=max(group.job_count if group else 0, len(items)),
        here=len(items),
        moving=sum(item.state in ON_THEIR_WAY for item in items),
        now=now,
    )
