"""Two thousand hostile bundles against a library: `python tests/soak/hostile_bundles.py [--count N] [--seed N]`.

Each must be refused with a sentence without changing the library, or be valid and be imported. Memory must stay within
a bound. Prints figures as JSON; exits with 1 on any violation.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import pyrage

sys.path.insert(0, str(Path(__file__).parents[1] / "outbox"))

from hostile_bundles import Mutator, Torment

from vbdesk.clock import ManualClock
from vbdesk.outbox.library.library import Library

MAY_GROW_MB = 30.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    identity = pyrage.x25519.Identity.generate()
    with tempfile.TemporaryDirectory(prefix="vbdesk-hostile-") as name:
        folder = Path(name)
        library = Library(folder / "library", bytes(32), ManualClock(datetime(2026, 3, 1, 9, 0, tzinfo=UTC)))
        torment = Torment(library, lambda locked: identity, folder / "bundle")
        mutator = Mutator(identity.to_public(), options.seed)
        begin, memory_kb = time.monotonic(), 0
        for number in range(options.count):
            torment.bring(mutator.bundle())
            if number == options.count // 20:  # by then, everything is loaded
                memory_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_kb) / 1e3
        library.close()
    figures = {
        "seed": options.seed,
        "bundles": options.count,
        "refused": torment.refused,
        "imported": torment.imported,
        "grown_mb": round(grown_mb, 1),
        "seconds": round(time.monotonic() - begin, 1),
        "faults": torment.faults,
    }
    print(json.dumps(figures, indent=1))
    return 1 if torment.faults or grown_mb > MAY_GROW_MB or not torment.imported else 0


if __name__ == "__main__":
    sys.exit(main())
