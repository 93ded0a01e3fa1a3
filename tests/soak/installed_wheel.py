"""The wheel in clean environments: `python tests/soak/installed_wheel.py`.

Made from this checkout, installed by pip and by `uv tool` with the newest versions that it allows, not the locked ones;
each runs the demonstration. Needs a package index.
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run both; 1 if one fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder)]
        subprocess.run([*build, str(ROOT)], check=True)
        (wheel,) = folder.glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        failed = [way.__name__ for way in (with_pip, with_uv_tool) if not way(wheel, folder)]
    print(f"installed wheel: {', '.join(failed)} failed" if failed else "installed wheel: passed")
    return 1 if failed else 0


def with_pip(wheel: Path, folder: Path) -> bool:
    """In a virtual environment."""
    place = folder / "environment"
    venv.create(place, with_pip=True)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([programs / "pip", "install", "-q", "--disable-pip-version-check", wheel], check=True)
    return runs("pip", programs / "vbdesk", folder)


def with_uv_tool(wheel: Path, folder: Path) -> bool:
    """As a tool of its own, by a uv that is installed for it."""
    place = folder / "uv"
    venv.create(place, with_pip=True)
    own = place / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([own / "pip", "install", "-q", "--disable-pip-version-check", "uv"], check=True)
    programs = folder / "programs"
    environment = {**os.environ, "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(programs)}
    command = [own / "uv", "tool", "install", "-q", "--python", sys.executable, wheel]
    subprocess.run(command, check=True, env=environment)
    return runs("uv tool", programs / "vbdesk", folder)


def runs(way: str, program: Path, folder: Path) -> bool:
    """Whether the demonstration passes, outside the checkout."""
    begun = time.monotonic()
    done = subprocess.run([program, "demo", "--no-window"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n", file=sys.stderr)
    print(f"{way}: the demonstration took {time.monotonic() - begun:.0f} s, status {done.returncode}", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
