"""State of an import: a table to edit, then the import of what is ready."""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from PySide6.QtCore import QObject, QTimeZone, Signal, Slot

from vbdesk.capture.protocols import RecordingProtocol
from vbdesk.clock import Clock
from vbdesk.contract.audio_formats import ANY_FORMAT
from vbdesk.contract.groups import group_id_fault
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.flow.tasks import Failure, Lane, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.models.consent_text import subject_language
from vbdesk.desk.record.import_consent import lacking_consent
from vbdesk.desk.record.import_rows import EDITABLE, PreviewRow, headings
from vbdesk.desk.ui.editable_table import EditableCellTable
from vbdesk.language import Message, _, current, message_of, translated
from vbdesk.outbox.imports.file_import import (
    ImportOutcome,
    ImportPreview,
    file_rows,
    find_recordings,
    import_rows,
    read_facts,
)
from vbdesk.outbox.imports.import_draft import ImportDraft, PatternPreview, RowField
from vbdesk.outbox.imports.import_list import read_list
from vbdesk.outbox.imports.import_row import FileFacts, ImportRow, known_recordings
from vbdesk.outbox.imports.name_pattern import NamePattern
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.consent_wordings import consent_wording
from vbdesk.outbox.library.items import TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import ConsentRules
from vbdesk.outbox.library.subject_notes import AliasTaken
from vbdesk.outbox.library.typed_subjects import TypedSubjects

_LIST = ".csv"
_FEWEST_MERGED = 25  # files; a check of 5,000 rows takes 0.1 s


