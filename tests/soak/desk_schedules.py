"""What pages show in thousands of random orders of answers, changes, failures and erasures.

    python tests/soak/desk_schedules.py [--schedules 10000] [--first 0]

The suite runs the first 400 (`tests/desk/flow`). Prints the schedules in which a page showed what is not so, and exits
with 0 if there is none.
"""

import argparse
import logging
import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.append(str(Path(__file__).parents[1] / "desk" / "flow"))

from PySide6.QtCore import QCoreApplication
from schedules import Schedule


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    logging.disable()
    application = QCoreApplication(sys.argv)
    failed = [seed for seed in range(options.first, options.first + options.schedules) if not holds(seed)]
    print(f"{options.schedules} schedules, failed: {failed or 'none'}")
    application.quit()
    return 1 if failed else 0


def holds(seed: int) -> bool:
    """Whether pages show the truth in one schedule."""
    try:
        Schedule(seed).run()
    except AssertionError as error:
        print(f"schedule {seed}: {error}", flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
