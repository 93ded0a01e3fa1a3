"""Short chaos soak: every kind of fault once, without data loss."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOAK = ROOT / "tests" / "soak" / "cluster_chaos.py"
KINDS = 12


@pytest.mark.skipif(sys.platform != "linux", reason="the embedded PostgreSQL is used on Linux only")
def test_nothing_is_lost_whatever_strikes() -> None:
    asked = ["--seconds", "1", "--seed", "9", "--clients", "2", "--gap", "1.5", "--pause", "22"]
    run = subprocess.run([sys.executable, str(SOAK), *asked], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr[-20_000:]
    figures = json.loads(run.stdout)
    assert len(figures["faults"]) == KINDS
    assert figures["accepted"] > 0 and figures["statuses"]["done"] > 0 and figures["deliveries"] > 0
    assert not any(figures["lost"].values())
