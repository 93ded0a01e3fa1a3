"""Navigation in the charts by keys, pointer and wheel, and its announcements."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from vbdesk.desk.charts.cursor_text import cursor_text
from vbdesk.desk.charts.sign_plot import SignPlot
from vbdesk.desk.charts.trajectory_data import DAY_S
from vbdesk.desk.charts.trajectory_view import TrajectoryView

CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def chart(golden):
    return golden("anomalies")


@pytest.fixture
def view(chart, qtbot):
    made = TrajectoryView()
    qtbot.addWidget(made)
    made.resize(1008, 640)
    made.show_chart(chart)
    made.show()
    qtbot.waitExposed(made)
    made.setFocus()
    return made


@pytest.fixture
def plot(view):
    return next(plot for plot in view.findChildren(SignPlot) if plot.accessibleName())


def spans(view):
    return [(plot.frame().start, plot.frame().end) for plot in view.findChildren(SignPlot) if plot.accessibleName()]


def drag(plot, qtbot, by):
    start = QPoint(plot.width() // 2, plot.height() // 2)
    qtbot.mousePress(plot.viewport(), Qt.MouseButton.LeftButton, pos=start)
    for share in (0.2, 0.5, 0.8, 1.0):
        qtbot.mouseMove(plot.viewport(), start + QPoint(round(by * share), 0), delay=10)
    qtbot.mouseRelease(plot.viewport(), Qt.MouseButton.LeftButton, pos=start + QPoint(by, 0))


def wheel(plot, notches, modifiers=Qt.KeyboardModifier.NoModifier):
    at = QPointF(plot.width() / 2, plot.height() / 2)
    where = QPointF(plot.viewport().mapToGlobal(at.toPoint()))
    turned = QPoint(0, 120 * notches)
    phase = Qt.ScrollPhase.NoScrollPhase
    event = QWheelEvent(at, where, QPoint(), turned, Qt.MouseButton.NoButton, modifiers, phase, False)
    QApplication.sendEvent(plot.viewport(), event)
    return event


def test_control_and_an_arrow_go_to_what_is_unusual(view, chart, qtbot):
    unusual = list(chart.unusual_moments())
    qtbot.keyClick(view, Qt.Key.Key_Left, CONTROL)
    assert view.cursor_moment == unusual[-1]
    qtbot.keyClick(view, Qt.Key.Key_Left, CONTROL)
    assert view.cursor_moment == unusual[-2]
    qtbot.keyClick(view, Qt.Key.Key_Right, CONTROL)
    assert view.cursor_moment == unusual[-1]


def test_home_and_end_go_to_the_first_and_the_newest_recording(view, chart, qtbot):
    qtbot.keyClick(view, Qt.Key.Key_Home)
    assert view.cursor_moment == chart.times[0]
    qtbot.keyClick(view, Qt.Key.Key_End)
    assert view.cursor_moment == chart.times[-1]


def test_up_and_down_choose_the_sign_of_which_the_cursor_speaks(view, chart, qtbot):
    view.move_cursor_to(float(chart.unusual_moments()[0]), "mood-disruption")
    assert "Mood Disruption" in view.tip.text()
    qtbot.keyClick(view, Qt.Key.Key_Down)
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert "Stress" in view.tip.text()
    assert "Unusual for this person: well above their own baseline, at one recording only." in view.tip.text()
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert "Anxiety" in view.tip.text()


def test_a_recording_is_spoken_with_day_sign_level_reason_and_quality(chart):
    stress = next(sign for sign in chart.signs if sign.name == "stress")
    spoken = cursor_text(chart, stress, float(chart.unusual_moments()[0])).announcement()
    assert "Stress: Elevated. Unusual for this person: well above their own baseline, at one recording only." in spoken
    assert spoken.endswith("Quality good.")


def test_plus_minus_and_shift_arrows_move_the_time_of_all_charts(view, qtbot):
    whole = spans(view)[0]
    with qtbot.waitSignal(view.moved):
        qtbot.keyClick(view, Qt.Key.Key_Plus)
    nearer = spans(view)
    assert len(set(nearer)) == 1
    assert nearer[0][1] - nearer[0][0] == pytest.approx((whole[1] - whole[0]) / 1.25)
    qtbot.keyClick(view, Qt.Key.Key_Left, SHIFT)
    earlier = spans(view)
    assert len(set(earlier)) == 1
    assert earlier[0][0] < nearer[0][0]
    for _ in range(30):
        qtbot.keyClick(view, Qt.Key.Key_Minus)
    farthest = spans(view)[0]
    assert farthest[0] <= whole[0]
    assert farthest[1] - farthest[0] < 290 * DAY_S


def test_the_cursor_brings_its_recording_into_sight(view, chart, qtbot):
    view.show_last(30)
    qtbot.keyClick(view, Qt.Key.Key_Home)
    start, end = spans(view)[0]
    assert start <= chart.times[0] <= end
    assert end - start == pytest.approx(30 * DAY_S, rel=0.05)


def test_a_drag_moves_the_time_and_opens_nothing(view, plot, qtbot):
    view.show_last(30)
    before = spans(view)[0]
    with qtbot.assertNotEmitted(view.recording_chosen), qtbot.waitSignal(view.moved):
        drag(plot, qtbot, 150)
    after = spans(view)
    assert len(set(after)) == 1
    assert after[0][0] < before[0]


def test_the_wheel_zooms_where_the_charts_do_not_scroll(view, plot, qtbot):
    before = spans(view)[0]
    wheel(plot, 2)
    after = spans(view)
    assert len(set(after)) == 1
    assert after[0][1] - after[0][0] < before[1] - before[0]


def test_the_plain_wheel_scrolls_charts_that_do_not_fit(view, plot, qtbot):
    view.resize(900, 380)
    qtbot.waitUntil(lambda: not plot.wheel_zooms)
    before = spans(view)
    assert not wheel(plot, -1).isAccepted()
    assert spans(view) == before
    wheel(plot, 2, CONTROL)
    assert spans(view) != before


def test_the_pointer_shows_the_nearest_recording_in_all_charts(view, chart, plot, qtbot):
    at = float(chart.times[20])
    qtbot.mouseMove(plot.viewport(), QPoint(round(plot.x_of(at)) + 1, plot.height() // 2))
    assert view.cursor_moment == at
    assert "Mood Disruption" in view.tip.text()


def test_a_moment_is_scrolled_to_with_a_margin(view):
    view.show_last(30)
    time, margin = view.time, 0.012 * view.time.seconds
    earlier = time.start - 10 * DAY_S
    time.scroll_to(earlier)
    assert earlier - time.start == pytest.approx(margin, rel=1e-3)
    later = time.end + 5 * DAY_S
    time.scroll_to(later)
    assert time.end - later == pytest.approx(margin, rel=1e-3)
    near = time.end - 0.5 * margin
    time.scroll_to(near)
    assert time.end - near == pytest.approx(margin, rel=1e-3)
    inside = time.start + 0.5 * time.seconds
    before = time.start
    time.scroll_to(inside)
    assert time.start == before
