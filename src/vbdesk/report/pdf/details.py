"""Detail pages: trajectory, features, quality, speakers, evidence, method."""

from collections.abc import Iterable, Sequence

from vbdesk.contract.feature_texts import is_finding, plain_words
from vbdesk.contract.longitudinal import DataPoint, SignTrajectory, TrajectoryRead
from vbdesk.contract.results import LongitudinalSignal, ModelResult, Signal, ValueInterpretation, VocalFeature
from vbdesk.report.drawing.shapes import Drawing
from vbdesk.report.drawing.style import style
from vbdesk.report.drawing.text_layout import text_width
from vbdesk.report.pdf.attachments import Attachment
from vbdesk.report.pdf.cells import AnchoredScaleCell, FiveBandsCell, LevelMarkCell
from vbdesk.report.pdf.page_flow import BODY, CAPTION, MARGIN, SMALL, Cell, PageFlow, TableColumn, TextCell
from vbdesk.report.pdf.report_input import ReportInput
from vbdesk.report.report_texts import report_texts
from vbdesk.report.result_texts import quality_text
from vbdesk.report.shipped_signs import shipped_signs
from vbdesk.report.subject_record import EMBEDDED_SERVICE, RecordingRecord
from vbdesk.report.tables import signals_of_speaker
from vbdesk.report.time_format import format_duration, format_moment, format_short_moment
from vbdesk.report.trajectory_chart import charts_height, trajectory_drawing

_MARK_HEADING = 6.5
RECENT = 16
"""Number of listed recordings; the attached tables contain all."""


def details(flow: PageFlow, subject: ReportInput, attachments: Sequence[Attachment]) -> None:
    """Lay out the detail pages."""
    flow.break_page()
    over_time(flow, subject)
    _narrative(flow, subject)
    _features(flow, subject)
    if subject.options.scores:
        _metrics(flow, subject)
    _quality(flow, subject)
    _speakers(flow, subject)
    _recent(flow, subject)
    if subject.options.scores:
        _scores(flow, subject)
    _evidence(flow, subject)
    _method(flow, subject, attachments)


def over_time(flow: PageFlow, subject: ReportInput) -> None:
    """Charts over time, as many per page as fit."""
    texts, read = report_texts().details, subject.record.trajectory
    flow.heading(texts.over_time, role="H1", size=13)
    if read is None or not read.data_points:
        flow.paragraph(texts.no_trajectory)
        return
    flow.paragraph(
        texts.over_time_about.format(
            count=report_texts().counted(len(read.data_points)),
            days=read.window.days,
            moment=format_moment(read.as_of, subject.options.zone),
            percent=round(read.interval_level * 100),
        ),
        size=SMALL,
        after=10,
    )
    waiting = _in_order(read, subject.signals)
    while waiting:
        zone = subject.options.zone
        room = flow.bottom - flow.y
        fitting = [
            count
            for count in range(1, len(waiting) + 1)
            if charts_height(read, waiting[:count], flow.width, zone) <= room
        ]
        if not fitting:
            flow.break_page()
            continue
        now, waiting = waiting[: fitting[-1]], waiting[fitting[-1] :]
        drawing = trajectory_drawing(read, now, flow.width, zone)
        _figure(flow, drawing)


def _figure(flow: PageFlow, drawing: Drawing) -> None:
    with flow.reserve(drawing.height + 12) as top:
        alternative = report_texts().details.over_time_alternative.format(description=drawing.description)
        with flow.pages.tagged("Figure", alternative):
            flow.pages.draw(drawing, MARGIN, top)


def _in_order(read: TrajectoryRead, signals: Iterable[Signal]) -> list[SignTrajectory]:
    """Signs of the reported recording first, in its order."""
    place = {signal.name: number for number, signal in enumerate(signals)}
    return sorted(read.signs, key=lambda sign: place.get(sign.name, len(place)))


