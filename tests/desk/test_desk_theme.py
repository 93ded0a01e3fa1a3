"""The theme: contrast follows the standard, tokens are in one module, icons and fonts exist."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontInfo, QPalette
from PySide6.QtWidgets import QFrame, QLineEdit, QPlainTextEdit, QStyle, QStyleOptionComboBox

import vbdesk.desk
from vbdesk.desk.ui.fields import ChoiceField
from vbdesk.desk.ui.icons import pixmap
from vbdesk.desk.ui.theme import Role, Theme, app_theme, contrast
from vbdesk.desk.ui.tokens import DARK, SPACING, TYPE_SCALE, WITHIN_A_CONTROL, Scheme
from vbdesk.resource_files import resource


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.01)


def desk_sources():
    return list(Path(vbdesk.desk.__file__).parent.rglob("*.py"))


def test_no_colour_and_no_type_stand_outside_the_tokens():
    told = re.compile(r"#[0-9A-Fa-f]{6}\b|\brgba?\(|QFont\(\"|setPointSize|setPixelSize\(\d|font-size: *\d|fromRgb\(\d")
    found = {path.name for path in desk_sources() if told.search(path.read_text(encoding="utf-8"))}
    assert found == {"tokens.py"}


def test_space_is_that_of_the_scale():
    calls = re.compile(r"(?:setSpacing|addSpacing|setContentsMargins)\(([0-9, ]+)\)")
    for path in desk_sources():
        for call in calls.findall(path.read_text(encoding="utf-8")):
            measures = [int(number) for number in call.split(",")]
            assert all(measure <= WITHIN_A_CONTROL or measure in SPACING for measure in measures), (path.name, call)


def test_no_text_is_smaller_than_a_caption_of_twelve_pixels():
    assert min(entry.size for entry in TYPE_SCALE.values()) == 12
    assert all(entry.line > entry.size for entry in TYPE_SCALE.values())


def test_inter_comes_with_the_program_and_has_tabular_figures():
    font = app_theme().font(Role.BODY)
    assert QFontInfo(font).family() == "Inter"
    assert font.isFeatureSet(font.Tag("tnum"))


def test_text_grows_with_the_system():
    large = Theme(Scheme.LIGHT, text_size=2.0)
    assert large.font(Role.BODY).pixelSize() == 28
    assert large.px(36) == 72


def test_setting_the_scheme_repaints_everything(qtbot):
    active = app_theme()
    with qtbot.waitSignal(active.changed):
        active.set_scheme(Scheme.DARK)
    assert active.colours is DARK


def test_every_icon_draws_something_in_the_colour_asked_for():
    for path in resource("icons").glob("*.svg"):
        picture = pixmap(path.stem, 20, QColor("red")).toImage()
        inked = [
            picture.pixelColor(x, y) for x in range(20) for y in range(20) if picture.pixelColor(x, y).alpha() > 100
        ]
        assert inked, path.stem
        if path.stem != "mark":
            assert all(colour.red() > 200 and colour.blue() < 60 for colour in inked), path.stem


def test_text_size_can_be_set_at_once_and_given_back_to_the_system(qtbot):
    active = app_theme()
    with qtbot.waitSignals([active.resized, active.changed]):
        active.set_text_size(1.5)
    assert active.font(Role.BODY).pixelSize() == 21
    active.set_text_size(5.0)
    assert active.scale == 2.0
    active.set_text_size(0.1)
    assert active.scale == 0.9
    active.set_text_size(None)
    assert active.text_size is None
    assert active.scale >= 1.0


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
@pytest.mark.parametrize("kind", [QLineEdit, QPlainTextEdit])
def test_what_a_field_asks_for_can_be_read_before_anything_is_typed(qtbot, scheme, kind):
    Theme(scheme, 1.0).install()
    field = kind()
    qtbot.addWidget(field)
    field.show()
    ink = field.palette().color(QPalette.ColorRole.PlaceholderText)
    assert ink.alpha() == 255
    assert ink.name().upper() == app_theme().colours.text3


def test_the_popup_of_a_choice_has_no_frame_of_its_own(qtbot):
    choice = ChoiceField("tag")
    qtbot.addWidget(choice)
    choice.show()
    popup = choice.view().window()
    assert popup.frameShape() is QFrame.Shape.NoFrame
    assert popup.testAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
    option = QStyleOptionComboBox()
    choice.initStyleOption(option)
    as_menu = choice.style().styleHint(QStyle.StyleHint.SH_ComboBox_Popup, option, choice)
    assert not as_menu  # a menu has a band above and below the rounded list
