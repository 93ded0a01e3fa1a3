"""The look: contrast is measured, colours live in one place, icons and fonts are there."""

import re
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QFontInfo

import vbdesk.desk
from vbdesk.contract.levels import Level
from vbdesk.desk import theme
from vbdesk.desk.icons import pixmap
from vbdesk.desk.theme import DARK, DARK_LEVELS, LIGHT, LIGHT_LEVELS, Role, Scheme, Theme, contrast
from vbdesk.resource_files import resource

SCHEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


@SCHEMES
@pytest.mark.parametrize("ink", ["text", "text2", "text3", "accent", "ok", "warn", "fail"])
@pytest.mark.parametrize("ground", ["surface", "bg"])
def test_text_stands_out_enough(colours, ink, ground):
    assert contrast(getattr(colours, ink), getattr(colours, ground)) >= 4.5


@SCHEMES
@pytest.mark.parametrize("state", ["ok", "warn", "fail"])
def test_states_can_be_read_on_their_tint(colours, state):
    assert contrast(getattr(colours, state), getattr(colours, f"{state}tint")) >= 4.5


@SCHEMES
@pytest.mark.parametrize("edge", ["control", "accent", "wave", "rec"])
def test_edges_and_shapes_can_be_seen(colours, edge):
    assert contrast(getattr(colours, edge), colours.surface) >= 3.0
    assert contrast(getattr(colours, edge), colours.bg) >= 3.0


@SCHEMES
def test_words_on_filled_buttons_can_be_read(colours):
    assert contrast(colours.on_accent, colours.accentfill) >= 4.5
    assert contrast(colours.on_rec, colours.rec) >= 4.5
    assert contrast(colours.text3, colours.sunken) >= 4.5


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize(("levels", "colours"), [(LIGHT_LEVELS, LIGHT), (DARK_LEVELS, DARK)], ids=["light", "dark"])
def test_levels_can_be_read_and_told_apart(level, levels, colours):
    own = levels[level]
    assert contrast(own.ink, own.tint) >= 4.5
    assert contrast(own.ink, colours.surface) >= 4.5
    assert contrast(own.shape, colours.surface) >= 3.0


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.01)


def test_no_colour_value_stands_outside_the_theme():
    folder = Path(vbdesk.desk.__file__).parent
    others = [path for path in folder.rglob("*.py") if path.name != "theme.py"]
    assert not [path.name for path in others if re.search(r"#[0-9A-Fa-f]{6}\b", path.read_text(encoding="utf-8"))]


def test_inter_comes_with_the_program_and_has_tabular_figures():
    font = theme.active().font(Role.BODY)
    assert QFontInfo(font).family() == "Inter"
    assert font.isFeatureSet(font.Tag("tnum"))


def test_text_grows_with_the_system():
    large = Theme(Scheme.LIGHT, text_scale=2.0)
    assert large.font(Role.BODY).pixelSize() == 28
    assert large.px(36) == 72


def test_setting_the_scheme_repaints_everything(qtbot):
    active = theme.active()
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
