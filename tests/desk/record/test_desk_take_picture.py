"""The picture of a take: markers, zoom, pitch and frequencies."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from vbdesk.desk.charts.take_layers import TakePicture
from vbdesk.desk.charts.trim_range import TrimRange
from vbdesk.desk.charts.waveform import TakeWaveform
from vbdesk.outbox.imports.pitch_track import pitch_track


@pytest.fixture
def waveform(qtbot):
    """A minute, 602 px wide."""
    made = TakeWaveform(trimmable=True)
    qtbot.addWidget(made)
    made.resize(602, 108)
    envelope = np.column_stack([-np.linspace(0, 1, 2000), np.linspace(0, 1, 2000)]).astype(np.float32)
    made.show_take(envelope, 60.0)
    made.show()
    return made


def test_zoom_keeps_the_cursor_in_place_and_ends_at_a_second_and_at_the_whole(waveform, qtbot):
    waveform.show_position(30.0)
    before = waveform._x(30.0)
    viewed = []
    waveform.viewed.connect(viewed.append)
    qtbot.keyClick(waveform, Qt.Key.Key_Plus)
    assert waveform._x(30.0) == pytest.approx(before, abs=1)
    assert viewed == [TrimRange(15.0, 45.0)]
    for _ in range(20):
        qtbot.keyClick(waveform, Qt.Key.Key_Plus)
    assert waveform.view.end - waveform.view.start == pytest.approx(1.0)
    assert waveform.view.start <= 30.0 <= waveform.view.end
    for _ in range(20):
        qtbot.keyClick(waveform, Qt.Key.Key_Minus)
    assert waveform.view == TrimRange(0.0, 60.0)


def test_a_click_and_a_handle_mean_what_is_seen(waveform, qtbot):
    waveform.show_position(30.0)
    waveform.zoom(0.5)  # 15 to 45 s
    sought, trimmed = [], []
    waveform.sought.connect(sought.append)
    waveform.trimmed.connect(trimmed.append)
    qtbot.mouseClick(waveform, Qt.MouseButton.LeftButton, pos=QPoint(1, 50))
    qtbot.mouseClick(waveform, Qt.MouseButton.LeftButton, pos=QPoint(601, 50))
    assert sought == pytest.approx([15.0, 45.0], abs=0.1)
    waveform.show_position(20.0)
    qtbot.keyClicks(waveform, "[")
    assert trimmed[-1].start == 20.0


def test_playing_on_scrolls_a_zoomed_picture(waveform):
    waveform.show_position(10.0)
    waveform.zoom(0.25)
    waveform.show_position(40.0)
    assert waveform.view.start <= 40.0 <= waveform.view.end


def test_the_wheel_zooms_only_with_ctrl(waveform):
    def turn(modifiers):
        event = QWheelEvent(
            QPointF(300, 50),
            QPointF(300, 50),
            QPoint(),
            QPoint(0, 120),
            Qt.MouseButton.NoButton,
            modifiers,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(waveform, event)
        return event.isAccepted()

    assert not turn(Qt.KeyboardModifier.NoModifier), "the page scrolls"
    assert waveform.view == TrimRange(0.0, 60.0)
    turn(Qt.KeyboardModifier.ControlModifier)
    assert waveform.view.end - waveform.view.start == 30.0


def pixels(widget):
    image = widget.grab().toImage()
    return np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1).copy()


def test_markers_are_seen_where_they_were_set(waveform):
    bare = pixels(waveform)
    waveform.show_markers([30.0])
    marked = pixels(waveform)
    changed = np.flatnonzero((bare != marked).any(axis=0)) // 4
    assert changed.min() >= 295
    assert changed.max() <= 320
    waveform.show_take(np.zeros((0, 2), np.float32), 10.0)
    assert waveform._markers == (), "another recording has its own"


def test_a_picture_shows_the_pitch_and_its_scale(waveform):
    shades = np.zeros((100, 128), np.uint8)
    empty = TakePicture(shades, TrimRange(0.0, 60.0), 8000.0, np.zeros(0), np.zeros(0))
    waveform.show_picture(empty)
    bare = pixels(waveform)
    times = np.arange(20.0, 25.0, 0.01)
    waveform.show_picture(TakePicture(shades, TrimRange(0.0, 60.0), 8000.0, times, np.full(len(times), 200.0)))
    drawn = pixels(waveform)
    changed = np.flatnonzero((bare != drawn).any(axis=0)) // 4
    line = changed[changed < 500]
    assert 198 <= line.min() <= 203
    assert 248 <= line.max() <= 254


@pytest.mark.parametrize("hertz", [110.0, 220.0])
def test_the_pitch_is_that_of_the_voice(hertz):
    rate = 48_000
    moments = np.arange(2 * rate) / rate
    voice = sum(np.sin(2 * np.pi * hertz * part * moments) / part for part in range(1, 12))
    times, found = pitch_track((6000 * voice).astype(np.int16), rate)
    assert np.median(found) == pytest.approx(hertz, rel=0.01)
    assert len(times) == len(found) > 100
    assert len(pitch_track(np.zeros(rate, np.int16), rate)[0]) == 0


def test_check_shows_markers_and_draws_what_is_zoomed_to(user):
    user.enters_subject("ward4-0172")
    user.begins()
    user.speaks(6)
    user.page.model.mark()
    user.speaks(12)
    user.stops()
    check = user.page.check
    user.waits_for(lambda: check.waveform.seconds > 0)
    assert check.waveform._markers == pytest.approx([6.0], abs=0.5)
    user.presses(Qt.Key.Key_G)
    user.waits_for(lambda: check.waveform._taken is not None)
    assert len(check.waveform._taken.pitch_s) > 0
    check.waveform.show_position(6.0)
    check.zoom_in.click()
    view = check.waveform.view
    user.waits_for(lambda: check.waveform._taken.part == view)
    assert check.waveform._taken.pitch_s.min() >= view.start
    check.zoom_out.click()
    assert not check.zoom_out.isEnabled()
