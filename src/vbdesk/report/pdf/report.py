"""PDF report of one recording: front page, detail pages, attached data."""

from functools import partial

from vbdesk import __version__
from vbdesk.report.data_dictionary import table_definitions
from vbdesk.report.drawing.shapes import Paint, Path, TextLine
from vbdesk.report.drawing.style import style
from vbdesk.report.drawing.text_layout import shortened
from vbdesk.report.fhir import fhir_bundle
from vbdesk.report.pdf.attachments import Attachment
from vbdesk.report.pdf.details import details
from vbdesk.report.pdf.front_page import front_page
from vbdesk.report.pdf.page_flow import CAPTION, MARGIN, PageCounter, PageFlow, Pages
from vbdesk.report.documents.report_input import PageSize, ReportInput, ReportOptions, report_input
from vbdesk.report.pdf.tagged_canvas import DocumentInfo, TaggedCanvas
from vbdesk.report.report_texts import report_texts
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tidy_csv import DICTIONARY_FILE, csv_files
from vbdesk.report.time_format import format_moment

__all__ = ["PageSize", "ReportOptions", "pdf_report"]


def pdf_report(record: SubjectRecord, options: ReportOptions) -> bytes:
    """Make the PDF; the same record and options give the same bytes.

    Raises:
        ValueError: no recording has a result; the message is for the user.
    """
    subject = report_input(record, options)
    attachments = _attachments(subject) if options.attach else []
    width, height = options.page_size.points
    counted = PageCounter(width, height)
    _lay_out(counted, subject, attachments, total=0)
    paper = TaggedCanvas(width, height, _info(subject))
    _lay_out(paper, subject, attachments, total=counted.count)
    return paper.finish(attachments)


def _lay_out(pages: Pages, subject: ReportInput, attachments: list[Attachment], total: int) -> None:
    flow = PageFlow(pages, partial(_header_and_footer, subject, total))
    front_page(flow, subject)
    details(flow, subject, attachments)


def _header_and_footer(subject: ReportInput, total: int, pages: Pages, number: int) -> None:
    """Draw the header (from the second page) and the footer of a page."""
    texts, colours = report_texts(), style().colour
    right = pages.width - MARGIN
    with pages.decoration():
        if number > 1:
            name = shortened(subject.record.group_id, CAPTION, (right - MARGIN) * 0.55)
            pages.put(TextLine((MARGIN, MARGIN), name, CAPTION, colours.text2, strong=True))
            pages.put(TextLine((right, MARGIN), texts.title, CAPTION, colours.text3, align="right"))
            ends = ((MARGIN, MARGIN + 7), (right, MARGIN + 7))
            pages.put(Path(ends, Paint(stroke=colours.border, width=0.5)))
        base = pages.height - MARGIN + 10
        made = texts.exported.format(
            version=__version__, moment=format_moment(subject.options.exported_at, subject.options.zone)
        )
        pages.put(TextLine((MARGIN, base), f"{texts.not_a_diagnosis}. {made}.", CAPTION, colours.text3))
        place = texts.page.format(number=number, total=total)
        pages.put(TextLine((right, base), place, CAPTION, colours.text3, align="right"))


def _info(subject: ReportInput) -> DocumentInfo:
    texts = report_texts()
    when = format_moment(subject.recording.recorded_at, subject.options.zone)
    return DocumentInfo(
        title=f"{texts.title}: {subject.record.group_id}",
        subject=f"{texts.fact.recorded} {when}. {texts.not_a_diagnosis}.",
        producer=f"vbdesk {__version__}",
        language=texts.language,
        made_at=subject.options.exported_at,
    )


def _attachments(subject: ReportInput) -> list[Attachment]:
    texts, options = report_texts().attachment, subject.options
    tables = table_definitions()
    attached = []
    for name, content in csv_files([subject.record], scores=options.scores).items():
        table = tables.get(name.removesuffix(".csv"))
        description = (
            texts.dictionary if name == DICTIONARY_FILE or table is None else texts.csv.format(title=table.title)
        )
        attached.append(Attachment(name, "text/csv", description, content))
    reported_alone = subject.record.only(subject.recording)
    bundle = fhir_bundle(reported_alone, scores=options.scores, sign_off=options.sign_off)
    attached.append(Attachment("report.fhir.json", "application/fhir+json", texts.fhir, bundle, "Alternative"))
    return attached
