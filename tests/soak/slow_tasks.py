"""The tests of the desk on a computer whose disk, network and keyring are slow by chance.

    python tests/soak/slow_tasks.py [--seeds 3] [--workers 2] [PATH ...]

A test that fails here waits for too little, or the desk takes a late result for another one. Prints the failures of
each seed, and exits with 0 if there are none.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=["tests/desk"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    failed = [seed for seed in range(1, options.seeds + 1) if not passes(seed, options.workers, options.paths)]
    print(f"{options.seeds} seeds, failed with: {failed or 'none'}")
    return 1 if failed else 0


def passes(seed: int, workers: int, paths: list[str]) -> bool:
    """Whether all tests pass with the delays of a seed."""
    plugins = os.pathsep.join([str(Path(__file__).parent / "support"), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory(prefix="vbdesk-soak-") as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(workers), "--basetemp", folder]
        command += ["-p", "task_delays", "--delays", str(seed), "-p", "no:cacheprovider", *paths]
        print(f"seed {seed}", flush=True)
        return subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": plugins}, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
