"""No schedule of late, lost and failed answers, changes and erasures makes a page show what is not so."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from schedules import Schedule


@pytest.mark.parametrize("first", range(0, 400, 20))
def test_pages_show_the_truth_of_what_they_watch_in_every_order(qapp, first):
    for seed in range(first, first + 20):
        try:
            Schedule(seed).run()
        except AssertionError as error:
            raise AssertionError(f"schedule {seed}") from error
