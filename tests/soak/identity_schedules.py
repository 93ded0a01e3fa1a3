"""Thousands of schedules of takes with equal length on several computers: no take may get another's result.

    python tests/soak/identity_schedules.py [--schedules 2000] [--seed 1]

Prints one JSON object, and exits with 0 if all invariants held; else hypothesis prints the smallest failing schedule.
The invariants are in tests/outbox/identity_machine.py.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "outbox")]

from identity_machine import Bench, IdentityMachine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    bench = Bench()
    machine = seed(options.seed)(type("Machine", (IdentityMachine,), {"bench": bench}))
    rules = settings(
        max_examples=options.schedules,
        stateful_step_count=options.steps,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(machine, settings=rules)
    finally:
        bench.close()
        figures = {"seed": options.seed, "seconds": round(time.monotonic() - began, 1), **bench.tally}
        print(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
