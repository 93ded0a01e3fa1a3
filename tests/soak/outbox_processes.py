"""Kills and bad networks for the outbox with whole processes: `vbdesk serve`, flaky proxies, a killed `vbdesk sync`.

    python tests/soak/outbox_processes.py [--schedules 50] [--seed 1] [--first 0]

Prints one JSON object; exits with 0 if every take of every schedule arrived once, else with the schedule's number.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "outbox")]

from processes import ProcessChain, Tally, environment_is_quiet, play


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    environment_is_quiet()
    tally, failure, began = Tally(), "", time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="vbdesk-soak-"))
    chain = ProcessChain(folder)
    try:
        for number in range(options.first, options.first + options.schedules):
            own = folder / str(number)
            own.mkdir()
            try:
                play(chain, own, random.Random(f"{options.seed} {number}"), tally)
            except AssertionError as error:
                failure = f"FAILED in schedule {number}: {error}\nkept for a look: {folder}"
                break
    finally:
        chain.close()
    print(json.dumps({"seed": options.seed, "whole_s": round(time.monotonic() - began, 1), **vars(tally)}, indent=1))
    if failure:
        print(failure)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
