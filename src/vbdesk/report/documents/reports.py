"""PDF reports for people; the same input gives the same bytes."""

from collections.abc import Sequence

from vbdesk.report.documents.compiler import compile_pdf
from vbdesk.report.documents.recording_document import recording_document
from vbdesk.report.documents.report_input import ReportOptions, ReportScope, report_input
from vbdesk.report.documents.subjects_document import subjects_document
from vbdesk.report.subject_record import SubjectRecord


def pdf_report(record: SubjectRecord, options: ReportOptions) -> bytes:
    """The report of one recording, or of the subject over time.

    Raises:
        ValueError: no recording has a result; the message is for the user.
    """
    if options.scope is not ReportScope.RECORDING:
        return pdf_of_subjects([record], options)
    with options.reading():
        document = recording_document(report_input(record, options))
    return compile_pdf("recording.typ", document, options.exported_at)


def pdf_of_subjects(records: Sequence[SubjectRecord], options: ReportOptions) -> bytes:
    """One document of one or more subjects over time.

    Raises:
        ValueError: no recording has a result; the message is for the user.
    """
    with options.reading():
        document = subjects_document(records, options)
    return compile_pdf("subjects.typ", document, options.exported_at)
