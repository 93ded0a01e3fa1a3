"""The folder of finished artefacts, with their sums."""

import hashlib
import shutil
from pathlib import Path


def folder(out: Path) -> Path:
    """Where artefacts are put."""
    target = out / "artefacts"
    target.mkdir(parents=True, exist_ok=True)
    return target


def write_sums(target: Path) -> Path:
    """Write SHA256SUMS over everything else in the folder, as `sha256sum --check` reads it."""
    sums = target / "SHA256SUMS"
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(target.iterdir())
        if path.is_file() and path != sums
    ]
    sums.write_text("".join(lines), encoding="utf-8")
    return sums


def size(tree: Path) -> int:
    """Bytes of all files of a tree; symbolic links count nothing."""
    return sum(path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())


def emptied(folder: Path) -> Path:
    """Make the folder, or delete what is in it; returns it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
