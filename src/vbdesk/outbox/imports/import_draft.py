"""An import while a person edits it: rows, time zone, edits with undo. No disk is touched."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from enum import Enum

from vbdesk.outbox.imports.import_list import split_tags
from vbdesk.outbox.imports.import_row import FileFacts, ImportRow, KnownRecordings, check_rows
from vbdesk.outbox.imports.name_pattern import NamePattern
from vbdesk.outbox.imports.written_times import WrittenTime, read_time, written_in
from vbdesk.outbox.library.typed_subjects import TypedSubject

_MOST_UNDO = 50


class RowField(Enum):
    """A field of a row that can be edited."""

    SUBJECT = "subject"
    TIME = "time"
    PROTOCOL = "protocol"
    TAGS = "tags"


@dataclass(frozen=True, slots=True)
class PatternPreview:
    """What a pattern would find in the names of some rows.

    Attributes:
        rows: how many names were read.
        subjects, times: in how many of them a subject, and a time with date and time of day, was found.
        example, found: the first name in which something was found, and what.
        missed, reason: the first other name, and why; empty if there is none.
    """

    rows: int
    subjects: int
    times: int
    example: str = ""
    found_subject: str = ""
    found_time: str = ""
    missed: str = ""
    reason: str = ""


class ImportDraft:
    """The rows of an import, checked again after each edit.

    Attributes:
        rows: with their faults, in the order of the files or the list.
        zone: of times without an offset; None for that of this computer.
    """

    def __init__(
        self,
        rows: Sequence[ImportRow],
        known: KnownRecordings,
        zone: tzinfo | None,
        now: Callable[[], datetime],
        find_subject: Callable[[str], TypedSubject],
    ) -> None:
        """Check the rows; `find_subject` says which subject a typed text means."""
        self.zone = zone
        self._known, self._now, self._find = known, now, find_subject
        self._undo: list[Sequence[ImportRow]] = []
        self._facts = {row.number: row.facts for row in rows if row.facts is not None}
        self.rows: Sequence[ImportRow] = check_rows(self._found(rows), known, zone, now())

    @property
    def ready(self) -> tuple[ImportRow, ...]:
        """Rows that can be imported."""
        return tuple(row for row in self.rows if not row.faults)

    @property
    def faulty(self) -> tuple[ImportRow, ...]:
        """Rows that cannot be imported."""
        return tuple(row for row in self.rows if row.faults)

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to undo."""
        return bool(self._undo)

    def set_zone(self, zone: tzinfo | None) -> None:
        """Read times without an offset in another zone."""
        self.zone = zone
        self._check(self.rows)

    def set_facts(self, facts: Mapping[int, FileFacts]) -> None:
        """Add what reading the files showed, by row number."""
        self._facts |= facts
        self._check(self.rows)

    def edit(self, numbers: Collection[int], field: RowField, text: str) -> None:
        """Set a field of rows, as typed. A time of day alone keeps the day of each row, and a day alone its time."""
        wanted = set(numbers)
        edited = [self._edited(row, field, text) if row.number in wanted else row for row in self.rows]
        self._set_rows(edited)

    def apply(self, pattern: NamePattern, numbers: Collection[int]) -> None:
        """Fill subject and time from the names of the files. What the pattern does not find stays as it is.

        Raises:
            ValueError: the pattern is wrong.
        """
        pattern.check()
        wanted = set(numbers)
        self._set_rows([self._named(row, pattern) if row.number in wanted else row for row in self.rows])

    def preview(self, pattern: NamePattern, numbers: Collection[int]) -> PatternPreview:
        """What `apply` would find.

        Raises:
            ValueError: the pattern is wrong.
        """
        pattern.check()
        wanted = set(numbers)
        rows = [row for row in self.rows if row.number in wanted]
        preview = PatternPreview(len(rows), 0, 0)
        for row in rows:
            found = pattern.find(row.path)
            timed = found.written.day is not None and found.written.clock is not None
            if (found.subject or timed) and not preview.example:
                time = str(found.written)
                preview = replace(preview, example=row.path.name, found_subject=found.subject, found_time=time)
            if not (found.subject or timed) and not preview.missed:
                preview = replace(preview, missed=row.path.name, reason=found.fault or "")
            preview = replace(preview, subjects=preview.subjects + bool(found.subject), times=preview.times + timed)
        return preview

    def leave_out(self, numbers: Collection[int]) -> None:
        """Take rows out of this import; `undo` brings them back."""
        gone = set(numbers)
        self._set_rows([row for row in self.rows if row.number not in gone])

    def undo(self) -> None:
        """Take the last edit back; what reading the files showed stays."""
        if self._undo:
            self._check(self._undo.pop())

    def forget_undo(self) -> None:
        """Start without edits to undo."""
        self._undo = []

    def remove(self, numbers: Collection[int]) -> None:
        """Take rows out, because they were imported; earlier edits cannot be undone then."""
        self._undo = []
        gone = set(numbers)
        self._check([row for row in self.rows if row.number not in gone])

    def know(self, known: KnownRecordings) -> None:
        """Check against the library as it is now."""
        self._known = known
        self._check(self._found(self.rows))

    def text_of(self, row: ImportRow, field: RowField) -> str:
        """A field as it is edited."""
        match field:
            case RowField.SUBJECT:
                return row.alias or row.group_id
            case RowField.TIME:
                return self._time_text(row)
            case RowField.PROTOCOL:
                return row.protocol or ""
            case RowField.TAGS:
                return ", ".join(row.tags or ())

    def _time_text(self, row: ImportRow) -> str:
        if row.time_text is not None:
            return row.time_text
        return "" if row.recorded_at is None or row.time_fault else str(written_in(row.recorded_at, self.zone))

    def _edited(self, row: ImportRow, field: RowField, text: str) -> ImportRow:
        match field:
            case RowField.SUBJECT:
                return self._of_subject(row, text)
            case RowField.TIME:
                return replace(row, time_text=self._completed(row, text), time_from_name=False, time_fault=None)
            case RowField.PROTOCOL:
                return replace(row, protocol=text)
            case RowField.TAGS:
                return replace(row, tags=split_tags(text))

    def _of_subject(self, row: ImportRow, text: str) -> ImportRow:
        """The row with the subject that a text means."""
        found = self._find(text)
        return replace(row, group_id=found.group_id, alias=found.alias, subject_fault=found.fault)

    def _found(self, rows: Iterable[ImportRow]) -> list[ImportRow]:
        """The rows with their subjects as they are known now."""
        return [self._of_subject(row, row.alias or row.group_id) for row in rows]

    def _completed(self, row: ImportRow, text: str) -> str:
        """A typed time with the day or the time of day that the row has; unchanged if it is not understood."""
        try:
            typed = read_time(text)
            before = read_time(self._time_text(row))
        except ValueError:
            return text.strip()
        if typed == WrittenTime() or (typed.day is None) == (typed.clock is None):
            return text.strip()
        return str(typed.over(before))

    def _named(self, row: ImportRow, pattern: NamePattern) -> ImportRow:
        found = pattern.find(row.path)
        if found.subject:
            row = self._of_subject(row, found.subject)
        if found.written == WrittenTime():
            automatic = not pattern.text.strip()
            return replace(row, time_fault=found.fault) if found.fault and automatic and _by_file(row) else row
        if found.written.clock is None and _by_file(row) and self._day_of(row) == found.written.day:
            return row  # the file was written on that day, so its time of day is the best that is known
        text = str(found.written.over(WrittenTime()))
        if found.written.day is None or found.written.clock is None:
            text = self._completed(row, text) if not _by_file(row) else text
        return replace(row, time_text=text, time_from_name=True, time_fault=None)

    def _day_of(self, row: ImportRow) -> object:
        return None if row.recorded_at is None else row.recorded_at.astimezone(self.zone).date()

    def _set_rows(self, edited: Sequence[ImportRow]) -> None:
        self._undo = [*self._undo, self.rows][-_MOST_UNDO:]
        self._check(edited)

    def _check(self, rows: Iterable[ImportRow]) -> None:
        read = [replace(row, facts=self._facts.get(row.number)) for row in rows]
        self.rows = check_rows(read, self._known, self.zone, self._now())


def _by_file(row: ImportRow) -> bool:
    """Whether its time is that of the file."""
    return row.time_text is None
