"""The page for the chart: what was found, what to do, how sure that is, and who has read it."""

from collections.abc import Iterator

from vbdesk.contract.jobs import JobType
from vbdesk.report.drawing.glyphs import level_glyph, level_word
from vbdesk.report.drawing.letters import text_width, wrapped
from vbdesk.report.drawing.look import look
from vbdesk.report.drawing.shapes import Box, Circle, Paint, Path, Text
from vbdesk.report.pdf.cells import ChangeStrip, LevelBadge, change_words
from vbdesk.report.pdf.sheet import BODY, CAPTION, LINE, MARGIN, SMALL, Cell, Column, Sheet, Words
from vbdesk.report.pdf.subject import Reported
from vbdesk.report.sign_reference import healthy_flagged_share, sign_references
from vbdesk.report.wording import quality_words, result_words
from vbdesk.report.words import duration_words, moment_words, report_words

_SIGN_OFF_HEIGHT = 80.0
_SIGN_OFF_SHARES = (0.37, 0.40, 0.23)
_FACT_SHARES = (0.38, 0.38, 0.24)


def front_page(sheet: Sheet, subject: Reported) -> None:
    """Lay out the first page."""
    _title(sheet)
    _facts(sheet, subject)
    _overall(sheet, subject)
    _signals(sheet, subject)
    _caution(sheet, subject)
    _quality_notes(sheet, subject)
    _sign_off(sheet, subject)


def _title(sheet: Sheet) -> None:
    words, colours, pages = report_words(), look().colour, sheet.pages
    with pages.decoration():
        pages.put(Box(MARGIN, sheet.y, 20, 20, Paint(fill=colours.accent), radius=5))
        for place, half in enumerate((2.5, 5.5, 3.5, 6.0, 2.5)):
            x = MARGIN + 5 + place * 2.5
            ends = ((x, sheet.y + 10 - half), (x, sheet.y + 10 + half))
            pages.put(Path(ends, Paint(stroke=colours.surface, width=1.3, round=True)))
    pages.bookmark(words.title)
    with pages.tagged("H1"):
        pages.put(Text((MARGIN + 28, sheet.y + 15.5), words.title, 15, colours.text, strong=True))
    with pages.tagged("P"):
        at = (MARGIN + sheet.width, sheet.y + 14.5)
        pages.put(Text(at, words.not_a_diagnosis, BODY, colours.text2, align="right"))
    sheet.space(30)
    sheet.rule(colours.control)
    sheet.space(10)


def _facts(sheet: Sheet, subject: Reported) -> None:
    """Labels and values, the subject's name over the whole width, the others three in a row."""
    colours, pages = look().colour, sheet.pages
    with pages.tagged("P"):
        pages.put(Text((MARGIN, sheet.y + CAPTION), report_words().fact.subject, CAPTION, colours.text3))
    sheet.space(CAPTION * LINE + 1)
    size = 12.0 if len(subject.record.group_id) <= 64 else SMALL
    sheet.paragraph(subject.record.group_id, size=size, colour=colours.text, strong=True, after=8)
    facts = list(_values(subject))
    widths = [(sheet.width - 2 * 16) * share for share in _FACT_SHARES]
    for row in (facts[start : start + len(widths)] for start in range(0, len(facts), len(widths))):
        cells = [Words(value, BODY) for _, value in row]
        height = max(cell.height(width) for cell, width in zip(cells, widths, strict=True))
        left = MARGIN
        for (label, _), cell, width in zip(row, cells, widths, strict=True):
            with pages.tagged("P"):
                pages.put(Text((left, sheet.y + CAPTION), label, CAPTION, colours.text3))
                cell.draw(pages, left, sheet.y + CAPTION * LINE + 1, width)
            left += width + 16
        sheet.space(CAPTION * LINE + height + 8)
    sheet.space(4)


def _values(subject: Reported) -> Iterator[tuple[str, str]]:
    words, job, zone = report_words(), subject.recording.job, subject.options.zone
    fact = words.fact
    yield fact.recorded, moment_words(subject.recording.recorded_at, zone)
    yield fact.analysed, moment_words(job.completed_at or job.created_at, zone)
    yield fact.length, duration_words(job.audio_duration_seconds)
    kind, name = subject.recording.target
    versions = sorted({signal.sign_version for signal in subject.signals if signal.sign_version})
    target = (fact.sign if kind in (JobType.SIGN, JobType.CONDITION) else fact.model).format(name=name)
    yield fact.analysis, ", ".join([target, *(fact.version.format(version=version) for version in versions)])
    count = len([other for other in subject.record.finished if other.recorded_at <= subject.recording.recorded_at])
    yield fact.history, words.counted(count) if subject.recording.longitudinal else fact.no_history
    issues = len(subject.quality.issues)
    yield (
        fact.quality,
        fact.issues.format(count=issues) if issues > 1 else fact.one_issue if issues else fact.good_quality,
    )


