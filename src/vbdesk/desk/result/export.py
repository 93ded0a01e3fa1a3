"""Export of one result as JSON, report or FHIR; printing of its report."""

from dataclasses import dataclass
from pathlib import Path

from vbdesk.contract.jobs import Job
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.reports.reports import Content, Report, completed, report_options, source_of, written
from vbdesk.desk.results.result_source import ResultSource
from vbdesk.desk.results.result_state import ResultView
from vbdesk.language import _, message
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.report.drawing.style import Look
from vbdesk.report.exports import EXTENSIONS, ExportFormat, export_files, write_files
from vbdesk.report.file_names import file_stems
from vbdesk.report.subject_record import subject_record


def file_name(view: ResultView, kind: ExportFormat) -> str:
    """Default file name: subject id and time."""
    moment = "" if view.recorded_at is None else f"{in_zone(view.recorded_at):-%Y%m%d-%H%M}"
    stem = file_stems([view.group_id])[view.group_id] if view.group_id else "result"
    return f"{stem}{moment}{EXTENSIONS.get(kind, f'.{kind}')}"


@dataclass(frozen=True)
class ResultReport(Report):
    """The result of one recording; what is missing is read from the service."""

    title: str
    view: ResultView
    look: Look
    scores: bool

    def content(self, context: DeskContext, task: TaskContext, kind: ExportFormat) -> Content:  # noqa: D102
        view = self.view
        stored = context.results.stored_trajectory(view.group_id)
        trajectory = None if stored is None else stored.value
        jobs = [(view.recorded_at, self._job(context))]
        record = subject_record(view.group_id, source_of(context), jobs, trajectory)
        options = report_options(context, kind, self.look, scores=self.scores)
        return Content(completed(context, kind, [record]), options)

    def note(self, context: DeskContext, what: str) -> None:  # noqa: D102
        context.library.note(AuditAction.EXPORTED, self.view.recording.take_id, what)

    def _job(self, context: DeskContext) -> Job:
        source = ResultSource(context.library, context.results)
        found = source.here(self.view.recording)
        known = found.job is not None and found.job.status.terminal
        job = found.job if known else source.ask(found).job
        if job is None:
            raise ValueError(message("The service has no analysis of this recording."))
        return job


@dataclass(frozen=True)
class WriteResult(Command):
    """Write a result to a file that a person has chosen; as JSON, it is written as received."""

    report: ResultReport
    kind: ExportFormat
    path: Path
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        path, kind, reading = self.path, self.kind, self.report.view.reading
        content = None
        if kind is ExportFormat.JSON:
            made = b"" if reading is None else f"{reading.raw}\n".encode()
        else:
            content = self.report.content(context, task, kind)
            files = export_files(kind, content.records, content.options)
            made = next(file for file in files.values() if isinstance(file, bytes))
        write_files(path.parent, {path.name: made}, overwrite=True)
        self.report.note(context, kind)
        found = None if content is None else written(path, kind, self.report, content).printable
        return Done(_("Saved as {path}.", path=path), found=found)
