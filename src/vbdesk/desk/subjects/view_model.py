"""State of the Subjects page: one list of local subjects and those at the service."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.commands import Command, CommandOutcome
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import Failure
from vbdesk.desk.reports.report_look import report_look
from vbdesk.desk.subject_data.subject_list import HEADINGS, Order, SubjectFilter, all_tags, ordered
from vbdesk.desk.subjects.reads import StoreNote, StoreTags, SubjectsBook, SubjectsData, SubjectsRead
from vbdesk.desk.ui.cell_table import CellTable
from vbdesk.desk.ui.time_text import age_text
from vbdesk.language import _, joined, ngettext
from vbdesk.outbox.library.settings import SubjectDetail
from vbdesk.outbox.library.subject_names import alias_fault, as_group_id, search_key
from vbdesk.outbox.library.subject_notes import SubjectNote


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

    def __init__(self, flow: Flow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.flow, self.look, self._navigator = flow, report_look(flow), flow.navigator
        self._read, self._screen = SubjectsRead(SubjectsBook()), flow.screen(self)
        self._screen.changed.connect(self._show)
        self.table = CellTable([_(heading) for heading in HEADINGS], self)
        self.tags: tuple[str, ...] = ()
        self.only, self.tag, self.order = SubjectFilter.ALL, "", Order.NEWEST
        self._search, self._fault = "", ""
        self.data, self._version = SubjectsData(), 0

    @property
    def caption(self) -> str:
        """Number of subjects listed and in total, and the age of the service's list."""
        shown, everyone = self.table.rowCount(), len(self.data.rows)
        if shown == everyone:
            count = ngettext("{count:,} subject", "{count:,} subjects", everyone)
        else:
            count = ngettext("{shown:,} of {count:,} subject", "{shown:,} of {count:,} subjects", everyone, shown=shown)
        if self.data.listing.complete and self.data.listing.pages_read:
            return count
        if self.data.listing.pages_read:
            return _("{subjects}; reading the rest from the service", subjects=count)
        if self.data.listing.listed_at is not None:
            age = age_text(self.data.listing.listed_at, self.flow.context.clock.now())
            return _("{subjects}, as the service had them {age}", subjects=count, age=age)
        return count

    @property
    def search(self) -> str:
        """The search text."""
        return self._search

    @property
    def everyone(self) -> int:
        """Total number of subjects."""
        return len(self.data.rows)

    @property
    def loading(self) -> bool:
        """Whether the list is empty because it was not fully read yet."""
        snapshot, listed_at = self._screen.of(SubjectsRead), self.data.listing.listed_at
        asked_first = listed_at is None and (snapshot.asking or not snapshot.answered) and snapshot.failure is None
        return not self.data.rows and (not self.data.complete or asked_first)

    def can_record_search(self) -> bool:
        """Whether the search text is a valid new subject."""
        return bool(self._search) and (as_group_id(self._search) is not None or alias_fault(self._search) is None)

    def search_for(self, text: str) -> None:
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
        self._screen.show(self._read)

    def leave(self) -> None:
        """Page hidden; reading stops."""
        self._screen.clear()

    def ask_service(self) -> None:
        """Read the service's list, from the start or where reading stopped."""
        self._read.book.wanted = True
        self._screen.ask(SubjectsRead)

    def open(self, group_id: str) -> None:
        """Show one subject."""
        self._navigator.open("subject", group_id)

    def record(self) -> None:
        """Record the subject of the search, or any."""
        self._navigator.open("record", self._search if self.can_record_search() else None)

    def note_of(self, group_id: str) -> SubjectNote:
        """The note of a subject."""
        return next((row.note for row in self.data.rows if row.key == group_id), SubjectNote())

    @property
    def detail(self) -> SubjectDetail:
        """What the second line of a subject holds in this profile."""
        return self.flow.context.sync.settings.detail

    def store_note(self, group_id: str, note: SubjectNote) -> None:
        """Store the note of a subject on this computer."""
        if note != self.note_of(group_id):
            self._show_notes({group_id: note})
            self._do(StoreNote(group_id, note))

    def tag_many(self, group_ids: Collection[str], tags: Collection[str], *, added: bool) -> None:
        """Give subjects tags, or take tags from them; notes and other tags stay."""
        chosen = {row.key: row.note.tagged(tags, added=added) for row in self.data.rows if row.key in set(group_ids)}
        self._show_notes(chosen)
        self._do(StoreTags(frozenset(chosen), tuple(tags), added))

    def _show_notes(self, notes: Mapping[str, SubjectNote]) -> None:
        """Show notes that are being stored; what is read after that shows them too."""
        rows = (replace(row, note=notes[row.key]) if row.key in notes else row for row in self.data.rows)
        self.data = replace(self.data, rows=tuple(rows))
        self._list()

    def _do(self, command: Command) -> None:
        self.flow.commands.do(command).ended.connect(self._on_ended)

    def _list(self) -> None:
        wanted, tag = search_key(self._search), self.tag
        rows = [row for row in self.data.rows if self.only.takes(row)]
        if wanted or tag:
            rows = [row for row in rows if row.holds(wanted) and (not tag or tag in row.note.tags)]
        self.table.show(rows if self.order is Order.NEWEST else ordered(rows, self.order))
        self.listed.emit()

    @Slot()
    def _show(self) -> None:
        snapshot = self._screen.of(SubjectsRead)
        if self._screen.read(SubjectsRead) is None:
            return
        if snapshot.value is not None and snapshot.version != self._version:
            self.data, self._version = snapshot.value, snapshot.version
            tags = all_tags([row.note for row in self.data.rows])
            if tags != self.tags:
                self.tags, self.tag = tags, self.tag if self.tag in tags else ""
                self.tags_changed.emit()
            self._list()
        else:
            self.listed.emit()
        failure = snapshot.failure or snapshot.unreadable
        before, self._fault = self._fault, self._text(failure)
        if self._fault != before:
            self.offline.emit(self._fault)

    def _text(self, failure: Failure | None) -> str:
        """Why the service's subjects may be missing, and what the list shows."""
        known = self.data.listing.listed_at
        if failure is None:
            return ""
        if known is None:
            shows = _("The list shows what is known on this computer.")
        else:
            age = age_text(known, self.flow.context.clock.now())
            shows = _("The list shows what is known on this computer, and at the service {age}.", age=age)
        return joined(failure.sentence, shows)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.failure is not None:
            self.failed.emit(joined(_("The note was not kept."), outcome.sentence))
            self.data = self._screen.of(SubjectsRead).value or self.data
            self._list()
