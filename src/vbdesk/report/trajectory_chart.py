"""A trajectory as a drawing: one chart per sign, stacked on one time axis."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.contract.longitudinal import DataPoint, SeriesPoint, SignTrajectory, TrajectoryRead
from vbdesk.contract.timestamps import add_clamped, in_zone
from vbdesk.language import _, current, formats, ngettext, pgettext
from vbdesk.report.analysis_changes import AnalysisChange, analysis_changes, calibrations_of, one_change
from vbdesk.report.chart_legend import (
    CHANGE_DASHES,
    CONSIDER_DASHES,
    LINE_HEIGHT,
    interval_paint,
    legend_lines,
    legend_shapes,
    own_range_paint,
)
from vbdesk.report.drawing.glyphs import level_glyph
from vbdesk.report.drawing.shapes import Box, Circle, Drawing, Paint, Path, Point, Shape, TextLine, mirrored
from vbdesk.report.drawing.style import DrawingStyle, Look, style
from vbdesk.report.drawing.text_size import text_width, wrapped
from vbdesk.report.reader_words import label_word, level_word
from vbdesk.report.shipped_signs import shipped_signs
from vbdesk.report.time_format import format_moment, format_utc_offset

SCORE_RANGE = (0.06, 0.94)  # the same in all charts, so that heights are comparable
GAP = timedelta(days=21)
DENSE = 150
"""With more recordings than this, readings are drawn behind the estimate, small and light."""
ROW_HEIGHT, AXIS_HEIGHT, LEGEND_HEIGHT = 58.0, 20.0, 16.0
_NOTE_SIZE, _NOTE_LINE = 7.0, 10.0
_NAMES_WIDTH, _LADDER_WIDTH, _LADDER_GAP = 158.0, 4.0, 8.0
_MIN_TICK_WIDTH = 26.0
_MOST_MONTHS = 120  # that have a tick each


@dataclass(frozen=True, slots=True)
class _Area:
    """Rectangle and time span of one sign's chart."""

    left: float
    right: float
    top: float
    bottom: float
    start: datetime
    end: datetime

    def x(self, moment: datetime) -> float:
        return self.left + (self.right - self.left) * ((moment - self.start) / (self.end - self.start))

    def y(self, score: float) -> float:
        low, high = SCORE_RANGE
        share = (min(max(score, low), high) - low) / (high - low)
        return self.bottom - (self.bottom - self.top) * share


def charts_height(read: TrajectoryRead, signs: Sequence[SignTrajectory], width: float, zone: tzinfo) -> float:
    """Height of a drawing of these signs, in points."""
    changes = _changes(read, signs)
    notes = len(_note_lines(changes, width, zone))
    more = len(legend_lines(style(), width, changed=bool(changes))) - 1
    return len(signs) * ROW_HEIGHT + AXIS_HEIGHT + LEGEND_HEIGHT + more * LINE_HEIGHT + notes * _NOTE_LINE


def trajectory_drawing(
    read: TrajectoryRead, signs: Sequence[SignTrajectory], width: float, zone: tzinfo, look: Look = Look.LIGHT
) -> Drawing:
    """Draw `signs` of a trajectory, `width` points wide, with days of `zone`."""
    changes = _changes(read, signs)
    note = _change_note(changes, zone)
    drawing = Drawing(
        width=width,
        height=charts_height(read, signs, width, zone),
        title=_("{subject} over time", subject=read.group_id),
        description=" ".join([*(describe_sign(sign) for sign in signs), *([note] if note else [])]),
        look=look,
    )
    legend = legend_lines(drawing.style, width, changed=bool(changes))
    start, end = _span(read)
    for row, sign in enumerate(signs):
        top = row * ROW_HEIGHT
        area = _Area(*_sides(width), top + 7, top + ROW_HEIGHT - 7, start, end)
        if row:
            drawing.line([(0, top), (width, top)], drawing.style.colour.border, 0.5)
        _beside(drawing, _name(drawing.style, sign, read.data_points, top))
        _draw_sign(drawing, area, sign, read.data_points)
        _draw_changes(drawing, area, analysis_changes(read.data_points, sign.name))
        _beside(drawing, _ladder(drawing, area, sign))
        if row == 0:
            _name_gaps(drawing, area, sign.series)
    _draw_axis(drawing, area if signs else None, len(signs) * ROW_HEIGHT, zone)
    _beside(drawing, legend_shapes(legend, len(signs) * ROW_HEIGHT + AXIS_HEIGHT + LEGEND_HEIGHT - 4, drawing.style))
    lines = _note_lines(changes, width, zone)
    last = drawing.height - 4 - len(lines) * _NOTE_LINE
    ink = drawing.style.colour.text2
    notes = [TextLine((0, last + n * _NOTE_LINE), line, _NOTE_SIZE, ink) for n, line in enumerate(lines, start=1)]
    _beside(drawing, notes)
    return drawing