@dataclass(frozen=True, slots=True)
class _Listed:
    """What was found in the dropped files."""

    draft: ImportDraft
    zones: tuple[str, ...]
    subjects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The rows of a draft after a change, made on a worker."""

    draft: ImportDraft
    rows: Sequence[ImportRow]
    texts: Sequence[tuple[str, str, str, str]]
    can_undo: bool

    @classmethod
    def of(cls, draft: ImportDraft) -> "_Snapshot":
        """The present state of `draft`."""
        texts = []
        for row in draft.rows:
            subject, time, protocol, tags = (draft.text_of(row, field) for field in EDITABLE.values())
            texts.append((subject, time, protocol, tags))
        return cls(draft, draft.rows, texts, draft.can_undo)


@dataclass(frozen=True, slots=True)
class _Imported:
    """Result of an import."""

    outcomes: Sequence[ImportOutcome]
    after: _Snapshot


@dataclass(frozen=True, slots=True)
class _ConsentNoted:
    """Of how many subjects a consent was noted."""

    subjects: int
    after: _Snapshot


@dataclass(frozen=True, slots=True)
class _Found:
    """What a pattern finds, or why it is wrong."""

    draft: ImportDraft
    preview: PatternPreview | None
    fault: Message | None = None


class IntakeViewModel(QObject):
    """Runs one import at a time; the files are only read.

    Attributes:
        table: the rows.
        rows: those that are not imported yet.
        zones: names of time zones, this computer's first; empty text for one without a name.
        zone: the chosen one.
        subjects: known subjects, for completion.
        protocols: those that can be chosen.
        can_undo: whether there is an edit to undo.

    Signals:
        begun: inspection of files started.
        listed: the table is there; the files are still being read.
        progressed: (int, int) number done, and the total.
        changed: rows, faults or what can be done changed.
        pattern_found: (PatternPreview | None, str) what the pattern finds, or why it is wrong.
        single: (Path, TakeMetadata) only one recording was dropped; its subject and other values from `look`.
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

    def __init__(self, library: Library, sync: SyncState, tasks: TaskOwner, clock: Clock) -> None:
        super().__init__()
        self._library, self._sync, self._tasks, self._clock = library, sync, tasks, clock
        self._lane = Lane(tasks, self)
        self._task: Task | None = None
        self._common: TakeMetadata | None = None
        self._draft: ImportDraft | None = None
        self._read: deque[tuple[int, FileFacts]] = deque()
        self._outcomes: dict[int, ImportOutcome] = {}
        self._shown: dict[int, PreviewRow] = {}
        self._importing = self._queue = False
        self.table = EditableCellTable(headings(), self)
        self.table.edited.connect(self._on_edited)
        self.rows: Sequence[ImportRow] = ()
        self.zones: tuple[str, ...] = ()
        self.zone = ""
        self.subjects: tuple[str, ...] = ()
        self.protocols: Sequence[RecordingProtocol] = ()
        self.can_undo = False
        self.chosen: Callable[[], Collection[str]] = tuple

    @property
    def importing(self) -> bool:
        """Whether recordings are being imported."""
        return self._importing

    @property
    def busy(self) -> bool:
        """Whether files are being inspected or imported."""
        return self._task is not None or self._importing

    @property
    def preview(self) -> ImportPreview | None:
        """What would be imported; None while files are inspected or imported."""
        return None if self._draft is None or self.busy else ImportPreview(tuple(self.rows))

    @property
    def rules(self) -> ConsentRules:
        """What the profile asks of subjects."""
        return self._sync.settings.consent

    def look(
        self,
        paths: list[Path],
        common: TakeMetadata,
        signs: Collection[str],
        protocols: Sequence[RecordingProtocol],
        typed: TypedSubjects,
    ) -> None:
        """Inspect files, folders or a CSV.

        Args:
            paths: dropped or chosen.
            common: subject, analysis and other values that a list does not contain.
            signs: names that a list may request.
            protocols: those that a row can have.
            typed: finds the subject that a text means.
        """
        if self.busy:
            return
        self._forget()
        self._common, self.protocols = common, protocols
        self.begun.emit()
        self._task = self._tasks.start(
            lambda context: self._list(paths, common, signs, typed),
            self._on_listed,
            self._on_failed,
            finished=self._on_ended,
            name="intake",
        )

    def edit(self, keys: Collection[str], field: RowField, text: str) -> None:
        """Set a field of rows, as typed."""
        numbers = {int(key) for key in keys}
        self._change(lambda draft: draft.edit(numbers, field, text))

    def set_zone(self, name: str) -> None:
        """Read times without an offset in another time zone."""
        self.zone = name
        self._change(lambda draft: draft.set_zone(_zone(name)))

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
        draft, numbers = self._draft, self._meant()
        if draft is None:
            return

        def work(context: TaskContext) -> _Found:
            try:
                return _Found(draft, draft.preview(NamePattern(text), numbers))
            except ValueError as error:
                return _Found(draft, None, message_of(error))

        self._lane.run(work, self._on_found, self._on_refused, name="pattern")

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
        draft, chosen, rules = self._draft, {int(key) for key in self.chosen()}, self.rules
        subjects = lacking_consent(row for row in self.rows if row.number in chosen)
        if draft is None or self._importing or not subjects:
            return
        now, wording = self._clock.now(), consent_wording(self.consent_language())

        def work(context: TaskContext) -> _ConsentNoted:
            for group_id, alias in subjects.items():
                if alias:
                    self._library.subject_notes.keep_alias(group_id, alias)
            self._library.consents.give_by(rules, subjects, kind, now, wording, asked_by)
            draft.know(known_recordings(self._library))
            return _ConsentNoted(len(subjects), _Snapshot.of(draft))

        self._lane.run(work, self._on_consent_noted, self._on_consent_refused, name="import-consent")

    def take_in(self, *, queue: bool) -> None:
        """Import what is ready as one batch; `queue` adds it to the upload queue."""
        draft = self._draft
        if draft is not None and self.preview is not None and self.preview.ready:
            self._importing, self._queue = True, queue
            self.changed.emit()
            self._lane.run(lambda context: draft, self._on_settled, name="import-settle")

    @Slot(object)
    def _on_settled(self, draft: ImportDraft) -> None:
        """All edits before the import are done."""
        common, queue = self._common, self._queue
        if draft is not self._draft or common is None:
            return
        ready = draft.ready

        def work(context: TaskContext) -> _Imported:
            library = self._library
            outcomes = import_rows(library, ready, common, queue, context.progress, lambda: context.cancelled)
            draft.remove({outcome.row.number for outcome in outcomes if outcome.error is None})
            draft.know(known_recordings(library))
            return _Imported(outcomes, _Snapshot.of(draft))

        self._task = self._tasks.start(
            work, self._on_imported, self._on_not_imported, self._on_progress, self._on_ended, name="import"
        )

    def leave(self) -> None:
        """Cancel, unless edits would be lost by a slip of the keyboard."""
        if not self.can_undo:
            self.cancel()

    def cancel(self) -> None:
        """Cancel; what was imported so far stays."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._forget()
        self.left.emit()

    def counts(self) -> tuple[int, int]:
        """Number of rows that are ready, and that cannot be imported yet."""
        ready = sum(not row.faults for row in self.rows)
        return ready, len(self.rows) - ready

    def words(self) -> str:
        """The import as a sentence."""
        if self._draft is None:
            return _("Looking at the files. Nothing is changed.")
        ready, faulty = self.counts()
        if not faulty:
            return _("Recordings ready: {ready:,}. The files themselves stay as they are.", ready=ready)
        return _("Ready: {ready:,}. Not ready yet: {faulty:,}; each row says why.", ready=ready, faulty=faulty)

    def row_words(self, key: str | None) -> str:
        """Everything there is to say about a row."""
        place = None if key is None else self.table.place_of(key)
        row = None if place is None else self.table.row(place)
        if not isinstance(row, PreviewRow):
            return ""
        return _("{file}: {what}", file=row.row.path.name, what=row.words())

    def _list(
        self, paths: list[Path], common: TakeMetadata, signs: Collection[str], typed: TypedSubjects
    ) -> _Listed | Path | None:
        named = not (len(paths) == 1 and paths[0].suffix.lower() == _LIST)
        if named:
            found = find_recordings(paths)
            if len(found) == len(paths) == 1 and not paths[0].is_dir() and group_id_fault(common.group_id) is None:
                return found[0]
            rows = file_rows(found, common.group_id, common.target)
        else:
            rows = read_list(paths[0], common.target, signs)
        if not rows:
            return None
        rows = [
            replace(
                row,
                protocol=common.protocol if row.protocol is None else row.protocol,
                tags=common.tags if row.tags is None else row.tags,
                spoken=row.spoken,
            )
            for row in rows
        ]
        zones = _zones()
        draft = ImportDraft(rows, known_recordings(self._library), _zone(zones[0]), self._clock.now, typed.find)
        if named:
            draft.apply(NamePattern(), [row.number for row in rows])
            draft.forget_undo()
        notes = self._library.subject_notes
        names = (notes.note_of(group_id).alias or group_id for group_id in self._library.groups())
        return _Listed(draft, zones, tuple(names))

    def _read_files(self, rows: Sequence[ImportRow], read: deque[tuple[int, FileFacts]], context: TaskContext) -> None:
        for done, row in enumerate(rows, start=1):
            context.check()
            read.append((row.number, read_facts(row.path)))
            context.progress(done, len(rows))

    def _meant(self) -> list[int]:
        chosen = {int(key) for key in self.chosen()}
        return [row.number for row in self.rows if len(chosen) < 2 or row.number in chosen]

    def _change(self, change: Callable[[ImportDraft], None]) -> None:
        """Change the draft on a worker, and show it."""
        draft = self._draft
        if draft is None or self._importing:
            return

        def work(context: TaskContext) -> _Snapshot:
            change(draft)
            return _Snapshot.of(draft)

        self._lane.run(work, self._on_changed, self._on_refused, name="import-edit")

    def _merge(self) -> None:
        """Add what was read of the files meanwhile."""
        read = dict([self._read.popleft() for _ in range(len(self._read))])
        if read:
            self._change(lambda draft: draft.set_facts(read))

    def _show(self, snapshot: _Snapshot) -> None:
        titles = {protocol.protocol_id: protocol.title for protocol in self.protocols}
        self.rows, self.can_undo = snapshot.rows, snapshot.can_undo
        rows = [row for row in self._shown.values() if row.imported]
        rows += [
            PreviewRow(row, texts, titles.get(texts[2], texts[2]), self._outcomes.get(row.number))
            for row, texts in zip(snapshot.rows, snapshot.texts, strict=True)
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
        self._draft, self._importing, self.rows, self.can_undo = None, False, (), False
        self._outcomes, self._shown = {}, {}
        self._read = deque()
        self.table.replace(headings(), ())

    @Slot(str, int, str)
    def _on_edited(self, key: str, column: int, text: str) -> None:
        """A cell was edited: it is meant for all checked rows if its row is one of them."""
        chosen = list(self.chosen())
        self.edit(chosen if key in chosen else [key], EDITABLE[column], text)

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if self.sender() is self._task:
            self.progressed.emit(progress.done, progress.total)
            if len(self._read) >= max(_FEWEST_MERGED, progress.total // 20):
                self._merge()

    @Slot()
    def _on_ended(self) -> None:
        if self.sender() is self._task:
            self._task = None

    @Slot(object)
    def _on_listed(self, found: _Listed | Path | None) -> None:
        if self.sender() is not self._task:
            return
        self._task = None
        if isinstance(found, Path):
            self.left.emit()
            self.single.emit(found, self._common)
        elif found is None:
            self.failed.emit(_("There is no {formats} file in it. Nothing was changed.", formats=ANY_FORMAT))
            self.left.emit()
        else:
            self._draft, self.zones, self.zone, self.subjects = found.draft, found.zones, found.zones[0], found.subjects
            snapshot = _Snapshot.of(found.draft)
            self._show(snapshot)
            self.listed.emit()
            rows, read = [row for row in snapshot.rows if not row.list_faults], self._read
            self._task = self._tasks.start(
                lambda context: self._read_files(rows, read, context),
                self._on_read,
                self._on_failed,
                self._on_progress,
                name="import-read",
            )

    @Slot(object)
    def _on_read(self, nothing: None) -> None:
        if self.sender() is self._task:
            self._merge()
            self._lane.run(lambda context: self._draft, self._on_all_read, name="import-read-all")

    @Slot(object)
    def _on_all_read(self, draft: ImportDraft | None) -> None:
        """All files were read, and the table shows it."""
        if draft is self._draft is not None:
            self._task = None
            self.changed.emit()

    @Slot(object)
    def _on_changed(self, snapshot: _Snapshot) -> None:
        if snapshot.draft is self._draft:
            self._show(snapshot)

    @Slot(object)
    def _on_consent_noted(self, noted: _ConsentNoted) -> None:
        self._on_changed(noted.after)
        self.consent_noted.emit(noted.subjects)

    @Slot(object)
    def _on_consent_refused(self, failure: Failure) -> None:
        """Nothing was noted; the rows stay as they are."""
        self.failed.emit(translated(failure.error if isinstance(failure.error, AliasTaken) else failure.sentence))

    @Slot(object)
    def _on_found(self, found: _Found) -> None:
        if found.draft is self._draft:
            self.pattern_found.emit(found.preview, translated(found.fault) if found.fault else "")

    @Slot(object)
    def _on_refused(self, failure: Failure) -> None:
        """An edit was not possible; everything stays as it was."""
        wrong = isinstance(failure.error, ValueError)
        self.pattern_found.emit(None, translated(failure.error if wrong else failure.sentence))

    @Slot(object)
    def _on_imported(self, done: _Imported) -> None:
        self._task, self._importing = None, False
        if done.after.draft is not self._draft:
            return
        self._outcomes |= {outcome.row.number: outcome for outcome in done.outcomes}
        taken = [number for number, outcome in self._outcomes.items() if outcome.error is None]
        self._shown |= {number: replace(self._shown[number], became=self._outcomes[number]) for number in taken}
        self._show(done.after)
        well = sum(outcome.error is None for outcome in done.outcomes)
        self.imported.emit(well, len(self.rows))

    @Slot(object)
    def _on_not_imported(self, failure: Failure) -> None:
        """The import broke off; the rows stay as they are."""
        if self.sender() is not self._task:  # it was cancelled
            return
        self._task, self._importing = None, False
        self.failed.emit(translated(failure.sentence))
        self.changed.emit()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        if self.sender() is not self._task:  # it was cancelled, and another import may be open by now
            return
        self._task = None
        self._forget()
        self.failed.emit(translated(failure.sentence))
        self.left.emit()


def _zones() -> tuple[str, ...]:
    """Names of time zones, this computer's first."""
    here = bytes(QTimeZone.systemTimeZoneId().data()).decode("ascii", "replace")
    known = {
        name for name in available_timezones() if "/" in name and not name.startswith(("posix/", "right/", "Etc/"))
    }
    utc = here in ("UTC", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Zulu")
    first = "UTC" if utc else here if here in known else ""
    return tuple(dict.fromkeys((first, "UTC", *sorted(known))))


def _zone(name: str) -> tzinfo | None:
    """A zone by its name; None for that of this computer, if it has no name."""
    if name == "UTC":
        return UTC
    return ZoneInfo(name) if name else None
