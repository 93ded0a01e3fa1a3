"""The report of one recording: a page for the chart, details behind it, the data attached inside."""

from functools import partial

from vbdesk import __version__
from vbdesk.report.dictionary import table_definitions
from vbdesk.report.drawing.letters import shortened
from vbdesk.report.drawing.look import look
from vbdesk.report.drawing.shapes import Paint, Path, Text
from vbdesk.report.fhir import fhir_bundle
from vbdesk.report.pdf.attachments import Attachment
from vbdesk.report.pdf.details import details
from vbdesk.report.pdf.front_page import front_page
from vbdesk.report.pdf.paper import Paper, PaperInfo
from vbdesk.report.pdf.sheet import CAPTION, MARGIN, CountedPages, Pages, Sheet
from vbdesk.report.pdf.subject import PageSize, Reported, ReportOptions, reported
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tidy_csv import DICTIONARY_FILE, csv_files
from vbdesk.report.words import moment_words, report_words

__all__ = ["PageSize", "ReportOptions", "pdf_report"]


def pdf_report(record: SubjectRecord, options: ReportOptions) -> bytes:
    """The report as PDF; the same record and options give the same bytes.

    Raises:
        ValueError: there is no recording with a result; the text says so to a person.
    """
    subject = reported(record, options)
    attachments = _attachments(subject) if options.attach else []
    width, height = options.page_size.points
    counted = CountedPages(width, height)
    _lay_out(counted, subject, attachments, total=0)
    paper = Paper(width, height, _info(subject))
    _lay_out(paper, subject, attachments, total=counted.count)
    return paper.finish(attachments)


def _lay_out(pages: Pages, subject: Reported, attachments: list[Attachment], total: int) -> None:
    sheet = Sheet(pages, partial(_furniture, subject, total))
    front_page(sheet, subject)
    details(sheet, subject, attachments)


def _furniture(subject: Reported, total: int, pages: Pages, number: int) -> None:
    """Head (from the second page on) and foot of a page."""
    words, colours = report_words(), look().colour
    right = pages.width - MARGIN
    with pages.decoration():
        if number > 1:
            name = shortened(subject.record.group_id, CAPTION, (right - MARGIN) * 0.55)
            pages.put(Text((MARGIN, MARGIN), name, CAPTION, colours.text2, strong=True))
            pages.put(Text((right, MARGIN), words.title, CAPTION, colours.text3, align="right"))
            ends = ((MARGIN, MARGIN + 7), (right, MARGIN + 7))
            pages.put(Path(ends, Paint(stroke=colours.border, width=0.5)))
        base = pages.height - MARGIN + 10
        made = words.exported.format(
            version=__version__, moment=moment_words(subject.options.exported_at, subject.options.zone)
        )
        pages.put(Text((MARGIN, base), f"{words.not_a_diagnosis}. {made}.", CAPTION, colours.text3))
        place = words.page.format(number=number, total=total)
        pages.put(Text((right, base), place, CAPTION, colours.text3, align="right"))


def _info(subject: Reported) -> PaperInfo:
    words = report_words()
    when = moment_words(subject.recording.recorded_at, subject.options.zone)
    return PaperInfo(
        title=f"{words.title}: {subject.record.group_id}",
        subject=f"{words.fact.recorded} {when}. {words.not_a_diagnosis}.",
        producer=f"vbdesk {__version__}",
        language=words.language,
        made_at=subject.options.exported_at,
    )


def _attachments(subject: Reported) -> list[Attachment]:
    words, options = report_words().attachment, subject.options
    tables = table_definitions()
    attached = []
    for name, content in csv_files([subject.record], scores=options.scores).items():
        table = tables.get(name.removesuffix(".csv"))
        description = (
            words.dictionary if name == DICTIONARY_FILE or table is None else words.csv.format(title=table.title)
        )
        attached.append(Attachment(name, "text/csv", description, content))
    reported_alone = subject.record.only(subject.recording)
    bundle = fhir_bundle(reported_alone, scores=options.scores, sign_off=options.sign_off)
    attached.append(Attachment("report.fhir.json", "application/fhir+json", words.fhir, bundle, "Alternative"))
    return attached