def _sides(width: float) -> tuple[float, float]:
    """Left and right edge of the charts: time runs from left to right everywhere, the names stand where lines begin."""
    left, right = _NAMES_WIDTH, width - _LADDER_WIDTH - _LADDER_GAP
    return (width - right, width - left) if current().right_to_left else (left, right)


def _beside(drawing: Drawing, shapes: Iterable[Shape]) -> None:
    """Add shapes next to the charts; where lines begin at the right, on the other side."""
    turned = current().right_to_left
    drawing.add(*(mirrored(shape, drawing.width) if turned else shape for shape in shapes))


def describe_sign(sign: SignTrajectory) -> str:
    """Describe the chart of a sign in short sentences."""
    sentences = [
        _("{sign}: {trend}.", sign=label_word(sign.label), trend=trend_text(sign)),
        ngettext("{count} recording.", "{count} recordings.", sign.n_recordings),
    ]
    if sign.anomalies:
        sentences.append(ngettext("Unusual {count} time.", "Unusual {count} times.", len(sign.anomalies)))
    return " ".join(sentences)


def trend_text(sign: SignTrajectory) -> str:
    """Text of a sign's trend."""
    match sign.trend.direction:
        case "rising":
            return pgettext("trend", "Rising")
        case "falling":
            return pgettext("trend", "Falling")
        case "stable":
            return pgettext("trend", "Steady")
    if sign.n_recordings < 2:
        return _("First recording") if sign.n_recordings else _("No reading yet")
    return _("Too early for a trend")


def _changes(read: TrajectoryRead, signs: Sequence[SignTrajectory]) -> list[AnalysisChange]:
    return [change for sign in signs for change in analysis_changes(read.data_points, sign.name)]


def _change_note(changes: Sequence[AnalysisChange], zone: tzinfo) -> str:
    """Sentence about changes of the analysis; empty without any."""
    one = one_change(changes)
    if changes and all(change.is_language_only for change in changes):
        return _(
            "Some recordings were compared more cautiously because of their language: levels on the two sides of a mark"
            " are not on one scale."
        )
    if one is not None:
        return _(
            "The analysis changed with the recording of {moment} (calibration {earlier} to {later}): levels before and"
            " after are not on one scale.",
            moment=format_moment(one.after, zone),
            earlier=one.earlier,
            later=one.later,
        )
    if not changes:
        return ""
    return _(
        "The analysis changed more than once (calibrations {versions}): levels on the two sides of a mark are not on"
        " one scale.",
        versions=formats.list_of(calibrations_of(changes)),
    )


def _note_lines(changes: Sequence[AnalysisChange], width: float, zone: tzinfo) -> list[str]:
    note = _change_note(changes, zone)
    return wrapped(note, _NOTE_SIZE, width) if note else []


def _span(read: TrajectoryRead) -> tuple[datetime, datetime]:
    moments = [point.recorded_at for point in read.data_points]
    end = max([read.as_of, *moments])
    start = min(moments, default=end)
    if end - start < timedelta(days=1):
        start = add_clamped(end, timedelta(days=-7))
    margin = (end - start) * 0.015
    return add_clamped(start, -margin), add_clamped(end, margin)


def _newest_level(name: str, points: Sequence[DataPoint]) -> Level:
    for point in reversed(points):
        for signal in point.signals:
            if signal.name == name and signal.level is not Level.INCONCLUSIVE:
                return signal.level
    return Level.INCONCLUSIVE


