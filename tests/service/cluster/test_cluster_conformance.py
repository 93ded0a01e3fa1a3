"""Short conformance soak: the tests that depend on state shared by several processes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOAK = ROOT / "tests" / "soak" / "cluster_conformance.py"
TOPICS = ("races", "membership", "uploads", "rates", "jobs")
CLAUSES_AT_LEAST = 90


@pytest.mark.skipif(sys.platform != "linux", reason="the embedded PostgreSQL is used on Linux only")
def test_clauses_about_shared_state_hold_on_a_cluster() -> None:
    run = subprocess.run([sys.executable, str(SOAK), *TOPICS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-2_000:]
    counts = re.search(r"(\d+) passed", run.stdout)
    assert counts is not None and int(counts[1]) >= CLAUSES_AT_LEAST, run.stdout[-2_000:]
