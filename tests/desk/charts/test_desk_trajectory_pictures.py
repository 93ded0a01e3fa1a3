"""Colours of the charts for every kind of read, for any font."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor

from vbdesk.contract.levels import Level
from vbdesk.desk.charts.chart_picture import _sheet
from vbdesk.desk.charts.cursor_text import cursor_text
from vbdesk.desk.charts.sign_plot import SignPlot
from vbdesk.desk.charts.trajectory_data import DAY_S, NoteMarker
from vbdesk.desk.charts.trajectory_view import TrajectoryView
from vbdesk.desk.ui.badges import LevelBadge
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Theme, app_theme
from vbdesk.desk.ui.tokens import Scheme

KINDS = ("first", "two", "gaps", "anomalies", "1,001", "mixed", "inconclusive")


@pytest.fixture
def shown(golden, qtbot):
    """A read by name, shown: its chart, the view, and the plots by sign."""

    def show(name, width=1008, height=640, **kwargs):
        chart, view = golden(name), TrajectoryView()
        qtbot.addWidget(view)
        view.resize(width, height)
        view.show_chart(chart, **kwargs)
        view.show()
        qtbot.waitExposed(view)
        plots = [plot for plot in view.findChildren(SignPlot) if plot.accessibleName()]
        return chart, view, dict(zip([sign.name for sign in chart.signs], plots, strict=True))

    return show


def near(first: QColor, second: QColor, away: int = 12) -> bool:
    return max(abs(a - b) for a, b in zip(first.getRgb()[:3], second.getRgb()[:3], strict=True)) <= away


def has(plot, token: str, left: float, right: float) -> bool:
    """Whether a colour token appears between two moments."""
    image, frame, colour = plot.grab().toImage(), plot.frame(), app_theme().colour(token)
    columns = range(max(0, round(frame.x_at(left))), min(image.width(), round(frame.x_at(right)) + 1))
    return any(near(image.pixelColor(x, y), colour) for x in columns for y in range(image.height()))


def only_surface(plot, left: float, right: float) -> bool:
    """Whether nothing is painted between two moments but the cut that runs through."""
    image, frame, surface = plot.grab().toImage(), plot.frame(), app_theme().colour("surface")
    x = round((frame.x_at(left) + frame.x_at(right)) / 2)
    painted = [y for y in range(image.height()) if not near(image.pixelColor(x, y), surface)]
    return len(painted) <= 2


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
@pytest.mark.parametrize("name", KINDS)
def test_every_reading_in_sight_is_painted_and_no_other_place_is_taken_for_one(shown, name, scheme):
    app_theme().set_scheme(scheme)
    chart, _, plots = shown(name)
    surface = app_theme().colour("surface")
    for sign in chart.signs:
        plot, readings = plots[sign.name], sign.readings
        image, frame = plot.grab().toImage(), plot.frame()
        for index in range(0, len(readings.t), max(1, len(readings.t) // 20)):
            x, y = frame.x_at(readings.t[index]), frame.y_at(readings.score[index])
            around = [QColor(image.pixelColor(round(x) + dx, round(y) + dy)) for dx in (-3, 0, 3) for dy in (-3, 0, 3)]
            assert any(not near(pixel, surface) for pixel in around), (name, sign.name, index)


def test_a_first_recording_is_a_dot_without_estimate_or_range(shown):
    chart, view, plots = shown("first")
    for sign in chart.signs:
        at = sign.readings.t[0]
        assert not has(plots[sign.name], "accent", chart.window[0], chart.window[1])
        assert only_surface(plots[sign.name], at + DAY_S, at + 2 * DAY_S)
    assert [text.text() for text in view.findChildren(Text)].count("First recording") == 6


def test_two_recordings_have_an_estimate_between_them(shown):
    chart, view, plots = shown("two")
    first, last = chart.times
    for sign in chart.signs:
        third = (last - first) / 3
        assert has(plots[sign.name], "accent", first + third, last - third)
    assert [text.text() for text in view.findChildren(Text)].count("Too early for a trend") == 6


def test_a_gap_stays_open_and_the_topmost_chart_says_how_long_it_is(shown):
    chart, _, plots = shown("gaps")
    (before, after), *others = chart.signs[0].estimates.gaps()
    assert not others
    left, right = chart.signs[0].estimates.t[before], chart.signs[0].estimates.t[after]
    for sign in chart.signs:
        assert not has(plots[sign.name], "accent", left + DAY_S, right - DAY_S)
    topmost, *rest = (plots[sign.name] for sign in chart.signs)
    assert has(topmost, "text3", left + DAY_S, right - DAY_S)
    assert all(only_surface(plot, left, right) for plot in rest)


def test_a_thousand_recordings_stand_back_behind_their_estimate(shown):
    chart, view, plots = shown("1,001")
    assert chart.recordings == 1000
    assert chart.truncated
    assert "Older recordings are left out." in view.accessibleDescription()
    for sign in chart.signs:
        plot, course = plots[sign.name], sign.estimates
        image, frame = plot.grab().toImage(), plot.frame()
        on_line = 0
        for index in range(5, len(course.t) - 5, 5):
            x, y = round(frame.x_at(course.t[index])), round(frame.y_at(course.estimate[index]))
            on_line += any(near(image.pixelColor(x, y + dy), app_theme().colour("accent"), 40) for dy in (-1, 0, 1))
        assert on_line > 0.9 * len(range(5, len(course.t) - 5, 5))


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
def test_a_change_of_the_analysis_is_a_line_between_its_recordings_and_is_explained(shown, scheme):
    app_theme().set_scheme(scheme)
    chart, view, plots = shown("recalibrated")
    before, after = chart.times[2], chart.times[3]
    middle = (before + after) / 2
    for sign in chart.signs:
        assert has(plots[sign.name], "text2", middle - DAY_S / 4, middle + DAY_S / 4)
        assert not has(plots[sign.name], "text2", before + DAY_S, middle - DAY_S)
    assert view._legend.findChildren(Text)[-1].isVisible()
    assert "(calibration 1.0.0 to 2.0.0): levels before and after" in view.accessibleDescription()
    first, second = (cursor_text(chart, chart.signs[0], moment).announcement() for moment in (before, after))
    assert "Analysis changed here (calibration 1.0.0 to 2.0.0)" in second
    assert "Analysis changed" not in first


def test_a_course_of_one_calibration_has_no_such_line_nor_words(shown):
    chart, view, plots = shown("partly told")
    assert chart.changes == ()
    assert not any(has(plot, "text2", chart.times[1] + DAY_S, chart.times[2] - DAY_S) for plot in plots.values())
    assert not view._legend.findChildren(Text)[-1].isVisible()
    assert "calibration" not in view.accessibleDescription()


def test_a_more_cautious_comparison_is_told_as_such(shown):
    chart, view, _ = shown("another language")
    assert (
        "compared in another way, because of the language"
        in cursor_text(chart, chart.signs[0], chart.times[1]).announcement()
    )
    assert "compared more cautiously because of their language" in view.accessibleDescription()
    assert "analysis changed" not in view.accessibleDescription().lower()


def test_the_saved_picture_tells_the_change_too(golden, qtbot):
    for name, told in (("recalibrated", True), ("two", False)):
        sheet = _sheet(golden(name), "")
        qtbot.addWidget(sheet)
        texts = [text.text() for text in sheet.findChildren(Text)]
        assert any("The analysis changed with the recording of" in text for text in texts) is told


def test_a_recording_that_asked_for_one_sign_stands_in_its_chart_alone(shown):
    chart, view, plots = shown("mixed")
    alone = chart.times[-1]
    heard = [sign.name for sign in chart.signs if sign.reading_at(alone) is not None]
    assert heard == ["stress"]
    view.move_cursor_to(alone, "anxiety")
    assert "Anxiety could not be heard in this recording, or was not asked for." in view.tip.text()
    assert has(plots["stress"], "accent", alone - DAY_S, alone + DAY_S)
    assert not has(plots["anxiety"], "accent", alone - DAY_S, alone + DAY_S)


def test_recordings_without_a_reading_leave_a_tick_and_can_be_opened(shown, qtbot):
    chart, view, plots = shown("inconclusive")
    for sign in chart.signs:
        plot = plots[sign.name]
        image = plot.grab().toImage()
        for moment in chart.times:
            x = round(plot.x_of(moment))
            column = [image.pixelColor(x + dx, plot.height() - 4) for dx in (-1, 0, 1) if x + dx < image.width()]
            assert any(not near(pixel, app_theme().colour("surface")) for pixel in column)
    assert {badge.level for badge in view.findChildren(LevelBadge)} >= {Level.INCONCLUSIVE}
    assert "There was little speech." in cursor_text(chart, chart.signs[0], chart.times[0]).announcement()
    qtbot.keyClick(view, Qt.Key.Key_Left)
    with qtbot.waitSignal(view.recording_chosen) as chosen:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert chosen.args == [chart.jobs[-1]]


def test_the_window_that_counts_is_drawn_where_it_begins(shown):
    chart, view, plots = shown("two")
    view.time.show(chart.window[0] - 5 * DAY_S, chart.span[1])
    begins, plot = chart.window[0], plots["stress"]
    assert has(plot, "control", begins - DAY_S / 2, begins + DAY_S / 2)
    assert "The estimates rest on the last 270 days." in view.accessibleDescription()


def test_a_note_is_a_flag_below_its_recording_and_is_told_at_the_cursor(golden, shown, qtbot):
    from dataclasses import replace

    chart, view, _ = shown("gaps")
    noted = replace(chart, marks=(NoteMarker(float(chart.times[2]), "Began new medication"),))
    assert not view._lane.isVisible()
    view.show_chart(noted)
    assert view._lane.isVisible()
    x = round(view._lane.frame().x_at(noted.marks[0].t))
    image = view._lane.grab().toImage()
    pixels = [image.pixelColor(x + dx, image.height() // 2 + dy) for dx in range(-4, 9) for dy in range(-6, 7)]
    assert any(near(pixel, app_theme().colour("text2")) for pixel in pixels)
    qtbot.mouseMove(view._lane, QPoint(x, image.height() // 2))
    assert view.cursor_moment == noted.marks[0].t
    assert "Note: Began new medication" in view.tip.text()


def test_where_text_is_large_names_stand_above_their_charts(golden, qtbot, shown):
    Theme(Scheme.LIGHT, 2.0).install()
    chart, view, plots = shown("gaps", width=800, height=900)
    plot = plots["anxiety"]
    assert plot.width() > 600
    at = float(chart.times[3])
    assert abs(plot.mapTo(view, QPoint(round(plot.x_of(at)), 0)).x() - view._axis.frame().x_at(at)) <= 2
