"""State of an import: a table to edit, then the import of what is ready."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.capture.protocols import RecordingProtocol
from vbdesk.contract.audio_formats import ANY_FORMAT
from vbdesk.desk.flow.commands import CommandOutcome
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.tasks import Progress
from vbdesk.desk.record.import_commands import (
    EditImport,
    FindReady,
    ImportReady,
    ImportTable,
    ListFiles,
    NoteConsents,
    OpenImport,
    PatternRead,
    ReadFiles,
    zone_named,
)
from vbdesk.desk.record.import_consent import lacking_consent
from vbdesk.desk.record.import_rows import EDITABLE, PreviewRow, headings
from vbdesk.desk.record.setup_model import EnteredSubject
from vbdesk.desk.subject_data.consent_text import subject_language
from vbdesk.desk.ui.editable_table import EditableCellTable
from vbdesk.language import _, current, translated
from vbdesk.outbox.imports.file_import import ImportOutcome, ImportPreview
from vbdesk.outbox.imports.import_draft import ImportDraft, PatternPreview, RowField
from vbdesk.outbox.imports.import_row import ImportRow, known_recordings
from vbdesk.outbox.imports.name_pattern import NamePattern
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.consent_wordings import consent_wording
from vbdesk.outbox.library.items import TakeMetadata
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.typed_subjects import TypedSubjects


class ImportViewModel(QObject):
    """Runs one import at a time; the files are only read.

    Attributes:
        table: the rows.
        opened: the import that is shown; None for none.
        zone: the chosen time zone.
        protocols: those that can be chosen.
        busy: whether files are being read or imported.
        importing: whether recordings are being imported.

    Signals:
        begun: inspection of files started.
        listed: the table is there; the files are still being read.
        progressed: (int, int) number done, and the total.
        changed: rows, faults or what can be done changed.
        pattern_found: (PatternPreview | None, str) what the pattern finds, or why it is wrong.
        single: (Path, TakeMetadata) only one recording was dropped; its subject and other values from `read_files`.
        imported: (int, int) number imported, and number not imported.
        consent_noted: (int) of how many subjects.
        failed: (str) why nothing can be imported, or why a consent was not noted.
        left: the import was cancelled or has ended.
    """

    begun = Signal()
    listed = Signal()
    progressed = Signal(int, int)
    changed = Signal()
    pattern_found = Signal(object, str)
    single = Signal(object, object)
    imported = Signal(int, int)
    consent_noted = Signal(int)
    failed = Signal(str)
    left = Signal()

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self._library, self._sync = flow.context.library, flow.context.sync
        self._screen = flow.screen(self)
        self._screen.ended.connect(self._on_ended)
        self._screen.changed.connect(self._on_pattern)
        self.opened: OpenImport | None = None
        self._table: ImportTable | None = None  # as it is shown
        self._shown: dict[int, PreviewRow] = {}
        self.busy = self.importing = False
        self.table = EditableCellTable(headings(), self)
        self.table.edited.connect(self._on_edited)
        self.zone = ""
        self.protocols: Sequence[RecordingProtocol] = ()
        self.chosen: Callable[[], Collection[str]] = tuple

    @property
    def rows(self) -> Sequence[ImportRow]:
        """Those that are not imported yet."""
        return () if self._table is None else self._table.rows

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return self._table is not None and self._table.can_undo

    @property
    def preview(self) -> ImportPreview | None:
        """What would be imported; None while files are inspected or imported."""
        return None if self.opened is None or self.busy else ImportPreview(tuple(self.rows))

    @property
    def rules(self) -> ConsentRules:
        """What the profile asks of subjects."""
        return self._sync.settings.consent

    def read_files(
        self,
        paths: list[Path],
        common: TakeMetadata,
        signs: Collection[str],
        protocols: Sequence[RecordingProtocol],
        typed: TypedSubjects,
        entered: EnteredSubject | None = None,
    ) -> None:
        """Inspect files, folders or a CSV; see `ListFiles`."""
        if self.busy:
            return
        self._forget()
        self.busy, self.protocols = True, protocols
        self.begun.emit()
        self._screen.do(ListFiles(entered, tuple(paths), common, signs, typed))

    def edit(self, keys: Collection[str], field: RowField, text: str) -> None:
        """Set a field of rows, as typed."""
        numbers = {int(key) for key in keys}
        self._change(lambda draft: draft.edit(numbers, field, text))

    def set_zone(self, name: str) -> None:
        """Read times without an offset in another time zone."""
        self.zone = name
        self._change(lambda draft: draft.set_zone(zone_named(name)))

    def leave_out(self, keys: Collection[str]) -> None:
        """Take rows out of this import; their files stay."""
        numbers = {int(key) for key in keys}
        self._change(lambda draft: draft.leave_out(numbers))

    def undo(self) -> None:
        """Take the last edit back."""
        self._change(lambda draft: draft.undo())

    def apply_pattern(self, text: str) -> None:
        """Fill subject and time from the file names: of the checked rows, or of all if at most one is checked."""
        numbers = self._meant()
        self._change(lambda draft: draft.apply(NamePattern(text), numbers))

    def preview_pattern(self, text: str) -> None:
        """Find out what `apply_pattern` would find; see `pattern_found`."""
        if self.opened is not None:
            self._screen.add(PatternRead(self.opened, text, tuple(self._meant())))

    def refresh(self) -> None:
        """Check the rows against the library as it is now; a consent may have been noted meanwhile."""
        library = self._library
        self._change(lambda draft: draft.know(known_recordings(library)))

    def consent_language(self) -> str:
        """Tag of the wording for the subjects of the checked rows: theirs if they share one, else the reader's."""
        chosen = {int(key) for key in self.chosen()}
        subjects = lacking_consent(row for row in self.rows if row.number in chosen)
        wanted = {subject_language(self._library.subject_notes.note_of(group_id)) for group_id in subjects}
        return wanted.pop() if len(wanted) == 1 else current().tag

    def note_consent(self, kind: ConsentKind, asked_by: str) -> None:
        """Note the consent of the subjects of the checked rows, of all of them or of none."""
        chosen = {int(key) for key in self.chosen()}
        subjects = lacking_consent(row for row in self.rows if row.number in chosen)
        if self.opened is not None and not self.importing and subjects:
            wording = consent_wording(self.consent_language())
            self._screen.do(NoteConsents(self.opened, subjects, kind, wording, asked_by))

    def take_in(self, *, queue: bool) -> None:
        """Import what is ready as one batch; `queue` adds it to the upload queue."""
        if self.opened is not None and self.preview is not None and self.preview.ready:
            self.busy = self.importing = True
            self.changed.emit()
            self._screen.do(FindReady(self.opened, queue))

    def leave(self) -> None:
        """Cancel, unless edits would be lost by a slip of the keyboard."""
        if not self.can_undo:
            self.cancel()

    def cancel(self) -> None:
        """Cancel; what was imported so far stays."""
        self._forget()
        self.left.emit()

    def counts(self) -> tuple[int, int]:
        """Number of rows that are ready, and that cannot be imported yet."""
        ready = sum(not row.faults for row in self.rows)
        return ready, len(self.rows) - ready

    def text(self) -> str:
        """The import as a sentence."""
        if self.opened is None:
            return _("Looking at the files. Nothing is changed.")
        ready, faulty = self.counts()
        if not faulty:
            return _("Recordings ready: {ready:,}. The files themselves stay as they are.", ready=ready)
        return _("Ready: {ready:,}. Not ready yet: {faulty:,}; each row says why.", ready=ready, faulty=faulty)

    def row_text(self, key: str | None) -> str:
        """Everything there is to say about a row."""
        index = None if key is None else self.table.index_of(key)
        row = None if index is None else self.table.row(index)
        if not isinstance(row, PreviewRow):
            return ""
        return _("{file}: {what}", file=row.row.path.name, what=row.text())

    def _meant(self) -> list[int]:
        chosen = {int(key) for key in self.chosen()}
        return [row.number for row in self.rows if len(chosen) < 2 or row.number in chosen]

    def _change(self, change: Callable[[ImportDraft], None]) -> None:
        if self.opened is not None and not self.importing:
            self._screen.do(EditImport(self.opened, change))

    def _show(self) -> None:
        """Show the newest table."""
        if self.opened is None or self.opened.table is self._table:
            return
        self._table = table = self.opened.table
        titles = {protocol.protocol_id: protocol.title for protocol in self.protocols}
        taken = {number: became for number, became in table.outcomes.items() if became.error is None}
        rows = [replace(row, became=taken[number]) for number, row in self._shown.items() if number in taken]
        rows += [
            PreviewRow(row, texts, titles.get(texts[2], texts[2]), table.outcomes.get(row.number))
            for row, texts in zip(table.rows, table.texts, strict=True)
        ]
        rows.sort(key=lambda row: row.row.number)
        same = self._shown.keys() == {row.row.number for row in rows}
        self._shown = {row.row.number: row for row in rows}
        if same:
            self.table.exchange(rows)
        else:
            self.table.show(rows)
        self.changed.emit()

    def _forget(self) -> None:
        self._screen.stop()
        self.opened = self._table = None
        self.busy = self.importing = False
        self._shown = {}
        self.table.replace(headings(), ())

    @Slot(str, int, str)
    def _on_edited(self, key: str, column: int, text: str) -> None:
        """A cell was edited: it is meant for all checked rows if its row is one of them."""
        chosen = list(self.chosen())
        self.edit(chosen if key in chosen else [key], EDITABLE[column], text)

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        self.progressed.emit(progress.done, progress.total)
        self._show()

    @Slot()
    def _on_pattern(self) -> None:
        found = self._screen.of(PatternRead).value
        if isinstance(found, PatternPreview):
            self.pattern_found.emit(found, "")
        elif found is not None:
            self.pattern_found.emit(None, translated(found))

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        found = outcome.done.found
        if outcome.failure is not None:
            self._on_failed(outcome)
            return
        match outcome.command:
            case ListFiles(common=common):
                self._on_listed(found, common)
            case ReadFiles():
                self.busy = False
                self._show()
                self.changed.emit()
            case EditImport():
                self._show()
            case NoteConsents(subjects=subjects):
                self._show()
                self.consent_noted.emit(len(subjects))
            case FindReady(opened=opened, queue=queue) if isinstance(found, tuple):
                self._screen.do(ImportReady(opened, queue, found)).progressed.connect(self._on_progress)
            case ImportReady() if isinstance(found, list):
                self._on_imported(found)

    def _on_listed(self, found: object, common: TakeMetadata) -> None:
        if isinstance(found, OpenImport):
            self.opened, self.zone = found, found.zones[0]
            self._show()
            self.listed.emit()
            self._screen.do(ReadFiles(found)).progressed.connect(self._on_progress)
            return
        self._forget()
        if isinstance(found, Path):
            self.left.emit()
            self.single.emit(found, common)
        else:
            self.failed.emit(_("There is no {formats} file in it. Nothing was changed.", formats=ANY_FORMAT))
            self.left.emit()

    def _on_imported(self, outcomes: list[ImportOutcome]) -> None:
        self.busy = self.importing = False
        self._show()
        self.imported.emit(sum(outcome.error is None for outcome in outcomes), len(self.rows))

    def _on_failed(self, outcome: CommandOutcome) -> None:
        """Everything stays as it was."""
        match outcome.command:
            case EditImport():
                error = None if outcome.failure is None else outcome.failure.error
                wrong = isinstance(error, ValueError)
                self.pattern_found.emit(None, translated(error) if wrong else outcome.sentence)
            case NoteConsents():
                self.failed.emit(outcome.sentence)
            case FindReady() | ImportReady():
                self.busy = self.importing = False
                self.failed.emit(outcome.sentence)
                self.changed.emit()
            case _:
                self._forget()
                self.failed.emit(outcome.sentence)
                self.left.emit()
