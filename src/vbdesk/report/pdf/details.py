"""The pages behind the first: the course over time, features, sound, speakers, evidence, method."""

from collections.abc import Iterable, Sequence

from vbdesk.contract.longitudinal import DataPoint, SignTrajectory, TrajectoryRead
from vbdesk.contract.results import LongitudinalSignal, ModelResult, Signal
from vbdesk.report.drawing.letters import text_width
from vbdesk.report.drawing.look import look
from vbdesk.report.drawing.shapes import Drawing
from vbdesk.report.pdf.attachments import Attachment
from vbdesk.report.pdf.cells import AnchoredScale, FiveBands, LevelMark
from vbdesk.report.pdf.sheet import BODY, CAPTION, MARGIN, SMALL, Cell, Column, Sheet, Words
from vbdesk.report.pdf.subject import Reported
from vbdesk.report.sign_reference import sign_references
from vbdesk.report.subject_record import RecordingRecord
from vbdesk.report.tables import signals_of_speaker
from vbdesk.report.trajectory_chart import charts_height, trajectory_drawing
from vbdesk.report.wording import quality_words
from vbdesk.report.words import duration_words, moment_words, report_words, short_moment

_MARK_HEADING = 6.5
RECENT = 16
"""Recordings that are listed; the attached tables hold all."""


def details(sheet: Sheet, subject: Reported, attachments: Sequence[Attachment]) -> None:
    """Lay out the pages behind the first."""
    sheet.new_page()
    over_time(sheet, subject)
    _narrative(sheet, subject)
    _features(sheet, subject)
    _metrics(sheet, subject)
    _quality(sheet, subject)
    _speakers(sheet, subject)
    _recent(sheet, subject)
    if subject.options.scores:
        _scores(sheet, subject)
    _evidence(sheet, subject)
    _method(sheet, subject, attachments)


def over_time(sheet: Sheet, subject: Reported) -> None:
    """The charts, as many on a page as fit."""
    words, read = report_words().details, subject.record.trajectory
    sheet.heading(words.over_time, role="H1", size=13)
    if read is None or not read.data_points:
        sheet.paragraph(words.no_trajectory)
        return
    sheet.paragraph(
        words.over_time_about.format(
            count=report_words().counted(len(read.data_points)),
            days=read.window.days,
            moment=moment_words(read.as_of, subject.options.zone),
            percent=round(read.interval_level * 100),
        ),
        size=SMALL,
        after=10,
    )
    waiting = _in_order(read, subject.signals)
    while waiting:
        fitting = [count for count in range(1, len(waiting) + 1) if charts_height(count) <= sheet.bottom - sheet.y]
        if not fitting:
            sheet.new_page()
            continue
        now, waiting = waiting[: fitting[-1]], waiting[fitting[-1] :]
        drawing = trajectory_drawing(read, now, sheet.width, subject.options.zone)
        _figure(sheet, drawing)


def _figure(sheet: Sheet, drawing: Drawing) -> None:
    with sheet.reserved(drawing.height + 12) as top:
        alternative = report_words().details.over_time_alternative.format(description=drawing.description)
        with sheet.pages.tagged("Figure", alternative):
            sheet.pages.draw(drawing, MARGIN, top)


def _in_order(read: TrajectoryRead, signals: Iterable[Signal]) -> list[SignTrajectory]:
    """The signs of the reported recording first, in its order."""
    place = {signal.name: number for number, signal in enumerate(signals)}
    return sorted(read.signs, key=lambda sign: place.get(sign.name, len(place)))


def _recent(sheet: Sheet, subject: Reported) -> None:
    words, finished = report_words().details, subject.record.finished
    newest = finished[::-1][:RECENT]
    signals = subject.signals
    more = words.recent_more.format(shown=len(newest), total=len(finished))
    sheet.heading(words.recent, more if len(finished) > len(newest) else "")
    points = (
        {point.job_id: point for point in subject.record.trajectory.data_points} if subject.record.trajectory else {}
    )
    unusual = _unusual_at(subject.record.trajectory)
    rows: list[list[Cell]] = []
    for recording in newest:
        levels = {signal.name: signal.level for signal in recording.signals}
        notes = _notes(recording, points.get(recording.job.job_id), unusual)
        rows.append(
            [
                Words(short_moment(recording.recorded_at, subject.options.zone), CAPTION),
                LevelMark(recording.level),
                *(LevelMark(levels.get(signal.name)) for signal in signals),
                Words(notes, CAPTION, colour=look().colour.text2),
            ]
        )
    columns = [
        Column(words.recorded, 100),
        _mark_column(report_words().overall.title),
        *(_mark_column(signal.label) for signal in signals),
        Column(words.notes, 90),
    ]
    sheet.table(columns, rows, padding=3, gap=5)


def _mark_column(heading: str) -> Column:
    """A column of glyphs, as wide as the longest word above them."""
    longest = max((text_width(word, _MARK_HEADING) for word in heading.split()), default=0.0)
    return Column(heading, max(longest, 22.0) + 4, "middle", _MARK_HEADING)


def _unusual_at(read: TrajectoryRead | None) -> dict[str, list[str]]:
    """Labels of the signs that stand out, by job."""
    found: dict[str, list[str]] = {}
    if read is None:
        return found
    jobs = {point.recorded_at: point.job_id for point in read.data_points}
    for sign in read.signs:
        for point in sign.series:
            if point.anomaly and point.t in jobs:
                found.setdefault(jobs[point.t], []).append(sign.label)
    return found


def _notes(recording: RecordingRecord, point: DataPoint | None, unusual: dict[str, list[str]]) -> str:
    words, notes = report_words().details, []
    if signs := unusual.get(recording.job.job_id):
        notes.append(words.unusual.format(signs=", ".join(signs)))
    quality = recording.quality
    if quality and quality.issues:
        issues = ", ".join(issue.replace("_", " ") for issue in quality.issues)
        notes.append(words.quality_notes.format(issues=issues))
    return " ".join(notes)


