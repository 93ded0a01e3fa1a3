import math

import pytest

from vbdesk.capture.take import EndReason, end_sentence
from vbdesk.contract.rounding import whole
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.report.time_format import format_duration


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.0, 0), (14.97, 14), (15.0, 15), (sum([0.1] * 150), 15), (-45.2, -46), (math.nan, 0)]
)
def test_a_length_is_never_shown_longer_than_it_is(seconds, shown):
    assert whole(seconds) == shown


@pytest.mark.parametrize("seconds", [14.4, 14.6, 14.97, 15.0, 59.5, 59.9999, 60.0])
def test_every_place_shows_the_same_second(seconds):
    shown = whole(seconds)
    minutes, rest = divmod(shown, 60)
    assert clock_text(seconds) == f"{minutes}:{rest:02d}"
    assert format_duration(seconds) in (f"{shown} s", f"{minutes} min {rest} s")
    assert f"The {shown} seconds before that" in end_sentence(EndReason.UNPLUGGED, seconds)
