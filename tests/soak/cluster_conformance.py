"""Run the whole conformance suite against clusters: PostgreSQL, an object store, two API processes, two workers.

    python tests/soak/cluster_conformance.py [TOPIC ...]

TOPIC is the end of a module's name: `races` means test_conformance_races.py. Without topics every clause is tested, and
none may be missing. Prints the output of pytest; ends with 0 if every clause holds.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "tests" / "service" / "conformance"
CLAUSES_AT_LEAST = 793
OF_THE_EMBEDDED_STORE = 11  # which a cluster does not have


def main(topics: list[str]) -> int:
    """Test the topics, or everything."""
    modules = [str(SUITE / f"test_conformance_{topic}.py") for topic in topics] or [str(SUITE)]
    options = ["-q", "-rfEs", "--tb=short", "-p", "no:cacheprovider"]
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**quiet, "VBDESK_CONFORMANCE_ON": "cluster", "SERVICE_TESTS_ON": "postgresql"}
    command = [sys.executable, "-m", "pytest", *modules, *options]
    run = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(run.stdout, end="")
    if run.returncode or topics:
        return run.returncode
    counts = re.search(r"(\d+) passed, (\d+) skipped in", run.stdout)
    found = (int(counts[1]), int(counts[2])) if counts else (0, 0)
    if found[0] < CLAUSES_AT_LEAST or found[1] != OF_THE_EMBEDDED_STORE:
        print(f"{CLAUSES_AT_LEAST} passed and {OF_THE_EMBEDDED_STORE} skipped clauses are expected.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