def _narrative(sheet: Sheet, subject: Reported) -> None:
    if isinstance(subject.result, ModelResult) and subject.result.summary.description.summary.strip():
        sheet.heading(report_words().details.for_staff)
        other = "" if subject.record.language == report_words().language else subject.record.language
        sheet.paragraph(subject.result.summary.description.summary, after=10, language=other)


def _features(sheet: Sheet, subject: Reported) -> None:
    words = report_words().details
    features = subject.result.summary.description.vocal_features if isinstance(subject.result, ModelResult) else []
    if not features:
        return
    sheet.heading(words.features, words.features_about)
    rows: list[list[Cell]] = [
        [
            Words(feature.label, BODY),
            Words(f"{_rounded(feature.value)} {feature.unit}".replace("^2", "²").strip(), SMALL, align="right"),
            FiveBands(feature.value_interpretation),
            Words(feature.value_interpretation.value.capitalize(), SMALL),
        ]
        for feature in features
    ]
    columns = [Column(words.feature, 34), Column(words.value, 20, "right"), Column("", 28), Column(words.band, 18)]
    sheet.table(columns, rows)


def _metrics(sheet: Sheet, subject: Reported) -> None:
    words = report_words().details
    metrics = subject.result.extended_metrics if isinstance(subject.result, ModelResult) else []
    if not metrics:
        return
    sheet.heading(words.metrics, words.metrics_about)
    rows: list[list[Cell]] = [
        [
            Words(metric.label, BODY),
            AnchoredScale(metric.low_anchor, metric.high_anchor, metric.score_mean, metric.score_std),
        ]
        for metric in metrics
    ]
    sheet.table([Column(words.metric, 34), Column(words.between, 66)], rows)


def _quality(sheet: Sheet, subject: Reported) -> None:
    words, said = report_words().details, quality_words(subject.quality)
    sheet.heading(words.quality)
    issues = " ".join(said.issues) or words.quality_good
    sheet.paragraph(f"{said.figures} {issues}".strip(), after=2 if said.advice else 10)
    if said.advice:
        sheet.paragraph(f"{words.next_time}: {' '.join(said.advice)}", after=10)


def _speakers(sheet: Sheet, subject: Reported) -> None:
    words, speakers = report_words().details, subject.result.speakers or []
    if not speakers:
        return
    sheet.heading(words.speakers, words.speakers_about)
    rows: list[list[Cell]] = []
    for speaker in speakers:
        levels = {signal.name: signal.level for signal in signals_of_speaker(speaker)}
        rows.append(
            [
                Words(speaker.speaker.replace("_", " "), SMALL),
                Words(duration_words(speaker.speech_seconds), SMALL),
                *(LevelMark(levels.get(signal.name)) for signal in subject.signals),
                Words("" if levels else words.too_little, CAPTION, colour=look().colour.text2),
            ]
        )
    columns = [
        Column(words.speaker, 70),
        Column(words.speech, 55),
        *(_mark_column(signal.label) for signal in subject.signals),
        Column("", 80),
    ]
    sheet.table(columns, rows, gap=5)


def _scores(sheet: Sheet, subject: Reported) -> None:
    words = report_words().details
    sheet.heading(words.scores, words.scores_about)
    rows: list[list[Cell]] = []
    for signal in subject.signals:
        low, high = signal.score_interval or (None, None)
        known = signal if isinstance(signal, LongitudinalSignal) else None
        figures = (
            f"{signal.score:.3f}",
            "–" if low is None else f"{low:.3f} to {high:.3f}",
            _figure_words(known.latest_score if known else None, ".3f"),
            _figure_words(known.baseline_score if known else None, ".3f"),
            _figure_words(known.z_score if known else None, "+.2f"),
        )
        rows.append([Words(signal.label, SMALL), *(Words(figure, SMALL, align="right") for figure in figures)])
    headings = (words.score, words.interval, words.latest, words.baseline, words.z)
    columns = [Column(report_words().signals.signal, 30), *(Column(heading, 14, "right") for heading in headings)]
    sheet.table(columns, rows, padding=3)


def _evidence(sheet: Sheet, subject: Reported) -> None:
    words, references = report_words().details, sign_references()
    known = [(signal, references[signal.name]) for signal in subject.signals if signal.name in references]
    if not known:
        return
    sheet.heading(words.evidence)
    rows: list[list[Cell]] = [
        [
            Words(signal.label, SMALL, strong=True),
            Words(reference.known, CAPTION, colour=look().colour.text2),
            Words("; ".join(reference.confounders), CAPTION, colour=look().colour.text2),
        ]
        for signal, reference in known
    ]
    columns = [Column(report_words().signals.signal, 20), Column(words.known, 44), Column(words.confounders, 36)]
    sheet.table(columns, rows, padding=4, at_top=True)


def _method(sheet: Sheet, subject: Reported, attachments: Sequence[Attachment]) -> None:
    words, source = report_words().details, subject.record.source
    sheet.heading(words.method)
    about = words.method_about.format(service=source.service, account=source.account_id)
    sheet.paragraph(about, size=SMALL)
    sheet.paragraph(words.job.format(job_id=subject.recording.job.job_id), size=SMALL, after=10)
    if not attachments:
        return
    sheet.heading(words.attached)
    for attachment in attachments:
        sheet.paragraph(f"{attachment.name}: {attachment.description}", size=SMALL, after=1)


def _rounded(value: float) -> str:
    """Three figures: what people can compare."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}".replace("-", "−")


def _figure_words(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form).replace("-", "−")
