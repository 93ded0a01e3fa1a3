"""Every control of every page has a name for screen readers."""

import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

from vbdesk.desk.shell.all_pages import PAGES
from vbdesk.desk.ui.fields import ChoiceField

sys.path.append(str(Path(__file__).parents[1]))

from control_names import unnamed

RECORD = "record"  # needs a microphone: see tests/desk/record


@pytest.mark.parametrize("spec", [spec for spec in PAGES if spec.key != RECORD], ids=lambda spec: spec.key)
def test_every_control_has_a_name(workspace, qtbot, spec):
    page = spec.build(workspace, None)
    qtbot.addWidget(page)
    page.resize(1280, 800)
    page.show()
    page.opened(None)
    qtbot.waitUntil(lambda: getattr(page, "built", True))
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert unnamed(page) == []


def test_a_choice_with_a_name_tells_it_and_one_without_is_found(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    named, nameless = ChoiceField("tag"), ChoiceField("tag")
    for choice in (named, nameless):
        choice.setParent(page)
        choice.addItems(["One", "Two"])
    named.setAccessibleName("Tag")
    assert unnamed(page) == ["ChoiceField in QWidget"]
