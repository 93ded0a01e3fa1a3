"""The whole conformance suite against clusters: PostgreSQL, an object store, two API processes, two workers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SUITE = ROOT / "tests" / "service" / "conformance"
CLAUSES_AT_LEAST = 793
OF_THE_EMBEDDED_STORE = 11  # which a cluster does not have


@pytest.mark.skipif(sys.platform != "linux", reason="the embedded PostgreSQL is used on Linux only")
def test_every_clause_holds_on_a_cluster() -> None:
    command = [sys.executable, "-m", "pytest", str(SUITE), "-q", "-rfEs", "--tb=short", "-p", "no:cacheprovider"]
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**quiet, "VBDESK_CONFORMANCE_ON": "cluster", "SERVICE_TESTS_ON": "postgresql"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-2_000:]
    counts = re.search(r"(\d+) passed, (\d+) skipped in", run.stdout)
    assert counts is not None, run.stdout[-2_000:]
    assert int(counts[1]) >= CLAUSES_AT_LEAST
    assert int(counts[2]) == OF_THE_EMBEDDED_STORE, run.stdout[-2_000:]
