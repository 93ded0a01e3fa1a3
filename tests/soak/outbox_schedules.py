"""Thousands of schedules of kills, bad networks and wrong clocks for the outbox, against the real service in process.

    python tests/soak/outbox_schedules.py [--schedules 2000] [--seed 1] [--only NUMBER]

Prints one JSON object, and exits with 0 if all invariants held; else prints the first failing schedule, shrunk. The
invariants are in tests/outbox/fault_schedules.py.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "outbox")]

from fault_schedules import Bench, Schedule, generate, opened_bench, smallest_that_fails

QUICK = Path("/dev/shm")  # in memory, if available: nothing needs to persist


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="play just this one")
    options = parser.parse_args()
    numbers = range(options.schedules) if options.only is None else [options.only]
    began = time.monotonic()
    where = QUICK if os.access(QUICK, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="vbdesk-soak-", dir=where) as folder, opened_bench(Path(folder)) as bench:
        for number in numbers:
            schedule = generate(Random(f"{options.seed} {number}"))
            failure = failure_of(bench, schedule)
            if failure:
                tell(bench, number, schedule, failure)
                break
        figures = {"seed": options.seed, "seconds": round(time.monotonic() - began, 1), **vars(bench.tally)}
    print(json.dumps(figures, indent=1))
    return 1 if failure else 0


def failure_of(bench: Bench, schedule: Schedule) -> str:
    """The violated invariant; empty if there is none."""
    try:
        bench.play(schedule)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return ""


def tell(bench: Bench, number: int, schedule: Schedule, failure: str) -> None:
    kind = failure.split(":")[0]
    smallest = smallest_that_fails(schedule, lambda shorter: failure_of(bench, shorter).startswith(kind))
    print(f"FAILED in schedule {number}: {failure}\nmade small: {failure_of(bench, smallest)}\n{smallest}")


if __name__ == "__main__":
    sys.exit(main())
