"""Drawings as SVG, read by an XML parser, and the layout of text."""

import itertools
import re
from collections import Counter
from datetime import UTC, timedelta, timezone
from xml.etree import ElementTree

import pytest
from report_cases import AS_OF

from colour_vision import APART, DEFICIENCIES, FAR_APART, distance, lab
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.language import formats
from vbdesk.longitudinal import HistoryEntry, SignReading, trajectory
from vbdesk.report.chart_legend import legend_lines, legend_shapes
from vbdesk.report.drawing.glyphs import level_glyph
from vbdesk.report.drawing.shapes import Drawing, Paint, Path, TextLine
from vbdesk.report.drawing.style import Look, style
from vbdesk.report.drawing.svg import to_svg
from vbdesk.report.drawing.text_size import text_width, wrapped
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.time_format import format_moment, format_short_moment, format_utc_offset
from vbdesk.report.trajectory_chart import trajectory_drawing

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
SVG = "{http://www.w3.org/2000/svg}"


def chart(record: SubjectRecord) -> ElementTree.Element:
    assert record.trajectory is not None
    drawing = trajectory_drawing(record.trajectory, record.trajectory.signs, 500.0, UTC)
    return ElementTree.fromstring(to_svg(drawing))


def words(svg: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in svg.iter(f"{SVG}text")]


def inside(svg: ElementTree.Element) -> bool:
    """Whether every point lies within the drawing."""
    left, top, width, height = (float(part) for part in svg.attrib["viewBox"].split())
    points = [tuple(map(float, pair.split(","))) for e in svg.iter() for pair in e.get("points", "").split()]
    points += [(float(e.attrib["cx"]), float(e.attrib["cy"])) for e in svg.iter(f"{SVG}circle")]
    return all(left <= x <= left + width and top <= y <= top + height for x, y in points)


def test_every_trajectory_is_drawn_within_its_bounds(cases: dict[str, SubjectRecord]) -> None:
    for record in cases.values():
        if record.trajectory is not None:
            svg = chart(record)
            assert inside(svg)
            for sign in record.trajectory.signs:
                assert sign.label in words(svg)
                assert sign.label in svg.findtext(f"{SVG}desc", "")


def test_anomalies_are_ringed_and_gaps_are_labelled(cases: dict[str, SubjectRecord]) -> None:
    svg = chart(cases["gaps and anomalies"])
    rings = [e for e in svg.iter(f"{SVG}circle") if e.get("r") == "3.4"]
    read = cases["gaps and anomalies"].trajectory
    assert read is not None
    assert len(rings) == sum(point.anomaly for sign in read.signs for point in sign.series)
    assert rings
    assert "no recordings, 150 days" in words(svg)


@pytest.mark.parametrize(("days", "named"), [(21, False), (22, True)])
def test_three_weeks_without_a_recording_are_no_gap(days: int, named: bool) -> None:
    reading = {"stress": SignReading(0.3, "low", False)}
    history = [
        HistoryEntry(str(ago), AS_OF - timedelta(days=ago), "done", 60.0, 65.0, 80.0, (), "monitor", reading)
        for ago in (days + 2, days + 1, 1)
    ]
    read = trajectory("g", history, AS_OF, labels={})
    drawing = trajectory_drawing(read, read.signs, 500.0, UTC)
    shown = words(ElementTree.fromstring(to_svg(drawing)))
    assert (f"no recordings, {days} days" in shown) is named


def test_only_what_is_hatched_needs_a_pattern() -> None:
    corners = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0))
    patterns = [
        to_svg(Drawing(9, 9, "", "", [Path(corners, Paint(fill="#102030", hatched=hatched))])).count(b"<pattern")
        for hatched in (False, True)
    ]
    assert patterns == [0, 1]


