"""Export of one subject, which asks before it replaces files."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.reports.reports import (
    PRINTED,
    Content,
    Report,
    completed,
    note_subjects,
    report_options,
    source_of,
    written,
)
from vbdesk.language import _, joined
from vbdesk.report.drawing.style import Look

if TYPE_CHECKING:
    from vbdesk.report.exports import ExportFormat
    from vbdesk.report.subject_record import SubjectRecord

CHARTS = ("png", "svg")
"""Formats that need no more than what the page shows: they work without the service."""
DRAWN = (PRINTED, *CHARTS)
"""Formats with a look."""
SIGNED = ("pdf", "fhir")
"""Formats that name the person who read the recording."""


@dataclass(frozen=True)
class SubjectReport(Report):
    """One subject.

    Attributes:
        read: what the page shows.
        reader: name of the person who read the newest recording; may be empty.
        scores: include raw scores, for research.
        name: print the subject's name and second line.
        over_time: print the subject over time instead of the newest recording.
    """

    title: str
    read: TrajectoryRead
    look: Look
    reader: str = ""
    scores: bool = False
    name: bool = False
    over_time: bool = False

    def content(self, context: DeskContext, task: TaskContext, kind: "ExportFormat") -> Content:  # noqa: D102
        from vbdesk.report.documents.compiler import missing_letters  # the report's libraries are slow to import
        from vbdesk.report.documents.report_input import ReportScope
        from vbdesk.report.sign_off import SignOff

        printed, line = kind == PRINTED, ""
        if self.name and printed:
            line = context.library.subject_notes.note_of(self.read.group_id).line
        signed = bool(self.reader) and kind in SIGNED
        options = report_options(
            context,
            kind,
            self.look,
            scores=self.scores,
            subject_line=line,
            scope=ReportScope.OVER_TIME if self.over_time else ReportScope.RECORDING,
            sign_off=SignOff(self.reader, context.clock.now().replace(microsecond=0)) if signed else None,
        )
        records = completed(context, kind, [self._record(context, task, kind)])
        missing = missing_letters(line + (self.reader if signed else "")) if printed else ""
        squares = _("The report's fonts lack these letters, which print as squares: {letters}", letters=missing)
        return Content(records, options, squares if missing else "")

    def note(self, context: DeskContext, what: str) -> None:  # noqa: D102
        note_subjects(context, what, 1)

    def _record(self, context: DeskContext, task: TaskContext, kind: str) -> "SubjectRecord":
        from vbdesk.report.subject_reader import read_subject
        from vbdesk.report.subject_record import subject_record

        group_id, source = self.read.group_id, source_of(context)
        if kind in CHARTS:
            return subject_record(group_id, source, (), self.read)

        def progress(done: int, total: int) -> None:
            task.check()
            text = _("Reading result {done} of {total}", done=min(done + 1, total), total=total) if total else ""
            task.progress(done, total, text)

        with context.results.reader() as reader:
            return read_subject(group_id, source, reader, reader, on_progress=progress)


@dataclass(frozen=True)
class WriteSubject(Command):
    """Write a report as `kind` into `folder`; formats of several files get a subfolder.

    Attributes:
        replace: existing files may be replaced.
    """

    report: SubjectReport
    kind: str
    folder: str
    replace: bool = False
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        from vbdesk.report.exports import ExportFormat, expected_files, export_files, refuse_overwriting, write_files
        from vbdesk.report.file_names import file_stems

        kind, group_id = ExportFormat(self.kind), self.report.read.group_id
        stem = file_stems([group_id])[group_id]
        folder = Path(self.folder) / f"{stem}-{kind}" if kind.one_folder else Path(self.folder)
        if not self.replace:
            refuse_overwriting(folder, expected_files(kind, [group_id]))  # before a read that may take long
        content = self.report.content(context, task, kind)
        files = export_files(kind, content.records, content.options)
        task.check()
        write_files(folder, files, overwrite=self.replace)
        self.report.note(context, kind)
        path = folder if kind.one_folder else folder / next(iter(files))
        sentence = joined(_("Written to {path}.", path=path), content.remark)
        return Done(sentence, found=written(path, kind, self.report, content))
