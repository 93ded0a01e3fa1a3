"""Helpers of these tests are imported by name, and so are the scripts that hold texts."""

import sys
from pathlib import Path

HERE = Path(__file__).parent

sys.path += [str(HERE), str(HERE.parents[1] / "packaging")]
