"""Mutated recordings through the real child: `python tests/soak/hostile_audio.py [--count N] [--seed N] [--audio DIR]`.

Each must be decoded, or refused with a sentence; none may end its child process or fail otherwise. Prints figures as
JSON; exits with 1 on any violation.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "service" / "support"))

import hostile_audio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--audio", type=Path, default=hostile_audio.SHARED)
    options = parser.parse_args()
    sources = hostile_audio.sound_files(options.audio)
    if not sources:
        print(f"{options.audio} is not here: the recordings of the checkout are mutated instead.", file=sys.stderr)
        sources = hostile_audio.sound_files(hostile_audio.OWN)
    began = time.monotonic()
    outcomes = hostile_audio.look_at_mutated(sources, options.count, options.seed)
    figures = {
        "seed": options.seed,
        "sources": len(sources),
        "looked_at": outcomes.looked_at,
        "decoded": outcomes.decoded,
        "refused": dict(outcomes.refused),
        "faults": outcomes.faults,
        "slowest_s": round(outcomes.slowest_s, 2),
        "took_s": round(time.monotonic() - began),
    }
    print(json.dumps(figures, indent=1))
    return 0 if outcomes.looked_at == options.count and not outcomes.faults else 1


if __name__ == "__main__":
    sys.exit(main())