@pytest.mark.parametrize("width", [80.0, 200.0, 500.0])
def test_the_legend_keeps_to_its_width_and_has_words_right_of_their_marks(width: float) -> None:
    look = style(Look.LIGHT)
    lines = legend_lines(look, width, changed=True)
    (all_marks,) = legend_lines(look, 1e6, changed=True)
    assert [mark for line in lines for mark in line] == all_marks
    for line in lines:
        texts = [shape for shape in legend_shapes([line], 0.0, look) if isinstance(shape, TextLine)]
        ends = [text.at[0] + text_width(text.text, text.size) for text in texts]
        assert len(line) == 1 or ends[-1] <= width
        for mark, text, end_before in zip(line, texts, [0.0, *ends], strict=False):
            assert text.at[0] > end_before + mark.width


def test_a_first_recording_is_a_reading_without_an_estimate(cases: dict[str, SubjectRecord]) -> None:
    svg = chart(cases["first recording"])
    assert words(svg).count("First recording") == 6
    accents = Counter(e.get("stroke") for e in svg.iter(f"{SVG}polyline"))
    assert accents[style().colour.accent] == 1  # the one of the legend


def test_many_recordings_draw_every_reading(long_course: SubjectRecord) -> None:
    svg = chart(long_course)
    assert sum(1 for _ in svg.iter(f"{SVG}circle")) > 6 * 400


def test_hostile_text_is_escaped() -> None:
    drawing = Drawing(10, 10, "<t>&", 'd"\x00', [TextLine((0, 0), "<script>&\x1b🎙", 8, "#000000")])
    svg = ElementTree.fromstring(to_svg(drawing))
    assert words(svg) == ["<script>&\ufffd🎙"]
    assert svg.findtext(f"{SVG}title") == "<t>&"


def test_an_empty_path_and_a_drawing_without_signs_are_harmless(cases: dict[str, SubjectRecord]) -> None:
    assert ElementTree.fromstring(to_svg(Drawing(1, 1, "t", "d", [Path((), Paint(stroke="#000000"))]))) is not None
    read = cases["two"].trajectory
    assert read is not None
    assert trajectory_drawing(read, [], 300, UTC).shapes


def test_the_glyphs_of_all_levels_differ_without_colour() -> None:
    outlines = [str([(type(shape), getattr(shape, "points", ""), shape.paint.dash, bool(shape.paint.fill))
                     for shape in level_glyph(level, 0, 0, 16, "#FFFFFF", style())]) for level in Level]  # fmt: skip
    assert len(set(outlines)) == len(Level)


@pytest.mark.parametrize("look", Look)
def test_text_and_lines_have_enough_contrast_in_every_look(look: Look) -> None:
    colour, levels = style(look).colour, style(look).level
    for level in Level:
        assert contrast(levels[level].ink, levels[level].tint) >= 4.5, level
        assert contrast(levels[level].ink, colour.surface) >= 4.5, level
        assert contrast(levels[level].shape, colour.surface) >= 3.0, level
        assert contrast(levels[level].shape, levels[level].tint) >= 3.0, level
    for ink in (colour.text, colour.text2, colour.text3):
        assert contrast(ink, colour.surface) >= 4.5
        assert contrast(ink, colour.quiet) >= 4.5
    assert contrast(colour.accent, colour.surface) >= 4.5
    assert contrast(colour.accent, colour.base) >= 3.0


@pytest.mark.parametrize("look", [Look.PRINT, Look.SAFE])
def test_levels_get_darker_so_that_they_stay_apart_in_grey(look: Look) -> None:
    levels = style(look).level
    for before, after in itertools.pairwise(LEVEL_ORDER):
        assert lab(levels[before].heat)[0] - lab(levels[after].heat)[0] >= APART, after
        assert lab(levels[before].shape)[0] - lab(levels[after].shape)[0] >= APART, after


@pytest.mark.parametrize("look", [Look.PRINT, Look.SAFE])
@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
def test_levels_stay_apart_whoever_looks(look: Look, deficiency: str | None) -> None:
    levels = style(look).level
    for one, other in itertools.combinations(LEVEL_ORDER, 2):
        assert distance(levels[one].heat, levels[other].heat, deficiency) >= FAR_APART, (one, other)
        assert distance(levels[one].shape, levels[other].shape, deficiency) >= APART, (one, other)


