"""Tests of the installers' own code; `tests/soak/installed_program.py` makes and installs one."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "packaging"))
