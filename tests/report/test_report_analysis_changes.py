"""Where a trajectory changes its calibration: which readings, which words, and how it is drawn."""

import io
from dataclasses import replace
from datetime import UTC
from xml.etree import ElementTree

import pytest
from pypdf import PdfReader
from report_cases import AS_OF, pulse_scores, subject

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.report.analysis_changes import analysis_changes, calibrations_of, one_change
from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.documents.reports import pdf_report
from vbdesk.report.drawing.style import style
from vbdesk.report.drawing.svg import to_svg
from vbdesk.report.trajectory_chart import charts_height, trajectory_drawing

SVG = "{http://www.w3.org/2000/svg}"
SIGNS = ("stress", "fatigue")


def read_by(*versions, missing=()):
    """A trajectory whose recordings were scored by these calibrations; `missing` are (place, sign) without a score."""
    read = subject(pulse_scores(len(versions))).trajectory
    assert read is not None
    points = []
    for place, (point, version) in enumerate(zip(read.data_points, versions, strict=True)):
        signals = [
            signal.model_copy(
                update={"sign_version": version, "score": None if (place, signal.name) in missing else signal.score}
            )
            for signal in point.signals
        ]
        points.append(point.model_copy(update={"signals": signals}))
    return read.model_copy(update={"data_points": points})


def changes_in(read: TrajectoryRead, *signs):
    return [change for sign in signs for change in analysis_changes(read.data_points, sign)]


def drawn(read: TrajectoryRead) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(trajectory_drawing(read, read.signs, 500.0, UTC)))


def words(svg):
    return " ".join(text.text or "" for text in svg.iter(f"{SVG}text"))


def test_a_change_lies_between_the_two_readings():
    read = read_by("1.0.0", "1.0.0", "2.0.0")
    (change,) = changes_in(read, "stress")
    assert (change.earlier, change.later) == ("1.0.0", "2.0.0")
    assert (
        read.data_points[1].recorded_at == change.before < change.at < change.after == read.data_points[2].recorded_at
    )


@pytest.mark.parametrize("versions", [(), ("1.0.0",), ("1.0.0", "1.0.0"), (None, None), (None, "2.0.0", None, "2.0.0")])
def test_one_known_calibration_is_no_change(versions):
    if versions:
        assert changes_in(read_by(*versions), "stress") == []
    else:
        assert analysis_changes((), "stress") == ()


def test_the_order_of_recording_counts_and_not_that_of_the_answer():
    read = read_by("1.0.0", "2.0.0", "2.0.0")
    backwards = read.model_copy(update={"data_points": list(reversed(read.data_points))})
    assert changes_in(backwards, "stress") == changes_in(read, "stress")


def test_a_reading_without_a_score_is_no_side_of_a_change():
    read = read_by("1.0.0", "2.0.0", "2.0.0", missing={(1, "stress")})
    stress, fatigue = changes_in(read, "stress"), changes_in(read, "fatigue")
    assert stress[0].after == read.data_points[2].recorded_at
    assert fatigue[0].after == read.data_points[1].recorded_at
    shared = one_change([*stress, *fatigue])
    assert shared is not None
    assert shared.after == read.data_points[1].recorded_at


def test_several_changes_are_not_told_as_one():
    back_and_forth = changes_in(read_by("1.0.0", "2.0.0", "1.0.0", "2.0.0"), *SIGNS)
    assert one_change(back_and_forth) is None
    assert calibrations_of(back_and_forth) == ("1.0.0", "2.0.0")
    twice = changes_in(read_by("1.0.0", "2.0.0", "3.0.0"), *SIGNS)
    assert one_change(twice) is None
    assert calibrations_of(twice) == ("1.0.0", "2.0.0", "3.0.0")
    again = [replace(change, earlier="1.0.0", later="2.0.0") for change in twice]
    assert one_change(again) is None, "the same calibrations at two times"


def test_the_drawing_has_a_line_for_every_sign_and_says_what_it_means():
    read = read_by("1.0.0", "1.0.0", "2.0.0")
    before, after = drawn(read_by("1.0.0", "1.0.0", "1.0.0")), drawn(read)
    assert "calibration" not in words(before)
    assert "The analysis changed with the recording of" in words(after)
    assert "(calibration 1.0.0 to 2.0.0): levels before and after are not on one scale." in words(after)
    assert "calibration 1.0.0 to 2.0.0" in after.findtext(f"{SVG}desc", "")
    dashed = [line for line in after.iter(f"{SVG}polyline") if line.get("stroke-dasharray") == "4 2"]
    assert len(dashed) == len(read.signs) + 1, "one for each sign, and that of the legend"
    assert {line.get("stroke") for line in dashed} == {style().colour.text2}


def test_a_more_cautious_comparison_is_another_scale_and_no_change_of_the_analysis():
    read = read_by("2.0.0", "2.0.0+widened", "2.0.0+widened")
    (change,) = changes_in(read, "stress")
    assert change.is_language_only
    assert "compared more cautiously because of their language" in words(drawn(read))
    assert "analysis changed" not in words(drawn(read)).lower()
    both = changes_in(read_by("1.0.0", "2.0.0+widened"), "stress")
    assert not both[0].is_language_only


def test_the_sentence_has_its_own_room_below_the_legend():
    short, changed = read_by("1.0.0", "1.0.0"), read_by("1.0.0+norms." + "x" * 200, "2.0.0")
    assert charts_height(changed, changed.signs, 500.0, UTC) >= charts_height(short, short.signs, 500.0, UTC) + 20
    svg = drawn(changed)
    height = float(svg.attrib["viewBox"].split()[3])
    assert all(float(text.attrib["y"]) <= height for text in svg.iter(f"{SVG}text"))


def test_the_report_tells_it():
    record = replace(subject(pulse_scores(3)), trajectory=read_by("1.0.0", "1.0.0", "2.0.0"))
    pages = PdfReader(io.BytesIO(pdf_report(record, ReportOptions(AS_OF, UTC)))).pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    assert "The analysis changed with the recording of" in text
