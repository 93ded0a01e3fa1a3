"""Export of several subjects as tables, a folder for research or one PDF; printing and sending of the same."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.client.errors import NotFound
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
from vbdesk.language import _, joined, message, ngettext
from vbdesk.report.drawing.style import Look

if TYPE_CHECKING:
    from vbdesk.report.exports import ExportFormat

MOST_PRINTED = 100
"""Subjects of one printed report: 200 pages take half a minute to prepare."""


@dataclass(frozen=True)
class SubjectsReport(Report):
    """All data of several subjects; those that the service does not know are left out."""

    title: str
    group_ids: tuple[str, ...]
    look: Look

    @classmethod
    def of(cls, group_ids: Sequence[str], look: Look) -> "SubjectsReport":
        """Of these subjects."""
        count = len(group_ids)
        title = ngettext("Print the report of {count} subject", "Print the report of {count} subjects", count)
        return cls(title, tuple(group_ids), look)

    def content(self, context: DeskContext, task: TaskContext, kind: "ExportFormat") -> Content:  # noqa: D102
        from vbdesk.report.documents.report_input import ReportScope
        from vbdesk.report.subject_reader import read_subject

        records, total = [], len(self.group_ids)
        with context.results.reader() as reader:
            for index, group_id in enumerate(self.group_ids):
                task.check()
                text = _("Reading from the service: {done} of {total} subjects.", done=index, total=total)
                task.progress(index, total, text)
                try:
                    source = source_of(context)
                    records.append(
                        read_subject(group_id, source, reader, reader, on_progress=lambda done, total: task.check())
                    )
                except NotFound:
                    continue
        if not records:
            raise ValueError(message("The service has no analysis of these subjects yet. Nothing was written."))
        unknown = total - len(records)
        remark = _("The service does not know {unknown} of the subjects yet.", unknown=unknown) if unknown else ""
        options = report_options(context, kind, self.look, scores=kind != PRINTED, scope=ReportScope.TOGETHER)
        return Content(completed(context, kind, records), options, remark)

    def note(self, context: DeskContext, what: str) -> None:  # noqa: D102
        note_subjects(context, what, len(self.group_ids))


@dataclass(frozen=True)
class WriteSubjects(Command):
    """Write all data of subjects into a new folder within `folder`; `kind` is csv, bids or pdf."""

    report: SubjectsReport
    kind: str
    folder: str
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        from vbdesk.report.exports import ExportFormat, export_files, write_files

        kind, wanted = ExportFormat(self.kind), len(self.report.group_ids)
        content = self.report.content(context, task, kind)
        files = export_files(kind, content.records, content.options)
        task.check()
        folder = Path(self.folder) / f"vbdesk-{kind}-{content.options.exported_at.astimezone():%Y%m%d-%H%M%S}"
        write_files(folder, files)
        known = SubjectsReport.of([record.group_id for record in content.records], self.report.look)
        known.note(context, kind)
        count = len(known.group_ids)
        path = folder / next(iter(files)) if len(files) == 1 else folder
        sentence = ngettext("{count:,} subject was written.", "{count:,} subjects were written.", count)
        unknown = ""
        if count < wanted:
            unknown = ngettext(
                "The service does not know {count:,} of the chosen ones yet.",
                "The service does not know {count:,} of the chosen ones yet.",
                wanted - count,
            )
        found = written(path, kind if count <= MOST_PRINTED else "", known, replace(content, remark=""))
        return Done(joined(sentence, unknown, _("The files are in {folder}.", folder=folder)), found=found)
