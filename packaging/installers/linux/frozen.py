"""The frozen program: run PyInstaller's recipe, strip, and look that nothing is missing."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import codec_stubs
from installers.linux import elf

_RECIPE = Path(__file__).with_name("vbdesk.spec")


def freeze(folder: Path) -> Path:
    """Freeze vbdesk below `folder`; returns the folder of the program.

    The same environment gives the same files: `SOURCE_DATE_EPOCH` and `PYTHONHASHSEED` are set by make.py.
    """
    program, work = folder / "vbdesk", folder / "work"
    for old in (program, work):
        shutil.rmtree(old, ignore_errors=True)
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(folder), "--workpath", str(work), str(_RECIPE)]
    subprocess.run(command, check=True, env={**os.environ, "PYINSTALLER_CONFIG_DIR": str(folder / "cache")})
    for path in program.rglob("*"):
        if path.is_symlink() and not path.exists():
            path.unlink()  # to a library of the system, which is not copied
    codec_stubs.replace_encoders(program)
    saved = sum(elf.strip(path) for path in sorted(program.rglob("*")) if elf.is_elf(path) and path.name != "vbdesk")
    saved += sum(link_copies(program))
    print(f"stripped {saved / 1e6:.0f} MB of symbols and copies")
    return program


def link_copies(program: Path) -> Iterator[int]:
    """Replace copies of a library by links to the first; yields the bytes saved."""
    first: dict[str, Path] = {}
    for path in sorted(program.rglob("*.so*")):
        if path.is_symlink() or not path.is_file():
            continue
        kept = first.setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), path)
        if kept != path:
            yield path.stat().st_size
            path.unlink()
            path.symlink_to(os.path.relpath(kept, path.parent))
