"""Front page: findings, suggested action, evidence and sign-off."""

from collections.abc import Iterator

from vbdesk.contract.catalog import label_of
from vbdesk.contract.jobs import JobType
from vbdesk.contract.levels import Level
from vbdesk.report.comparison_basis import comparison_basis
from vbdesk.report.drawing.glyphs import level_glyph
from vbdesk.report.drawing.shapes import Box, Circle, Paint, Path, TextLine
from vbdesk.report.drawing.style import style
from vbdesk.report.drawing.text_layout import text_width, wrapped
from vbdesk.report.pdf.cells import ChangeStripCell, LevelBadgeCell, change_text
from vbdesk.report.pdf.page_flow import BODY, CAPTION, LINE, MARGIN, SMALL, Cell, PageFlow, TableColumn, TextCell
from vbdesk.report.pdf.report_input import ReportInput
from vbdesk.report.report_texts import report_texts
from vbdesk.report.result_texts import overall_word, quality_text, result_texts
from vbdesk.report.shipped_signs import healthy_flagged_share, shipped_signs
from vbdesk.report.time_format import format_duration, format_moment

_SIGN_OFF_HEIGHT = 80.0
_SIGN_OFF_SHARES = (0.37, 0.40, 0.23)
_FACT_SHARES = (0.38, 0.38, 0.24)


def front_page(flow: PageFlow, subject: ReportInput) -> None:
    """Lay out the first page."""
    _title(flow)
    _facts(flow, subject)
    _overall(flow, subject)
    _signals(flow, subject)
    _caution(flow, subject)
    _quality_notes(flow, subject)
    _sign_off(flow, subject)


def _title(flow: PageFlow) -> None:
    texts, colours, pages = report_texts(), style().colour, flow.pages
    with pages.decoration():
        pages.put(Box(MARGIN, flow.y, 20, 20, Paint(fill=colours.accent), radius=5))
        for place, half in enumerate((2.5, 5.5, 3.5, 6.0, 2.5)):
            x = MARGIN + 5 + place * 2.5
            ends = ((x, flow.y + 10 - half), (x, flow.y + 10 + half))
            pages.put(Path(ends, Paint(stroke=colours.surface, width=1.3, round=True)))
    pages.bookmark(texts.title)
    with pages.tagged("H1"):
        pages.put(TextLine((MARGIN + 28, flow.y + 15.5), texts.title, 15, colours.text, strong=True))
    with pages.tagged("P"):
        at = (MARGIN + flow.width, flow.y + 14.5)
        pages.put(TextLine(at, texts.not_a_diagnosis, BODY, colours.text2, align="right"))
    flow.space(30)
    flow.rule(colours.control)
    flow.space(10)


def _facts(flow: PageFlow, subject: ReportInput) -> None:
    """Labels and values: the subject over the whole width, the others three in a row."""
    colours, pages = style().colour, flow.pages
    with pages.tagged("P"):
        pages.put(TextLine((MARGIN, flow.y + CAPTION), report_texts().fact.subject, CAPTION, colours.text3))
    flow.space(CAPTION * LINE + 1)
    size = 12.0 if len(subject.record.group_id) <= 64 else SMALL
    line = subject.options.subject_line
    flow.paragraph(subject.record.group_id, size=size, colour=colours.text, strong=True, after=2 if line else 8)
    if line:
        flow.paragraph(line, size=BODY, colour=colours.text, after=8)
    facts = list(_values(subject))
    widths = [(flow.width - 2 * 16) * share for share in _FACT_SHARES]
    for row in (facts[start : start + len(widths)] for start in range(0, len(facts), len(widths))):
        cells = [TextCell(value, BODY) for _, value in row]
        height = max(cell.height(width) for cell, width in zip(cells, widths, strict=True))
        left = MARGIN
        for (label, _), cell, width in zip(row, cells, widths, strict=True):
            with pages.tagged("P"):
                pages.put(TextLine((left, flow.y + CAPTION), label, CAPTION, colours.text3))
                cell.draw(pages, left, flow.y + CAPTION * LINE + 1, width)
            left += width + 16
        flow.space(CAPTION * LINE + height + 8)
    flow.space(4)


def _values(subject: ReportInput) -> Iterator[tuple[str, str]]:
    texts, job, zone = report_texts(), subject.recording.job, subject.options.zone
    fact = texts.fact
    yield fact.recorded, format_moment(subject.recording.recorded_at, zone)
    yield fact.analysed, format_moment(job.completed_at or job.created_at, zone)
    yield fact.length, format_duration(job.audio_duration_seconds)
    kind, name = subject.recording.target
    versions = sorted({signal.sign_version for signal in subject.signals if signal.sign_version})
    target = (fact.sign if kind in (JobType.SIGN, JobType.CONDITION) else fact.model).format(name=label_of(name))
    yield fact.analysis, ", ".join([target, *(fact.version.format(version=version) for version in versions)])
    count = len([other for other in subject.record.finished if other.recorded_at <= subject.recording.recorded_at])
    yield fact.history, texts.counted(count) if subject.recording.longitudinal else fact.no_history
    issues = len(subject.quality.issues)
    yield (
        fact.quality,
        fact.issues.format(count=issues) if issues > 1 else fact.one_issue if issues else fact.good_quality,
    )


