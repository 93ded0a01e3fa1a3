"""The soak that breaks lines changes what code does, and no texts, types or log messages."""

import runpy
from pathlib import Path

import pytest

SOAK = runpy.run_path(str(Path(__file__).parent / "soak" / "broken_lines.py"))
BREAKS, INTERVAL, DRAWN = SOAK["breaks_of"], SOAK["interval"], SOAK["drawn"]


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ("x = a < b", {"x = (a <= b)", "x = (a >= b)"}),
        ("x = a and not b", {"x = (a or not b)", "x = a and (b)"}),
        ("x = a - 2", {"x = (a + 2)", "x = a - 3"}),
        ("x = True", {"x = False"}),
        ("f(a, b)", {"f(b, a)"}),
        ("if a: return", {"if a: pass"}),
        ("x: Literal[1] = 'a' + f'{1 + a}'", set()),
        ("log.info(a, 1)", set()),
        ("def f(a: int) -> None: 'Return 1.'", set()),
    ],
)
def test_a_line_is_broken_in_what_it_does(line, broken):
    assert {found.after for found in BREAKS("a.py", line)} == broken


def test_the_draw_is_the_same_each_time_and_of_single_lines():
    breaks = DRAWN("contract", "1", 20)
    assert breaks == DRAWN("contract", "1", 20) != DRAWN("contract", "2", 20)
    assert len({(each.file, each.line) for each in breaks}) == 20


def test_the_interval_is_wilson_s():
    assert INTERVAL(51, 60) == pytest.approx((0.7389, 0.9190), abs=1e-4)
    assert INTERVAL(60, 60)[1] == pytest.approx(1)
