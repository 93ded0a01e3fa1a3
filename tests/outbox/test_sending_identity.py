"""Never another person's result: takes of equal length on several computers, with any faults.

`tests/soak/identity_schedules.py` plays thousands of schedules.
"""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

sys.path.append(str(Path(__file__).parent))

from identity_machine import Bench, IdentityMachine


@pytest.fixture
def bench():
    opened = Bench()
    yield opened
    opened.close()


@pytest.mark.parametrize("part", range(5))
def test_a_take_marked_done_holds_the_result_of_its_own_bytes(bench, part):
    machine = type("Machine", (IdentityMachine,), {"bench": bench})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=10,
            stateful_step_count=16,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert bench.tally["done"] > 10