def _name(style: DrawingStyle, sign: SignTrajectory, points: Sequence[DataPoint], top: float) -> Iterator[Shape]:
    """Name, level and trend of a sign."""
    level = _newest_level(sign.name, points)
    lines = wrapped(label_word(sign.label), 8.5, _NAMES_WIDTH - 10, strong=True)[:2]
    word, level_style = level_word(level), style.level[level]
    width, trend = 12 + text_width(word, 7.5, strong=True) + 11, trend_text(sign)
    below = width + 6 + text_width(trend, 7.5) > _NAMES_WIDTH - 6
    y = top + (ROW_HEIGHT - (len(lines) * 11 + 14 + 11 * below)) / 2 + 8
    for line in lines:
        yield TextLine((0, y), line, 8.5, style.colour.text, strong=True)
        y += 11
    yield Box(0, y - 5, width, 14, Paint(fill=level_style.tint), radius=3.5)
    yield from level_glyph(level, 5, y - 2, 8, level_style.tint, style)
    yield TextLine((16.5, y + 4.7), word, 7.5, level_style.ink, strong=True)
    at = (0.0, y + 17.5) if below else (width + 6, y + 4.7)
    yield TextLine(at, trend, 7.5, style.colour.text2)


def _draw_sign(drawing: Drawing, area: _Area, sign: SignTrajectory, points: Sequence[DataPoint]) -> None:
    colours = drawing.style.colour
    runs = list(_runs(sign.series))
    for run in runs:
        drawing.area(_ribbon(area, run, [point.normal_range for point in run]), own_range_paint(drawing.style))
    cuts = shipped_signs()[sign.name].score_cuts if sign.name in shipped_signs() else {}
    if Level.CONSIDER in cuts:
        y = area.y(cuts[Level.CONSIDER])
        ends = [(area.left, y), (area.right, y)]
        drawing.line(ends, drawing.style.level[Level.CONSIDER].shape, 0.6, CONSIDER_DASHES)
    for run in runs:
        drawing.area(_ribbon(area, run, [point.latest_interval for point in run]), interval_paint(drawing.style))
    for before, after in itertools.pairwise(runs):
        ends = [(area.x(point.t), area.y(point.latest)) for point in (before[-1], after[0])]
        drawing.line(ends, colours.accent, 0.8, (0.8, 2.6))
    dense = len(points) > DENSE
    if dense:
        _draw_readings(drawing, area, sign, points)
    for run in runs:
        drawing.line([(area.x(point.t), area.y(point.latest)) for point in run], colours.accent, 1.1)
    if not dense:
        _draw_readings(drawing, area, sign, points)


def _draw_changes(drawing: Drawing, area: _Area, changes: Sequence[AnalysisChange]) -> None:
    for change in changes:
        x = area.x(change.at)
        drawing.line([(x, area.top), (x, area.bottom)], drawing.style.colour.text2, 0.8, CHANGE_DASHES)


def _draw_readings(drawing: Drawing, area: _Area, sign: SignTrajectory, points: Sequence[DataPoint]) -> None:
    colours = drawing.style.colour
    dense = len(points) > DENSE
    scale, opacity = 0.62 if dense else 1.0, drawing.style.pattern.reading_opacity[dense]
    unusual = {point.t for point in sign.series if point.anomaly}
    marked: list[tuple[Point, Level]] = []
    for point in points:
        signal = next((signal for signal in point.signals if signal.name == sign.name), None)
        if signal is None or signal.score is None:
            continue
        at = (area.x(point.recorded_at), area.y(signal.score))
        radius = scale * (0.75 + 0.75 * min(math.sqrt(max(point.relative_weight, 0.0)), 1.2))
        if point.audio_quality.issues:
            drawing.add(Circle(at, radius, Paint(fill=colours.surface, stroke=colours.text2, width=0.7)))
        else:
            drawing.add(Circle(at, radius, Paint(fill=colours.text2, opacity=opacity)))
        if point.recorded_at in unusual:
            marked.append((at, signal.level))
    for at, level in marked:
        drawing.add(Circle(at, 3.4, Paint(fill=colours.surface, stroke=colours.text, width=0.9)))
        drawing.add(Circle(at, 1.9, Paint(fill=drawing.style.level[level].shape)))


