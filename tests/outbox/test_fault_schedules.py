"""Any order of kills, lost answers, refusals and wrong clocks: every recording arrives once, and the page is right.

`tests/soak/outbox_schedules.py` plays thousands of them.
"""

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).parent))

from fault_schedules import Bench, generate, opened_bench

A_PIECE = 10


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with opened_bench(tmp_path_factory.mktemp("schedules")) as opened:
        yield opened


@pytest.mark.parametrize("first", range(0, 30, A_PIECE))
def test_every_recording_arrives_once_whatever_happens_on_the_way(bench: Bench, first: int):
    for number in range(first, first + A_PIECE):
        schedule = generate(Random(f"ci {number}"))
        try:
            bench.play(schedule)
        except Exception as error:
            error.add_note(str(schedule))
            raise
