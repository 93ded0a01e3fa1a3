"""A subject's course over time in a document: pictures, and the table of recordings."""

from collections.abc import Sequence
from typing import Any

from vbdesk.contract.longitudinal import DataPoint, SignTrajectory, TrajectoryRead
from vbdesk.contract.results import Signal
from vbdesk.language import _, formats, ngettext
from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.documents.table_cell import cell, cell_of_level
from vbdesk.report.drawing.svg import to_svg
from vbdesk.report.reader_words import label_word
from vbdesk.report.result_texts import quality_text
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord
from vbdesk.report.time_format import format_moment, format_short_moment
from vbdesk.report.trajectory_chart import trajectory_drawing

SIGNS_PER_PICTURE = 8
CHART_WIDTH_POINTS = 507.0
NEWEST = 40
"""Number of listed recordings; the attached tables contain all."""


def trajectory_section(record: SubjectRecord, options: ReportOptions, signals: Sequence[Signal]) -> dict[str, Any]:
    """Pictures of the course, the signs of `signals` first, and what they show."""
    read = record.trajectory
    pictures, about = [], ""
    if read is not None and read.data_points:
        about = _about(read, options)
        signs = _in_order(read.signs, signals)
        for start in range(0, len(signs), SIGNS_PER_PICTURE):
            part = signs[start : start + SIGNS_PER_PICTURE]
            drawing = trajectory_drawing(read, part, CHART_WIDTH_POINTS, options.zone, options.look)
            alternative = _("Charts over time. {description}", description=drawing.description)
            pictures.append({"svg": to_svg(drawing, margin=0).decode(), "alternative": alternative})
    none = _("There is no course over time yet.")
    return {"title": _("Over time"), "none": none, "about": about, "pictures": pictures}


def _about(read: TrajectoryRead, options: ReportOptions) -> str:
    """What the charts show, in whole sentences."""
    shown = ngettext(
        "{count} recording of the last {days} days, as of {moment}.",
        "{count} recordings of the last {days} days, as of {moment}.",
        len(read.data_points),
        days=read.window.days,
        moment=format_moment(read.as_of, options.zone),
    )
    meaning = _(
        "The own usual range is where one good recording of this person would lie; the line is the service's estimate"
        " with its {share:.0%} interval. Heights are comparable between charts.",
        share=read.interval_level,
    )
    return f"{shown} {meaning}"


def recordings_table(record: SubjectRecord, options: ReportOptions, signals: Sequence[Signal]) -> dict[str, Any]:
    """The newest recordings: time, levels, and what was unusual."""
    finished = record.finished
    newest = finished[::-1][:NEWEST]
    points = {point.job_id: point for point in record.trajectory.data_points} if record.trajectory else {}
    unusual = _unusual_at(record.trajectory)
    rows = []
    for recording in newest:
        levels = {signal.name: signal.level for signal in recording.signals}
        rows.append(
            [
                cell(format_short_moment(recording.recorded_at, options.zone)),
                cell_of_level(recording.level),
                *(cell_of_level(levels.get(signal.name)) for signal in signals),
                cell(_notes(recording, points.get(recording.job.job_id), unusual)),
            ]
        )
    more = _("The newest {shown} of {total}; the attached tables hold all.", shown=len(newest), total=len(finished))
    return {
        "title": _("Recordings"),
        "about": more if len(finished) > len(newest) else "",
        "columns": [
            _("Recorded"),
            _("Overall level"),
            *(label_word(signal.label) for signal in signals),
            _("Notes"),
        ],
        "shares": [25, 10, *(10 for _ in signals), 22],
        "rows": rows,
    }


def _in_order(signs: Sequence[SignTrajectory], signals: Sequence[Signal]) -> list[SignTrajectory]:
    """Signs of the reported recording first, in its order."""
    position = {signal.name: number for number, signal in enumerate(signals)}
    return sorted(signs, key=lambda sign: position.get(sign.name, len(position)))


def _unusual_at(read: TrajectoryRead | None) -> dict[str, list[str]]:
    """Labels of the signs with an anomaly, by job."""
    found: dict[str, list[str]] = {}
    if read is None:
        return found
    jobs = {point.recorded_at: point.job_id for point in read.data_points}
    for sign in read.signs:
        for point in sign.series:
            if point.anomaly and point.t in jobs:
                found.setdefault(jobs[point.t], []).append(label_word(sign.label))
    return found


def _notes(recording: RecordingRecord, point: DataPoint | None, unusual: dict[str, list[str]]) -> str:
    notes = []
    if signs := unusual.get(recording.job.job_id):
        notes.append(_("Unusual: {signs}.", signs=formats.list_of(signs)))
    if recording.quality:
        notes += quality_text(recording.quality).issues
    return " ".join(notes)