def _ladder(drawing: Drawing, area: _Area, sign: SignTrajectory) -> Iterator[Shape]:
    """The levels at the edge of the drawing, and a pointer at the estimate."""
    reference = shipped_signs().get(sign.name)
    if reference is None:
        return
    x = drawing.width - _LADDER_WIDTH - _LADDER_GAP / 2
    steps = [SCORE_RANGE[0], *reference.score_cuts.values(), SCORE_RANGE[1]]
    levels = [Level.NONE, *(level for level in LEVEL_ORDER[1:] if level in reference.score_cuts)]
    for level, (low, high) in zip(levels, itertools.pairwise(steps), strict=True):
        y = area.y(high)
        heat = drawing.style.level[level].heat
        yield Box(x, y + 0.4, _LADDER_WIDTH, max(area.y(low) - y - 0.8, 0.4), Paint(fill=heat))
    if sign.latest_score is not None:
        y, tip = area.y(sign.latest_score), x + _LADDER_WIDTH + 0.8
        yield Path(
            ((tip, y), (tip + 4, y - 2.6), (tip + 4, y + 2.6)), Paint(fill=drawing.style.colour.text), closed=True
        )


def _name_gaps(drawing: Drawing, area: _Area, series: Sequence[SeriesPoint]) -> None:
    for before, after in itertools.pairwise(series):
        if after.t - before.t <= GAP:
            continue
        text = ngettext("no recordings, {count} day", "no recordings, {count} days", (after.t - before.t).days)
        left, right = area.x(before.t), area.x(after.t)
        if right - left > text_width(text, 6.5) + 4:
            drawing.add(
                TextLine(((left + right) / 2, area.top + 1), text, 6.5, drawing.style.colour.text3, align="middle")
            )


def _runs(series: Sequence[SeriesPoint]) -> Iterator[Sequence[SeriesPoint]]:
    """Runs without a gap."""
    edges = [index for index in range(1, len(series)) if series[index].t - series[index - 1].t > GAP]
    for start, stop in itertools.pairwise([0, *edges, len(series)]):
        if stop > start:
            yield series[start:stop]


def _ribbon(area: _Area, run: Sequence[SeriesPoint], ends: Sequence[tuple[float, float]]) -> list[Point]:
    """Outline of a band; a single timepoint gets a minimum width."""
    xs = [area.x(point.t) for point in run]
    if len(xs) == 1:
        xs, ends = [xs[0] - 2, xs[0] + 2], [ends[0], ends[0]]
    upper = [(x, area.y(high)) for x, (_, high) in zip(xs, ends, strict=True)]
    lower = [(x, area.y(low)) for x, (low, _) in zip(xs, ends, strict=True)]
    return [*upper, *reversed(lower)]


def _draw_axis(drawing: Drawing, area: _Area | None, top: float, zone: tzinfo) -> None:
    if area is None:
        return
    colours = drawing.style.colour
    drawing.line([(area.left, top), (area.right, top)], colours.control, 0.6)
    free_from = area.left - 20.0
    for moment, text in _ticks(area, zone):
        x = area.x(moment)
        drawing.line([(x, top), (x, top + 2.5)], colours.control, 0.6)
        half = text_width(text, 7) / 2
        if x - half > free_from and x + half < area.right + 8:
            drawing.add(TextLine((x, top + 10.5), text, 7, colours.text3, align="middle"))
            free_from = x + half + 6
    text = _("Days in {zone}", zone=format_utc_offset(area.end, zone))
    _beside(drawing, [TextLine((0, top + 10.5), text, 7, colours.text3)])


def _ticks(area: _Area, zone: tzinfo) -> Iterator[tuple[datetime, str]]:
    """Starts of months; of days if the span is short, of years if it is long."""
    start, end = in_zone(area.start, zone), in_zone(area.end, zone)
    day = datetime(start.year, start.month, start.day, tzinfo=zone)
    if end - start < timedelta(days=60):
        step = max(1, math.ceil((end - start).days * _MIN_TICK_WIDTH / (area.right - area.left)))
        for offset in range(1, (end.date() - day.date()).days + 1):
            moment = day + timedelta(days=offset)
            if offset % step == 0:
                yield in_zone(moment, UTC), formats.day_without_year(moment)
        return
    first, last, step = start.month, 12 * (end.year - start.year) + end.month, 1
    if last > _MOST_MONTHS:
        first, step = 12, 12 * math.ceil(last / 12 * _MIN_TICK_WIDTH / (area.right - area.left))
    for offset in range(first, last, step):
        moment = datetime(start.year + offset // 12, offset % 12 + 1, 1, tzinfo=zone)
        if moment > end:
            return
        name = formats.month_and_year(moment) if moment.month == 1 else formats.month(moment)
        yield in_zone(moment, UTC), name
