"""State of the Subjects page: one list of local subjects and those at the service."""

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.client import RequestBudget
from vbdesk.client.errors import ClientError
from vbdesk.clock import Clock
from vbdesk.contract.levels import Level
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.navigation import Navigator
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.models.report_look import ReportLook
from vbdesk.desk.models.request_throttle import has_room
from vbdesk.desk.models.subject_list import (
    HEADINGS,
    KEPT_AS,
    AtService,
    KeptList,
    Order,
    SubjectFilter,
    SubjectRow,
    all_tags,
    kept_in_place,
    merged,
    ordered,
)
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.time_text import age_words
from vbdesk.language import _, joined, ngettext, translated
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import SubjectDetail
from vbdesk.outbox.library.subject_names import alias_fault, as_group_id, search_key
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.outbox.results.repository import ResultRepository

FRESH = timedelta(minutes=5)
"""For so long the service's list, once it was read to its end, is not read again."""

KEEP_EVERY = timedelta(seconds=20)
"""For recordings alone, the copy for the next start is not written more often."""

_LOOK_AGAIN_MS = 5000


@dataclass(frozen=True)
class SubjectListing:
    """Progress of reading the service's list.

    Attributes:
        groups: all subjects of this or the previous listing.
        seen: those of this listing.
        pages_read, pages: of this listing.
        listed_at: time of the last complete listing.
        number: sequence number of the listing.
    """

    groups: Mapping[str, AtService]
    seen: frozenset[str] = frozenset()
    pages_read: int = 0
    pages: int = 1
    listed_at: datetime | None = None
    number: int = 0

    @property
    def complete(self) -> bool:
        """Whether every page was read."""
        return self.pages_read >= self.pages

    def begun_anew(self) -> "SubjectListing":
        """Start a new listing; known subjects stay."""
        return SubjectListing(self.groups, listed_at=self.listed_at, number=self.number)


