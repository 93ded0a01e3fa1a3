#!/usr/bin/env python3
"""Write the lock files: exact versions of every package, with the hashes of their files.

    python3 packaging/lock.py              after a change of pyproject.toml; what is locked already keeps its version
    python3 packaging/lock.py --upgrade    the newest versions that pyproject.toml allows

Needs `uv` (`pip install uv`). The files hold for Python 3.11 to 3.13 on Linux, Windows and macOS: uv resolves for all
of them at once and writes markers where they differ. They name no registry: any that serves the same files will do.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "packaging" / "locks"
GENERATORS = ROOT / "tests" / "service" / "generated"
HEAD = "# Made by packaging/lock.py. Install with: pip install --require-hashes -r {name}\n"


def compile_lock(target: Path, *sources: str, upgrade: bool) -> None:
    """Resolve `sources` into `target`, which keeps what it has unless `upgrade`."""
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate", "-q"]
    options += ["--no-emit-index-url", "--no-emit-find-links", "--output-file", str(target)]
    options += ["--upgrade"] if upgrade else []
    subprocess.run(["uv", "pip", "compile", *options, *sources], cwd=ROOT, check=True)
    target.write_text(HEAD.format(name=target.relative_to(ROOT).as_posix()) + target.read_text())


def main(arguments: list[str]) -> None:
    """Write `test.txt` with everything, then the smaller ones with the same versions."""
    upgrade = arguments == ["--upgrade"]
    with tempfile.TemporaryDirectory() as name:
        build = Path(name) / "build.in"
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        build.write_text("\n".join(project["build-system"]["requires"]))  # uv leaves them out
        whole = LOCKS / "test.txt"
        compile_lock(whole, "pyproject.toml", str(build), "--all-extras", upgrade=upgrade)
        same = ("--constraints", str(whole))
        compile_lock(LOCKS / "run.txt", "pyproject.toml", str(build), *same, upgrade=True)
        extras = ("--extra", "cloud", "--extra", "telemetry")
        compile_lock(LOCKS / "deploy.txt", "pyproject.toml", str(build), *extras, *same, upgrade=True)
    compile_lock(GENERATORS / "requirements.txt", str(GENERATORS / "requirements.in"), upgrade=upgrade)


if __name__ == "__main__":
    main(sys.argv[1:])