def _overall(sheet: Sheet, subject: Reported) -> None:
    pages, colours, look_of = sheet.pages, look().colour, look().level[subject.level]
    advice = result_words().action[subject.action]
    left = MARGIN + 76
    width = sheet.width - 76 - 16
    sentence = f"{advice.title} {advice.sentence}"
    lines = wrapped(sentence, 10, width)
    height = 26 + 22 + len(lines) * 10 * LINE + 10
    with sheet.reserved(height + 14) as top:
        with pages.decoration():
            edge = Paint(fill=colours.surface, stroke=colours.border, width=0.8)
            pages.put(Box(MARGIN, top, sheet.width, height, edge, radius=8))
            pages.put(Circle((MARGIN + 40, top + height / 2), 22, Paint(fill=look_of.tint)))
            for shape in level_glyph(subject.level, MARGIN + 28, top + height / 2 - 12, 24, look_of.tint):
                pages.put(shape)
        word = level_word(subject.level)
        with pages.tagged("H2"):
            pages.put(Text((left, top + 33), word, 20, look_of.ink, strong=True))
            after = left + text_width(word, 20, strong=True) + 8
            pages.put(Text((after, top + 33), report_words().overall.caption, BODY, colours.text2))
        with pages.tagged("P"):
            for place, line in enumerate(lines):
                y = top + 52 + place * 10 * LINE
                pages.put(Text((left, y), line, 10, colours.text))


def _signals(sheet: Sheet, subject: Reported) -> None:
    words = report_words().signals
    sheet.heading(words.title)
    rows: list[list[Cell]] = []
    for signal in subject.signals:
        reference = sign_references().get(signal.name)
        evidence = reference.evidence_words_for(signal.evidence_grade) if reference else ""
        rows.append(
            [
                Words(signal.label, BODY, strong=True),
                LevelBadge(signal.level),
                Words(change_words(signal), SMALL),
                ChangeStrip(signal),
                Words(evidence, CAPTION, colour=look().colour.text2),
            ]
        )
    columns = [
        Column(words.signal, 23),
        Column(words.level, 17),
        Column(words.baseline, 17),
        Column(f"{words.lower}  ·  {words.higher}", 15),
        Column(words.evidence, 28),
    ]
    sheet.table(columns, rows)


def _caution(sheet: Sheet, subject: Reported) -> None:
    words = report_words().caution
    sheet.heading(words.title, size=9.5)
    share = healthy_flagged_share().get(subject.model or "")
    flagged = words.flagged_unknown
    if share is not None and subject.model:
        flagged = words.flagged.format(model=subject.model, percent=round(share * 100))
    sheet.paragraph(f"{words.what} {flagged}", size=SMALL, after=8)


def _quality_notes(sheet: Sheet, subject: Reported) -> None:
    """What was wrong with the sound, where the page has room for it; the details tell it again."""
    said = quality_words(subject.quality)
    notes = " ".join((*said.issues, *said.advice))
    height = (len(wrapped(notes, SMALL, sheet.width)) + 2) * SMALL * LINE + 12
    if said.issues and sheet.y + height + _sign_off_height(sheet, subject) <= sheet.bottom:
        sheet.heading(report_words().fact.quality, size=9.5)
        sheet.paragraph(notes, size=SMALL, after=8)


def _reader(sheet: Sheet, subject: Reported) -> list[str]:
    """The reader's name in lines."""
    sign_off = subject.options.sign_off
    return wrapped(sign_off.name, BODY, (sheet.width - 28) * _SIGN_OFF_SHARES[0] - 14) if sign_off else []


def _sign_off_height(sheet: Sheet, subject: Reported) -> float:
    return _SIGN_OFF_HEIGHT + max(0, len(_reader(sheet, subject)) - 1) * BODY * LINE


def _sign_off(sheet: Sheet, subject: Reported) -> None:
    """The reader's name and time, and room to sign by hand; at the foot of the page."""
    words, colours, pages, sign_off = report_words().reader, look().colour, sheet.pages, subject.options.sign_off
    height = _sign_off_height(sheet, subject)
    sheet.need(height)
    sheet.y = max(sheet.y, sheet.bottom - height)
    with sheet.reserved(height) as top:
        with pages.decoration():
            fill = Paint(fill=colours.quiet, stroke=colours.border, width=0.8)
            pages.put(Box(MARGIN, top, sheet.width, height, fill, radius=8))
        with pages.tagged("H2"):
            pages.put(Text((MARGIN + 14, top + 18), words.title, 9.5, colours.text, strong=True))
        with pages.tagged("P"):
            note = words.signed if sign_off else words.unsigned
            pages.put(Text((MARGIN + 62, top + 18), note, CAPTION, colours.text2))
        line, inner = top + height - 24, sheet.width - 28
        when = [moment_words(sign_off.at, subject.options.zone)] if sign_off else []
        fields = ((words.name, _reader(sheet, subject)), (words.time, when), (words.signature, list[str]()))
        left = MARGIN + 14
        for (label, values), share in zip(fields, _SIGN_OFF_SHARES, strict=True):
            width = inner * share - 14
            with pages.decoration():
                ends = ((left, line), (left + width, line))
                pages.put(Path(ends, Paint(stroke=colours.control, width=0.6)))
            with pages.tagged("P"):
                pages.put(Text((left, line + 11), label, CAPTION, colours.text3))
                for place, value in enumerate(reversed(values)):
                    pages.put(Text((left, line - 5 - place * BODY * LINE), value, BODY, colours.text))
            left += inner * share