def _recent(flow: PageFlow, subject: ReportInput) -> None:
    texts, finished = report_texts().details, subject.record.finished
    newest = finished[::-1][:RECENT]
    signals = subject.signals
    more = texts.recent_more.format(shown=len(newest), total=len(finished))
    flow.heading(texts.recent, more if len(finished) > len(newest) else "")
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
                TextCell(format_short_moment(recording.recorded_at, subject.options.zone), CAPTION),
                LevelMarkCell(recording.level),
                *(LevelMarkCell(levels.get(signal.name)) for signal in signals),
                TextCell(notes, CAPTION, colour=style().colour.text2),
            ]
        )
    columns = [
        TableColumn(texts.recorded, 100),
        _mark_column(report_texts().overall.title),
        *(_mark_column(signal.label) for signal in signals),
        TableColumn(texts.notes, 90),
    ]
    flow.table(columns, rows, padding=3, gap=5)


def _mark_column(heading: str) -> TableColumn:
    """A column of glyphs, as wide as the longest word of its heading."""
    longest = max((text_width(word, _MARK_HEADING) for word in heading.split()), default=0.0)
    return TableColumn(heading, max(longest, 22.0) + 4, "middle", _MARK_HEADING)


def _unusual_at(read: TrajectoryRead | None) -> dict[str, list[str]]:
    """Labels of the signs with an anomaly, by job."""
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
    texts, notes = report_texts().details, []
    if signs := unusual.get(recording.job.job_id):
        notes.append(texts.unusual.format(signs=", ".join(signs)))
    quality = recording.quality
    if quality and quality.issues:
        issues = ", ".join(issue.replace("_", " ") for issue in quality.issues)
        notes.append(texts.quality_notes.format(issues=issues))
    return " ".join(notes)


def _narrative(flow: PageFlow, subject: ReportInput) -> None:
    if isinstance(subject.result, ModelResult) and subject.result.summary.description.summary.strip():
        flow.heading(report_texts().details.for_staff)
        other = "" if subject.record.language == report_texts().language else subject.record.language
        flow.paragraph(subject.result.summary.description.summary, after=10, language=other)


def _features(flow: PageFlow, subject: ReportInput) -> None:
    texts = report_texts().details
    features = subject.result.summary.description.vocal_features if isinstance(subject.result, ModelResult) else []
    if not features:
        return
    flow.heading(texts.features, texts.features_about)
    rows: list[list[Cell]] = [
        [
            TextCell(_named(feature), BODY),
            TextCell(f"{_rounded(feature.value)} {feature.unit}".replace("^2", "²").strip(), SMALL, align="right"),
            FiveBandsCell(feature.value_interpretation),
            TextCell(_band_text(feature), SMALL),
        ]
        for feature in features
    ]
    columns = [
        TableColumn(texts.feature, 34),
        TableColumn(texts.value, 20, "right"),
        TableColumn("", 28),
        TableColumn(texts.band, 18),
    ]
    flow.table(columns, rows)


def _named(feature: VocalFeature) -> str:
    """`Shimmer (local, dB): Uneven strength of the vocal folds`."""
    plain = plain_words(feature.feature)
    return report_texts().details.feature_plain.format(label=feature.label, plain=plain) if plain else feature.label


def _band_text(feature: VocalFeature) -> str:
    """The band in a word, and whether it is no finding."""
    band = feature.value_interpretation
    word = band.value.capitalize()
    if band is ValueInterpretation.WITHIN_RANGE or is_finding(feature.feature, band):
        return word
    return report_texts().details.no_finding.format(band=word)


def _metrics(flow: PageFlow, subject: ReportInput) -> None:
    texts = report_texts().details
    metrics = subject.result.extended_metrics if isinstance(subject.result, ModelResult) else []
    if not metrics:
        return
    flow.heading(texts.metrics, texts.metrics_about)
    rows: list[list[Cell]] = [
        [
            TextCell(metric.label, BODY),
            AnchoredScaleCell(metric.low_anchor, metric.high_anchor, metric.score_mean, metric.score_std),
        ]
        for metric in metrics
    ]
    flow.table([TableColumn(texts.metric, 34), TableColumn(texts.between, 66)], rows)


