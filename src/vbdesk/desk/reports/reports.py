"""Reports of recordings and subjects: what they contain, their printing, and their sending to a FHIR server."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbdesk.client.errors import ClientError
from vbdesk.client.fhir import StoredLogin, TransactionCounts, host_in_log, host_of
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import Failure, TaskContext
from vbdesk.language import _, joined, message, translated
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.disk_faults import file_sentence
from vbdesk.outbox.profiles.vault import VaultError
from vbdesk.outbox.results.recording_details import with_consents, with_details, with_unreadable_consents
from vbdesk.report.drawing.style import Look

if TYPE_CHECKING:  # the libraries of reports are slow to import
    from vbdesk.desk.system_printer import PrintJob
    from vbdesk.report.documents.report_input import ReportOptions
    from vbdesk.report.exports import ExportFormat
    from vbdesk.report.subject_record import RecordSource, SubjectRecord

PRINTED = "pdf"


@dataclass(frozen=True)
class Content:
    """What a report contains, how it is made, and a remark on what it lacks."""

    records: "Sequence[SubjectRecord]"
    options: "ReportOptions"
    remark: str = ""


class Report(ABC):
    """What is exported, printed or sent. Subclasses are frozen dataclasses that name subjects and recordings by id.

    Attributes:
        title: names the report and its subject, for the person who sets up the printer.
    """

    title: str

    @abstractmethod
    def content(self, context: DeskContext, task: TaskContext, kind: "ExportFormat") -> Content:
        """Read what a format needs, from the service where necessary. Blocks."""

    @abstractmethod
    def note(self, context: DeskContext, what: str) -> None:
        """Note in the audit log what was done with it. Blocks."""


@dataclass(frozen=True)
class ReadReport(Report):
    """A report that was read already, to be printed as it was exported."""

    title: str
    report: Report
    read: Content

    def content(self, context: DeskContext, task: TaskContext, kind: "ExportFormat") -> Content:  # noqa: D102
        return self.read

    def note(self, context: DeskContext, what: str) -> None:  # noqa: D102
        self.report.note(context, what)


@dataclass(frozen=True, slots=True)
class Written:
    """Where an export is, and what prints the same; None if nothing does."""

    path: Path
    printable: Report | None = None


def written(path: Path, kind: str, report: Report, content: Content) -> Written:
    """What was written; a PDF can be printed."""
    return Written(path, ReadReport(report.title, report, content) if kind == PRINTED else None)


def note_subjects(context: DeskContext, what: str, count: int) -> None:
    """Note what was done with a report of subjects."""
    context.library.note(AuditAction.EXPORTED, detail=f"{what}, subjects={count}")


def report_options(context: DeskContext, kind: "ExportFormat", look: Look, **others: Any) -> "ReportOptions":
    """How a report is made now."""
    from vbdesk.report.documents.report_input import ReportOptions

    now = context.clock.now().replace(microsecond=0)
    letterhead = context.library.letterhead.read() if kind == PRINTED else None
    zone = now.astimezone().tzinfo or UTC
    return ReportOptions(exported_at=now, zone=zone, letterhead=letterhead, look=look, **others)


def source_of(context: DeskContext) -> "RecordSource":
    """Where the records come from."""
    from vbdesk.report.subject_record import RecordSource

    return RecordSource.of(context.profile.base_url, context.profile.account_id)


def completed(
    context: DeskContext, kind: "ExportFormat", records: "Sequence[SubjectRecord]"
) -> "Sequence[SubjectRecord]":
    """Records with what a format shows of this computer."""
    if kind.one_folder:
        return with_details(context.library, records)
    return with_consents(context.library, records) if kind == "fhir" else records


def export_fault(failure: Failure) -> str:
    """Why nothing was written, printed or sent, and what to do."""
    if isinstance(failure.error, ValueError):
        return translated(failure.error)
    if isinstance(failure.error, OSError):
        return joined(_("The export could not be written."), translated(file_sentence(failure.error)))
    return failure.sentence


@dataclass(frozen=True)
class FindPrinter(Command):
    """Find a printer for a report; finds a `PrintJob` to set up."""

    report: Report
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        task.progress(0, 0, _("Looking for a printer."))
        job = context.ports.printers.job()
        if job is None:
            sentence = _(
                "This computer has no printer, so nothing was printed. Set one up in the settings of the system, "
                "or export the PDF and print it elsewhere."
            )
            raise ValueError(sentence)
        return Done(found=job)


@dataclass(frozen=True)
class PrintReport(Command):
    """Print a report as `job` was set up. No printer takes back the pages that it has."""

    report: Report
    job: "PrintJob"
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        from vbdesk.report.documents.report_input import PageSize
        from vbdesk.report.documents.reports import printed_pages
        from vbdesk.report.exports import ExportFormat

        preparing = _("Preparing the pages for the printer.")
        task.progress(0, 0, preparing)
        content = self.report.content(context, task, ExportFormat.PDF)
        task.progress(0, 0, preparing)
        size = PageSize.LETTER if self.job.takes_letter else PageSize.A4
        pages = printed_pages(content.records, replace(content.options, page_size=size))
        count = self.job.print_pages(pages, task.check)
        self.report.note(context, "print")
        return Done(f"{_('Pages sent to the printer: {count}.', count=count)} {content.remark}".strip())


@dataclass(frozen=True)
class FhirServerRead(Read[str]):
    """The address of the FHIR server of the profile; empty if there is none, or if the keyring does not say."""

    topics = frozenset()

    def here(self, context: DeskContext, before: str | None, task: TaskContext) -> str:  # noqa: D102
        vault = context.ports.vault(context.profile.secrets)
        try:
            return _login_of(vault.get_without_prompt(context.profile.fhir_login_name)).address
        except (ValueError, VaultError):
            return ""


@dataclass(frozen=True)
class SendToFhir(Command):
    """Send a report of `subjects` to the server that a person has confirmed; a repeat changes nothing there."""

    report: Report
    subjects: int
    address: str
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        from vbdesk.report.exports import ExportFormat
        from vbdesk.report.fhir import fhir_transactions

        host, library = host_of(self.address), context.library
        task.progress(0, 0, _("Reading from the service."))
        records = self.report.content(context, task, ExportFormat.FHIR).records
        task.progress(0, 0, _("Sending to {host}.", host=host))
        login = _login_of(context.ports.vault(context.profile.secrets).get(context.profile.fhir_login_name))
        if login.address != self.address:
            raise ValueError(_("Another server was configured meanwhile, so nothing was sent. Send again."))
        counts, begun, complete = TransactionCounts(), 0, 0
        try:
            with context.ports.fhir_server(login) as server:
                for record in records:
                    text = _(
                        "Sending to {host}: {done} of {total} subjects.", host=host, done=complete, total=len(records)
                    )
                    task.progress(complete, len(records), text)
                    for number, transaction in enumerate(fhir_transactions(record)):
                        task.check()
                        begun += not number
                        counts += server.send(transaction)
                    complete += 1
        except ClientError as error:
            sentence = message(
                "{fault} The server has {complete} of {subjects} subjects completely; sending them again changes "
                "nothing there.",
                fault=translated(error.sentence),
                complete=complete,
                subjects=len(records),
            )
            raise ValueError(sentence) from error
        finally:
            if begun:
                detail = f"fhir, sent to {host_in_log(self.address)}, subjects={begun}"
                library.note(AuditAction.EXPORTED, detail=detail)
        unreadable = with_unreadable_consents(library, [record.group_id for record in records])
        return Done(self._sent(host, len(records), counts, unreadable))

    def _sent(self, host: str, subjects: int, counts: TransactionCounts, unreadable: Sequence[str]) -> str:
        sentence = _(
            "Subjects at {host}: {subjects}. Resources created: {created}; there already: {kept}.",
            host=host,
            subjects=subjects,
            created=counts.created,
            kept=counts.kept,
        )
        if subjects < self.subjects:
            unknown = self.subjects - subjects
            sentence += " " + _("The service does not know {unknown} of the subjects yet.", unknown=unknown)
        if unreadable:
            sentence += " " + _(
                "Without the consents of {subjects}: something other than vbdesk changed them. Ask again, and note the "
                "answer.",
                subjects=", ".join(unreadable),
            )
        return sentence


def _login_of(secret: str | None) -> StoredLogin:
    """The login in the keyring. Raises ValueError."""
    if secret is None:
        raise ValueError(
            _("No FHIR server is configured any more, so nothing was sent. Configure it: vbdesk fhir login")
        )
    return StoredLogin.of_secret(secret)
