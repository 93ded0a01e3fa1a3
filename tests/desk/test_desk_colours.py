"""Colours: contrast and difference are measured, for eyes that see all colours and for those that do not."""

from itertools import combinations

import numpy as np
import pytest
from PySide6.QtGui import QColor

from vbdesk.contract.levels import Level
from vbdesk.desk.ui.heat_map import glyph_colour
from vbdesk.desk.ui.theme import Theme, app_theme, contrast, mixed
from vbdesk.desk.ui.tokens import DARK, DARK_LEVELS, LIGHT, LIGHT_LEVELS, Scheme

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE
# Transactions on Visualization and Computer Graphics 15(6), 2009, table 1, severity 1.0; for linear RGB.
DEFICIENCIES = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# linear sRGB to CIE XYZ under D65 (IEC 61966-2-1), and the white of it
_TO_XYZ = np.array(((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)))
_WHITE = _TO_XYZ.sum(axis=1)

TEXT, SHAPE = 4.5, 3.0  # WCAG 2.2, success criteria 1.4.3 and 1.4.11
SURFACES = ("bg", "sidebar", "surface", "surface2", "sunken", "accenttint")
TINTS = ("oktint", "warntint", "failtint")
SCHEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
LEVELS = pytest.mark.parametrize(
    ("levels", "colours"), [(LIGHT_LEVELS, LIGHT), (DARK_LEVELS, DARK)], ids=["light", "dark"]
)
EYES = pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])

# CIE76: 2.3 can just be seen with both colours side by side. A cell of a heat map is compared with cells that are
# further away and with a legend, and has to be found at a glance: six times that. A small shape stands beside its word
# and is told by its form as well: three times, and a little.
FAR_APART, APART = 15.0, 8.0


def lab(colour: str, deficiency: str | None = None) -> np.ndarray:
    """CIELAB of an sRGB colour, as seen with a deficiency or without."""
    rgb = np.array(QColor(colour).getRgbF()[:3])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    if deficiency is not None:
        linear = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear, 0.0, 1.0)
    share = _TO_XYZ @ linear / _WHITE
    f = np.where(share > (6 / 29) ** 3, np.cbrt(share), share / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array((116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])))


def distance(one: str, other: str, deficiency: str | None = None) -> float:
    """CIE76 colour difference: about 2.3 can just be seen side by side."""
    return float(np.linalg.norm(lab(one, deficiency) - lab(other, deficiency)))


def below(bound, pairs):
    return [f"{one} on {other}: {found:.2f}" for one, other, found in pairs if found < bound]


@SCHEMES
def test_every_ink_can_be_read_on_every_surface(colours):
    inks = ("text", "text2", "text3", "accent", "ok", "warn", "fail")
    pairs = [(ink, on, contrast(getattr(colours, ink), getattr(colours, on))) for ink in inks for on in SURFACES]
    words = ("text", "text2", "text3")
    pairs += [(ink, on, contrast(getattr(colours, ink), getattr(colours, on))) for ink in words for on in TINTS]
    assert not below(TEXT, pairs)


@SCHEMES
@pytest.mark.parametrize("state", ["ok", "warn", "fail", "accent"])
def test_states_can_be_read_on_their_tint(colours, state):
    assert contrast(getattr(colours, state), getattr(colours, f"{state}tint")) >= TEXT


@SCHEMES
def test_edges_and_shapes_can_be_seen(colours):
    edges = ("control", "accent", "wave", "rec")
    grounds = ("surface", "surface2", "bg")
    pairs = [(edge, on, contrast(getattr(colours, edge), getattr(colours, on))) for edge in edges for on in grounds]
    assert not below(SHAPE, pairs)


@SCHEMES
@pytest.mark.parametrize("towards_text", [0.0, 0.06, 0.12], ids=["rest", "hover", "pressed"])
def test_words_on_filled_buttons_can_be_read(colours, towards_text):
    for ink, fill in ((colours.on_accent, colours.accentfill), (colours.on_rec, colours.rec)):
        assert contrast(ink, mixed(fill, colours.text, towards_text).name()) >= TEXT
        assert contrast(fill, colours.surface) >= SHAPE


@LEVELS
def test_words_of_levels_can_be_read_and_their_shapes_be_seen(levels, colours):
    words = [(level, on, contrast(own.ink, getattr(colours, on))) for level, own in levels.items() for on in SURFACES]
    words += [(level, "tint", contrast(own.ink, own.tint)) for level, own in levels.items()]
    assert not below(TEXT, words)
    shapes = [
        (level, on, contrast(own.shape, getattr(colours, on))) for level, own in levels.items() for on in SURFACES
    ]
    shapes += [(level, "tint", contrast(own.shape, own.tint)) for level, own in levels.items()]
    assert not below(SHAPE, shapes)


@pytest.mark.parametrize("scheme", [Scheme.LIGHT, Scheme.DARK])
def test_shapes_and_figures_can_be_seen_on_the_heat_colours(scheme):
    Theme(scheme, 1.0).install()
    active = app_theme()
    glyphs = [
        (level, "heat", contrast(glyph_colour(app_theme(), level).name(), active.level(level).heat)) for level in Level
    ]
    assert not below(SHAPE, glyphs)
    figures = [(level, found) for level, _, found in glyphs if level in (Level.MODERATE, Level.ELEVATED)]
    figures += [
        (level, contrast(active.colours.text, active.level(level).heat))
        for level in (Level.NONE, Level.LOW, Level.CONSIDER, Level.INCONCLUSIVE)
    ]
    assert not [(level, found) for level, found in figures if found < TEXT]


@LEVELS
@EYES
def test_levels_are_told_apart_by_colour_alone_whoever_looks(levels, colours, deficiency):
    """Of every pair of levels; inconclusive is no colour but the bare surface with a dashed edge."""
    graded = [level for level in Level if level is not Level.INCONCLUSIVE]
    pairs = list(combinations(graded, 2))
    heat = [(a, b, distance(levels[a].heat, levels[b].heat, deficiency)) for a, b in pairs]
    assert not below(FAR_APART, heat)
    shape = [(a, b, distance(levels[a].shape, levels[b].shape, deficiency)) for a, b in pairs]
    assert not below(APART, shape)
    assert levels[Level.INCONCLUSIVE].heat == colours.surface


@SCHEMES
@EYES
def test_good_and_bad_are_told_apart_whoever_looks(colours, deficiency):
    assert distance(colours.ok, colours.fail, deficiency) >= APART


def test_the_simulation_of_colour_blindness_is_that_of_its_source():
    """Grey stays grey, and red and green of one lightness become one colour for who has no red or no green cones."""
    for deficiency in DEFICIENCIES:
        assert distance("#808080", "#808080", deficiency) == 0.0
        assert np.linalg.norm(lab("#808080", deficiency)[1:]) < 1.0
    assert distance("#C00000", "#707000") > 50 > 20 > distance("#C00000", "#707000", "deuteranopia")
    assert lab("#FFFFFF") == pytest.approx((100, 0, 0), abs=0.02)
    assert lab("#FF0000") == pytest.approx((53.2, 80.1, 67.2), abs=0.2)
