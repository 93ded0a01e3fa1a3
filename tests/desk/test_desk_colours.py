"""Colours: contrast and difference are measured, for eyes that see all colours and for those that do not."""

from itertools import combinations

import numpy as np
import pytest

from colour_vision import APART, DEFICIENCIES, FAR_APART, distance, lab
from vbdesk.contract.levels import Level
from vbdesk.desk.ui.heat_map import glyph_colour
from vbdesk.desk.ui.theme import Theme, app_theme, contrast, mixed
from vbdesk.desk.ui.tokens import DARK, DARK_LEVELS, LIGHT, LIGHT_LEVELS, Scheme

TEXT, SHAPE = 4.5, 3.0  # WCAG 2.2, success criteria 1.4.3 and 1.4.11
SURFACES = ("bg", "sidebar", "surface", "surface2", "sunken", "accenttint")
TINTS = ("oktint", "warntint", "failtint")
SCHEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
LEVELS = pytest.mark.parametrize(
    ("levels", "colours"), [(LIGHT_LEVELS, LIGHT), (DARK_LEVELS, DARK)], ids=["light", "dark"]
)
EYES = pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])


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
