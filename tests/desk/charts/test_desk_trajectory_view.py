"""The charts of a subject: cursor, range, picture."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.charts.chart_picture import chart_png
from vbdesk.desk.charts.sign_plot import SignPlot
from vbdesk.desk.charts.trajectory_data import DAY_S, chart_of
from vbdesk.desk.charts.trajectory_view import TrajectoryView
from vbdesk.desk.ui.theme import app_theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.report.shipped_signs import shipped_signs

READ = TrajectoryRead.model_validate_json((Path(__file__).parents[1] / "data" / "trajectory_pulse.json").read_text())


@pytest.fixture
def chart():
    return chart_of(READ, {name: reference.score_cuts for name, reference in shipped_signs().items()})


@pytest.fixture
def view(chart, qtbot):
    made = TrajectoryView()
    qtbot.addWidget(made)
    made.resize(1000, 640)
    made.show_chart(chart)
    made.show()
    qtbot.waitExposed(made)
    made.setFocus()
    return made


def times(chart):
    return [point.recorded_at.timestamp() for point in READ.data_points]


def plots(view):
    return [plot for plot in view.findChildren(SignPlot) if plot.accessibleName()]


def test_the_first_arrow_stands_at_the_newest_recording(view, chart, qtbot):
    qtbot.keyClick(view, Qt.Key.Key_Left)
    assert view.cursor_moment == times(chart)[-1]


def test_arrows_walk_from_recording_to_recording_and_stop_at_the_ends(view, chart, qtbot):
    for _ in range(40):
        qtbot.keyClick(view, Qt.Key.Key_Left)
    assert view.cursor_moment == times(chart)[0]
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert view.cursor_moment == times(chart)[1]
    for _ in range(40):
        qtbot.keyClick(view, Qt.Key.Key_Right)
    assert view.cursor_moment == times(chart)[-1]


def test_escape_takes_the_cursor_away(view, qtbot):
    qtbot.keyClick(view, Qt.Key.Key_Left)
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert view.cursor_moment is None


def test_enter_opens_the_recording_at_the_cursor(view, qtbot):
    for _ in range(3):
        qtbot.keyClick(view, Qt.Key.Key_Left)
    with qtbot.waitSignal(view.recording_chosen) as chosen:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert chosen.args == [READ.data_points[-3].job_id]


def test_enter_without_a_cursor_opens_nothing(view, qtbot):
    with qtbot.assertNotEmitted(view.recording_chosen):
        qtbot.keyClick(view, Qt.Key.Key_Return)


def test_a_click_opens_the_nearest_recording(view, qtbot):
    plot = plots(view)[0]
    wanted = READ.data_points[5]
    x = round(plot.x_of(wanted.recorded_at.timestamp()))
    with qtbot.waitSignal(view.recording_chosen) as chosen:
        qtbot.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(x + 2, plot.height() // 2))
    assert chosen.args == [wanted.job_id]


def test_a_range_ends_today_in_every_chart(view, chart):
    view.show_last(30)
    for plot in plots(view):
        low, high = plot.frame().start, plot.frame().end
        assert high - low == pytest.approx(30 * DAY_S, rel=0.03)
        assert low < chart.as_of.timestamp() < high
    view.show_last(None)
    assert plots(view)[-1].frame().start < times(chart)[0]


def test_a_screen_reader_hears_levels_and_trends(view):
    assert "Mood Disruption: None. Trend: Steady." in view.accessibleDescription()


def test_rows_drawn_one_by_one_end_as_those_drawn_at_once(view, chart, qtbot):
    other = TrajectoryView()
    qtbot.addWidget(other)
    other.resize(1000, 640)
    other.show()
    other.show_chart(chart, gradually=True)
    assert other.drawing
    qtbot.waitUntil(lambda: not other.drawing)
    assert [plot.accessibleName() for plot in plots(other)] == [plot.accessibleName() for plot in plots(view)]
    assert [plot.frame().scores for plot in plots(other)] == [plot.frame().scores for plot in plots(view)]


def test_in_a_low_window_the_charts_scroll_and_the_axis_stays(view, chart, qtbot):
    view.resize(880, 420)
    qtbot.waitUntil(lambda: view._area.verticalScrollBar().maximum() > 0)
    row = plots(view)[0]
    at = times(chart)[3]
    qtbot.waitUntil(lambda: abs(row.mapTo(view, QPoint(round(row.x_of(at)), 0)).x() - view._axis.frame().x_at(at)) <= 2)
    assert view._axis.geometry().bottom() <= view.height()


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
def test_a_picture_has_two_pixels_to_the_point_and_the_colours_of_the_theme(chart, scheme):
    app_theme().set_scheme(scheme)
    picture = QImage.fromData(chart_png(app_theme(), chart, note="made-up days"))
    assert (picture.width(), picture.height()) == (2560, 1600)
    assert picture.pixelColor(2, 2) == app_theme().colour("bg")
    accent = app_theme().colour("accent").rgb()
    assert any(picture.pixel(x, y) == accent for x in range(600, 2300, 7) for y in range(200, 1400))


def test_a_single_reading_stands_in_the_middle(qtbot, golden):
    view = TrajectoryView()
    qtbot.addWidget(view)
    view.resize(900, 600)
    chart = golden("first")
    view.show_chart(chart)
    moment = chart.moments()[0]
    assert (view.time.start + view.time.end) / 2 == pytest.approx(moment, abs=60)
