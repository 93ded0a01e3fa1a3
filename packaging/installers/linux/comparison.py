"""Two builds of one checkout, compared: what differs is explained here, or the check fails."""

import filecmp
import re
import shutil
import sys
from pathlib import Path

from installers.linux import frozen

EXPLAINED: dict[str, str] = {}
"""Patterns of files that may differ, and why; none is known yet."""


def make(out: Path) -> None:
    """Freeze twice and compare; exits with 1 if something differs without an explanation."""
    first = out / "compared" / "first"
    shutil.rmtree(first.parent, ignore_errors=True)
    shutil.copytree(frozen.freeze(out / "linux"), first, symlinks=True)
    found = differences(first, frozen.freeze(out / "linux"))
    left = unexplained(found)
    for name in found:
        why = next((reason for pattern, reason in EXPLAINED.items() if re.fullmatch(pattern, name)), "not explained")
        print(f"differs: {name}: {why}")
    print(f"{len(found)} files differ between two builds, {len(left)} without an explanation")
    sys.exit(1 if left else 0)


def differences(first: Path, second: Path) -> list[str]:
    """Files that differ, or are in one folder only."""
    trees = [
        {path.relative_to(tree).as_posix(): path for path in tree.rglob("*") if path.is_symlink() or path.is_file()}
        for tree in (first, second)
    ]
    return sorted(
        name
        for name in trees[0].keys() | trees[1].keys()
        if not (name in trees[0] and name in trees[1] and _same(trees[0][name], trees[1][name]))
    )


def unexplained(names: list[str]) -> list[str]:
    """Those of the files that no pattern explains."""
    return [name for name in names if not any(re.fullmatch(pattern, name) for pattern in EXPLAINED)]


def _same(first: Path, second: Path) -> bool:
    if first.is_symlink() or second.is_symlink():
        return first.is_symlink() and second.is_symlink() and first.readlink() == second.readlink()
    return filecmp.cmp(first, second, shallow=False)
