"""A read with band, interval, trend, lasting change and a single outlier."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.charts.sign_plot import SignPlot
from vbdesk.desk.charts.trajectory_data import chart_of
from vbdesk.desk.charts.trajectory_view import TrajectoryView
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import app_theme
from vbdesk.report.shipped_signs import shipped_signs

READ = TrajectoryRead.model_validate_json((Path(__file__).parents[1] / "data" / "trajectory_changes.json").read_text())
RING_RADIUS = 8.0


@pytest.fixture
def chart():
    return chart_of(READ, {name: reference.score_cuts for name, reference in shipped_signs().items()})


@pytest.fixture
def view(chart, qtbot):
    made = TrajectoryView()
    qtbot.addWidget(made)
    made.resize(1080, 700)
    made.show_chart(chart)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def plots(view, chart):
    found = [plot for plot in view.findChildren(SignPlot) if plot.accessibleName()]
    return dict(zip([sign.name for sign in chart.signs], found, strict=True))


def pixel(plot, t, score):
    """Pixel of a moment and a score in the widget."""
    frame = plot.frame()
    return QPoint(round(frame.x_at(t)), round(frame.y_at(score)))


def colour_at(plot, t, score):
    return plot.grab().toImage().pixelColor(pixel(plot, t, score))


def differs(first, second):
    return max(abs(a - b) for a, b in zip(first.getRgb()[:3], second.getRgb()[:3], strict=True)) > 4


def test_band_and_interval_are_painted_where_the_read_puts_them(plots, chart):
    surface = QColor(app_theme().colours.surface)
    for sign in chart.signs:
        course, plot = sign.estimates, plots[sign.name]
        middle = len(course.t) // 3
        between = (course.t[middle] + course.t[middle + 1]) / 2  # no reading is there
        own_only = (course.interval_high[middle] + course.own_high[middle]) / 2
        within = (course.estimate[middle] + course.interval_high[middle]) / 2
        band, interval = colour_at(plot, between, own_only), colour_at(plot, between, within)
        assert differs(band, surface)
        assert differs(interval, band)
        assert interval.blue() > interval.red()


def test_every_anomaly_of_the_read_has_a_whole_ring(plots, chart):
    marked = {}
    for sign in chart.signs:
        plot = plots[sign.name]
        unusual = [index for index in range(len(sign.readings.t)) if sign.is_unusual(index)]
        marked[sign.name] = len(unusual)
        image = plot.grab().toImage()
        for index in unusual:
            place = pixel(plot, sign.readings.t[index], sign.readings.score[index])
            assert RING_RADIUS <= place.y() <= plot.height() - RING_RADIUS
            rim = [image.pixelColor(place.x(), place.y() - away).lightness() for away in range(5, 11)]
            assert min(rim) < 100
    assert marked == {sign.name: sum(point.anomaly for point in sign.series) for sign in READ.signs}
    assert marked["stress"] == 1
    assert marked["anxiety"] > 5
    assert marked["fatigue"] == 0


def test_anomalies_are_explained_by_their_kind(chart):
    said = {sign.name: {sign.explanation(index) for index in range(len(sign.readings.t))} for sign in chart.signs}
    assert "Unusual for this person: well above their own baseline, at one recording only." in said["stress"]
    assert "Unusual for this person: above their own baseline at 10 recordings in a row." in said["anxiety"]
    assert said["fatigue"] == {""}


def test_a_trend_is_told_with_its_uncertainty(view, plots):
    texts = {text.text(): text.toolTip() for text in view.findChildren(Text)}
    assert texts["↑ Rising"]
    assert (
        plots["mood-disruption"]
        .accessibleDescription()
        .startswith("+0.08 in 30 days (90% interval +0.06 to +0.09), from the last 180 days.")
    )
    assert "\u2212" in plots["fatigue"].accessibleDescription()
