"""Never another person's result: equally long takes on several computers, whatever happens on the way.

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


def test_a_take_marked_done_holds_the_result_of_its_own_bytes(bench):
    machine = type("Machine", (IdentityMachine,), {"bench": bench})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=50,
            stateful_step_count=16,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert bench.tally["done"] > 50
