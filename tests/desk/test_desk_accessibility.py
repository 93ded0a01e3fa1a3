"""Accessibility data stays valid while the window changes."""

from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget

from vbdesk.desk.ui.accessibility import install_scroll_area_workaround
from vbdesk.desk.ui.card import scroll_area


def test_a_reader_may_ask_for_the_scroll_bar_of_a_page_that_has_just_been_left(qtbot):
    install_scroll_area_workaround()
    content = QWidget()
    content.setMinimumHeight(2000)
    area = scroll_area(content)
    qtbot.addWidget(area)
    area.resize(200, 200)
    with qtbot.waitExposed(area):
        area.show()
    told = QAccessible.queryAccessibleInterface(area)
    counted = told.childCount()
    assert area.verticalScrollBar().isVisible()
    area.hide()
    assert told.childCount() == counted  # fewer, so the next line could crash
    assert told.child(counted - 1).object() is not None
    assert told.child(counted) is None


def test_what_is_in_a_scroll_area_is_found_by_a_reader(qtbot):
    install_scroll_area_workaround()
    content = QWidget()
    area = scroll_area(content)
    qtbot.addWidget(area)
    area.setAccessibleName("Trajectory charts")
    told = QAccessible.queryAccessibleInterface(area)
    assert told.text(QAccessible.Text.Name) == "Trajectory charts"
    insides = [told.child(index) for index in range(told.childCount())]
    assert area.viewport() in [inside.object() for inside in insides]
    assert QAccessible.queryAccessibleInterface(content).parent().object() is area.viewport()
