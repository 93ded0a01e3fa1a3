"""The environment that installers are made in: locked wheels, pinned tools, and vbdesk as a wheel of this checkout."""

import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import bootstrap
from installers import pins

ROOT = Path(__file__).resolve().parents[2]
AUTHORS = "the vbdesk authors"
"""The maker that packages name. The project has no public address yet, so they give none."""


def version() -> str:
    """The version of this checkout."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["project"]["version"])


def source_date() -> int:
    """Seconds since 1970 that every file of an artefact is dated with: the time of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout.strip() or 1_700_000_000)


def run_inside(folder: Path, command: list[str]) -> None:
    """Make the environment below `folder` if needed, install vbdesk again, and run a command with its interpreter."""
    place = folder / "environment"
    python = bootstrap.venv_bin("python", place)
    if not python.exists():
        folder.mkdir(parents=True, exist_ok=True)
        venv.create(place, with_pip=True, clear=True)
    tools = folder / "build-tools.txt"
    tools.write_text(pins.load()["build"]["requirements"], encoding="utf-8")
    bootstrap.install_locked(place, pins.LOCK, tools)
    bootstrap.pip(place, "install", "--no-deps", "--force-reinstall", build_wheel(folder, python))
    bootstrap.check_installed(place)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(source_date()), "PYTHONHASHSEED": "0"}
    sys.exit(subprocess.run([str(python), "-P", *command], env=environment, check=False).returncode)


def build_wheel(folder: Path, python: Path) -> Path:
    """The wheel of this checkout, made without network."""
    target = folder / "wheel"
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.whl"):
        old.unlink()
    run(str(python), "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(target), str(ROOT))
    (wheel,) = target.glob("*.whl")
    return wheel


def run(*command: str | Path, **options: str | Path) -> None:
    """Run a command; raises CalledProcessError."""
    subprocess.run([str(part) for part in command], check=True, cwd=options.get("cwd"))
