"""What an import does: list the files, read and edit them, and import what is ready."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from PySide6.QtCore import QTimeZone

from vbdesk.contract.groups import group_id_fault
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.record.import_rows import EDITABLE
from vbdesk.desk.record.setup_model import EnteredSubject
from vbdesk.language import Message, message_of
from vbdesk.outbox.imports.file_import import ImportOutcome, file_rows, find_recordings, import_rows, read_facts
from vbdesk.outbox.imports.import_draft import ImportDraft, PatternPreview
from vbdesk.outbox.imports.import_list import read_list
from vbdesk.outbox.imports.import_row import FileFacts, ImportRow, known_recordings
from vbdesk.outbox.imports.name_pattern import NamePattern
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.consent_wordings import ConsentWording
from vbdesk.outbox.library.items import TakeMetadata
from vbdesk.outbox.library.typed_subjects import TypedSubjects

_LIST = ".csv"
_FEWEST_MERGED = 25  # files; a check of 5,000 rows takes 0.1 s


@dataclass(frozen=True, slots=True)
class ImportTable:
    """The rows that are not imported yet, their texts as they are edited, and what became of rows so far."""

    rows: Sequence[ImportRow]
    texts: Sequence[tuple[str, ...]]
    can_undo: bool
    outcomes: Mapping[int, ImportOutcome]


class OpenImport:
    """An import that is edited and read at the same time.

    Attributes:
        common: subject, analysis and other values that a list does not contain.
        zones: names of time zones, this computer's first; empty text for one without a name.
        subjects: known subjects, for completion.
        table: the newest one.
    """

    def __init__(
        self, draft: ImportDraft, common: TakeMetadata, zones: tuple[str, ...], subjects: Iterable[str]
    ) -> None:
        self.common, self.zones, self.subjects = common, zones, tuple(subjects)
        self._draft, self._lock = draft, threading.Lock()
        self._outcomes: Mapping[int, ImportOutcome] = {}
        self.change(lambda draft: None)

    @property
    def ready(self) -> tuple[ImportRow, ...]:
        """Rows that can be imported."""
        return self._draft.ready

    def change(self, change: Callable[[ImportDraft], None], outcomes: Iterable[ImportOutcome] = ()) -> None:
        """Change the draft, and add outcomes of rows. On a worker: it checks all rows again."""
        with self._lock:
            change(self._draft)
            self._outcomes = {**self._outcomes, **{outcome.row.number: outcome for outcome in outcomes}}
            rows, text_of = self._draft.rows, self._draft.text_of
            texts = [tuple(text_of(row, field) for field in EDITABLE.values()) for row in rows]
            self.table = ImportTable(rows, texts, self._draft.can_undo, self._outcomes)

    def preview(self, pattern: NamePattern, numbers: Collection[int]) -> PatternPreview:
        """What a pattern would find in the names of these rows. Raises ValueError."""
        return self._draft.preview(pattern, numbers)


@dataclass(frozen=True, eq=False)
class ListFiles(Command):
    """List files, folders or a CSV. Finds an `OpenImport`, the path of a single recording, or None for nothing.

    Attributes:
        entered: what was typed and ticked about the subject of the files; it is stored first.
        common: subject, analysis and other values that a list does not contain.
        signs: names that a list may request.
        typed: finds the subject that a text means.
    """

    entered: EnteredSubject | None
    paths: tuple[Path, ...]
    common: TakeMetadata
    signs: Collection[str]
    typed: TypedSubjects
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        library, paths, common = context.library, self.paths, self.common
        if self.entered is not None:
            self.entered.store(library)
        touched = frozenset({Changed.LIBRARY})
        named = not (len(paths) == 1 and paths[0].suffix.lower() == _LIST)
        if named:
            found = find_recordings(paths)
            if len(found) == len(paths) == 1 and not paths[0].is_dir() and group_id_fault(common.group_id) is None:
                return Done(touched=touched, found=found[0])
            rows = file_rows(found, common.group_id, common.target)
        else:
            rows = read_list(paths[0], common.target, self.signs)
        if not rows:
            return Done(touched=touched)
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
        draft = ImportDraft(rows, known_recordings(library), zone_named(zones[0]), context.clock.now, self.typed.find)
        if named:
            draft.apply(NamePattern(), [row.number for row in rows])
            draft.forget_undo()
        names = (library.subject_notes.note_of(group_id).alias or group_id for group_id in library.groups())
        return Done(touched=touched, found=OpenImport(draft, common, zones, names))


@dataclass(frozen=True, eq=False)
class ReadFiles(Command):
    """Read the files of the rows, while they may be edited."""

    opened: OpenImport
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        rows = [row for row in self.opened.table.rows if not row.list_faults]
        most = max(_FEWEST_MERGED, len(rows) // 20)
        read: dict[int, FileFacts] = {}
        for done, row in enumerate(rows, start=1):
            task.check()
            read[row.number] = read_facts(row.path)
            if len(read) >= most or done == len(rows):
                self.opened.change(partial(ImportDraft.set_facts, facts=read))
                read = {}
            task.progress(done, len(rows))
        return Done()


@dataclass(frozen=True, eq=False)
class EditImport(Command):
    """Change the rows as a person said."""

    opened: OpenImport
    change: Callable[[ImportDraft], None]

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        self.opened.change(self.change)
        return Done()


@dataclass(frozen=True, eq=False)
class NoteConsents(Command):
    """Note the consent of subjects, given with their names, of all of them or of none."""

    opened: OpenImport
    subjects: Mapping[str, str]
    kind: ConsentKind
    wording: ConsentWording
    asked_by: str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        library, now = context.library, context.clock.now()
        for group_id, alias in self.subjects.items():
            if alias:
                library.subject_notes.store_alias(group_id, alias)
        rules = context.sync.settings.consent
        library.consents.give_by(rules, self.subjects, self.kind, now, self.wording, self.asked_by)
        self.opened.change(lambda draft: draft.know(known_recordings(library)))
        return Done(touched=frozenset({Changed.LIBRARY}))


@dataclass(frozen=True, eq=False)
class FindReady(Command):
    """Find the rows to import, after all edits."""

    opened: OpenImport
    queue: bool

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        return Done(found=self.opened.ready)


@dataclass(frozen=True, eq=False)
class ImportReady(Command):
    """Import rows as one batch; `queue` adds them to the upload queue. Finds their outcomes."""

    opened: OpenImport
    queue: bool
    rows: tuple[ImportRow, ...]
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        library, common = context.library, self.opened.common
        outcomes = import_rows(library, self.rows, common, self.queue, task.progress, lambda: task.cancelled)
        imported = {outcome.row.number for outcome in outcomes if outcome.error is None}

        def take_out(draft: ImportDraft) -> None:
            draft.remove(imported)
            draft.know(known_recordings(library))

        self.opened.change(take_out, outcomes)
        return Done(touched=frozenset({Changed.LIBRARY}), found=outcomes)


@dataclass(frozen=True)
class PatternRead(Read[PatternPreview | Message]):
    """What a pattern finds in the names of rows, or why it is wrong."""

    opened: OpenImport
    text: str
    numbers: tuple[int, ...]
    topics = frozenset()
    cached = False

    def here(self, context: DeskContext, before: object, task: TaskContext) -> PatternPreview | Message:  # noqa: D102
        try:
            return self.opened.preview(NamePattern(self.text), self.numbers)
        except ValueError as error:
            return message_of(error)


def _zones() -> tuple[str, ...]:
    """Names of time zones, this computer's first."""
    here = bytes(QTimeZone.systemTimeZoneId().data()).decode("ascii", "replace")
    known = {
        name for name in available_timezones() if "/" in name and not name.startswith(("posix/", "right/", "Etc/"))
    }
    utc = here in ("UTC", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Zulu")
    first = "UTC" if utc else here if here in known else ""
    return tuple(dict.fromkeys((first, "UTC", *sorted(known))))


def zone_named(name: str) -> tzinfo | None:
    """A zone by its name; None for that of this computer, if it has no name."""
    if name == "UTC":
        return UTC
    return ZoneInfo(name) if name else None