def test_the_look_for_paper_has_no_hue_and_hatches_the_own_range(cases: dict[str, SubjectRecord]) -> None:
    read = cases["two"].trajectory
    assert read is not None
    drawn = to_svg(trajectory_drawing(read, read.signs, 500.0, UTC, Look.PRINT)).decode()
    colours = set(re.findall(r"#([0-9A-F]{6})\b", drawn))
    assert len(colours) > 3
    assert all(colour[:2] == colour[2:4] == colour[4:] for colour in colours)
    [hatch] = re.findall(r'<pattern id="([^"]+)"', drawn)
    assert drawn.count(f'fill="url(#{hatch})"') > len(read.signs), "every sign, and the legend"
    assert "<pattern" not in to_svg(trajectory_drawing(read, read.signs, 500.0, UTC)).decode()


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast of two colours."""

    def light(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_widths_are_those_of_the_font() -> None:
    """Within a tenth of Inter's own advance widths, as measured once."""
    measured = {
        ("Elevated Blood Pressure", False): 11.67,
        ("Mood Disruption", True): 8.17,
        ("21 Nov 2026", False): 5.86,
    }
    for (written, strong), em in measured.items():
        assert text_width(written, 1.0, strong) == pytest.approx(em, rel=0.1)
    assert text_width("王", 1.0) == 1.0
    assert text_width("e\u0301", 1.0) == text_width("é", 1.0) == text_width("e", 1.0)


def test_lines_keep_about_to_their_width() -> None:
    lines = wrapped("a few words and " + "x" * 40 + "\nthen more", 9, 120)
    assert lines == ["a few words and", "x" * 40, "then more"]
    assert wrapped("", 9, 120) == [""]


@pytest.mark.parametrize(("minutes", "said"), [(0, "UTC"), (60, "UTC+01:00"), (-210, "UTC−03:30"), (345, "UTC+05:45")])
def test_a_time_zone_is_shown_as_an_offset(minutes: int, said: str) -> None:
    assert format_utc_offset(AS_OF, timezone(timedelta(minutes=minutes))) == said


@pytest.mark.parametrize("month", range(1, 13))
def test_month_names_are_those_of_the_language(month: int) -> None:
    """Qt sets the locale of the process, so month names must not depend on it."""
    moment = AS_OF.replace(month=month)
    assert format_moment(moment, UTC).split()[1] == MONTHS[month - 1]
    assert MONTHS[month - 1].startswith(format_short_moment(moment, UTC).split()[1])


def test_a_course_of_days_has_each_day_on_its_time_axis() -> None:
    reading = {"stress": SignReading(0.3, "low", False)}
    history = [
        HistoryEntry(str(days), AS_OF - timedelta(days=days), "done", 60.0, 65.0, 80.0, (), "monitor", reading)
        for days in (6, 3, 0)
    ]
    read = trajectory("g", history, AS_OF, labels={})
    shown = words(ElementTree.fromstring(to_svg(trajectory_drawing(read, read.signs, 700.0, UTC))))
    days = [formats.day_without_year(AS_OF - timedelta(days=days)) for days in range(5, 0, -1)]
    first = shown.index(days[0])
    assert shown[first : first + 5] == days


def test_months_on_the_time_axis_run_across_the_turn_of_the_year() -> None:
    end = AS_OF.replace(year=2027, month=3, day=1)
    reading = {"stress": SignReading(0.3, "low", False)}
    history = [
        HistoryEntry(str(days), end - timedelta(days=days), "done", 60.0, 65.0, 80.0, (), "monitor", reading)
        for days in (200, 100, 1)
    ]
    read = trajectory("g", history, end, labels={})
    drawing = trajectory_drawing(read, read.signs, 500.0, UTC)
    shown = words(ElementTree.fromstring(to_svg(drawing)))
    first = shown.index("Sept")
    assert shown[first : first + 6] == ["Sept", "Oct", "Nov", "Dec", "Jan 2027", "Feb"]