class SubjectsViewModel(QObject):
    """All subjects.

    Signals:
        listed: the table was updated.
        offline: (str) why the service's subjects may be missing; empty if they are not.
        tags_changed: the tags in use changed.
        failed: (str) why a note was not stored.
    """

    listed = Signal()
    offline = Signal(str)
    tags_changed = Signal()
    failed = Signal(str)

    def __init__(
        self,
        library: Library,
        results: ResultRepository,
        sync: SyncState,
        budget: RequestBudget,
        tasks: TaskOwner,
        navigator: Navigator,
        clock: Clock,
        flow: Flow,
        look: ReportLook,
    ) -> None:
        super().__init__()
        self.flow, self.look = flow, look
        self._library, self._results, self._budget, self._sync = library, results, budget, sync
        self._tasks, self._navigator, self._clock = tasks, navigator, clock
        self._notes = Lane(tasks, self)  # in order, so that the last note is the one that stays
        self.table = CellTable([_(heading) for heading in HEADINGS], self)
        self.tags: tuple[str, ...] = ()
        self.only, self.tag, self.order = SubjectFilter.ALL, "", Order.NEWEST
        self._search = ""
        self._rows: list[SubjectRow] = []
        self._service = SubjectListing({})
        self._levels: dict[str, Level] = {}
        self._busy = self._reading_here = self._read_here = self._again = self._seen = self._known = False
        self._storing = threading.Lock()
        self._stored: tuple[datetime, SubjectListing | None] = (clock.now(), None)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_LOOK_AGAIN_MS)
        self._timer.timeout.connect(self._read_on)
        sync.library_changed.connect(self._on_library_changed)
        sync.results_changed.connect(self._on_library_changed)

    @property
    def caption(self) -> str:
        """Number of subjects listed and in total, and the age of the service's list."""
        shown, everyone = self.table.rowCount(), len(self._rows)
        if shown == everyone:
            count = ngettext("{count:,} subject", "{count:,} subjects", everyone)
        else:
            count = ngettext("{shown:,} of {count:,} subject", "{shown:,} of {count:,} subjects", everyone, shown=shown)
        if self._service.complete and self._service.pages_read:
            return count
        if self._service.pages_read:
            return _("{subjects}; reading the rest from the service", subjects=count)
        if self._service.listed_at is not None:
            age = age_words(self._service.listed_at, self._now())
            return _("{subjects}, as the service had them {age}", subjects=count, age=age)
        return count

    @property
    def search(self) -> str:
        """The search text."""
        return self._search

    @property
    def everyone(self) -> int:
        """Total number of subjects."""
        return len(self._rows)

    @property
    def loading(self) -> bool:
        """Whether the list is empty because it was not fully read yet."""
        asked_first = self._busy and self._service.listed_at is None
        return not self._rows and (not self._read_here or asked_first)

    def can_record_search(self) -> bool:
        """Whether the search text is a valid new subject."""
        return bool(self._search) and (as_group_id(self._search) is not None or alias_fault(self._search) is None)

    def look_for(self, text: str) -> None:
        """List subjects whose id, tags or note contain `text`."""
        self._search = text.strip()
        self._list()

    def show_only(self, only: SubjectFilter) -> None:
        """Set the filter."""
        self.only = only
        self._list()

    def show_tag(self, tag: str) -> None:
        """List subjects with a tag; all if it is empty."""
        self.tag = tag
        self._list()

    def sort(self, order: Order) -> None:
        """Set the order."""
        self.order = order
        self._list()

    def show(self) -> None:
        """Page shown: the cached list, then local subjects, then the service's."""
        self._seen = True
        if self._known:
            self.refresh()
            self._ask_if_outdated()
        else:
            self._tasks.start(self._read_kept, self._on_kept, self._on_kept_failed, name="kept-subjects")

    def leave(self) -> None:
        """Page hidden; reading stops."""
        self._seen = False
        self._timer.stop()

    def ask_service(self) -> None:
        """Read the service's list, from the start or where reading stopped."""
        if not self._busy:
            self._fetch(self._service.begun_anew() if self._service.complete else self._service)

    def open(self, group_id: str) -> None:
        """Show one subject."""
        self._navigator.open("subject", group_id)

    def record(self) -> None:
        """Record the subject of the search, or any."""
        self._navigator.open("record", self._search if self.can_record_search() else None)

    def note_of(self, group_id: str) -> SubjectNote:
        """The note of a subject."""
        return next((row.note for row in self._rows if row.key == group_id), SubjectNote())

    @property
    def detail(self) -> SubjectDetail:
        """What the second line of a subject holds in this profile."""
        return self._sync.settings.detail

    def keep_note(self, group_id: str, note: SubjectNote) -> None:
        """Store the note of a subject on this computer."""
        if note == self.note_of(group_id):
            return
        self._rows = [replace(row, note=note) if row.key == group_id else row for row in self._rows]
        self._list()

        def work(context: TaskContext) -> None:
            self._library.subject_notes.keep(group_id, note)

        self._notes.run(work, failed=self._on_note_failed, name="note")

    def tag_many(self, group_ids: Collection[str], tags: Collection[str], *, added: bool) -> None:
        """Give subjects tags, or take tags from them; notes and other tags stay."""
        chosen = {row.key for row in self._rows} & set(group_ids)
        self._rows = [
            replace(row, note=row.note.tagged(tags, added=added)) if row.key in chosen else row for row in self._rows
        ]
        self._list()
        notes = self._library.subject_notes

        def work(context: TaskContext) -> None:
            notes.tag_many(chosen, tags, added=added)

        self._notes.run(work, failed=self._on_note_failed, name="tags")

    def refresh(self) -> None:
        """Read local recordings again; one read at a time."""
        if self._reading_here:
            self._again = True
            return
        self._reading_here, self._again = True, False
        service = self._service

        def work(context: TaskContext) -> tuple[SubjectListing, list[SubjectRow]]:
            return service, self._merged(service)

        self._tasks.start(work, self._on_rows, self._on_failed_here, name="subjects")

    def _fetch(self, before: SubjectListing) -> None:
        self._busy = True

        def work(context: TaskContext) -> tuple[SubjectListing, list[SubjectRow], str]:
            service, fault = self._read_pages(before, context)
            return service, self._merged(service), fault

        self._tasks.start(work, self._on_service, self._on_failed, name="groups")

    def _read_pages(self, before: SubjectListing, context: TaskContext) -> tuple[SubjectListing, str]:
        """On a worker: read the next pages within the request limit; keep what was read if one fails."""
        groups, seen = dict(before.groups), set(before.seen)
        read, pages, fault = before.pages_read, before.pages, ""
        try:
            with self._results.reader() as reader:
                while read < pages:
                    context.check()
                    page = reader.groups(read)
                    groups.update((group.group_id, AtService.of(group)) for group in page.groups)
                    seen.update(group.group_id for group in page.groups)
                    read, pages = read + 1, page.total_pages
                    if not has_room(self._budget):
                        break
        except ClientError as error:
            fault = translated(error.sentence)
        number = before.number + 1
        if read < pages or fault:
            return SubjectListing(groups, frozenset(seen), read, pages, before.listed_at, number), fault
        left = {key: group for key, group in groups.items() if key in seen}  # others were deleted at the service
        return SubjectListing(left, frozenset(seen), read, pages, self._now(), number), ""

    def _read_kept(self, context: TaskContext) -> KeptList | None:
        """On a worker: the cached list."""
        kept = self._library.responses.read(KEPT_AS)
        if kept is None:
            return None
        notes = self._library.subject_notes
        listed = KeptList.from_json(kept[0], notes.all(), notes.unread(), self._now())
        done = {group_id: group.done_jobs for group_id, group in listed.groups.items()}
        self._results.counts.listed(done, listed.listed_at or kept[1], stored=True)
        return listed

    def _merged(self, service: SubjectListing) -> list[SubjectRow]:
        """On a worker: merge the service's groups and local ones, and cache the list."""
        library = self._library
        notes = library.subject_notes
        levels = dict(self._levels)
        newest = self._results.newest_listed({key: group.latest for key, group in service.groups.items()})
        groups = {key: group._replace(latest=newest[key]) for key, group in service.groups.items()}
        rows = merged(
            library.list(), groups, notes.all(), notes.unread(), levels, self._results.counts.all(), self._now()
        )
        self._levels = levels
        self._store_copy(service, rows, levels)
        return kept_in_place(rows, self._rows)

    def _store_copy(self, service: SubjectListing, rows: list[SubjectRow], levels: dict[str, Level]) -> None:
        """On a worker: store the list for the next start, unless a newer listing is stored already."""
        with self._storing:
            stored_at, stored = self._stored
            due = stored is not service or self._now() - stored_at >= KEEP_EVERY
            older = stored is not None and service.number < stored.number
            if due and not older and not any(row.unknown_level for row in rows):
                self._stored = (self._now(), service)
                copy = KeptList(rows, dict(service.groups), levels, service.listed_at)
                self._library.responses.keep(KEPT_AS, copy.to_json())

    def _list(self) -> None:
        wanted, tag = search_key(self._search), self.tag
        rows = self._rows if self.only is SubjectFilter.ALL else [row for row in self._rows if self.only.takes(row)]
        if wanted or tag:
            rows = [row for row in rows if row.holds(wanted) and (not tag or tag in row.note.tags)]
        self.table.show(rows if self.order is Order.NEWEST else ordered(rows, self.order))
        self.listed.emit()

    def _take(self, rows: list[SubjectRow]) -> None:
        self._rows, self._known = rows, True
        tags = all_tags([row.note for row in rows])
        if tags != self.tags:
            self.tags = tags
            self.tag = self.tag if self.tag in tags else ""
            self.tags_changed.emit()
        self._list()

    def _now(self) -> datetime:
        return self._clock.now()

    def _ask_if_outdated(self) -> None:
        at = self._service.listed_at
        if at is None or not self._service.complete or self._now() - at >= FRESH:
            self.ask_service()

    @Slot()
    def _on_library_changed(self) -> None:
        if self._seen and (self._known or self._reading_here):  # else the cached list, still unread, would be replaced
            self.refresh()

    @Slot()
    def _read_on(self) -> None:
        if self._seen and not self._service.complete and has_room(self._budget):
            self.ask_service()
        elif self._seen and not self._service.complete:
            self._timer.start()

    @Slot(object)
    def _on_kept(self, kept: KeptList | None) -> None:
        if kept is not None and not self._known:
            self._levels |= kept.levels
            self._service = SubjectListing(kept.groups, listed_at=kept.listed_at)
            self._take(kept.rows)
        self.refresh()
        self._ask_if_outdated()

    @Slot(object)
    def _on_kept_failed(self, failure: Failure) -> None:
        self.offline.emit(failure.sentence)
        self._on_kept(None)

    @Slot(object)
    def _on_rows(self, read: tuple[SubjectListing, list[SubjectRow]]) -> None:
        self._reading_here, self._read_here = False, True
        service, rows = read
        current = service is self._service  # otherwise the service answered meanwhile, and the rows lack its groups
        if current:
            self._take(rows)
        if self._again or not current or any(row.unknown_level for row in rows):
            self.refresh()

    @Slot(object)
    def _on_service(self, read: tuple[SubjectListing, list[SubjectRow], str]) -> None:
        self._busy, self._read_here = False, True
        self._service, rows, fault = read
        self._take(rows)
        if any(row.unknown_level for row in rows):
            self.refresh()
        if not fault:
            self.offline.emit("")
            if self._seen and not self._service.complete:
                self._timer.start()
            return
        known = self._service.listed_at
        if known is None:
            shows = _("The list shows what is known on this computer.")
        else:
            age = age_words(known, self._now())
            shows = _("The list shows what is known on this computer, and at the service {age}.", age=age)
        self.offline.emit(joined(fault, shows))

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self._busy = False
        self.listed.emit()  # an empty list is final now
        self.offline.emit(failure.sentence)

    @Slot(object)
    def _on_failed_here(self, failure: Failure) -> None:
        self._reading_here = False
        self.offline.emit(failure.sentence)

    @Slot(object)
    def _on_note_failed(self, failure: Failure) -> None:
        self.failed.emit(joined(_("The note was not kept."), failure.sentence))
        self.refresh()
