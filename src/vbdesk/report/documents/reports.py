"""PDF reports for people; the same input gives the same bytes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vbdesk.report.documents.compiler import compile_pages, compile_pdf
from vbdesk.report.documents.recording_document import recording_document
from vbdesk.report.documents.report_input import ReportOptions, ReportScope, report_input
from vbdesk.report.documents.subjects_document import subjects_document
from vbdesk.report.subject_record import SubjectRecord

PRINT_PPI = 300.0
"""Of pages for a printer: a letter is sharp, and a page takes 0.15 s."""


def pdf_report(record: SubjectRecord, options: ReportOptions) -> bytes:
    """The report of one recording, or of the subject over time.

    Raises:
        ValueError: no recording has a result; the message is for the user.
    """
    return compile_pdf(*_document([record], options), options.exported_at)


def pdf_of_subjects(records: Sequence[SubjectRecord], options: ReportOptions) -> bytes:
    """One document of one or more subjects over time.

    Raises:
        ValueError: no recording has a result; the message is for the user.
    """
    scope = ReportScope.OVER_TIME if options.scope is ReportScope.RECORDING else options.scope
    return compile_pdf(*_document(records, replace(options, scope=scope)), options.exported_at)


def printed_pages(records: Sequence[SubjectRecord], options: ReportOptions) -> list[bytes]:
    """The pages of a report as PNG, for a printer; nothing is written to the disk.

    Raises:
        ValueError: no recording has a result; the message is for the user.
    """
    template, document = _document(records, replace(options, attach=False))
    return compile_pages(template, document, options.exported_at, PRINT_PPI)


def _document(records: Sequence[SubjectRecord], options: ReportOptions) -> tuple[str, dict[str, Any]]:
    """Template and data: one recording of the first subject, or all subjects over time."""
    with options.reading():
        if options.scope is ReportScope.RECORDING:
            return "recording.typ", recording_document(report_input(records[0], options))
        return "subjects.typ", subjects_document(records, options)