def _overall(flow: PageFlow, subject: ReportInput) -> None:
    pages, colours, look_of = flow.pages, style().colour, style().level[subject.level]
    advice = result_texts().action[subject.action]
    left = MARGIN + 76
    width = flow.width - 76 - 16
    sentence = f"{advice.title} {advice.sentence}"
    lines = wrapped(sentence, 10, width)
    height = 26 + 22 + len(lines) * 10 * LINE + 10
    with flow.reserve(height + 14) as top:
        with pages.decoration():
            edge = Paint(fill=colours.surface, stroke=colours.border, width=0.8)
            pages.put(Box(MARGIN, top, flow.width, height, edge, radius=8))
            pages.put(Circle((MARGIN + 40, top + height / 2), 22, Paint(fill=look_of.tint)))
            for shape in level_glyph(subject.level, MARGIN + 28, top + height / 2 - 12, 24, look_of.tint):
                pages.put(shape)
        word = overall_word(subject.level)
        with pages.tagged("H2"):
            pages.put(TextLine((left, top + 33), word, 20, look_of.ink, strong=True))
            after = left + text_width(word, 20, strong=True) + 8
            if subject.level is not Level.NONE:
                pages.put(TextLine((after, top + 33), report_texts().overall.caption, BODY, colours.text2))
        with pages.tagged("P"):
            for place, line in enumerate(lines):
                y = top + 52 + place * 10 * LINE
                pages.put(TextLine((left, y), line, 10, colours.text))


def _signals(flow: PageFlow, subject: ReportInput) -> None:
    texts = report_texts().signals
    flow.heading(texts.title)
    rows: list[list[Cell]] = []
    for signal in subject.signals:
        reference = shipped_signs().get(signal.name)
        evidence = reference.evidence_text(signal.evidence_grade) if reference else ""
        rows.append(
            [
                TextCell(signal.label, BODY, strong=True),
                LevelBadgeCell(signal.level),
                TextCell(change_text(signal), SMALL),
                ChangeStripCell(signal),
                TextCell(evidence, CAPTION, colour=style().colour.text2),
            ]
        )
    columns = [
        TableColumn(texts.signal, 23),
        TableColumn(texts.level, 17),
        TableColumn(texts.baseline, 17),
        TableColumn(f"{texts.lower}  ·  {texts.higher}", 15),
        TableColumn(texts.evidence, 28),
    ]
    flow.table(columns, rows)


def _caution(flow: PageFlow, subject: ReportInput) -> None:
    texts = report_texts().caution
    flow.heading(texts.title, size=9.5)
    share = healthy_flagged_share().get(subject.model or "")
    flagged = texts.flagged_unknown
    if share is not None and subject.model:
        flagged = texts.flagged.format(model=label_of(subject.model), percent=round(share * 100))
    compared = report_texts().compared.of(comparison_basis(subject.signals))
    flow.paragraph(f"{texts.what} {flagged} {compared}", size=SMALL, after=8)


def _quality_notes(flow: PageFlow, subject: ReportInput) -> None:
    """Issues of the recording, if the page has room; the detail pages repeat them."""
    said = quality_text(subject.quality)
    notes = " ".join((*said.issues, *said.advice))
    height = (len(wrapped(notes, SMALL, flow.width)) + 2) * SMALL * LINE + 12
    if said.issues and flow.y + height + _sign_off_height(flow, subject) <= flow.bottom:
        flow.heading(report_texts().fact.quality, size=9.5)
        flow.paragraph(notes, size=SMALL, after=8)


def _reader(flow: PageFlow, subject: ReportInput) -> list[str]:
    """The reader's name in lines."""
    sign_off = subject.options.sign_off
    return wrapped(sign_off.name, BODY, (flow.width - 28) * _SIGN_OFF_SHARES[0] - 14) if sign_off else []


def _sign_off_height(flow: PageFlow, subject: ReportInput) -> float:
    return _SIGN_OFF_HEIGHT + max(0, len(_reader(flow, subject)) - 1) * BODY * LINE


def _sign_off(flow: PageFlow, subject: ReportInput) -> None:
    """Reader's name, time, and room for a signature, at the bottom of the page."""
    texts, colours, pages, sign_off = (
        report_texts().reader,
        style().colour,
        flow.pages,
        subject.options.sign_off,
    )
    height = _sign_off_height(flow, subject)
    flow.ensure_room(height)
    flow.y = max(flow.y, flow.bottom - height)
    with flow.reserve(height) as top:
        with pages.decoration():
            fill = Paint(fill=colours.quiet, stroke=colours.border, width=0.8)
            pages.put(Box(MARGIN, top, flow.width, height, fill, radius=8))
        with pages.tagged("H2"):
            pages.put(TextLine((MARGIN + 14, top + 18), texts.title, 9.5, colours.text, strong=True))
        with pages.tagged("P"):
            note = texts.signed if sign_off else texts.unsigned
            pages.put(TextLine((MARGIN + 62, top + 18), note, CAPTION, colours.text2))
        line, inner = top + height - 24, flow.width - 28
        when = [format_moment(sign_off.at, subject.options.zone)] if sign_off else []
        fields = ((texts.name, _reader(flow, subject)), (texts.time, when), (texts.signature, list[str]()))
        left = MARGIN + 14
        for (label, values), share in zip(fields, _SIGN_OFF_SHARES, strict=True):
            width = inner * share - 14
            with pages.decoration():
                ends = ((left, line), (left + width, line))
                pages.put(Path(ends, Paint(stroke=colours.control, width=0.6)))
            with pages.tagged("P"):
                pages.put(TextLine((left, line + 11), label, CAPTION, colours.text3))
                for place, value in enumerate(reversed(values)):
                    pages.put(TextLine((left, line - 5 - place * BODY * LINE), value, BODY, colours.text))
            left += inner * share