def _quality(flow: PageFlow, subject: ReportInput) -> None:
    texts, said = report_texts().details, quality_text(subject.quality)
    flow.heading(texts.quality)
    issues = " ".join(said.issues) or texts.quality_good
    flow.paragraph(f"{said.figures} {issues}".strip(), after=2 if said.advice else 10)
    if said.advice:
        flow.paragraph(f"{texts.next_time}: {' '.join(said.advice)}", after=10)


def _speakers(flow: PageFlow, subject: ReportInput) -> None:
    texts, speakers = report_texts().details, subject.result.speakers or []
    if not speakers:
        return
    flow.heading(texts.speakers, texts.speakers_about)
    rows: list[list[Cell]] = []
    for speaker in speakers:
        levels = {signal.name: signal.level for signal in signals_of_speaker(speaker)}
        rows.append(
            [
                TextCell(speaker.speaker.replace("_", " "), SMALL),
                TextCell(format_duration(speaker.speech_seconds), SMALL),
                *(LevelMarkCell(levels.get(signal.name)) for signal in subject.signals),
                TextCell("" if levels else texts.too_little, CAPTION, colour=style().colour.text2),
            ]
        )
    columns = [
        TableColumn(texts.speaker, 70),
        TableColumn(texts.speech, 55),
        *(_mark_column(signal.label) for signal in subject.signals),
        TableColumn("", 80),
    ]
    flow.table(columns, rows, gap=5)


def _scores(flow: PageFlow, subject: ReportInput) -> None:
    texts = report_texts().details
    flow.heading(texts.scores, texts.scores_about)
    rows: list[list[Cell]] = []
    for signal in subject.signals:
        low, high = signal.score_interval or (None, None)
        known = signal if isinstance(signal, LongitudinalSignal) else None
        figures = (
            f"{signal.score:.3f}",
            "–" if low is None else f"{low:.3f} to {high:.3f}",
            _format_figure(known.latest_score if known else None, ".3f"),
            _format_figure(known.baseline_score if known else None, ".3f"),
            _format_figure(known.z_score if known else None, "+.2f"),
        )
        rows.append([TextCell(signal.label, SMALL), *(TextCell(figure, SMALL, align="right") for figure in figures)])
    headings = (texts.score, texts.interval, texts.latest, texts.baseline, texts.z)
    columns = [
        TableColumn(report_texts().signals.signal, 30),
        *(TableColumn(heading, 14, "right") for heading in headings),
    ]
    flow.table(columns, rows, padding=3)


def _evidence(flow: PageFlow, subject: ReportInput) -> None:
    texts, references = report_texts().details, shipped_signs()
    known = [(signal, references[signal.name]) for signal in subject.signals if signal.name in references]
    if not known:
        return
    flow.heading(texts.evidence)
    rows: list[list[Cell]] = [
        [
            TextCell(signal.label, SMALL, strong=True),
            TextCell(reference.known, CAPTION, colour=style().colour.text2),
            TextCell("; ".join(reference.confounders), CAPTION, colour=style().colour.text2),
        ]
        for signal, reference in known
    ]
    columns = [
        TableColumn(report_texts().signals.signal, 20),
        TableColumn(texts.known, 44),
        TableColumn(texts.confounders, 36),
    ]
    flow.table(columns, rows, padding=4, at_top=True)


def _method(flow: PageFlow, subject: ReportInput, attachments: Sequence[Attachment]) -> None:
    texts, source = report_texts().details, subject.record.source
    flow.heading(texts.method)
    service = texts.embedded_service if source.service == EMBEDDED_SERVICE else source.service
    about = texts.method_about.format(service=service, account=source.account_id)
    flow.paragraph(about, size=SMALL)
    flow.paragraph(texts.job.format(job_id=subject.recording.job.job_id), size=SMALL, after=10)
    if not attachments:
        return
    flow.heading(texts.attached)
    for attachment in attachments:
        flow.paragraph(f"{attachment.name}: {attachment.description}", size=SMALL, after=1)


def _rounded(value: float) -> str:
    """Format with about three significant digits."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}".replace("-", "−")


def _format_figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form).replace("-", "−")
